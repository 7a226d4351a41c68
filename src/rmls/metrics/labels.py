"""Figures of every label by itself, and the labels where most could be gained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError
from rmls.core.frequency import GROUP_NAMES, group_labels
from rmls.core.options import check_choice, check_whole
from rmls.metrics._counts import Sizes, count_sets
from rmls.metrics._inputs import Floats, Ints, check_train_counts, divide
from rmls.metrics._pairs import list_pairs

By = Literal["gain", "f1"]
ORDERS: tuple[By, ...] = ("gain", "f1")


@dataclass(frozen=True, eq=False, repr=False)
class LabelReport:
    """One value per label in every column; ``pandas.DataFrame(report.as_dict())`` is a table.

    Attributes
    ----------
    label : list
        Names, or numbers.
    group : list of str or None
        Head, torso or tail, by the training rows.
    train_rows : ndarray of int or None
        Rows of the training set that have the label.
    test_rows, predicted, correct : ndarray of int64
        Rows that have the label, rows it is predicted for, and rows where both is so.
    precision, recall, f1 : ndarray of float64
        0 where there is nothing to divide by, so that means are the macro metrics; `rows` has
        None there.
    listed : ndarray of int64 or None
        Rows for which there is a probability of the label.
    mean_probability, observed_share : ndarray of float64 or None
        Over these rows, the mean probability and the share that has the label: where the model is
        right about the label they agree. NaN without such rows.
    gain : ndarray of float64
        ``test_rows * (1 - f1)``: what a perfect prediction of the label would gain.
    """

    label: list[Any]
    group: list[str] | None
    train_rows: Ints | None
    test_rows: Ints
    predicted: Ints
    correct: Ints
    precision: Floats
    recall: Floats
    f1: Floats
    listed: Ints | None
    mean_probability: Floats | None
    observed_share: Floats | None
    gain: Floats

    @property
    def columns(self) -> list[str]:
        """Names of the columns that there are."""
        names = [each.name for each in fields(self)]
        return [name for name in names if getattr(self, name) is not None]

    def as_dict(self) -> dict[str, Any]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in self.columns}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the figures of one label after the other, None where they are not defined."""
        columns = [_plain(getattr(self, name)) for name in self.columns]
        for name, open_ in self._undefined().items():
            column = columns[self.columns.index(name)]
            for place in np.flatnonzero(open_).tolist():
                column[place] = None
        for values in zip(*columns, strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def _undefined(self) -> dict[str, NDArray[np.bool_]]:
        """Return where a column has nothing to divide by."""
        found = {
            "precision": self.predicted == 0,
            "recall": self.test_rows == 0,
            "f1": (self.predicted == 0) & (self.test_rows == 0),
        }
        if self.listed is not None:
            found |= dict.fromkeys(("mean_probability", "observed_share"), self.listed == 0)
        return found

    def take(self, labels: NDArray[np.int64]) -> LabelReport:
        """Return the report of some labels, given by their place, in that order."""
        places = labels.tolist()
        # Columns that are missing stay so.
        taken: dict[str, Any] = dict.fromkeys(each.name for each in fields(self))
        for name, column in self.as_dict().items():
            is_list = isinstance(column, list)
            taken[name] = [column[place] for place in places] if is_list else column[labels]
        return LabelReport(**taken)

    def worst(self, n: int = 20, by: By = "gain") -> LabelReport:
        """Return the worst labels among those that occur, the worst first.

        Parameters
        ----------
        n : int, default=20
        by : {"gain", "f1"}, default="gain"
            Largest gain first, or smallest F1 first and among equals the most frequent one.
        """
        check_whole("n", n, 1)
        check_choice("by", by, ORDERS)
        first = -self.gain if by == "gain" else self.f1
        # The last key counts first; equal labels stay in their order.
        order = np.lexsort((-self.test_rows, first))
        return self.take(order[self.test_rows[order] > 0][:n])

    def __len__(self) -> int:
        return len(self.label)

    def __repr__(self) -> str:
        return f"LabelReport of {len(self):,} labels: {', '.join(self.columns)}"


def per_label(
    Y_true: Any,
    Y_pred: Any,
    *,
    probabilities: Any = None,
    train_counts: ArrayLike | None = None,
    names: Sequence[Any] | None = None,
) -> LabelReport:
    """Return precision, recall, F1, support and reliability of every label.

    Parameters
    ----------
    Y_true, Y_pred : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    probabilities : Ranking, sparse matrix or array, shape (n_samples, n_labels), optional
        Only pairs of row and label that are listed count; of a `Ranking` of a model, its labels.
    train_counts : array-like of int, shape (n_labels,), optional
        Positive training rows of every label.
    names : sequence, optional
        Names of the labels.

    Notes
    -----
    O(nnz + m): nothing of the size rows × labels is made.

    Examples
    --------
    >>> report = per_label([[1, 0], [1, 1], [0, 1]], [[1, 0], [1, 0], [0, 1]], names=["law", "tax"])
    >>> report.recall.tolist()
    [1.0, 0.5]
    >>> worst = report.worst(1)
    >>> worst.label, worst.gain.round(2).tolist()
    (['tax'], [0.67])
    """
    counts = count_sets(Y_true, Y_pred)
    sizes, n_labels = counts.by_label, int(counts.true.shape[1])
    if names is not None and len(names) != n_labels:
        raise InputError(f"{len(names)} names were given for {n_labels} labels.")
    trained = check_train_counts(train_counts, n_labels)
    f1 = divide(2 * sizes.shared, sizes.true + sizes.predicted)
    listed, chance, share = _reliability(counts.true, probabilities)
    return LabelReport(
        label=list(range(n_labels)) if names is None else list(names),
        group=None if trained is None else [GROUP_NAMES[g] for g in group_labels(trained)],
        train_rows=trained,
        **_counts(sizes),
        precision=divide(sizes.shared, sizes.predicted),
        recall=divide(sizes.shared, sizes.true),
        f1=f1,
        listed=listed,
        mean_probability=chance,
        observed_share=share,
        gain=sizes.true * (1 - f1),
    )


def _counts(sizes: Sizes) -> dict[str, Ints]:
    return {"test_rows": sizes.true, "predicted": sizes.predicted, "correct": sizes.shared}


def _reliability(true: Any, probabilities: Any) -> tuple[Ints | None, Floats | None, Floats | None]:
    """Return the listed rows of every label, their mean probability and the share that is true."""
    if probabilities is None:
        return None, None, None
    pairs = list_pairs(true, probabilities)
    n_labels = int(true.shape[1])
    listed = np.bincount(pairs.labels, minlength=n_labels)
    sums = (np.bincount(pairs.labels, w, n_labels) for w in (pairs.probabilities, pairs.outcomes))
    chance, share = (divide(each, listed, np.nan) for each in sums)
    return listed, chance, share


def _plain(column: Any) -> list[Any]:
    return list(column) if isinstance(column, list) else column.tolist()
