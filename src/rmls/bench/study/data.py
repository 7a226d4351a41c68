"""The data of a run: loaded, checked, split into folds, weighted."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.bench.study.grid import DataSource, FoldKind
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.datasets import Dataset

Rows = NDArray[np.int64]


class Parts(NamedTuple):
    """Training and test rows of one run."""

    X_train: sparse.csr_matrix
    Y_train: sparse.csr_matrix
    X_test: sparse.csr_matrix
    Y_test: sparse.csr_matrix


def load_source(source: DataSource) -> Dataset:
    """Load or generate a data set.

    Examples
    --------
    >>> load_source(DataSource("toy", longtail={"n": 50, "d": 20, "m": 5}))
    Dataset('toy': 50 rows (40 train + 10 test), 20 features, 5 labels)
    """
    from rmls.datasets import load, make_longtail

    if source.longtail is None:
        return load(source.source or source.name, min_label_rows=source.min_label_rows)
    try:
        dataset = make_longtail(**source.longtail)
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InputError(f"longtail of {source.name}: {error}.") from None
    dataset.name = source.name
    return dataset.drop_rare_labels(source.min_label_rows)


def checksum(dataset: Dataset) -> str:
    """Return the SHA-256 of all rows and labels, whatever file format they came from.

    Examples
    --------
    >>> from rmls.datasets import Dataset
    >>> one, other = Dataset([[1.0]], [[1]]), Dataset([[2.0]], [[1]])
    >>> checksum(one) == checksum(other)
    False
    """
    # Shapes first: the same numbers in another shape are other data.
    digest = hashlib.sha256(repr((dataset.X.shape, dataset.Y.shape, dataset.n_train)).encode())
    for matrix in (dataset.X, dataset.Y):
        # Fixed types and byte order: the same on every machine and SciPy version.
        digest.update(matrix.indptr.astype("<i8").tobytes())
        digest.update(matrix.indices.astype("<i8").tobytes())
    digest.update(dataset.X.data.astype("<f4").tobytes())
    return f"sha256:{digest.hexdigest()}"


def split_rows(
    dataset: Dataset, kind: FoldKind, n_folds: int, fold: int, seed: int
) -> tuple[Rows, Rows]:
    """Return the training and the test rows of a fold.

    Examples
    --------
    >>> from rmls.datasets import Dataset
    >>> data = Dataset([[1.0], [2.0], [3.0]], [[1], [0], [1]], n_train=2)
    >>> split_rows(data, "given", 1, 0, 0)
    (array([0, 1]), array([2]))
    """
    if kind == "given":
        if dataset.n_train is None:
            raise InputError(f"{dataset.name} has no split of its own; use shuffled folds.")
        rows = np.arange(dataset.n_samples)
        return rows[: dataset.n_train], rows[dataset.n_train :]
    if dataset.n_samples < n_folds:
        raise InputError(f"{dataset.name} has {dataset.n_samples} rows for {n_folds} folds.")
    # All folds are drawn to take one: they depend on the seed, not on what is asked.
    train, test = list(_folds(kind, n_folds, seed).split(dataset.X, dataset.Y))[fold]
    return train, test


def _folds(kind: FoldKind, n_folds: int, seed: int) -> Any:
    if kind == "stratified":
        from rmls.imbalance import StratifiedFolds

        return StratifiedFolds(n_folds, random_state=seed)
    from sklearn.model_selection import KFold

    return KFold(n_folds, shuffle=True, random_state=seed)


def take_parts(dataset: Dataset, rows: tuple[Rows, Rows], features: str) -> Parts:
    """Return training and test matrices, with the features weighted as asked."""
    train, test = rows
    X_train, X_test = dataset.X[train], dataset.X[test]
    if features == "tfidf":
        from sklearn.feature_extraction.text import TfidfTransformer

        # Fitted on training rows alone, so that test rows tell it nothing.
        weights = TfidfTransformer(sublinear_tf=True).fit(X_train)
        X_train, X_test = (sparse.csr_matrix(weights.transform(X)) for X in (X_train, X_test))
    return Parts(X_train, dataset.Y[train], X_test, dataset.Y[test])
