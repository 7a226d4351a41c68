"""What changes from one model to another: for labels, and row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.ranking import Ranking
from rmls.review.comparison.common_columns import CommonColumns
from rmls.review.quality import Prediction

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LabelChanges:
    """How every label does in the sets of two models; arrays have one entry a label.

    Attributes
    ----------
    names : list
    train_rows, test_rows : ndarray of int64
    found, wrong : ndarray of int64, shape (2, n_labels)
        Rows of the label that each model finds, and rows without it that get it.
    f1 : ndarray of float64, shape (2, n_labels)
        0 for a label without rows.
    """

    names: list[Any]
    train_rows: Ints
    test_rows: Ints
    found: Ints
    wrong: Ints
    f1: Floats

    @property
    def gain(self) -> Floats:
        """Test rows times the difference of F: what the label adds to a mean over assignments."""
        gain: Floats = self.test_rows * (self.f1[1] - self.f1[0])
        return gain

    def counts(self) -> dict[str, int]:
        """Return how many labels of the rows are better, worse and as before."""
        return _count_signs(self.gain[self.test_rows > 0])

    def winners(self, n: int = 10) -> list[dict[str, Any]]:
        """Return the labels that gain most."""
        return self._records(np.argsort(-self.gain, kind="stable")[:n], 1)

    def losers(self, n: int = 10) -> list[dict[str, Any]]:
        """Return the labels that lose most."""
        return self._records(np.argsort(self.gain, kind="stable")[:n], -1)

    def _records(self, order: Ints, sign: int) -> list[dict[str, Any]]:
        gain = self.gain
        return [
            {
                "label": self.names[label],
                "train_rows": int(self.train_rows[label]),
                "test_rows": int(self.test_rows[label]),
                "found": self.found[:, label].tolist(),
                "wrong": self.wrong[:, label].tolist(),
                "f1": self.f1[:, label].tolist(),
                "gain": float(gain[label]),
            }
            for label in order.tolist()
            if sign * gain[label] > 0
        ]


@dataclass(frozen=True)
class RowChanges:
    """Rows whose predicted labels, or whose best label, are others in the second model.

    Attributes
    ----------
    rows : ndarray of int64
        Their numbers, from 0.
    f1 : ndarray of float64, shape (2, n_rows)
        Of all rows.
    n_sets, n_best : int
        Rows with another predicted set, and with another best label.
    common : CommonColumns
        What both models say.
    ids, texts : sequence or None
        What rows are called, and how they begin.
    """

    rows: Ints
    f1: Floats
    n_sets: int
    n_best: int
    common: CommonColumns
    ids: Sequence[Any] | None = None
    texts: Sequence[str] | None = None

    def counts(self) -> dict[str, int]:
        """Return how many rows are better, worse and as before by the F of their set."""
        return _count_signs(self.f1[1] - self.f1[0])

    def best(self, n: int = 5) -> list[dict[str, Any]]:
        """Return the rows that gain most."""
        return self._extremes(n, 1)

    def worst(self, n: int = 5) -> list[dict[str, Any]]:
        """Return the rows that lose most."""
        return self._extremes(n, -1)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield all changed rows in their order."""
        return map(self.record, self.rows.tolist())

    def record(self, row: int) -> dict[str, Any]:
        """Return what is known of one row; it is counted from 1, as in messages about files."""
        common = self.common
        found: dict[str, Any] = {"row": row + 1}
        if self.ids is not None:
            found["id"] = self.ids[row]
        if self.texts is not None:
            found["text"] = self.texts[row]
        found["true"] = self._labels(common.Y, row)
        for side, prediction in enumerate((common.first, common.second)):
            found[f"labels_{'ab'[side]}"] = self._labels(prediction.sets, row)
        found |= {f"f1_{'ab'[side]}": float(self.f1[side, row]) for side in (0, 1)}
        return found

    def _labels(self, matrix: sparse.csr_matrix, row: int) -> list[Any]:
        inside = matrix.indices[slice(*matrix.indptr[row : row + 2])]
        return [self.common.names[label] for label in inside.tolist()]

    def _extremes(self, n: int, sign: int) -> list[dict[str, Any]]:
        change = sign * (self.f1[1] - self.f1[0])[self.rows]
        order = np.argsort(-change, kind="stable")[:n]
        return [self.record(int(self.rows[at])) for at in order.tolist() if change[at] > 0]


def label_changes(common: CommonColumns) -> LabelChanges:
    """Return what becomes of every label; sums over the labels of rows, never rows × labels."""
    n_labels = len(common.names)
    true = np.bincount(common.Y.indices, minlength=n_labels)
    sets = [prediction.sets for prediction in (common.first, common.second)]
    found = np.stack(
        [np.bincount(common.Y.multiply(each).tocsr().indices, minlength=n_labels) for each in sets]
    )
    predicted = np.stack([np.bincount(each.indices, minlength=n_labels) for each in sets])
    return LabelChanges(
        common.names, common.counts, true, found, predicted - found, _f1(true, predicted, found)
    )


def row_changes(
    common: CommonColumns, ids: Sequence[Any] | None, texts: Sequence[str] | None
) -> RowChanges:
    """Return the rows whose predicted sets or best labels differ."""
    true = np.diff(common.Y.indptr)
    sets = [prediction.sets for prediction in (common.first, common.second)]
    predicted = np.stack([np.diff(each.indptr) for each in sets])
    found = np.stack([np.diff(common.Y.multiply(each).tocsr().indptr) for each in sets])
    shared = np.diff(sets[0].multiply(sets[1]).tocsr().indptr)
    other_set = predicted.sum(axis=0) != 2 * shared
    first, second = (_best(prediction) for prediction in (common.first, common.second))
    other_best = first != second
    rows = np.flatnonzero(other_set | other_best)
    return RowChanges(
        rows,
        _f1(true, predicted, found),
        int(other_set.sum()),
        int(other_best.sum()),
        common,
        ids,
        texts,
    )


def _best(prediction: Prediction) -> Ints:
    """Return the best label of every row, -1 where there is none."""
    ranking: Ranking = prediction.ranking
    best = np.full(ranking.n_samples, -1, np.int64)
    full = np.flatnonzero(ranking.lengths)
    best[full] = ranking.labels[ranking.indptr[full]]
    return best


def _f1(true: Ints, predicted: Ints, found: Ints) -> Floats:
    total = true + predicted
    f1: Floats = np.divide(2.0 * found, total, out=np.zeros(total.shape), where=total > 0)
    return f1


def _count_signs(values: Floats) -> dict[str, int]:
    better, worse = int((values > 0).sum()), int((values < 0).sum())
    return {"better": better, "worse": worse, "same": len(values) - better - worse}
