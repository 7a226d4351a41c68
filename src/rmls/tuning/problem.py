"""Rows to tune on: models are fitted to some of them and asked about others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from rmls.core.errors import InputError
from rmls.core.labels import read_labels
from rmls.core.ranking import Ranking
from rmls.core.sparse import label_counts
from rmls.core.version import VERSION
from rmls.models.ranker.ranker import RMLSRanker
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.text.text_ranker import TextRanker
from rmls.review.held_out import inner_estimator
from rmls.review.quality import Prediction
from rmls.tuning.choices import Option

# Texts that tell one table from another, beside the labels of all.
PRINTED = 100

Ints = NDArray[np.int64]


class Problem:
    """A model with its default parameters, and all rows that it may learn from.

    Parameters
    ----------
    model : RMLSRanker, TextRanker or another estimator of rmls, not fitted
    X : rows as the model takes them; a mapping of columns for texts
    Y : labels of any container
    label_names : sequence, optional
        Names of the columns of a matrix.
    label_text : optional
        What labels are called, as in the ``fit`` of the model.

    Attributes
    ----------
    Y : CSR matrix of 0/1, shape (n_rows, n_labels + 1)
        The last column stands for labels that no row has, which a model may know by name.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        Y: Any,
        label_names: Sequence[Any] | None = None,
        label_text: Any = None,
    ) -> None:
        self.model, self.label_text = model, label_text
        self._X, self._given = X, Y
        self._space, matrix = read_labels(Y, names=label_names)
        if count_rows(X) != matrix.shape[0]:
            raise InputError(
                f"X has {count_rows(X)} rows but Y has {matrix.shape[0]}; both need one row per "
                "sample."
            )
        self.Y = sparse.csr_matrix(
            (matrix.data, matrix.indices, matrix.indptr), (matrix.shape[0], matrix.shape[1] + 1)
        )
        self._place = {name: column for column, name in enumerate(self._space.names)}
        self._label_names = label_names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    def make(self, params: Mapping[str, Any]) -> Any:
        """Return a model with some parameters changed, not fitted."""
        return clone(self.model).set_params(**params)

    def fit(self, params: Mapping[str, Any], rows: Ints | None = None) -> Any:
        """Fit a model to some rows, or to all."""
        more = {} if self.label_text is None else {"label_text": self.label_text}
        if rows is None:
            more["label_names"] = self._label_names
            return self.make(params).fit(self._X, self._given, **more)
        named = self._space.container in ("names", "single")
        Y = self._taken_labels(rows)
        if not named and all(isinstance(name, str) for name in self._space.names):
            more["label_names"] = self._space.names
        return self.make(params).fit(take_rows(self._X, rows), Y, **more)

    def counts(self, rows: Ints) -> NDArray[np.int64]:
        """Return how many of some rows have every label."""
        return label_counts(self.Y[rows])

    def predict(
        self,
        model: Any,
        rows: Ints,
        options: Sequence[Option],
        *,
        depth: int = 5,
        sets: bool = True,
    ) -> dict[str, Prediction]:
        """Return what a fitted model says about rows, under every option."""
        X = take_rows(self._X, rows)
        X = model.features_.transform(X) if isinstance(model, TextRanker) else X
        estimator = inner_estimator(model)
        columns = self._columns(estimator)
        found: dict[str, Prediction] = {}
        for option in options:
            asked = with_tail(estimator, option.tail)
            ranking = asked.rank(X, depth) if depth else None
            chosen = asked.predict_sets(X, option.decision) if sets else None
            found[option.name] = self._in_columns(option.name, ranking, chosen, columns, len(rows))
        with_tail(estimator, None)
        return found

    def fingerprint(self) -> str:
        """Return a text by which the same model and rows are known again."""
        digest = hashlib.sha256(VERSION.encode())
        for part in (self.Y.indptr, self.Y.indices):
            digest.update(np.ascontiguousarray(part, np.int64).tobytes())
        if isinstance(self._X, Mapping):
            texts = [str(cells[row]) for cells in self._X.values() for row in self._printed()]
        elif sparse.issparse(self._X):
            matrix: Any = self._X
            texts = [str(float(abs(matrix).sum())), str(matrix.shape)]
        else:
            first = take_rows(self._X, self._printed())
            texts = [str(np.asarray(first, dtype=object).tolist())]
        digest.update(json.dumps([*texts, repr(self.model)]).encode())
        return digest.hexdigest()

    def _printed(self) -> Ints:
        return np.linspace(0, self.n_rows - 1, min(PRINTED, self.n_rows)).astype(np.int64)

    def _taken_labels(self, rows: Ints) -> Any:
        if self._space.container == "names":
            return [self._given[row] for row in rows.tolist()]
        if self._space.container == "single":
            return np.asarray(self._given)[rows]
        return self.Y[rows][:, : self._space.n_labels]

    def _columns(self, estimator: MultiLabelEstimator) -> Ints:
        classes = estimator.classes_.tolist()
        if self._space.container not in ("names", "single"):
            return np.arange(len(classes), dtype=np.int64)
        other = self._space.n_labels
        return np.array([self._place.get(name, other) for name in classes], dtype=np.int64)

    def _in_columns(
        self,
        name: str,
        ranking: Ranking | None,
        sets: sparse.csr_matrix | None,
        columns: Ints,
        n_rows: int,
    ) -> Prediction:
        shape = (n_rows, int(self.Y.shape[1]))
        nothing: Any = sparse.csr_matrix(shape, dtype=np.int32)  # type: ignore[arg-type]
        if ranking is None:
            ranking = Ranking.from_csr(nothing)
        else:
            labels = columns[ranking.labels].astype(np.int32)
            ranking = Ranking(ranking.indptr, labels, ranking.scores, shape[1])
        moved = nothing
        if sets is not None:
            moved = sparse.csr_matrix((sets.data, columns[sets.indices], sets.indptr), shape)
            # Labels that no row has share a column: their number counts.
            moved.sum_duplicates()
        return Prediction(name, ranking, moved)


def with_tail(estimator: MultiLabelEstimator, tail: float | None) -> MultiLabelEstimator:
    """Let a fitted ranker boost rare labels by another power, without a new training.

    None is as it was trained. Other estimators have nothing of the kind.
    """
    if not isinstance(estimator, RMLSRanker):
        return estimator
    trained: Any = estimator.__dict__.setdefault(
        "_trained_tail", (estimator.tail_, estimator.combination_)
    )
    estimator.tail_, estimator.combination_ = trained
    if tail is not None:
        # As `combine` does where a power is given: labels without rows have no lift of their own.
        estimator.tail_ = tail
        estimator.combination_ = replace(estimator.combination_, lift=0.0)
    else:
        del estimator.__dict__["_trained_tail"]
    estimator._set_scorer(*estimator._scorer.blocks)
    return estimator


def count_rows(X: Any) -> int:
    """Return the number of rows of any container."""
    if isinstance(X, Mapping):
        return len(next(iter(X.values()))) if X else 0
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, rows: Ints) -> Any:
    """Return some rows of any container."""
    if isinstance(X, Mapping):
        return {name: take_rows(cells, rows) for name, cells in X.items()}
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]
