"""How long to wait for another process: as long as this machine, as busy as it is, may need."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import lru_cache

# Seconds that a quiet machine needs to start Python and import numpy.
QUIET = 0.15
# A time-out only keeps a process that hangs from holding up the suite for ever.
GENEROSITY = 20.0


# A machine gets as busy as it is within minutes, and a time-out is generous.
VALID_SECONDS = 20


def slowness() -> float:
    """Return how many times longer than on a quiet machine a process takes now, at least 1."""
    return _measure(int(time.monotonic() / VALID_SECONDS))


@lru_cache(maxsize=1)
def _measure(now: int) -> float:
    """Measure once for some seconds: a test may ask for every request it makes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return max(1.0, (time.perf_counter() - began) / QUIET)


def patience(seconds: float) -> float:
    """Return a time-out for what takes ``seconds`` on a quiet machine."""
    return GENEROSITY * seconds * slowness()
