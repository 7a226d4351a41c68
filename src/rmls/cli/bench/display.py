"""What the user sees of a running study: what is done, what runs, how long it will take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean
from time import monotonic
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rmls.bench.run.records import Failure
from rmls.bench.run.runner import Listener, Running
from rmls.bench.study.grid import Fit
from rmls.core.words import duration


class TimeLeft:
    """Estimate the time of the runs ahead from those behind.

    A run is expected to take as long as its like on other folds; one that has no like yet takes
    the mean of its data set, or of all.
    """

    def __init__(self, fits: list[Fit], jobs: int) -> None:
        # By identity: a fit holds a dictionary and cannot be hashed.
        self.waiting = {id(fit): fit for fit in fits}
        self.jobs = jobs
        self.seconds: dict[Any, list[float]] = defaultdict(list)

    def finished(self, fit: Fit, seconds: float) -> None:
        """Learn from a run that has ended."""
        self.waiting.pop(id(fit), None)
        for kind in _kinds(fit):
            self.seconds[kind].append(seconds)

    def estimate(self) -> float | None:
        """Return the seconds until all is done, None before the first run has ended."""
        if not self.seconds:
            return None
        return sum(self._expected(fit) for fit in self.waiting.values()) / self.jobs

    def _expected(self, fit: Fit) -> float:
        known = next(kind for kind in _kinds(fit) if kind in self.seconds)
        return fmean(self.seconds[known])


def _kinds(fit: Fit) -> list[Any]:
    """Return what runs are alike in, the closest kinship first."""
    params = repr(sorted(fit.params.items()))
    return [(fit.dataset.name, fit.method.label, params), fit.dataset.name, "any"]


class Display(Listener):
    """A live view in a terminal, one line a run elsewhere."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self.console = console
        self.quiet = quiet
        self.total = self.done = self.n_failed = 0
        self.live: Live | None = None
        self.running: list[Running] = []
        self.left = TimeLeft([], 1)
        self.started_at = monotonic()

    @contextmanager
    def shown(self) -> Iterator[Display]:
        """Show the view while the block runs."""
        if self.console.is_terminal and not self.quiet:
            self.live = Live(get_renderable=self._view, console=self.console, transient=True)
            with self.live:
                yield self
            self.live = None
        else:
            yield self

    def begin(self, fits: list[Fit], waiting: list[Fit], jobs: int) -> None:
        """Take note of what there is to do."""
        self.total, self.done = len(fits), len(fits) - len(waiting)
        self.left = TimeLeft(waiting, jobs)
        self.started_at = monotonic()

    def tick(self, running: list[Running]) -> None:
        """Take note of what runs now; the view is drawn a few times a second."""
        self.running = list(running)

    def finished(self, run: Running, failure: Failure | None, n_left: int) -> None:
        """Count a run, and say it where there is no live view."""
        self.done += 1
        self.n_failed += failure is not None
        self.left.finished(run.fit, run.seconds)
        if failure is not None:
            self._say(f"failed: {run.fit}: {failure['message']}")
        elif self.live is None:
            self._say(f"{run.fit}: {run.seconds:.1f} s")

    def _say(self, text: str) -> None:
        if not self.quiet:
            left = f", {duration(self.left.estimate())} left" if self.live is None else ""
            line = f"{self.done}/{self.total}  {text}{left}"
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _view(self) -> Group:
        bar = Table.grid(padding=(0, 1))
        failed = f", {self.n_failed} failed" if self.n_failed else ""
        elapsed = duration(monotonic() - self.started_at)
        bar.add_row(
            Text(f"{self.done}/{self.total} runs{failed}"),
            ProgressBar(total=max(1, self.total), completed=self.done, width=30),
            Text(f"{elapsed}, {duration(self.left.estimate())} left", style="dim"),
        )
        lines = [Text(f"  {run.fit}  {run.seconds:.0f} s", style="dim") for run in self.running]
        return Group(bar, *lines)
