"""The five tables of the paper: ours, the published figure below it, and their difference."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rmls.bench.study.paper import STAND_INS
from rmls.bench.study.paper_figures import (
    NO_COMPONENTS,
    PaperFigure,
    paper_figure,
    paper_methods,
    paper_metrics,
    paper_sizes,
    paper_slots,
    paper_source,
    paper_table,
    slot_of,
)
from rmls.bench.tables.names import format_result, method_names
from rmls.bench.tables.summary import CLOCK, Summary, greater_is_better, main_experiment, paper_rule
from rmls.report.averages import Average, best_of, format_to_decimals
from rmls.report.numbers import (
    MISSING,
    decimals_of,
    format_difference,
    format_number,
    format_ratio,
)
from rmls.report.tables import Table, TableCell, table_row

HEADINGS = {
    "enron": "Enron",
    "delicious": "Delicious",
    "eurlex_desc": "Eurlex_desc",
    "wiki": "Wiki",
}
TIME = "train_seconds"
MEASURED_AS = {TIME: CLOCK}


class _Column(NamedTuple):
    """A data set of the paper, and the one of ours shown in its place, if any."""

    paper: str
    ours: str | None

    @property
    def stands_in(self) -> bool:
        return self.ours not in (None, self.paper)

    @property
    def heading(self) -> str:
        name = HEADINGS[self.paper]
        return f"{name} → stand-in {self.ours}" if self.stands_in else name


Row = tuple[str, str]
Place = tuple[Row, str]
Found = dict[Place, Summary]


def paper_tables(summaries: list[Summary], study: dict[str, Any]) -> list[Table]:
    """Return the paper's tables: data sets, Hamming loss, F score, accuracy, training time.

    Parameters
    ----------
    summaries : list of Summary
        Those of the experiment that compares methods are shown, each under the rule the paper
        decides by: methods that predict codes round, the others keep the cardinality.
    study : dict
        ``datasets`` with sizes and notes, and ``missing`` with reasons, as in ``study.json``.

    Returns
    -------
    list of Table
        Rows are methods and numbers of components, columns the paper's data sets that have
        results. Below a row of
        ours come the paper's figures and the differences, so that a method has up to three lines.

    Notes
    -----
    A difference is marked where it exceeds two pooled deviations and half a unit of the last
    printed digit. Seconds are compared as a ratio and never marked: the paper's were
    measured on another machine. A stand-in has other rows and labels; the paper's figure is shown
    there for orientation and nothing is computed from it.

    Examples
    --------
    >>> [table.title for table in paper_tables([], {})][:2]
    ['Table 1. Data sets', 'Table 2. Hamming loss, less is better']
    """
    columns = _columns(summaries, study)
    found = _found(summaries, columns)
    sizes = _size_table(columns, study)
    filled = [column for column in columns if any(place == column.paper for _, place in found)]
    return [sizes, *(_table(metric, found, filled or columns) for metric in paper_metrics())]


def agreement(summaries: list[Summary], study: dict[str, Any]) -> str:
    """Return in a sentence how many of the paper's figures ours agree with; empty without any.

    Examples
    --------
    >>> agreement([], {})
    ''
    """
    columns = [column for column in _columns(summaries, study) if not column.stands_in]
    compared: list[tuple[bool, str, float, str]] = []
    for (row, dataset), summary in _found(summaries, columns).items():
        for metric in paper_metrics():
            average, figure = summary.average(metric), paper_figure(metric, *row, dataset)
            if metric == TIME or average is None or figure is None:
                continue
            name, slot = row
            where = f"{name}, {HEADINGS[dataset]}, k {slot}"
            gap = average.mean - figure.mean
            compared.append((differs(average, figure), metric, gap, where))
    if not compared:
        return ""
    apart = [one for one in compared if one[0]]
    same = len(compared) - len(apart)
    said = f"Of {len(compared)} figures that the paper has too, ours agree with {same}"
    said += f" and differ from {len(apart)}"
    scores = [one for one in apart if one[1] == "example_f1"]
    if scores:
        *_, gap, where = max(scores, key=lambda one: abs(one[2]))
        said += f", in F by {format_difference(gap)} at most ({where})"
    return f"{said}."


def _columns(summaries: list[Summary], study: dict[str, Any]) -> list[_Column]:
    measured = {summary.setting.dataset for summary in summaries} | set(study.get("datasets", {}))
    columns = [
        # The paper's own data come before their stand-in, where a study has both.
        _Column(
            paper, next((name for name in (paper, STAND_INS.get(paper)) if name in measured), None)
        )
        for paper in HEADINGS
    ]
    # What nobody asked for is left out; without any results the paper is shown alone.
    asked = [one for one in columns if one.ours or one.paper in study.get("missing", {})]
    return asked or columns


def _found(summaries: list[Summary], columns: list[_Column]) -> Found:
    """Return the results to show, by row and data set of the paper."""
    experiment = main_experiment(summaries)
    ours = [summary for summary in summaries if summary.setting.experiment == experiment]
    own = [summary for summary in ours if summary.setting.decision == paper_rule(summary)]
    # Methods that never ran under the rule of the paper are shown too, with the rule named.
    known = {*paper_methods(), *(summary.setting.label for summary in own)}
    other = [summary for summary in ours if summary.setting.label not in known]
    names = method_names(summary.setting for summary in [*own, *other])
    places = {column.ours: column.paper for column in columns if column.ours}
    found: Found = {}
    for summary in [*own, *other]:
        setting = summary.setting
        if setting.dataset in places:
            rule = "" if setting.label in known else f" · {setting.decision}"
            place = places[setting.dataset]
            row = names[setting] + rule, slot_of(place, setting.n_components)
            found[row, place] = summary
    return found


def _rows(found: Found, metric: str) -> list[Row]:
    """Return methods with slots: the paper's in its order, then ours that it has not."""
    # A dict and not a set: the order of the paper is kept.
    slots: dict[str, set[str]] = {name: set() for name in paper_methods()}
    for (name, slot), _ in found:
        slots.setdefault(name, set()).add(slot)
    # All of the paper's numbers of components, unless some were asked for.
    asked = {slot for (_, slot), _ in found} or set(paper_slots())
    for name in paper_table(metric).methods:
        slots[name] |= {NO_COMPONENTS} if name == "Baseline" else asked & set(paper_slots())
    return [(name, slot) for name, some in slots.items() for slot in sorted(some, key=_slot_order)]


