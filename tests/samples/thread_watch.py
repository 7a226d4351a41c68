"""See how many threads are at work at every call inside the package."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import rmls
from rmls.core import resources

ROOT = str(Path(rmls.__file__).parent)
# They run before a bound holds and touch no matrix.
BEFORE = {"_count_threads", "_gives_probabilities", "split", "timed", "fit"}


def blas_threads() -> list[int]:
    """Return the threads that every library of linear algebra would use now."""
    return [library.get_num_threads() for library in resources.THREAD_LIMITS._find("blas")]


@contextmanager
def watched_threads(more: int = 8) -> Iterator[dict[int, str]]:
    """Yield the numbers of threads that were seen at work, each with a function that saw it.

    At every call of a function of the package: threads of our pools times those that linear
    algebra may use in each. The libraries start from ``more`` threads, as on a large machine.
    """
    seen: dict[int, str] = {}
    libraries = resources.THREAD_LIMITS._find("blas")
    before = [library.get_num_threads() for library in libraries]
    for library in libraries:
        library.set_num_threads(more)

    def look(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        ours = name.startswith(ROOT) and name != resources.__file__
        if event == "call" and ours and frame.f_code.co_name not in BEFORE:
            workers = sum(each.name.startswith("rmls") for each in threading.enumerate())
            busy = max(1, workers) * max(library.get_num_threads() for library in libraries)
            seen.setdefault(busy, f"{Path(name).name}: {frame.f_code.co_name}")

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield seen
        after = [library.get_num_threads() for library in libraries]
        assert after == [more] * len(libraries), "a call has changed the state of the process"
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        for library, number in zip(libraries, before, strict=True):
            library.set_num_threads(number)
