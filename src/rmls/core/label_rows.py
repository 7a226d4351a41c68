"""Labels given row by row: lists of names, and the classes of a 1-d ``y``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace, check_names, is_zero_one, plain_name, shown
from rmls.core.sparse import as_label_csr

ROWS = (list, tuple, set, frozenset)


def holds_name_lists(Y: Any) -> bool:
    """Tell lists of names from numbers: the members are lists, tuples or sets, not a 0/1 table."""
    if isinstance(Y, np.ndarray) and (Y.ndim != 1 or Y.dtype != object):
        return False
    if not isinstance(Y, Iterable) or isinstance(Y, (str, bytes)):
        return False
    rows = _list_rows(Y)
    if not any(_is_row(row) for row in rows):
        return False
    _check_rows(rows)
    # Sets and lists of different lengths can be no matrix; else the values decide.
    if any(isinstance(row, (set, frozenset)) for row in rows) or len({len(r) for r in rows}) > 1:
        return True
    try:
        return len(rows[0]) == 0 or not is_zero_one(np.asarray(rows))
    except ValueError:
        return True


def _list_rows(Y: Any) -> list[Any]:
    # Arrow and polars hand out objects of their own, unless they are asked for lists.
    for method in ("to_pylist", "to_list"):
        if hasattr(Y, method):
            return list(getattr(Y, method)())
    return list(Y)


def _is_row(value: Any) -> bool:
    return isinstance(value, ROWS) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _check_rows(rows: list[Any]) -> None:
    """Refuse a row that is no list, such as None for a row without labels."""
    for at, row in enumerate(rows):
        if not _is_row(row):
            way_out = f"[{row!r}]" if isinstance(row, str) else "[]"
            kind = "with one label" if isinstance(row, str) else "without labels"
            raise InputError(
                f"row {at} of Y is {shown(row)}, not a list of label names; "
                f"write {way_out} for a row {kind}."
            )


def _read_rows(Y: Any) -> list[list[Any]]:
    """Return the names of every row as plain values, each once."""
    rows = _list_rows(Y)
    _check_rows(rows)
    return [list(dict.fromkeys(plain_name(name) for name in row)) for row in rows]


def read_name_rows(
    Y: Any, classes: Sequence[Any] | None = None, may_be_empty: bool = False
) -> tuple[LabelSpace, sparse.csr_matrix]:
    """Read lists of names.

    Parameters
    ----------
    Y : iterable of lists, tuples, sets or 1-d arrays
    classes : sequence, optional
        All names; an error where a row names another one.
    may_be_empty : bool, default=False
        Whether no row needs to name a label.

    Examples
    --------
    >>> space, Y = read_name_rows([["tax"], ["law", "tax"]])
    >>> space.names, Y.toarray().tolist()
    (['law', 'tax'], [[0, 1], [1, 1]])
    """
    rows = _read_rows(Y)
    found = set(chain.from_iterable(rows))
    if classes is None:
        if not found and not may_be_empty:
            raise InputError("Y names no label at all; at least one row needs a label.")
        # Numbers and texts do not compare: numbers come first.
        names = check_names(sorted(found, key=lambda name: (isinstance(name, str), name)))
    else:
        names = check_names(classes)
    column = {name: index for index, name in enumerate(names)}
    unknown = found - column.keys()
    if unknown:
        raise InputError(f"Y names the label {min(unknown, key=str)!r}, which is not known.")
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    indices = np.fromiter((column[name] for row in rows for name in row), np.int32, int(indptr[-1]))
    matrix = sparse.csr_matrix(
        (np.ones(len(indices), np.int32), indices, indptr), shape=(len(rows), len(names))
    )
    return LabelSpace("names", names), as_label_csr(matrix)


def read_array(Y: Any) -> NDArray[Any]:
    """Return labels that are no lists of names as an array; one column of classes is 1-d."""
    try:
        array = np.asarray(Y.to_pylist() if hasattr(Y, "to_pylist") else Y)
    except ValueError:
        raise InputError(
            "the rows of Y differ in shape; it must be 2-d or hold lists of names."
        ) from None
    if array.dtype.kind == "T":
        array = array.astype(object)
    # NumPy drops NUL at the end of a text, which would make one class of two.
    if array.dtype.kind == "U" and not isinstance(Y, np.ndarray):
        whole = np.ravel(np.asarray(Y, dtype=object))
        check_names([value for value in whole if "\0" in str(value)][:1])
    # One column of 0 and 1 is one label; other values are classes of a 1-d y.
    if array.ndim == 2 and array.shape[1] == 1 and not is_zero_one(array):
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as classes.",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array.ravel()
    return array


def read_classes(
    y: NDArray[Any], classes: Sequence[Any] | None
) -> tuple[LabelSpace, sparse.csr_matrix]:
    """Read the classes of a 1-d ``y``: every row has one label."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import assert_all_finite

    if y.dtype.kind in "fc":
        assert_all_finite(y, input_name="y")
    if y.dtype == object:
        y = _check_class_objects(y)
    check_classification_targets(y)
    known = np.unique(y) if classes is None else np.unique(np.asarray(classes))
    check_names(known.tolist())
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


def _check_class_objects(y: NDArray[Any]) -> NDArray[Any]:
    """Refuse objects that do not sort: missing classes, and numbers among texts.

    Returns texts as they are and numbers as an array of theirs.
    """
    texts = [isinstance(value, str) for value in y]
    for at, value in enumerate(y):
        # A missing value is not equal to itself, or has no truth at all.
        if value is None or not isinstance(value, (str, int, float, np.generic)) or value != value:
            raise InputError(
                f"row {at} of y is {shown(value)}, which is no class; "
                "every row of a 1-d y needs one, a string or a number."
            )
    if any(texts) and not all(texts):
        raise InputError("y holds numbers and strings; make all of its classes one or the other.")
    return y if all(texts) else np.asarray(y.tolist())