def _slot_order(slot: str) -> tuple[int, int]:
    known = [NO_COMPONENTS, *paper_slots()]
    # The paper's numbers of components first, any other by size.
    return (known.index(slot), 0) if slot in known else (len(known), int(slot))


def _table(metric: str, found: Found, columns: list[_Column]) -> Table:
    number, title, _ = paper_table(metric)
    direction = "greater" if greater_is_better(metric) else "less"
    best = _best_places(metric, found, columns)
    table = Table(
        f"Table {number}. {title}, {direction} is better",
        ["algorithm", "k", "", *(column.heading for column in columns)],
        note=_note(metric, found, columns),
        n_names=3,
    )
    for row in _rows(found, metric):
        table.rows += _lines(metric, row, found, best, columns)
    return table


def _best_places(metric: str, found: Found, columns: list[_Column]) -> set[Place]:
    """Return where ours is the best of its column; of seconds nothing, the baseline has least."""
    best: set[Place] = set()
    for column in columns if metric != TIME else []:
        places = [place for place in found if place[1] == column.paper]
        averages = [found[place].average(metric) for place in places]
        marks = best_of(averages, greater_is_better(metric))
        best |= {place for place, mark in zip(places, marks, strict=True) if mark}
    return best


def _lines(
    metric: str, row: Row, found: Found, best: set[Place], columns: list[_Column]
) -> list[list[TableCell]]:
    """Return the lines of one method and slot: ours, the paper's, their difference."""
    ours, paper, differences = [], [], []
    shown_metric = MEASURED_AS.get(metric, metric)
    for column in columns:
        place = row, column.paper
        summary, figure = found.get(place), paper_figure(metric, *row, column.paper)
        shown = format_result(summary, shown_metric)
        ours.append(shown._replace(mark="best") if place in best else shown)
        paper.append(TableCell(_paper(metric, figure), "muted"))
        # Other rows and labels: a difference would be a number without meaning.
        compared = None if column.stands_in else figure
        average = summary.average(shown_metric) if summary else None
        differences.append(_difference(metric, average, compared))
    name, slot = row
    slot = MISSING if slot == NO_COMPONENTS else slot
    lines = [table_row(name, slot, "ours", *ours)]
    # Only the first line has the name; those below it belong to it.
    if any(cell.text != MISSING for cell in paper):
        lines.append(table_row("", "", TableCell("paper", "muted"), *paper))
    if any(cell.text != MISSING for cell in differences):
        kind = "ratio" if metric == TIME else "difference"
        lines.append(table_row("", "", TableCell(kind, "muted"), *differences))
    return lines


def _paper(metric: str, figure: PaperFigure | None) -> str:
    """Return a figure as printed; seconds to four digits, so that four columns fit a screen."""
    if figure is None:
        return MISSING
    decimals = figure.decimals
    if metric == TIME:
        decimals = min(decimals, decimals_of(figure.mean, 0, 4))
    return format_to_decimals(Average(figure.mean, figure.deviation, 5), decimals)


