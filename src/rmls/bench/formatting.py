"""Figures and names as texts of table cells: decimals, deviations, differences, ratios."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from rmls.bench.records import Record
from rmls.bench.study import NO_RULE
from rmls.bench.summary import TIMES, Cell, Setting, Summary
from rmls.bench.tables import TableCell

MISSING = "–"
MOST_DECIMALS = 8
MOST_DECIMALS_OF_AMOUNTS = 4


def decimals_of(value: float, digits: int = 3, significant: int = 2) -> int:
    """Return the decimals that show a value: ``digits``, more where it is small.

    Examples
    --------
    >>> decimals_of(0.52), decimals_of(0.0014), decimals_of(0.00049), decimals_of(0.0)
    (3, 4, 5, 3)
    """
    if not math.isfinite(value) or value == 0:
        return digits
    needed = significant - 1 - math.floor(math.log10(abs(value)))
    return min(max(digits, needed), max(digits, MOST_DECIMALS))


def format_number(value: float | None, decimals: int = 3) -> str:
    """Return a number with a fixed number of decimals; a dash where there is none.

    Examples
    --------
    >>> format_number(0.0004, 3), format_number(-0.0004, 3), format_number(15173.62, 0)
    ('0.000', '0.000', '15,174')
    >>> format_number(None), format_number(float("nan"))
    ('–', '–')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text


def format_cell(cell: Cell | None, digits: int = 3) -> str:
    """Return mean ± deviation with the same decimals; only the mean of a single value.

    Examples
    --------
    >>> format_cell(Cell(0.6042, 0.0098, 5)), format_cell(Cell(0.00049, 0.00001, 5))
    ('0.604 ± 0.010', '0.00049 ± 0.00001')
    >>> format_cell(Cell(0.6042, None, 1)), format_cell(None)
    ('0.604', '–')
    """
    return MISSING if cell is None else format_with(cell, decimals_of(cell.mean, digits))


def format_amount(cell: Cell | None, significant: int = 3) -> str:
    """Return mean ± deviation of seconds or sizes, by the significant digits of the mean.

    Examples
    --------
    >>> format_amount(Cell(0.02134, 0.0011, 5)), format_amount(Cell(1226.5, 34.51, 5))
    ('0.0213 ± 0.0011', '1,226 ± 35')
    """
    if cell is None:
        return MISSING
    decimals = decimals_of(cell.mean, 0, significant)
    return format_with(cell, min(decimals, MOST_DECIMALS_OF_AMOUNTS))


def format_with(cell: Cell, decimals: int) -> str:
    """Return mean ± deviation with a fixed number of decimals."""
    mean = format_number(cell.mean, decimals)
    if cell.deviation is None:
        return mean
    return f"{mean} ± {format_number(cell.deviation, decimals)}"


def format_result(summary: Summary | None, name: str, digits: int = 3) -> TableCell:
    """Return a figure of a setting; why there is none, where all of its runs failed.

    Costs are written by significant digits, metrics by decimals.
    """
    cell = summary.cell(name) if summary else None
    if summary and cell is None and not summary.records and summary.failed:
        return TableCell(f"failed: {failure_reason(summary.failed[0])}", "muted")
    return TableCell(format_amount(cell) if name in TIMES else format_cell(cell, digits))


def failure_reason(record: Record) -> str:
    """Return why a run failed: time, memory, error or crash."""
    return record["failure"]["reason"] if record["failure"] else "error"


def scaled(cell: Cell | None, factor: float) -> Cell | None:
    """Return a cell in another unit.

    Examples
    --------
    >>> scaled(Cell(3e6, 1e6, 5), 1e-6)
    Cell(mean=3.0, deviation=1.0, count=5)
    """
    if cell is None:
        return None
    deviation = None if cell.deviation is None else cell.deviation * factor
    return Cell(cell.mean * factor, deviation, cell.count)


def format_difference(value: float | None, decimals: int = 3) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> format_difference(0.0171), format_difference(-0.0171), format_difference(0.0)
    ('+0.017', '-0.017', '0.000')
    """
    text = format_number(value, decimals)
    return text if text == MISSING or text[0] == "-" or not text.strip("0.,") else f"+{text}"


def format_interval(interval: tuple[float, float] | None, decimals: int = 3) -> str:
    """Return both ends of an interval with their signs.

    Examples
    --------
    >>> format_interval((-0.0012, 0.034)), format_interval(None)
    ('[-0.001, +0.034]', '–')
    """
    if interval is None:
        return MISSING
    low, high = (format_difference(end, decimals) for end in interval)
    return f"[{low}, {high}]"


def format_ratio(value: float | None) -> str:
    """Return a ratio to two significant digits.

    Examples
    --------
    >>> format_ratio(0.0614), format_ratio(1.02), format_ratio(12.3), format_ratio(None)
    ('×0.061', '×1.02', '×12', '–')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    decimals = 2 if 0.1 <= value < 10 else decimals_of(value, 0)
    return f"×{format_number(value, decimals)}"


def format_p(value: float) -> str:
    """Return a probability of a test.

    Examples
    --------
    >>> format_p(0.0312), format_p(1e-9), format_p(1.0)
    ('0.031', '< 0.0001', '1.000')
    """
    return "< 0.0001" if value < 1e-4 else format_number(value, decimals_of(value))


def best_of(cells: Sequence[Cell | None], greater: bool) -> list[bool]:
    """Return which cells have the best mean; none has where all have the same.

    Examples
    --------
    >>> best_of([Cell(0.2, None, 1), None, Cell(0.3, 0.1, 2)], greater=True)
    [False, False, True]
    >>> best_of([Cell(0.2, None, 1), None], greater=False)
    [False, False]
    """
    means = [cell.mean for cell in cells if cell and math.isfinite(cell.mean)]
    if len(set(means)) < 2:
        return [False] * len(cells)
    best = max(means) if greater else min(means)
    return [cell is not None and cell.mean == best for cell in cells]


def method_names(settings: Iterable[Setting]) -> dict[Setting, str]:
    """Return the name of each setting's method, with its variant where the label is not enough.

    Examples
    --------
    >>> plain = Setting("alpha", "enron", "RMLS", 25, "", "cardinality")
    >>> method_names([plain])[plain]
    'RMLS'
    >>> other = plain._replace(variant="tol=0.1")
    >>> list(method_names([plain, other]).values())
    ['RMLS', 'RMLS (tol=0.1)']
    """
    found = list(settings)
    variants = defaultdict(set)
    for setting in found:
        variants[_without_variant(setting)].add(setting.variant)
    # One ambiguous place names the variant everywhere: a method has one name in a table.
    shared = {_method(key) for key, several in variants.items() if len(several) > 1}
    return {
        setting: f"{setting.label} ({setting.variant})"
        if setting.variant and _method(setting) in shared
        else setting.label
        for setting in found
    }


def _without_variant(setting: Setting) -> Setting:
    return setting._replace(variant="")


def _method(setting: Setting) -> tuple[str, str]:
    return setting.experiment, setting.label


def format_components(setting: Setting) -> str:
    """Return the number of components of a setting; a dash for a method without them."""
    return MISSING if setting.n_components is None else str(setting.n_components)


def format_rule(setting: Setting) -> str:
    """Return the decision rule of a setting; a dash for a method that takes none."""
    return MISSING if setting.decision == NO_RULE else setting.decision
