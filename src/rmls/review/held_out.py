"""Rows that a model has not seen, with what it says about them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning
from rmls.core.ranking import Ranking
from rmls.datasets import Dataset
from rmls.datasets.tables import TextTable
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.text.text_ranker import TextRanker
from rmls.review.findings import quote
from rmls.review.row_findings import name_row

# Labels ranked for every row: what is not among them is as good as excluded.
N_RANKED = 200

Rows = TextTable | Dataset
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows in the columns of a model; labels that it does not know stand behind.

    Attributes
    ----------
    X : CSR matrix
        As the estimator scores them.
    Y : CSR matrix of 0/1
    counts : ndarray of int64, shape (n_labels,)
        Training rows of every label.
    n_train : int
    names : list of str
        Of all labels, first those that the model knows.
    ranking : Ranking
        The best labels, with probabilities where the model has them.
    sets : CSR matrix of 0/1
        The predicted labels.
    table : TextTable or None
        The texts.
    part_of : ndarray of int64, shape (n_rows,)
        Number of the model that judged a row.
    seen : ndarray of int64, shape (n_models, n_labels)
        Training rows of every label that each of them had.
    places : ndarray of int64, shape (n_rows,)
        Where the rows stand in the table that they are from.
    is_own : bool
        Whether they are training rows that the model learned from after it was judged on them.
    n_known : int
        Labels that the model knows.
    """

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    counts: NDArray[np.int64]
    n_train: int
    names: list[str]
    ranking: Ranking
    sets: sparse.csr_matrix
    table: TextTable | None
    part_of: Ints
    seen: Ints
    places: Ints
    is_own: bool = False
    n_known: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    def row_name(self, row: int) -> str:
        """Return the number of a row, from 1, and its name."""
        ids = None if self.table is None else self.table.ids
        return name_row(int(self.places[row]), None if ids is None else ids[row])

    def places_of(self, rows: Ints) -> tuple[int, ...]:
        """Return where rows stand in the table that they are from, each once, in their order."""
        return tuple(dict.fromkeys(self.places[rows].tolist()))

    def labels_of(self, row: int) -> list[str]:
        """Return the labels that a row has."""
        have = self.Y.indices[self.Y.indptr[row] : self.Y.indptr[row + 1]]
        return [self.names[label] for label in have.tolist()]

    def quote(self, row: int, length: int = 60) -> str:
        """Return the beginning of the text of a row."""
        return "" if self.table is None else quote(self.table.texts[row], length)


class Trained(NamedTuple):
    """What the models that judged held-out rows were trained on.

    Attributes
    ----------
    X, Y : CSR matrices
        In the columns of the held-out rows.
    masks : list of ndarray of bool, shape (n_rows,)
        The rows that each model has seen.
    """

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    masks: list[NDArray[np.bool_]]


def inner_estimator(model: Any) -> MultiLabelEstimator:
    """Return the estimator that scores rows: that inside a `TextRanker`, or the model itself."""
    found = model.estimator_ if isinstance(model, TextRanker) else model
    if not isinstance(found, MultiLabelEstimator):
        raise InputError(f"a fitted estimator of rmls is needed; got {type(model).__name__}.")
    return found


def feature_rows(model: Any, data: Rows) -> sparse.csr_matrix:
    """Return rows as the estimator of a model takes them."""
    if isinstance(model, TextRanker):
        if not isinstance(data, TextTable):
            raise InputError("a model of texts is reviewed on a table of texts.")
        features = model.features_
        beside = features.column_roles_.by_name or features.vectors is not None
        return model.features_.transform(data.columns if beside else data.texts)
    if not isinstance(data, Dataset):
        name = type(model).__name__
        raise InputError(f"{name} reads rows of numbers; give a Dataset, or train a TextRanker.")
    return data.X


def without_vectors(model: Any, X: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return rows without the dense columns, on which a baseline would take hours."""
    n_dense = getattr(inner_estimator(model), "dense_columns", 0)
    return X[:, : X.shape[1] - n_dense] if n_dense else X


def read_held_out(model: Any, data: Rows) -> HeldOut:
    """Return held-out rows with the predictions of a model."""
    estimator = inner_estimator(model)
    labels = _labels_of(data)
    X = feature_rows(model, data)
    with warnings.catch_warnings():
        # Labels that the model does not know are a finding of their own.
        warnings.simplefilter("ignore", RmlsWarning)
        matched = estimator.match_labels(labels)
    names = [str(name) for name in estimator.classes_.tolist()]
    if isinstance(labels, list):
        known = set(names)
        names += sorted({label for row in labels for label in row if label not in known})
    ranking = estimator.rank(X, min(N_RANKED, len(estimator.classes_)))
    return HeldOut(
        without_vectors(model, X),
        matched.Y,
        np.asarray(matched.train_counts),
        int(estimator.n_samples_),
        # Names of unknown labels in the columns of a matrix are not told.
        names + [f"label {number}" for number in range(len(names), matched.Y.shape[1])],
        matched.widen_ranking(ranking),
        matched.widen_sets(estimator.predict_sets(X)),
        data if isinstance(data, TextTable) else None,
        np.zeros(matched.Y.shape[0], np.int64),
        np.asarray(matched.train_counts)[None],
        np.arange(matched.Y.shape[0]),
        n_known=len(estimator.classes_),
    )


def read_trained(model: Any, data: Rows, n_labels: int) -> Trained:
    """Return the training rows of one model, with as many columns as the held-out rows have."""
    labels = named_rows(data) if isinstance(data, Dataset) else data.labels
    if labels is None:
        raise InputError("the training table has no labels; the baseline learns from them.")
    Y = inner_estimator(model).match_labels(labels).Y
    # Labels of other columns have no training row, for the baseline either.
    known = min(Y.shape[1], n_labels)
    Y = sparse.csr_matrix(Y[:, :known])
    Y = sparse.csr_matrix((Y.data, Y.indices, Y.indptr), (Y.shape[0], n_labels))
    X = without_vectors(model, feature_rows(model, data))
    return Trained(X, Y, [np.ones(Y.shape[0], np.bool_)])


def _labels_of(data: Rows) -> Any:
    if isinstance(data, Dataset):
        if not data.n_samples:
            raise InputError("there are no held-out rows to review.")
        return named_rows(data)
    if data.labels is None:
        raise InputError("the held-out table has no labels; a review compares with them.")
    if not len(data):
        raise InputError("there are no held-out rows to review.")
    return data.labels


def named_rows(data: Dataset) -> Any:
    """Return the labels of a data set by name, where they have names; else as they are."""
    if data.label_names is None:
        return data.Y
    names, Y = data.label_names, data.Y
    return [
        [names[label] for label in Y.indices[begin:end].tolist()]
        for begin, end in pairwise(Y.indptr.tolist())
    ]
