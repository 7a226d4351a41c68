"""What counts as a finding, and under which name equal ones are counted together."""

from __future__ import annotations

import dis
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import rmls
from rmls.core.errors import RmlsError

PACKAGE = str(Path(rmls.__file__).parent)
HERE = str(Path(__file__).parent)
# scikit-learn's checks of input raise these, and what they call for conversions does too.
SKLEARN_ERRORS = (ValueError, TypeError, AttributeError)
# A sentence that repeats a long token of the file helps nobody.
LONGEST_MESSAGE = 1000
RAISES = ("RAISE_VARARGS", "RERAISE")


@dataclass(frozen=True)
class Finding:
    """Something that the package should not have done."""

    kind: str
    case: int
    signature: str
    message: str
    detail: str = ""


def judge(error: BaseException) -> tuple[str, str, str] | None:
    """Return (signature, message, traceback) of an error that nobody raised on purpose.

    Allowed are the errors of this package in one short line, a ValueError or TypeError that our
    code or scikit-learn's validation raises by a statement, and what a conversion inside that
    validation raises.
    """
    message = str(error)
    if isinstance(error, RmlsError):
        if len(message) <= LONGEST_MESSAGE and "\n" not in message.strip():
            return None
        return f"long message {signature_of(error)}", message, _trace(error)
    frame, raised = _innermost(error.__traceback__)
    path = frame.f_code.co_filename if frame is not None else ""
    if isinstance(error, SKLEARN_ERRORS) and not isinstance(error, UnicodeError):
        if "/sklearn/" in path.replace("\\", "/") or _converts(error):
            return None
        if path.startswith(PACKAGE) and raised and isinstance(error, (ValueError, TypeError)):
            return None
    return f"{type(error).__name__} {signature_of(error)}", message or "no message", _trace(error)


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _converts(error: BaseException) -> bool:
    """Tell whether a table was being converted for scikit-learn's validation."""
    names = [
        frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    libraries = [name.partition(".")[0] for name in names]
    return libraries[-1] == "pandas" and "sklearn" in libraries


def _innermost(place: TracebackType | None) -> tuple[FrameType | None, bool]:
    """Return the frame an error comes from, and whether a raise statement stands there."""
    if place is None:
        return None, False
    while place.tb_next is not None:
        place = place.tb_next
    code = place.tb_frame.f_code.co_code
    return place.tb_frame, dis.opname[code[place.tb_lasti]] in RAISES


def signature_of(error: BaseException) -> str:
    """Return the innermost place of this package that an error came through."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame for frame in frames if frame.f_code.co_filename.startswith(PACKAGE)]
    places = ours or [f for f in frames if f.f_code.co_filename.startswith(HERE)]
    if not places:
        return "nowhere"
    inside = "" if places[-1] is frames[-1] else f" in {_library(frames[-1])}"
    return f"{_place(places[-1])}{inside}"


def _place(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    root = PACKAGE if path.startswith(PACKAGE) else HERE
    return f"{Path(path).relative_to(root).as_posix()}:{frame.f_code.co_name}"


def _library(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '?').partition('.')[0]}:{frame.f_code.co_name}"


@contextmanager
def watch_warnings(report: Callable[..., None]) -> Iterator[None]:
    """Report warnings of overflow and the like; all others are no concern of the campaign."""

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        if issubclass(category, RuntimeWarning):
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
                frame = frame.f_back
            # Made while a case was being made up.
            if frame is None:
                return
            place, text = _place(frame), str(message)
            detail = "".join(traceback.format_stack(limit=12))
            report(f"warning {place}: {text[:60]}", text, detail)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
