"""`Dataset`: features, labels, their names and the split, checked once and kept together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import check_texts
from rmls.core.options import check_whole
from rmls.core.sparse import (
    BLOCK,
    as_feature_csr,
    as_label_csr,
    is_mapped,
    label_counts,
    slice_rows,
)
from rmls.core.words import shorten


@dataclass(eq=False, repr=False)
class Dataset:
    """A multi-label data set.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Kept as CSR float32 with sorted, distinct indices.
    Y : array-like or sparse matrix of shape (n_samples, n_labels), optional
        Only 0 and 1; kept as CSR of int32 ones. None for rows whose labels are not known: a
        matrix without columns stands for it.
    label_names : sequence of str, optional
        One single-line name per label.
    feature_names : sequence of str, optional
        One single-line name per feature.
    n_train : int, optional
        The first ``n_train`` rows are the training part; ``None`` when there is no split.
    name : str, default="dataset"
    format : str, optional
        The format of the file it was read from.
    zero_based : (bool, bool), optional
        Whether the indices of features and of labels began with 0 or with 1 in that file, told or
        guessed; None where the format settles it. Other files that count alike are read with
        ``load(path, zero_based=data.zero_based)``.

    Notes
    -----
    Rows without labels and labels without rows are allowed; values must be finite.

    Examples
    --------
    >>> data = Dataset([[1, 0], [0, 2], [3, 0]], [[1], [0], [1]], n_train=2, name="toy")
    >>> data
    Dataset('toy': 3 rows (2 train + 1 test), 2 features, 1 label)
    >>> data.test.X.toarray().tolist()
    [[3.0, 0.0]]
    """

    X: sparse.csr_matrix
    Y: sparse.csr_matrix = None  # type: ignore[assignment]
    label_names: list[str] | None = None
    feature_names: list[str] | None = None
    n_train: int | None = None
    name: str = "dataset"
    format: str | None = None
    zero_based: tuple[bool, bool] | None = None

    def __post_init__(self) -> None:
        self.X = _checked_features(self.X)
        no_labels = np.empty((self.X.shape[0], 0), dtype=np.int32)
        self.Y = as_label_csr(no_labels if self.Y is None else self.Y)
        if self.X.shape[0] != self.Y.shape[0]:
            raise InputError(
                f"Y has {self.Y.shape[0]} rows but X has {self.X.shape[0]}; "
                "both need one row per sample."
            )
        if self.n_features == 0:
            raise InputError("X has no columns; it needs at least one.")
        self.label_names = _checked_names(self.label_names, self.n_labels, "label")
        self.feature_names = _checked_names(self.feature_names, self.n_features, "feature")
        if self.n_train is not None:
            self.n_train = int(self.n_train)
            if not 0 <= self.n_train <= self.n_samples:
                raise InputError(
                    f"n_train must be between 0 and the {self.n_samples} rows; got {self.n_train}."
                )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of ``X``."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of columns of ``Y``."""
        return int(self.Y.shape[1])

    @property
    def is_labelled(self) -> bool:
        """Whether there are labels to learn from; without them rows can only be predicted."""
        return self.n_labels > 0

    @property
    def train(self) -> Dataset:
        """The first ``n_train`` rows, as a data set without a split."""
        return self.take(slice(0, self._boundary()), f"{self.name}/train")

    @property
    def test(self) -> Dataset:
        """The rows after the first ``n_train``, as a data set without a split."""
        return self.take(slice(self._boundary(), self.n_samples), f"{self.name}/test")

    def take(self, rows: Any, name: str | None = None) -> Dataset:
        """Return the given rows, in that order, as a data set without a split.

        Parameters
        ----------
        rows : array-like of int or bool, or slice
        name : str, optional

        Examples
        --------
        >>> data = Dataset([[1], [2], [3]], [[0], [1], [0]])
        >>> data.take([2, 0]).X.toarray().ravel().tolist()
        [3.0, 1.0]
        """
        chosen: Any = rows if isinstance(rows, slice) else np.asarray(rows)
        if isinstance(rows, slice) and rows.step in (None, 1) and is_mapped(self.X):
            start, stop, _ = rows.indices(self.n_samples)
            X = slice_rows(self.X, start, max(start, stop))
        else:
            X = self.X[chosen]
        return replace(self, X=X, Y=self.Y[chosen], n_train=None, name=name or self.name)

    def drop_rare_labels(self, min_label_rows: int) -> Dataset:
        """Return the same rows without the labels that fewer than ``min_label_rows`` rows have.

        Rows that lose all their labels stay. Counted over all rows, as the paper of RMLS did for
        its Wiki data.

        Examples
        --------
        >>> data = Dataset([[1], [2], [3]], [[1, 0], [1, 0], [0, 1]], ["tax", "law"])
        >>> data.drop_rare_labels(2).label_names
        ['tax']
        """
        check_whole("min_label_rows", min_label_rows, 0)
        kept = np.flatnonzero(label_counts(self.Y) >= min_label_rows)
        if len(kept) == self.n_labels:
            return self
        if not len(kept):
            raise InputError(
                f"no label of '{self.name}' has {min_label_rows} rows; lower min_label_rows."
            )
        names = self.label_names
        left = None if names is None else [names[label] for label in kept]
        return replace(self, Y=self.Y[:, kept], label_names=left)

    def renamed(self, Y: Any, label_names: list[str]) -> Dataset:
        """Return the same rows with other labels."""
        return replace(self, Y=Y, label_names=label_names)

    def split(self, test_size: float = 0.2, random_state: int = 0) -> Dataset:
        """Return the same rows in random order with a fresh training part in front.

        Parameters
        ----------
        test_size : float in (0, 1), default=0.2
            Fraction of the rows that goes to the test part.
        random_state : int, default=0

        Examples
        --------
        >>> data = Dataset([[1], [2], [3], [4]], [[0], [1], [0], [1]]).split(0.25)
        >>> data.train.n_samples, data.test.n_samples
        (3, 1)
        """
        if not 0.0 < test_size < 1.0:
            raise InputError(f"test_size must lie between 0 and 1; got {test_size}.")
        order = np.random.default_rng(random_state).permutation(self.n_samples)
        n_train = self.n_samples - round(self.n_samples * test_size)
        return replace(self.take(order), n_train=n_train)

    def _boundary(self) -> int:
        if self.n_train is None:
            raise InputError(
                f"data set '{self.name}' has no split; make one with split(test_size=0.2)."
            )
        return self.n_train

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        parts = ""
        if self.n_train is not None:
            parts = f" ({self.n_train} train + {self.n_samples - self.n_train} test)"
        return (
            f"Dataset({self.name!r}: {_count(self.n_samples, 'row')}{parts}, "
            f"{_count(self.n_features, 'feature')}, {_count(self.n_labels, 'label')})"
        )