def _difference(metric: str, ours: Average | None, figure: PaperFigure | None) -> TableCell:
    if ours is None or figure is None:
        return TableCell(MISSING, "muted")
    if metric == TIME:
        return TableCell(format_ratio(ours.mean / figure.mean) if figure.mean else MISSING)
    text = format_difference(ours.mean - figure.mean, figure.decimals)
    return TableCell(text, "differs" if differs(ours, figure) else "")


def differs(ours: Average, figure: PaperFigure) -> bool:
    """Tell whether ours differs from the paper's by more than chance and rounding.

    Better or worse makes no matter: a study that is repeated should agree.

    Examples
    --------
    >>> paper = PaperFigure(0.587, 0.011, 3)
    >>> differs(Average(0.617, 0.009, 5), paper), differs(Average(0.604, 0.009, 5), paper)
    (True, False)

    The paper's 0.018 ± 0.000 may be anything from 0.0175 to 0.0185:

    >>> differs(Average(0.0184, 0.00001, 5), PaperFigure(0.018, 0.0, 3))
    False
    """
    known = [value for value in (ours.deviation, figure.deviation) if value is not None]
    if not known:
        return False
    # s² = (s₁² + s₂²) / 2: both are deviations of about as many folds.
    pooled = math.sqrt(sum(value**2 for value in known) / len(known))
    # Beyond two deviations, and beyond what rounding in print could explain.
    return abs(ours.mean - figure.mean) > 2 * pooled + figure.rounding


def _note(metric: str, found: Found, columns: list[_Column]) -> str:
    counts = [one.count for summary in found.values() if (one := summary.average(metric))]
    sentences = [f"Ours: {_what_runs_give(counts)}. Paper: five folds."]
    if metric == TIME:
        sentences.append(
            "Ours is processor time, all threads together. Ratio: ours to the paper's, which was "
            "measured on another machine and is shown to four digits."
        )
    else:
        sentences.append(
            "Sets as in the paper: PLST, FaIE and ML-CSSP round, the others keep the cardinality. "
            "A figure differs where the difference exceeds two pooled deviations and the rounding "
            "of the printed figure."
        )
    if metric != TIME and any(
        name.partition(" · ")[0].endswith(", tuned") for (name, _), _ in found
    ):
        sentences.append(
            "Tuned: parameters chosen on inner folds of the training rows, features scaled alike, "
            "cardinality for all."
        )
    if {slot for (_, slot), _ in found} & set(paper_slots()):
        sentences.append("k 25(0) is 25 components on Enron and 250 on the others.")
    stand_ins = [HEADINGS[column.paper] for column in columns if column.stands_in]
    if stand_ins:
        sentences.append(
            f"{' and '.join(stand_ins)}: stand-in, other rows and labels (see Table 1); the "
            "paper's figures are there for orientation only, no difference is formed."
        )
    return " ".join(sentences)


def _what_runs_give(counts: list[int]) -> str:
    """Return what figures are that have so many runs behind them.

    Examples
    --------
    >>> _what_runs_give([5, 5]), _what_runs_give([1, 5])
    ('mean ± deviation of 5 runs', 'mean ± deviation of 1 to 5 runs')
    >>> _what_runs_give([1, 1])
    'a single run'
    """
    if set(counts) == {1}:
        return "a single run"
    ends = sorted({min(counts), max(counts)}) if counts else []
    return "mean ± deviation" + (f" of {' to '.join(map(str, ends))} runs" if ends else "")


def _column_notes(columns: list[_Column], study: dict[str, Any]) -> list[str]:
    """Return a sentence for each column that does not show the paper's own data set."""
    datasets, missing = study.get("datasets", {}), study.get("missing", {})
    sentences = []
    for column in columns:
        heading = HEADINGS[column.paper]
        if column.stands_in:
            note = datasets.get(column.ours, {}).get("note") or "other rows, other labels"
            sentences.append(f"{heading} is shown by {column.ours}: {note.rstrip('.')}.")
        elif column.ours is None:
            reason = missing.get(column.paper, "not among the data sets asked for")
            sentences.append(f"{heading} has no results: {reason.rstrip('.')}.")
    return sentences


def _size_table(columns: list[_Column], study: dict[str, Any]) -> Table:
    table = Table(
        "Table 1. Data sets",
        ["data set", "n", "d", "m", "paper n", "paper d", "paper m"],
        note=" ".join(
            [
                "n rows, d features, m labels.",
                f"Paper, here and in the tables below: {paper_source()}.",
                *_column_notes(columns, study),
            ]
        ),
    )
    for column in columns:
        ours = study.get("datasets", {}).get(column.ours or "", {})
        sizes = [ours.get(name) for name in ("n_samples", "n_features", "n_labels")]
        published = (TableCell(f"{n:,}", "muted") for n in paper_sizes()[column.paper])
        own = (format_number(size, 0) for size in sizes)
        table.rows.append(table_row(column.heading, *own, *published))
    return table
