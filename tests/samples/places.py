"""Where the checkout is, and where the real data sets are looked for."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def real_data_folder() -> Path:
    """Return the folder named by RMLS_DATA, or `shared/data` beside the checkout."""
    return Path(os.environ.get("RMLS_DATA") or REPOSITORY.parent / "shared" / "data")
