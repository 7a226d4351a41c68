"""Two fitted models on the same rows, with paired intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmls.core.errors import InputError
from rmls.datasets.tables import TextTable
from rmls.review.comparison.changes import LabelChanges, RowChanges, label_changes, row_changes
from rmls.review.comparison.common_columns import (
    CommonColumns,
    Side,
    read_sides,
    read_truth,
)
from rmls.review.findings import quote
from rmls.review.quality import Quality, measure_quality

if TYPE_CHECKING:
    from rich.console import Console

COMPARED = (
    *("P@1", "P@3", "P@5"),
    *("PSP@1", "PSP@3", "PSP@5"),
    *("nDCG@3", "nDCG@5"),
    *("example F", "macro F"),
)
LABELS = ("all", "common")
BEGINNING = 200


@dataclass(frozen=True)
class ModelComparison:
    """What `compare` found; differences are the second model minus the first.

    Attributes
    ----------
    names : tuple of two str
        What the models are called.
    methods : tuple of two str
        Names of their estimators.
    n_rows, n_labels : int
        Rows, and labels that count.
    n_common : int
        Labels that both know.
    n_only : tuple of two int
        Labels that only one of them knows.
    only_common : bool
        Whether labels that one of them does not know are left out.
    quality : Quality
        Figures of both with intervals; ``differences`` are paired by row.
    labels : LabelChanges
        What becomes of every label.
    rows : RowChanges
        Which rows are labelled otherwise.
    """

    names: tuple[str, str]
    methods: tuple[str, str]
    n_rows: int
    n_labels: int
    n_common: int
    n_only: tuple[int, int]
    only_common: bool
    quality: Quality
    labels: LabelChanges
    rows: RowChanges

    def as_dict(self, n_labels: int = 10, n_rows: int = 5) -> dict[str, Any]:
        """Return everything for JSON: so many labels and rows that gain or lose most."""
        return {
            "a": self.names[0],
            "b": self.names[1],
            "methods": list(self.methods),
            "n_rows": self.n_rows,
            "n_labels": self.n_labels,
            "n_common_labels": self.n_common,
            "n_own_labels": list(self.n_only),
            "labels_compared": "common" if self.only_common else "all",
            "figures": self.figures(),
            "labels": {
                **self.labels.counts(),
                "winners": self.labels.winners(n_labels),
                "losers": self.labels.losers(n_labels),
            },
            "rows": {
                **self.rows.counts(),
                "other_sets": self.rows.n_sets,
                "other_best_label": self.rows.n_best,
                "best": self.rows.best(n_rows),
                "worst": self.rows.worst(n_rows),
            },
        }

    def figures(self) -> list[dict[str, Any]]:
        """Return a record for every metric and group: both values, difference and interval."""
        values = self.quality.values
        return [
            {
                "metric": metric,
                "group": group,
                "a": values[self.names[0], metric, group].value,
                "b": values[self.names[1], metric, group].value,
                "difference": found.value,
                "low": found.low,
                "high": found.high,
            }
            for (metric, group), found in self.quality.differences.items()
        ]

    def html(self, name: str = "") -> str:
        """Return the comparison as one page that fetches nothing."""
        from rmls.report.page import to_html
        from rmls.review.comparison.pages import comparison_report

        return to_html(comparison_report(self, name, n_labels=25, n_rows=15))

    def _repr_html_(self) -> str:
        from rmls.core.show.fragments import shown_inside

        return shown_inside(self.html())

    def print(self, console: Console | None = None, name: str = "") -> None:
        """Print the comparison to a terminal."""
        from rmls.report.terminal import print_report
        from rmls.review.comparison.pages import comparison_report

        print_report(comparison_report(self, name), console)


def compare(
    a: Any,
    b: Any,
    X: Any,
    Y: Any = None,
    *,
    X_b: Any = None,
    label_names: Sequence[Any] | None = None,
    labels: str = "all",
    decision: Any = None,
    names: tuple[str, str] = ("A", "B"),
    ids: Sequence[Any] | None = None,
    random_state: int = 0,
) -> ModelComparison:
    """Compare two fitted models on the same rows: what the second gains and loses.

    Parameters
    ----------
    a, b : fitted estimators of rmls
        Differences are those of ``b`` minus ``a``. Neither should have been trained on the rows.
    X : rows as ``a`` takes them, TextTable or Dataset
        Texts for a `TextRanker`, a matrix for other estimators.
    Y : 0/1 matrix, frame, lists of label names, or 1-d classes, optional
        The true labels; those of a `TextTable` or `Dataset` without it.
    X_b : rows as ``b`` takes them, optional
        The same rows, where ``b`` takes others than ``a``: texts beside numbers.
    label_names : sequence, optional
        Names of the columns of a matrix ``Y``.
    labels : {"all", "common"}, default="all"
        Models may know different labels. With ``"all"`` every label of the rows and of both models
        counts, and a model never predicts one that it does not know. With ``"common"`` only labels
        that both know count, as true and as predicted; lists close the gaps.
    decision : str, float or Rule, optional
        How both cut their lists, instead of their own rules.
    names : tuple of two str, default=("A", "B")
        What the models are called.
    ids : sequence, optional
        What the rows are called.
    random_state : int, default=0
        Seed of the draws of rows.

    Returns
    -------
    ModelComparison

    Notes
    -----
    Intervals hold 95% of 300 draws of the rows, the same draws for both models. They say whether a
    difference would be there on other rows of the kind, not whether it would be there after
    another training. Head, torso and tail, and propensities, go by the larger number of training
    rows that either model has of a label. The work goes by the labels that rows have and get:
    no array has rows × labels.

    Examples
    --------
    >>> from rmls import TextRanker, compare
    >>> texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 5
    >>> labels = [["tax"], ["sea"], ["tax"], ["sea"]] * 5
    >>> one = TextRanker().fit(texts[:2], labels[:2])
    >>> two = TextRanker().fit(texts, labels)
    >>> found = compare(one, two, ["salt tax", "the sea"], [["tax"], ["sea"]])
    >>> found.quality.differences["P@1", "all"].value
    0.0
    """
    beginnings = None
    if isinstance(X, TextTable):
        beginnings = [quote(text, BEGINNING) for text in X.texts]
        ids = X.ids if ids is None else ids
    return compare_rows(
        (a, b),
        (X, X if X_b is None else X_b),
        Y,
        label_names=label_names,
        labels=labels,
        decision=decision,
        names=names,
        ids=ids,
        beginnings=beginnings,
        random_state=random_state,
    )


def compare_rows(
    models: tuple[Any, Any],
    rows: tuple[Any, Any],
    Y: Any = None,
    *,
    label_names: Sequence[Any] | None = None,
    labels: str = "all",
    decision: Any = None,
    names: tuple[str, str] = ("A", "B"),
    ids: Sequence[Any] | None = None,
    beginnings: Sequence[str] | None = None,
    random_state: int = 0,
) -> ModelComparison:
    """Compare two models, each on its own form of the rows; ``beginnings`` are those of texts."""
    if labels not in LABELS:
        raise InputError(f"labels must be one of {', '.join(LABELS)}; got {labels!r}.")
    if len(set(names)) != 2:
        raise InputError(f"the two models need different names; got {names[0]!r} twice.")
    truth = read_truth(models[0], rows[0], Y, label_names)
    if not truth.Y.shape[0]:
        raise InputError("there are no rows to compare on.")
    sides = [Side(*each) for each in zip(names, models, rows, strict=True)]
    common = read_sides(sides[0], sides[1], truth, decision, only_common=labels == "common")
    first, second = common.first, common.second
    for prediction in (first, second):
        if prediction.sets.shape[0] != common.Y.shape[0]:
            raise InputError(
                f"{prediction.name} got {prediction.sets.shape[0]} rows but there are labels of "
                f"{common.Y.shape[0]}; both need the same rows."
            )
    both = int((common.known[0] & common.known[1]).sum())
    only = [int(known.sum()) - both for known in common.known]
    return ModelComparison(
        names,
        (type(models[0]).__name__, type(models[1]).__name__),
        int(common.Y.shape[0]),
        both if labels == "common" else len(common.names),
        both,
        (only[0], only[1]),
        labels == "common",
        _measure(common, random_state),
        label_changes(common),
        row_changes(common, ids, beginnings),
    )


def _measure(common: CommonColumns, seed: int) -> Quality:
    # A difference is that of the first in the list minus the next.
    predictions = [common.second, common.first]
    return measure_quality(common.Y, predictions, common.counts, common.n_train, seed, COMPARED)