class _Checked(list[str]):
    """Names that were looked at, and the names of a model that they were found equal to."""

    same_as: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Checked, (list(self),)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _checked_features(X: Any) -> sparse.csr_matrix:
    if not sparse.issparse(X) and np.ndim(X) != 2:
        raise InputError(f"X must be 2-d (rows × features); got {np.ndim(X)} dimension(s).")
    matrix = as_feature_csr(X)
    # Some at a time: rows of a store may not fit into memory, and a mark for each number neither.
    values = (matrix.data[start : start + BLOCK] for start in range(0, matrix.nnz, BLOCK))
    if not all(np.isfinite(some).all() for some in values):
        raise InputError("X holds a value that is not finite; replace nan and inf first.")
    return matrix


def _checked_names(names: Sequence[str] | None, size: int, what: str) -> list[str] | None:
    if names is None:
        return None
    if len(names) != size:
        raise InputError(f"{len(names)} {what} names were given for {_count(size, what)}.")
    # Parts of a data set share its names, which may be a million.
    if isinstance(names, _Checked):
        return names
    names = _Checked(str(name) for name in names)
    check_texts(names, what)
    # Name lists are stored one name a line.
    for name in names:
        if "\n" in name or "\r" in name:
            raise InputError(f"{what} names must be single lines; got '{shorten(name)}'.")
    return names
