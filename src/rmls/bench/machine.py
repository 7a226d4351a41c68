"""Where a result came from: commit, versions and machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rmls

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Return the versions of the package, of Python and of the libraries behind the figures."""
    own = {"rmls": rmls.__version__, "python": platform.python_version()}
    return own | {name: version(name) for name in LIBRARIES}


@lru_cache(maxsize=1)
def describe_machine() -> dict[str, Any]:
    """Return processor, cores, memory and system."""
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory": _total_memory(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


@lru_cache(maxsize=1)
def read_commit() -> str | None:
    """Return the commit of the running code, with ``-dirty`` behind it where files differ.

    None for an installed package: a repository around it is not ours.
    """
    folder = Path(rmls.__file__).parent
    tracked = _git(folder, "ls-files", "--error-unmatch", "__init__.py")
    commit = _git(folder, "rev-parse", "--short=12", "HEAD") if tracked else None
    if not commit:
        return None
    return commit + ("-dirty" if _git(folder, "status", "--porcelain", "--", ".") else "")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        found = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _total_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
