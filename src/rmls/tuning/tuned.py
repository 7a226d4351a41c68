"""What a search came to: what was chosen, what it is worth, and how that is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmls.report.charts.differences import Difference, difference_chart
from rmls.report.content import Facts, Figure, Panel, Part, Report, Section
from rmls.report.numbers import format_difference, format_interval, format_number
from rmls.report.tables import Mark, Table, TableCell, table_row
from rmls.review.quality import Estimate
from rmls.tuning.choices import in_words
from rmls.tuning.search import Line

if TYPE_CHECKING:
    from rich.console import Console

RULE = (
    "The defaults are always tried. Another model takes their place only if the 80% interval of "
    "its paired difference is above zero on the rows it was chosen on, and the difference is not "
    "negative on rows that nothing was chosen on."
)


@dataclass
class Tuned:
    """What `tune` found.

    Attributes
    ----------
    params : dict
        Parameters that differ from the defaults; empty where these stay.
    figure : str
        What was to become larger.
    reason : str
        Why it was chosen, in a sentence.
    chosen : Estimate or None
        Paired difference to the defaults on the rows it was chosen on, with its interval of 80%:
        too good, because the best of many was taken.
    confirmed : dict of str to Estimate
        Paired differences to the defaults, by metric, on rows that nothing was chosen on; empty
        where the defaults stay.
    n_rows, n_choose, n_confirm : int
        All rows, those that were chosen on and those that confirmed.
    lines : list of Line
        All trials.
    skipped : list of str
        What there was no time for.
    seconds : float
        Time of all trials.
    model : fitted estimator or None
        Trained on all rows.
    """

    params: dict[str, Any]
    figure: str
    reason: str
    chosen: Estimate | None
    confirmed: dict[str, Estimate]
    n_rows: int
    n_choose: int
    n_confirm: int
    lines: list[Line] = field(default_factory=list, repr=False)
    skipped: list[str] = field(default_factory=list, repr=False)
    seconds: float = 0.0
    model: Any = field(default=None, repr=False)

    @property
    def difference(self) -> Estimate | None:
        """What the choice is worth: its difference on rows that nothing was chosen on."""
        return self.confirmed.get(self.figure)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the model for JSON."""
        return {
            "params": {name: _plain(value) for name, value in self.params.items()},
            "metric": self.figure,
            "reason": self.reason,
            "chosen": None if self.chosen is None else self.chosen._asdict(),
            "confirmed": {metric: each._asdict() for metric, each in self.confirmed.items()},
            "n_rows": self.n_rows,
            "n_choose": self.n_choose,
            "n_confirm": self.n_confirm,
            "trials": [vars(line) for line in self.lines],
            "skipped": self.skipped,
            "seconds": round(self.seconds, 3),
        }

    def print(self, console: Console | None = None, name: str = "") -> None:
        """Print the account to a terminal."""
        from rmls.report.terminal import print_report

        print_report(tuned_report(self, name), console)

    def _repr_html_(self) -> str:
        from rmls.core.show.fragments import shown_inside

        return shown_inside(self.html())

    def html(self, name: str = "") -> str:
        """Return the account as one page that fetches nothing."""
        from rmls.report.page import to_html

        return to_html(tuned_report(self, name))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def tuned_report(found: Tuned, name: str) -> Report:
    """Return the account of a search."""
    words = in_words(found.params)
    parts: list[Part] = [found.reason, *_worth(found)]
    tried = [_trials(found), *_left(found)]
    where = f" of {name}" if name else ""
    subtitle = f"{found.figure} on {found.n_rows:,} rows{where}"
    sections = [
        Section("choice", f"Chosen: {words}", parts),
        Section("trials", "What was tried", [*tried, Facts(list(_facts(found)))]),
    ]
    return Report("Tuning", subtitle, sections)


def _worth(found: Tuned) -> Iterator[Part]:
    if not found.confirmed:
        return
    rows, drawn = [], []
    for metric, each in found.confirmed.items():
        mark: Mark = "better" if each.low > 0 else "worse" if each.high < 0 else ""
        cell = TableCell(format_difference(each.value, 4), mark)
        rows.append(table_row(metric, cell, format_interval((each.low, each.high), 4)))
        drawn.append(Difference(metric, *each))
    note = (
        f"On {found.n_confirm:,} rows that nothing was chosen on, both models trained on the "
        "others. Intervals of 95% by drawing these rows anew."
    )
    table = Table("", ["metric", "minus the defaults", "95% interval"], rows, note)
    title = "What the choice is worth"
    yield Figure(title, [Panel("", difference_chart(title, drawn))], "", [table])


def _trials(found: Tuned) -> Table:
    rows = [
        table_row(
            line.name,
            line.option or "–",
            format_number(line.n_rows, 0),
            format_number(line.value, 4),
            f"{line.seconds:.1f}",
        )
        for line in found.lines
    ]
    note = f"{found.figure} of the best option on the {found.n_choose:,} rows that were chosen on."
    columns = ["changed", "and", "fitted to rows", found.figure, "seconds"]
    return Table("", columns, rows, note, n_names=2)


def _left(found: Tuned) -> Iterator[Part]:
    if found.skipped:
        yield f"There was no time for {'; '.join(found.skipped)}."


def _facts(found: Tuned) -> Iterator[tuple[str, str]]:
    yield "Rule", RULE
    yield "Time", f"{found.seconds:.0f} s for {len(found.lines)} trials"
    yield (
        "Rows",
        f"{found.n_rows:,}; chosen on {found.n_choose:,}, confirmed on {found.n_confirm:,} others",
    )
