"""Options of the command line that several tests train with."""

from __future__ import annotations

SMALL = ("--components", "8", "--passes", "3", "--jobs", "1")
# The method whose passes can be watched, interrupted and resumed.
SMALL_RMLS = ("--method", "RMLS", *SMALL)
RESUME = ("--method", "RMLS", "--resume")
