"""In words: amounts, times, and the machine that a result comes from."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

from rmls.core.errors import InputError
from rmls.core.version import VERSION

# kB is 1000 bytes and KiB is 1024, as in the standards.
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "row"), count(6400, "row")
    ('1 row', '6,400 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shorten(text: str | bytes, length: int = 60) -> str:
    """Return text of a user or of a file for a sentence: printable, on one line, not long.

    Examples
    --------
    >>> shorten("tax\\nlaw"), shorten(b"caf\\xc3\\xa9"), shorten("a" * 1000, 5)
    ('tax?law', 'café', 'aaaaa…')
    """
    # A letter of UTF-8 has up to four bytes; cut first, because there may be millions.
    part = text[: 4 * length + 4]
    letters = part.decode("utf-8", "replace") if isinstance(part, bytes) else part
    shown = "".join(letter if letter.isprintable() else "?" for letter in letters)
    return shown if len(shown) <= length and len(text) == len(part) else shown[:length] + "…"


def size(n_bytes: float) -> str:
    """Return a number of bytes in the unit that suits it, each 1000 times the one before.

    Examples
    --------
    >>> size(512), size(2048), size(3 * 10**9)
    ('512 B', '2.0 kB', '3.0 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def read_size(name: str, value: Any) -> int:
    """Return a number of bytes from a number or a text with a unit.

    Parameters
    ----------
    name : str
        What the size is of, for the sentence that refuses ``value``.
    value : int or str

    Examples
    --------
    >>> read_size("memory_limit", "8 GB"), read_size("memory_limit", 1024)
    (8000000000, 1024)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)", str(value).strip())
    unit = UNITS.get(match[2].lower()) if match else None
    n_bytes = 0.0 if match is None or unit is None else float(match[1]) * unit
    # No machine addresses more than 2^63 bytes.
    if match is None or not 0 < n_bytes < 2**63:
        raise InputError(f"{name} is a size such as 8GB or 500 MB; got {value!r}.")
    return int(n_bytes)


def seconds(time: float) -> str:
    """Return a measured time by its three significant digits; hours from one hour on.

    Examples
    --------
    >>> seconds(0.0213), seconds(12.34), seconds(754), seconds(9000)
    ('0.0213 s', '12.3 s', '754 s', '2.50 h')
    """
    # "#" keeps the zeros that count, and a point that none follows.
    return f"{time:#.3g} s".replace(". s", " s") if time < 3600 else f"{time / 3600:.2f} h"


def duration(time: float | None) -> str:
    """Return a time to wait in the units that suit it, None as unknown.

    Examples
    --------
    >>> duration(5.2), duration(200), duration(7300), duration(None)
    ('5 s', '3 min 20 s', '2 h 1 min', 'unknown')
    """
    if time is None:
        return "unknown"
    whole = round(time)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def versions() -> dict[str, str]:
    """Return the versions of the package, of Python and of the libraries behind the figures."""
    # Inside: it takes longer than all else that is needed to say a word.
    from importlib.metadata import version

    own = {"rmls": VERSION, "python": platform.python_version()}
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
    folder = Path(__file__).parents[1]
    # An installed copy may lie inside the repository of somebody else's project.
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
        # platform.processor() is empty or just x86_64 on Linux.
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
