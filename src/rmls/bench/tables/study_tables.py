"""What a study ran on and what went missing: imbalance of its data sets, failures."""

from __future__ import annotations

from typing import Any

from rmls.bench.run.records import Record
from rmls.bench.tables.names import failure_reason, format_components, method_names
from rmls.bench.tables.summary import Setting, Summary, run_of
from rmls.core.frequency import GROUP_NAMES
from rmls.report.numbers import MISSING, decimals_of, format_number
from rmls.report.tables import Table, table_row

COUNTS = {"rows": "n_samples", "features": "n_features", "labels": "n_labels"}
RATIOS = ("cardinality", "density", "mean_imbalance_ratio", "mean_ir", "cvir", "scumble")
RATIO_HEADINGS = ("labels per row", "density", "mean ratio", "MeanIR", "CVIR", "SCUMBLE")


def dataset_title(dataset: str, study: dict[str, Any]) -> str:
    """Return the name of a data set with its note, such as what it stands in for.

    Examples
    --------
    >>> dataset_title("debdeps", {"datasets": {"debdeps": {"note": "stand-in for Wiki"}}})
    'debdeps (stand-in for Wiki)'
    """
    note = study.get("datasets", {}).get(dataset, {}).get("note", "")
    return f"{dataset} ({note.rstrip('.')})" if note else dataset


def imbalance_table(study: dict[str, Any]) -> Table:
    """Return the imbalance statistics of the data sets of a study.

    Parameters
    ----------
    study : dict
        ``datasets`` whose ``imbalance`` is ``rmls.imbalance.describe(Y).as_dict()``.

    Examples
    --------
    >>> from rmls.imbalance import describe
    >>> report = describe([[1, 0], [1, 1], [1, 0]]).as_dict()
    >>> table = imbalance_table({"datasets": {"toy": {"n_features": 7, "imbalance": report}}})
    >>> [cell.text for cell in table.rows[0]][:5]
    ['toy', '3', '7', '2', '1.333']
    """
    table = Table(
        "Imbalance of the data sets",
        ["data set", *COUNTS, *RATIO_HEADINGS, "label sets", *GROUP_NAMES],
        note="Ratio: irrelevant to relevant rows of a label. Head, torso and tail: labels (their "
        "share of all label assignments).",
    )
    for dataset, entry in study.get("datasets", {}).items():
        report = entry.get("imbalance") or {}
        # Sizes of the data set itself count before those of its description.
        values = {**report, **{key: entry[key] for key in COUNTS.values() if key in entry}}
        texts = [format_number(values.get(key), 0) for key in COUNTS.values()]
        texts += [_ratio_text(values.get(key)) for key in RATIOS]
        texts += [format_number(report.get("n_label_sets"), 0)]
        texts += [_group_text(report.get("groups", {}).get(group)) for group in GROUP_NAMES]
        table.rows.append(table_row(dataset_title(dataset, study), *texts))
    return table


def _ratio_text(value: float | None) -> str:
    if value is None:
        return MISSING
    return format_number(value, 1 if value >= 10 else decimals_of(value))


def _group_text(group: dict[str, Any] | None) -> str:
    if not group:
        return MISSING
    return f"{group['n_labels']:,} ({100 * group['positive_share']:.0f} %)"


def missing_text(study: dict[str, Any]) -> str:
    """Return why data sets of the study have no results, a line each; empty if none is missing.

    Examples
    --------
    >>> missing_text({"missing": {"wiki": "not available."}})
    'wiki: not available.'
    """
    return "\n".join(f"{name}: {reason}" for name, reason in study.get("missing", {}).items())


def failure_table(summaries: list[Summary]) -> Table | None:
    """Return the runs that failed and why, None where none did.

    One fit that fails is counted once, however many rules it should have answered for.
    """
    names = method_names(summary.setting for summary in summaries)
    # Failures that read the same are one row; a set counts a fit once for all its rules.
    runs: dict[tuple[str, ...], set[tuple[int, int]]] = {}
    for summary in summaries:
        for record in summary.failed:
            texts = _failure_texts(names, summary.setting, record)
            runs.setdefault(texts, set()).add(run_of(record))
    if not runs:
        return None
    table = Table(
        "Runs that failed",
        ["experiment", "data set", "method", "k", "reason", "message", "runs"],
        n_names=6,
    )
    for texts, failed in runs.items():
        table.rows.append(table_row(*texts, str(len(failed))))
    return table


def _failure_texts(names: dict[Setting, str], setting: Setting, record: Record) -> tuple[str, ...]:
    return (
        setting.experiment,
        setting.dataset,
        names[setting],
        format_components(setting),
        failure_reason(record),
        record["failure"]["message"] if record["failure"] else "",
    )
