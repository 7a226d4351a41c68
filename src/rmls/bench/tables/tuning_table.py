"""What tuned methods chose on inner folds of their training rows."""

from __future__ import annotations

from collections import Counter

from rmls.bench.tables.names import format_components, method_names
from rmls.bench.tables.summary import Summary
from rmls.report.tables import Table, table_row

NOTE = (
    "Every run takes the candidate with the best F on inner folds of its training rows; test rows "
    "have no say."
)


def tuning_table(summaries: list[Summary]) -> Table | None:
    """Return what the runs of every tuned method chose, None where nothing was tuned.

    Examples
    --------
    >>> tuning_table([]) is None
    True
    """
    names = method_names(summary.setting for summary in summaries)
    rows = []
    for summary in summaries:
        chosen = _chosen(summary)
        if chosen:
            said = "; ".join(f"{text} ({n})" for text, n in chosen.most_common())
            setting = summary.setting
            place = setting.dataset, names[setting], format_components(setting)
            rows.append(table_row(*place, said, str(chosen.total())))
    if not rows:
        return None
    columns = ["data set", "method", "k", "chosen (in runs)", "runs"]
    return Table("What tuned methods chose", columns, rows, NOTE, n_names=4)


def _chosen(summary: Summary) -> Counter[str]:
    measured = [record["measured"] for record in summary.records]
    found = [one["tuning"]["chosen"] for one in measured if one and "tuning" in one]
    return Counter(", ".join(f"{k} = {v}" for k, v in chosen.items()) for chosen in found)
