"""Who wins: the best method of every data set, for head, torso and tail and for label sets."""

from __future__ import annotations

import math
from typing import NamedTuple

from rmls.bench.pages.series import METRIC_NAMES, Results, Series, components
from rmls.bench.run.records import Record
from rmls.bench.tables.summary import Summary, run_of, test_ratio
from rmls.report.averages import Average, format_average
from rmls.report.content import Bullets, Part
from rmls.report.intervals import Estimate, resampled_estimate
from rmls.report.numbers import MISSING, format_difference, format_interval
from rmls.report.tables import Table, TableCell, table_row

INTRODUCTION = (
    "Who wins, by macro F for the labels of a group and by F for the label sets of rows. The table "
    "says by how much and in how many runs."
)
NOTE = (
    "Ahead of: the best other method. Lead: the difference of the means. "
    "Interval: 95 % of the lead, paired by run and corrected for the rows that folds share (Nadeau "
    "and Bengio); where it holds 0 the lead may be chance, and the lines above say 'within noise'. "
    "The winner is chosen by the same figures, so that leads are a little too large. Runs: in how "
    "many of them the winner is ahead."
)
NOBODY = "nobody finds any"
# Means of equal figures may differ in the last bits of a sum.
TIE = 1e-9


class Subject(NamedTuple):
    """What can be won: a group of labels, in words, and the metric."""

    group: str
    title: str
    metric: str

    @property
    def name(self) -> str:
        """The metric with its group."""
        name = METRIC_NAMES[self.metric]
        # Blanks that do not break: on a phone the column would be three lines high.
        return name if self.group == "all" else f"{name}, {self.group}".replace(" ", "\u00a0")

    def value(self, record: Record) -> float | None:
        """Return the figure of one run."""
        measured = record["measured"]
        return measured["metrics"].get(self.group, {}).get(self.metric) if measured else None


SUBJECTS = (
    Subject("head", "Head, the frequent labels", "macro_f1"),
    Subject("torso", "Torso", "macro_f1"),
    Subject("tail", "Tail, the rare labels", "macro_f1"),
    Subject("all", "Label sets of rows", "example_f1"),
)


class Entry(NamedTuple):
    """A setting with its name and its mean."""

    name: str
    summary: Summary
    average: Average


class Win(NamedTuple):
    """The first place on a data set, which several may share, and the best other method."""

    block: tuple[str, str]
    subject: Subject
    first: list[Entry]
    second: Entry | None

    @property
    def winner(self) -> str:
        """Who wins, in words."""
        found = self.first[0].average.mean > 0
        return _listed([entry.name for entry in self.first]) if found else NOBODY


def winner_parts(results: Results) -> list[Part]:
    """Return who wins in a few lines, and a table with the leads; nothing without figures."""
    wins = _wins(results)
    return [INTRODUCTION, Bullets(_lines(results, wins)), _table(results, wins)] if wins else []


def winner_lines(results: Results) -> list[tuple[str, str]]:
    """Return who wins in a few lines, each of them a title and the rest."""
    return _lines(results, _wins(results))


def _wins(results: Results) -> list[Win]:
    found = [
        find_win(block, results.series(*block), subject)
        for block in results.blocks()
        for subject in SUBJECTS
    ]
    return [win for win in found if win is not None]


def find_win(block: tuple[str, str], series: list[Series], subject: Subject) -> Win | None:
    """Return the best setting of some methods, None where there are no figures."""
    entries = [
        Entry(_name(one, summary), summary, average)
        for one in series
        for summary in one.members
        if (average := summary.average(subject.metric, subject.group)) is not None
        and math.isfinite(average.mean)
    ]
    if not entries:
        return None
    best = max(entry.average.mean for entry in entries)
    first = [entry for entry in entries if entry.average.mean >= best - TIE]
    # Another number of components or another rule of the winner is no rival.
    labels = {entry.summary.setting.label for entry in first}
    others = [entry for entry in entries if entry.summary.setting.label not in labels]
    second = max(others, key=lambda entry: entry.average.mean, default=None)
    return Win(block, subject, first, second)


def _name(one: Series, summary: Summary) -> str:
    k = components(summary.setting)
    return f"{one.name}, k = {k}" if k else one.name


def _listed(names: list[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _lines(results: Results, wins: list[Win]) -> list[tuple[str, str]]:
    lines = []
    for subject in SUBJECTS:
        places: dict[str, list[str]] = {}
        for win in wins:
            if win.subject == subject:
                figure = f"{win.first[0].average.mean:.3f}"
                lead = _lead_of(win)
                if lead is not None and not lead.excludes_zero:
                    figure += ", lead within noise"
                said = f"{results.block_name(*win.block)} ({figure})"
                places.setdefault(win.winner, []).append(said)
        said = "; ".join(f"{name} on {_listed(where)}" for name, where in places.items())
        lines += [(subject.title, f": {said}")] if said else []
    return lines


def _table(results: Results, wins: list[Win]) -> Table:
    rows = []
    for place, win in enumerate(wins):
        # The name of a data set stands once, above all that belongs to it.
        starts = place == 0 or wins[place - 1].block != win.block
        rows.append(
            table_row(
                results.block_title(*win.block) if starts else "",
                win.subject.name,
                win.winner,
                win.second.name if win.second else MISSING,
                TableCell(format_average(win.first[0].average), "best"),
                *_lead(win),
            )
        )
    columns = ["data set", "metric", "best", "ahead of", "figure", "lead", "95 % interval", "runs"]
    return Table("Who wins", columns, rows, NOTE, n_names=4)


def _lead(win: Win) -> list[str]:
    """Return the difference to the second, its interval, and the runs in which it is ahead."""
    best, second = win.first[0], win.second
    if second is None:
        return [MISSING] * 3
    steps = _differences(win)
    found, ahead = _lead_of(win), sum(step > 0 for step in steps)
    lead = format_difference(best.average.mean - second.average.mean)
    interval = format_interval(found.interval if found else None)
    return [lead, interval, f"{ahead} of {len(steps)}" if steps else MISSING]


def _differences(win: Win) -> list[float]:
    """Return how far the winner is ahead in every run that both have."""
    if win.second is None:
        return []
    ours, theirs = (_by_run(entry.summary, win.subject) for entry in (win.first[0], win.second))
    return [ours[run] - theirs[run] for run in sorted(ours.keys() & theirs.keys())]


def _lead_of(win: Win) -> Estimate | None:
    """Return the lead with its interval, None for fewer than two runs."""
    return resampled_estimate(_differences(win), test_ratio(win.first[0].summary.records))


def _by_run(summary: Summary, subject: Subject) -> dict[tuple[int, int], float]:
    found = {run_of(record): subject.value(record) for record in summary.records}
    return {run: value for run, value in found.items() if value is not None}
