"""Settings and results as texts of table cells: names of methods, rules, reasons of failure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rmls.bench.run.records import Record
from rmls.bench.study.methods import NO_RULE
from rmls.bench.tables.summary import COSTS, Setting, Summary
from rmls.report.averages import format_amount, format_average
from rmls.report.numbers import MISSING
from rmls.report.tables import TableCell, table_row


def format_result(summary: Summary | None, name: str, digits: int = 3) -> TableCell:
    """Return a figure of a setting; why there is none, where all of its runs failed.

    Costs are written by significant digits, metrics by decimals.
    """
    average = summary.average(name) if summary else None
    # Only where no run at all ended well; else the mean of those that did is shown.
    if summary and average is None and not summary.records and summary.failed:
        return TableCell(f"failed: {failure_reason(summary.failed[0])}", "muted")
    return TableCell(format_amount(average) if name in COSTS else format_average(average, digits))


def failure_reason(record: Record) -> str:
    """Return why a run failed: time, memory, error or crash."""
    return record["failure"]["reason"] if record["failure"] else "error"


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
        variants[setting._replace(variant="")].add(setting.variant)
    # One ambiguous place names the variant everywhere: a method has one name in a table.
    ambiguous = {_method(key) for key, several in variants.items() if len(several) > 1}
    return {
        setting: f"{setting.label} ({setting.variant})"
        if setting.variant and _method(setting) in ambiguous
        else setting.label
        for setting in found
    }


def _method(setting: Setting) -> tuple[str, str]:
    return setting.experiment, setting.label


def name_with_rule(name: str, setting: Setting) -> str:
    """Return the name of a method with its decision rule; alone for a method that takes none."""
    return name if setting.decision == NO_RULE else f"{name} · {setting.decision}"


def setting_cells(names: dict[Setting, str], setting: Setting) -> list[TableCell]:
    """Return method, number of components and decision rule of a setting."""
    return table_row(names[setting], format_components(setting), format_rule(setting))


def format_components(setting: Setting) -> str:
    """Return the number of components of a setting; a dash for a method without them."""
    return MISSING if setting.n_components is None else str(setting.n_components)


def format_rule(setting: Setting) -> str:
    """Return the decision rule of a setting; a dash for a method that takes none."""
    return MISSING if setting.decision == NO_RULE else setting.decision
