"""What a result row says beside its figures: commit, versions, machine."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import rmls

REPOSITORY = Path(__file__).resolve().parents[2]


def describe_run() -> dict[str, Any]:
    """Return where and with what the script runs."""
    return {
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.platform(terse=True),
        },
        "scored_with": {
            name: metadata.version(name) for name in ("rmls", "numpy", "scipy", "scikit-learn")
        },
    }


def _commit() -> str:
    """Return the commit of the rmls that is imported, marked where tracked files differ from it."""
    source = str(Path(rmls.__file__).parent)
    command = ["git", "-C", source, "describe", "--always", "--dirty", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
