"""What the user sees while a model trains."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any


def say(text: str) -> None:
    """Print one line about what is being computed to stderr."""
    from rich.console import Console

    Console(stderr=True).print(text, highlight=False, markup=False)


class Progress:
    """Show passes, loss, held-out metric and the time left.

    A terminal gets one live line; a log file gets one line per pass. ``verbose=0`` shows nothing.
    """

    def __init__(self, passes: range, verbose: int) -> None:
        self.passes = passes
        self.live: Any = None
        self.console: Any = None
        self.started = self.last = time.monotonic()
        if verbose:
            from rich.console import Console

            self.console = Console(stderr=True)

    def __enter__(self) -> Progress:
        if self.console is not None and self.console.is_terminal:
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Live

            self.live = Live(
                TextColumn("training"),
                BarColumn(),
                TextColumn("pass {task.fields[number]}/{task.fields[total_passes]}"),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self.console,
            )
            self.live.start()
            self.task = self.live.add_task(
                "training",
                total=len(self.passes),
                number=self.passes.start,
                total_passes=self.passes.stop,
                note="",
            )
        return self

    def tick(self, share: float) -> None:
        """Show how far the current pass is."""
        if self.live is not None:
            done = self.live.tasks[self.task].fields["number"] - self.passes.start
            self.live.update(self.task, completed=done + share)

    def end_pass(self, number: int, loss: float, value: float | None) -> None:
        """Show the figures of a finished pass."""
        note = f"loss {loss:.4f}" + ("" if value is None else f"  held-out {value:.4f}")
        if self.live is not None:
            done = number + 1 - self.passes.start
            self.live.update(self.task, completed=done, number=number + 1, note=note)
        elif self.console is not None:
            # The first pass may have waited for the kernels to compile: trust the last one.
            now = time.monotonic()
            seconds, left = now - self.started, (now - self.last) * (self.passes.stop - number - 1)
            self.last = now
            self.console.print(
                f"pass {number + 1}/{self.passes.stop}  {note}  {seconds:.1f} s, {left:.1f} s left",
                highlight=False,
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.live is not None:
            self.live.stop()
