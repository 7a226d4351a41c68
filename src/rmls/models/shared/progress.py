"""What the user sees while a model trains: bars, in notebooks too, or lines in a log file."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import Timer, current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, TypeVar

from rmls.core.errors import RmlsWarning
from rmls.core.words import duration

NAME_WIDTH = 12

Function = TypeVar("Function", bound=Callable[..., Any])


class TrainingInterrupted(RmlsWarning):
    """The user ended the training early; the model is the best there was."""


def warn_interrupted(text: str) -> None:
    """Warn that the training ended early, and say what is kept.

    Where the model is only a means to train another one, that one hears of Ctrl-C instead.
    """
    if _INSIDE.get():
        raise KeyboardInterrupt
    warnings.warn(f"interrupted {text}.", TrainingInterrupted, stacklevel=3)


def say(text: str) -> None:
    """Print one line about what is being computed to stderr."""
    from rich.console import Console

    Console(stderr=True).print(text, highlight=False, markup=False)


class Stage:
    """A part of a training that nobody watches; a subclass shows it."""

    def tick(self, share: float, note: str = "") -> None:
        """Show which share of the stage is done, and a note about it."""

    def line(self, text: str) -> None:
        """Print a line to a log file; a terminal sees the bar."""

    def part(self, number: int, total: int, n_stages: int = 1) -> None:
        """Let the next stages inside be part ``number`` of ``total`` of this one."""

    def open(self, name: str) -> Stage:
        """Return a stage inside."""
        return self

    def close(self) -> None:
        """End the stage."""

    def abort(self) -> None:
        """End the stage before it is complete."""

    def counter(self, total: int, noun: str) -> Callable[[], None]:
        """Return what to call when one of ``total`` things is done, from any thread."""
        done: list[None] = []

        def count_one() -> None:
            done.append(None)
            self.tick(len(done) / total, f"{len(done):,} of {total:,} {noun}")

        return count_one


class InnerStage(Stage):
    """A stage inside another, which it moves on from one share to another."""

    def __init__(self, outer: Stage, start: float, stop: float) -> None:
        self.outer, self.start, self.stop = outer, start, stop

    def tick(self, share: float, note: str = "") -> None:
        """Move the stage around on; the note is of no interest there."""
        self.outer.tick(self.start + share * (self.stop - self.start))


class ShownStage(Stage):
    """A bar in a terminal, a line at its end otherwise."""

    def __init__(self, display: Display, name: str) -> None:
        self.display, self.name, self.note = display, name, ""
        self.started = time.monotonic()
        self.window, self.step, self.limit = 0.0, 1.0, 1.0
        self.task = None
        if display.live is not None:
            self.task = display.live.add_task(name, total=1.0, note="")

    def tick(self, share: float, note: str = "") -> None:
        """Move the bar; a note stays until there is another."""
        self.note = note or self.note
        if self.task is not None:
            self.display.live.update(self.task, completed=min(share, 1.0), note=self.note)

    def line(self, text: str) -> None:
        """Print a line to a log file."""
        if self.task is None:
            self.display.console.print(text)

    def part(self, number: int, total: int, n_stages: int = 1) -> None:
        """Reserve a share of the bar for the next stages inside."""
        self.window, self.limit = number / total, (number + 1) / total
        self.step = (self.limit - self.window) / n_stages
        self.tick(self.window)

    def open(self, name: str) -> Stage:
        """Return the next stage inside."""
        start = self.window
        self.window = min(start + self.step, self.limit)
        return InnerStage(self, start, self.window)

    def close(self) -> None:
        """Print the line of a log file."""
        seconds = time.monotonic() - self.started
        note = f"{self.note}, " if self.note else ""
        self.line(f"{self.name:<{NAME_WIDTH}}  {note}{seconds:.1f} s")

    def abort(self) -> None:
        """Let the clock stand still, and say so."""
        self.note = "interrupted"
        if self.task is None:
            self.close()
        else:
            self.display.live.update(self.task, note=self.note)
            self.display.live.stop_task(self.task)


class Display(Stage):
    """Where stages are shown: live lines of a terminal or a notebook, or those of a log file."""

    def __init__(self) -> None:
        from rich.console import Console

        self.console = Console(stderr=True, highlight=False, markup=False)
        self.live: Any = _make_live(self.console) if self.console.is_terminal else _make_lines()

    def open(self, name: str) -> Stage:
        """Return a stage with a bar, or a line, of its own."""
        return ShownStage(self, name)


def _make_lines() -> Any:
    """Return lines that move in a notebook; None elsewhere."""
    # Whoever runs in a notebook has imported it.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    from rmls.models.shared.notebook_progress import NotebookLines

    return NotebookLines()


def _make_live(console: Any) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    return Progress(
        TextColumn(f"{{task.description:<{NAME_WIDTH}}}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeLeft(),
        TextColumn("{task.fields[note]}"),
        console=console,
    )


SILENT = Stage()
_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)
# What a stage is opened in; threads of a pool have no part in it.
_CURRENT: ContextVar[Stage] = ContextVar("stage", default=SILENT)


def hands_over(frame: FrameType | None) -> bool:
    """Tell whether Python code runs inside a compiled function that hands over its result.

    Numba calls `_numba_unpickle` there and does not look whether it failed: an exception ends in a
    segmentation fault.
    """
    while frame is not None:
        if frame.f_code.co_name == "_numba_unpickle":
            return True
        frame = frame.f_back
    return False


def press_again() -> None:
    """Let Ctrl-C come again in a moment."""
    Timer(0.001, os.kill, (os.getpid(), signal.SIGINT)).start()


def _press(number: int, frame: FrameType | None) -> None:
    if hands_over(frame):
        press_again()
    else:
        signal.default_int_handler(number, frame)


@contextmanager
def hearing_ctrl_c() -> Iterator[None]:
    """Keep Ctrl-C from falling into the moment when a compiled function returns."""
    # Other threads hear no signals, and a handler of the user's own is left alone.
    ours = current_thread() is main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _press)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def showing(wanted: Any) -> Iterator[None]:
    """Show the stages inside, unless something around shows them already."""
    if not wanted or _CURRENT.get() is not SILENT:
        yield
        return
    display = Display()
    token = _CURRENT.set(display)
    try:
        if display.live is not None:
            display.live.start()
        yield
    finally:
        _CURRENT.reset(token)
        if display.live is not None:
            display.live.stop()


@contextmanager
def stage(name: str) -> Iterator[Stage]:
    """Show a stage of a training, if anything is shown; one inside another moves that on."""
    opened = _CURRENT.get().open(name)
    token = _CURRENT.set(opened)
    try:
        yield opened
        opened.tick(1.0)
        opened.close()
    except KeyboardInterrupt:
        opened.abort()
        raise
    finally:
        _CURRENT.reset(token)


def show_part(number: int, total: int, n_stages: int = 1) -> None:
    """Let the next stages be part ``number`` of ``total`` of the one that is open."""
    _CURRENT.get().part(number, total, n_stages)


@contextmanager
def as_means() -> Iterator[None]:
    """Fit models inside that are only a means: Ctrl-C ends what they are fitted for."""
    token = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(token)


class Progress:
    """Show passes, loss, held-out metric and the time left."""

    def __init__(self, passes: range, name: str = "training") -> None:
        self.passes = passes
        self.done = 0
        self.started = self.last = time.monotonic()
        self._stage = stage(name)

    def __enter__(self) -> Progress:
        self.stage = self._stage.__enter__()
        return self

    def tick(self, share: float) -> None:
        """Show how far the current pass is."""
        self.stage.tick((self.done + share) / max(len(self.passes), 1))

    def end_pass(self, number: int, loss: float, value: float | None) -> None:
        """Show the figures of a finished pass."""
        figures = f"loss {loss:.4f}" + ("" if value is None else f"  held-out {value:.4f}")
        place = f"pass {number + 1}/{self.passes.stop}"
        self.done = number + 1 - self.passes.start
        self.stage.tick(self.done / len(self.passes), f"{place}  {figures}")
        # The first pass may have waited for the kernels to compile: trust the last one.
        now = time.monotonic()
        seconds, left = now - self.started, (now - self.last) * (self.passes.stop - number - 1)
        self.last = now
        self.stage.line(f"{place}  {figures}  {seconds:.1f} s, {duration(left)} left")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stage.__exit__(kind, error, traceback)


def takes_the_rest(name: str) -> Callable[[Function], Function]:
    """Decorate a step around the stages: what they leave of its time becomes the stage ``name``."""

    def decorate(method: Function) -> Function:
        @wraps(method)
        def timed(model: Any, *args: Any, **options: Any) -> Any:
            started = time.perf_counter()
            result = method(model, *args, **options)
            rest = time.perf_counter() - started - sum(model.seconds_.values())
            model.seconds_[name] = max(rest, 0.0)
            return result

        return timed  # type: ignore[return-value]

    return decorate
