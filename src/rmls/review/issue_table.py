"""Labels in doubt as a table: those that rows may lack, and those they may have by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rmls.core.errors import InputError
from rmls.core.optional import import_extra
from rmls.datasets import read_texts
from rmls.review.disagreements import Doubts, missing_labels, mistaken_labels
from rmls.review.held_out import HeldOut, read_held_out
from rmls.review.model_review import as_rows
from rmls.review.own_rows import read_own_rows

FORMATS = ("auto", "pandas", "polars", "arrow", "records")
COLUMNS = ("row", "id", "label", "issue", "probability", "labels", "text")
BEGINNING = 200


def label_issues(
    model: Any, held_out: Any = None, train: Any = None, *, format: str = "auto"
) -> Any:
    """Return the labels of rows that a model doubts, as a table, the clearest first.

    Parameters
    ----------
    model : TextRanker or another fitted estimator of rmls that gives probabilities
    held_out : TextTable, Dataset, texts with their labels, or a table, optional
        Rows that the model was not trained on; a frame of pandas or polars or a table of Arrow is
        read by the names of its columns. Without them, the training rows that an `RMLSRanker` was
        judged on before it learned from them.
    train : the same, optional
        The rows that the model was fitted to, where no held-out rows are given.
    format : {"auto", "pandas", "polars", "arrow", "records"}, default="auto"
        What is returned: a frame of pandas where it is installed, else a list of dictionaries.

    Returns
    -------
    table
        With the columns ``row`` (from 0), ``id``, ``label``, ``issue`` (``"missing"`` or
        ``"mistaken"``), ``probability``, ``labels`` (those that the row has) and ``text`` (its
        beginning). First all that are missing, then all mistaken ones.

    Notes
    -----
    A label is missing where the model gives it at least 80% and the row does not have it, and
    mistaken where it gets at most 2% although the model recognises other rows of the label. These
    are the doubts of `review_model`, all of them instead of the first few.

    Examples
    --------
    >>> from rmls import TextRanker
    >>> from rmls.review import label_issues
    >>> texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 10
    >>> labels = [["tax"], ["sea"], ["tax"], ["sea"]] * 10
    >>> model = TextRanker().fit(texts, labels)
    >>> wrong = (["tax on tea", "the sea"], [["sea"], ["sea"]])
    >>> [(each["row"], each["label"]) for each in label_issues(model, wrong, format="records")]
    [(0, 'tax')]
    """
    if format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")
    if held_out is not None:
        rows = read_held_out(model, as_rows(_read(held_out)))
    elif train is not None:
        rows, _ = read_own_rows(model, as_rows(_read(train)))
    else:
        raise InputError("give held-out rows, or all rows that the model was fitted to.")
    if rows.ranking.probabilities is None:
        name = type(model).__name__
        raise InputError(f"{name} gives no probabilities to doubt labels by; use Calibrated.")
    missing, _ = missing_labels(rows)
    records = [
        *_records(rows, missing, "missing"),
        *_records(rows, mistaken_labels(rows), "mistaken"),
    ]
    return _table(records, format)


def _read(data: Any) -> Any:
    # Frames of pandas and polars and tables of Arrow have names of columns.
    named = hasattr(data, "columns") or hasattr(data, "column_names")
    return read_texts(data) if named and not hasattr(data, "texts") else data


def _records(rows: HeldOut, found: Doubts, issue: str) -> Iterator[dict[str, Any]]:
    ids = None if rows.table is None else rows.table.ids
    for place, label, chance in zip(*(part.tolist() for part in found), strict=True):
        yield {
            "row": int(rows.places[place]),
            "id": None if ids is None else str(ids[place]),
            "label": rows.names[label],
            "issue": issue,
            "probability": float(chance),
            "labels": rows.labels_of(place),
            "text": rows.quote(place, BEGINNING) if rows.table is not None else None,
        }


def _table(records: list[dict[str, Any]], format: str) -> Any:
    if format == "auto":
        try:
            import pandas  # noqa: F401
        except ImportError:
            return records
        format = "pandas"
    if format == "records":
        return records
    columns = {name: [record[name] for record in records] for name in COLUMNS}
    if format == "arrow":
        return import_extra("pyarrow", "tables", "a table of Arrow").table(columns)
    return import_extra(format, "test", f"a frame of {format}").DataFrame(columns)
