"""The door for labels: any container in, one CSR inside, the same container out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.sparse import as_label_csr

Container = Literal["dense", "sparse", "frame", "names", "single"]
CONTAINERS: tuple[Container, ...] = ("dense", "sparse", "frame", "names", "single")


@dataclass(frozen=True)
class LabelSpace:
    """The labels of a problem and the container they came in.

    Attributes
    ----------
    container : {"dense", "sparse", "frame", "names", "single"}
        0/1 array, sparse matrix, pandas frame, lists of label names, or a 1-d array of classes.
    names : list
        One name (or class) per label; label numbers where none were given.
    dtype : str
        Type of a dense 0/1 array or of the classes.

    Examples
    --------
    >>> space, Y = read_labels([["law", "tax"], ["tax"], []])
    >>> space.names, Y.toarray().tolist()
    (['law', 'tax'], [[1, 1], [0, 1], [0, 0]])
    >>> space.restore(Y)
    [['law', 'tax'], ['tax'], []]
    """

    container: Container
    names: list[Any]
    dtype: str = "int64"

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.names)

    @property
    def is_single(self) -> bool:
        """Whether every row has exactly one label (a 1-d ``y``)."""
        return self.container == "single"

    @property
    def classes(self) -> NDArray[Any]:
        """The names as an array, in the type of a 1-d ``y``."""
        if self.is_single:
            return np.asarray(self.names, dtype=np.dtype(self.dtype))
        return np.asarray(self.names)

    def restore(self, sets: sparse.csr_matrix) -> Any:
        """Return label sets in the container that was read."""
        if self.container == "sparse":
            return sets
        if self.container == "names":
            pieces = np.split(sets.indices, sets.indptr[1:-1])
            return [[self.names[label] for label in piece] for piece in pieces]
        if self.container == "single":
            return self.classes[sets.indices]
        dense = sets.toarray().astype(self.dtype)
        if self.container == "frame":
            from pandas import DataFrame

            return DataFrame(dense, columns=self.names)
        return dense

    def read_more(self, Y: Any) -> sparse.csr_matrix:
        """Read further labels of the same problem; unknown ones are an error."""
        if self.container == "names" and isinstance(Y, Iterable) and not sparse.issparse(Y):
            return _read_names(Y, self.names)[1]
        space, matrix = read_labels(Y, classes=self.names if self.is_single else None)
        if space.is_single != self.is_single:
            raise InputError("Y must keep its form: 1-d classes and label sets cannot be mixed.")
        if matrix.shape[1] != self.n_labels:
            raise InputError(
                f"Y has {matrix.shape[1]} labels but the model was fitted with {self.n_labels}."
            )
        return matrix


def read_labels(
    Y: Any, *, classes: Sequence[Any] | None = None, names: Sequence[str] | None = None
) -> tuple[LabelSpace, sparse.csr_matrix]:
    """Read labels of any container.

    Parameters
    ----------
    Y : 0/1 matrix (dense, sparse, frame, list of equal lists), lists of label names, or 1-d classes
        A rectangular list of lists that holds only the numbers 0 and 1 is a 0/1 matrix, as in
        scikit-learn; every other list of lists holds names.
    classes : sequence, optional
        All label names or classes, where ``Y`` may hold only some of them.
    names : sequence of str, optional
        Names for the columns of a 0/1 matrix.

    Returns
    -------
    space : LabelSpace
    matrix : CSR matrix of int32 ones, shape (n_samples, n_labels)
    """
    if Y is None:
        raise InputError("this estimator requires y to be passed, but the target y is None.")
    if sparse.issparse(Y):
        matrix = as_label_csr(Y)
        return LabelSpace("sparse", _column_names(matrix, names)), matrix
    if hasattr(Y, "columns") and hasattr(Y, "to_numpy"):
        table = np.asarray(Y.to_numpy())
        # A single column of anything else holds classes and is read as an array below.
        if table.shape[1] > 1 or _is_zero_one(table):
            matrix = as_label_csr(table)
            columns = _column_names(matrix, list(Y.columns) if names is None else names)
            return LabelSpace("frame", columns, table.dtype.name), matrix
    if _holds_name_lists(Y):
        return _read_names(Y, classes)
    array = np.asarray(Y)
    # One column of 0 and 1 is one label; other values are classes of a 1-d y.
    if array.ndim == 2 and array.shape[1] == 1 and not _is_zero_one(array):
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as classes.",
            DataConversionWarning,
            stacklevel=3,
        )
        array = array.ravel()
    if array.ndim == 1:
        return _read_classes(array, classes)
    matrix = as_label_csr(array)
    return LabelSpace("dense", _column_names(matrix, names), array.dtype.name), matrix


def _column_names(matrix: sparse.csr_matrix, names: Sequence[Any] | None) -> list[Any]:
    n_labels = int(matrix.shape[1])
    if n_labels == 0:
        raise InputError("Y has no columns; it needs at least one label.")
    if names is None:
        return list(range(n_labels))
    if len(names) != n_labels:
        raise InputError(f"{len(names)} label names were given for {n_labels} labels.")
    return list(names)


def _is_zero_one(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "biuf" and bool(((array == 0) | (array == 1)).all())


def _holds_name_lists(Y: Any) -> bool:
    """Tell lists of names from numbers: the members are lists, tuples or sets, not a 0/1 table."""
    if isinstance(Y, np.ndarray) and (Y.ndim != 1 or Y.dtype != object):
        return False
    if not isinstance(Y, Iterable) or isinstance(Y, (str, bytes)):
        return False
    rows = list(Y)
    if not rows or not all(isinstance(row, (list, tuple, set, frozenset)) for row in rows):
        return False
    # Sets and lists of different lengths can be no matrix; else the values decide.
    if any(isinstance(row, (set, frozenset)) for row in rows) or len({len(r) for r in rows}) > 1:
        return True
    return len(rows[0]) == 0 or not _is_zero_one(np.asarray(rows))


def _read_names(Y: Any, classes: Sequence[Any] | None) -> tuple[LabelSpace, sparse.csr_matrix]:
    # A name twice in a row counts once.
    rows = [list(dict.fromkeys(_plain(name) for name in row)) for row in Y]
    found = set(chain.from_iterable(rows))
    if classes is None:
        if not found:
            raise InputError("Y names no label at all; at least one row needs a label.")
        # Numbers and texts do not compare: numbers come first.
        names = sorted(found, key=lambda name: (isinstance(name, str), name))
    else:
        names = [_plain(name) for name in classes]
    column = {name: index for index, name in enumerate(names)}
    unknown = found - column.keys()
    if unknown:
        raise InputError(f"Y names the label {min(unknown, key=str)!r}, which is not known.")
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.fromiter((column[name] for row in rows for name in row), np.int32, int(indptr[-1]))
    matrix = sparse.csr_matrix(
        (np.ones(len(indices), np.int32), indices, indptr), shape=(len(rows), len(names))
    )
    return LabelSpace("names", names), as_label_csr(matrix)


def _plain(name: Any) -> Any:
    """Return a label name as a plain Python value that JSON can hold."""
    value = name.item() if isinstance(name, np.generic) else name
    if not isinstance(value, (str, int, float)) or value != value:
        raise InputError(f"a label name must be a string or a number; got {name!r}.")
    return value


def _read_classes(
    y: NDArray[Any], classes: Sequence[Any] | None
) -> tuple[LabelSpace, sparse.csr_matrix]:
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import assert_all_finite

    if y.dtype.kind in "fc":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    known = np.unique(y) if classes is None else np.unique(np.asarray(classes))
    # An unknown class finds a place as well; the comparison below reveals it.
    labels = np.minimum(np.searchsorted(known, y), len(known) - 1)
    if len(y) and not (known[labels] == y).all():
        unknown = y[known[labels] != y][0]
        raise InputError(f"y holds the class {unknown!r}, which is not known.")
    matrix = sparse.csr_matrix(
        (np.ones(len(y), np.int32), labels.astype(np.int32), np.arange(len(y) + 1)),
        shape=(len(y), len(known)),
    )
    space = LabelSpace("single", cast(list[Any], known.tolist()), known.dtype.str)
    return space, as_label_csr(matrix)
