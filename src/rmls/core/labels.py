"""The door for labels: any container in, one CSR inside, the same container out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.sparse import as_label_csr

LONGEST_SHOWN = 60
MAX_ARRAY_BYTES = 1 << 26
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
    library : {"pandas", "polars", "pyarrow"}
        Whose frame it was.

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
    library: str = "pandas"

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
        if self.is_single and np.dtype(self.dtype).kind not in "US":
            return np.asarray(self.names, dtype=np.dtype(self.dtype))
        return _as_array(self.names)

    def restore(self, sets: sparse.csr_matrix, like: Any = None) -> Any:
        """Return label sets in the container that was read, indexed as the frame ``like`` is."""
        if self.container == "sparse":
            return sets
        if self.container == "names":
            pieces = np.split(sets.indices, sets.indptr[1:-1])
            return [[self.names[label] for label in piece] for piece in pieces]
        if self.container == "single":
            return self.classes[sets.indices]
        dense = sets.toarray().astype(self.dtype)
        if self.container == "frame":
            from rmls.core.tables import make_table

            return make_table(dense, self.names, self.library, like)
        return dense

    def read_more(self, Y: Any) -> sparse.csr_matrix:
        """Read further labels of the same problem; unknown ones are an error."""
        matrix, unknown = self.read_truth(Y)
        if unknown:
            raise InputError(f"Y names the label {unknown[0]!r}, which is not known.")
        return matrix

    def read_truth(self, Y: Any) -> tuple[sparse.csr_matrix, list[Any]]:
        """Read labels of the same problem; returns them, and the unknown ones among them.

        Unknown labels have columns behind those of the known ones. Labels are matched by name where
        both sides have names, and by column otherwise.
        """
        is_table = hasattr(Y, "columns") or getattr(Y, "ndim", 1) == 2
        if self.container == "names" and isinstance(Y, Iterable) and not is_table:
            # Here [[0], [1]] are names, whatever else they could be.
            from rmls.core.label_rows import read_name_rows

            space, matrix = read_name_rows(Y, may_be_empty=True)
        else:
            space, matrix = read_labels(Y)
        if space.is_single != self.is_single:
            raise InputError("Y must keep its form: 1-d classes and label sets cannot be mixed.")
        if not self._knows_by_name(space):
            if matrix.shape[1] != self.n_labels:
                raise InputError(
                    f"Y has {matrix.shape[1]} labels but the model was fitted with {self.n_labels}."
                )
            return matrix, []
        matrix, unknown = match_columns(matrix, space.names, self.names)
        # A test set may have none but rare labels; other columns are those of another problem.
        by_column = space.container == "frame" or self.container in ("dense", "sparse")
        if by_column and len(unknown) == space.n_labels > 0:
            raise InputError(
                f"Y has no label that the model knows, such as {shown(self.names[0])}; "
                f"its first one is {shown(unknown[0])}."
            )
        return matrix, unknown

    def _knows_by_name(self, other: LabelSpace) -> bool:
        """Tell whether labels of ``other`` are found by their names, or by their place."""
        if other.container != "frame":
            return other.container in ("names", "single")
        return self.container in ("frame", "names") or all(isinstance(n, str) for n in self.names)


def match_columns(
    Y: sparse.csr_matrix, own: Sequence[Any], names: Sequence[Any]
) -> tuple[sparse.csr_matrix, list[Any]]:
    """Move the columns of ``Y``, called ``own``, to where ``names`` has them.

    Returns
    -------
    matrix : CSR matrix, shape (n_samples, n_names + n_unknown)
    unknown : list
        What ``names`` lacks, in the order of the columns behind.

    Examples
    --------
    >>> Y, unknown = match_columns(sparse.csr_matrix([[1, 0, 1]]), ["b", "a", "c"], ["a", "b"])
    >>> Y.toarray().tolist(), unknown
    ([[0, 1, 1]], ['c'])
    """
    position = {name: column for column, name in enumerate(names)}
    unknown = [name for name in own if name not in position]
    position.update({name: len(names) + place for place, name in enumerate(unknown)})
    target = np.array([position[name] for name in own], dtype=np.int64)
    moved = sparse.csr_matrix(
        (Y.data, target[Y.indices], Y.indptr), shape=(Y.shape[0], len(names) + len(unknown))
    )
    return as_label_csr(moved), unknown


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
    if hasattr(Y, "columns"):
        from rmls.core.tables import columns_of, library_of, to_array

        table = to_array(Y)
        # A single column of anything else holds classes and is read as an array below.
        if table.shape[1] > 1 or is_zero_one(table):
            matrix = as_label_csr(table)
            columns = _column_names(matrix, columns_of(Y) if names is None else names)
            return LabelSpace("frame", columns, table.dtype.name, library_of(Y)), matrix
        Y = table
    from rmls.core.label_rows import holds_name_lists, read_array, read_classes, read_name_rows

    if holds_name_lists(Y):
        return read_name_rows(Y, classes)
    array = read_array(Y)
    if array.ndim == 1:
        return read_classes(array, classes)
    matrix = as_label_csr(array)
    return LabelSpace("dense", _column_names(matrix, names), array.dtype.name), matrix


def check_names(names: Sequence[Any], what: str = "label") -> list[Any]:
    """Return names as plain values that every file can hold, or say which of them cannot be.

    Examples
    --------
    >>> check_names(["tax", "law"])
    ['tax', 'law']
    >>> check_names(["tax", 1, "1"])
    Traceback (most recent call last):
    rmls.core.errors.InputError: the labels 1 and '1' (columns 1 and 2) have the same name; ...
    """
    plain = [plain_name(name, what) for name in names]
    texts = [str(name) for name in plain]
    check_texts(texts, what)
    if len(set(texts)) < len(texts):
        first: dict[str, int] = {}
        # A name that is there already is found at its first place.
        i, j = next((first[t], at) for at, t in enumerate(texts) if first.setdefault(t, at) != at)
        raise InputError(
            f"the {what}s {shown(plain[i])} and {shown(plain[j])} (columns {i} and {j}) have the "
            f"same name; give every {what} a name of its own."
        )
    return plain


def check_texts(texts: list[str], what: str, forbidden: str = "\0") -> None:
    """Refuse names that no file can hold, and those with a forbidden character."""
    whole = "".join(texts)
    # All at once, because names come by the million.
    if _is_utf8(whole) and not (forbidden and forbidden in whole):
        return
    wrong = next(t for t in texts if not _is_utf8(t) or (forbidden and forbidden in t))
    problem = "the character NUL" if _is_utf8(wrong) else "half of a surrogate pair"
    raise InputError(f"the {what} name {shown(wrong)} holds {problem}, which files cannot hold.")


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def shown(name: Any) -> str:
    """Return a name as a message quotes it."""
    text = ascii(name) if isinstance(name, str) and not _is_utf8(name) else repr(name)
    text = " ".join(text.split("\n"))
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def _as_array(names: list[Any]) -> NDArray[Any]:
    """Return names as an array of texts or numbers, or of objects where that serves better."""
    texts = [isinstance(name, str) for name in names]
    mixed = any(texts) and not all(texts)
    # Every text of an array takes the room of the longest one.
    if mixed or (any(texts) and 4 * len(names) * max(map(len, names)) > MAX_ARRAY_BYTES):
        return np.array(names, dtype=object)
    return np.asarray(names)


def _column_names(matrix: sparse.csr_matrix, names: Sequence[Any] | None) -> list[Any]:
    n_labels = int(matrix.shape[1])
    if n_labels == 0:
        raise InputError("Y has no columns; it needs at least one label.")
    if names is None:
        return list(range(n_labels))
    if not hasattr(names, "__len__") or isinstance(names, (str, bytes)):
        raise InputError(f"label_names must be a list of names; got {shown(names)}.")
    if len(names) != n_labels:
        raise InputError(f"{len(names)} label names were given for {n_labels} labels.")
    return check_names(names)


def plain_name(name: Any, what: str = "label") -> Any:
    """Return a name as a plain Python value that JSON can hold."""
    value = name.item() if isinstance(name, np.generic) else name
    if type(value) is str:
        return value
    if not isinstance(value, (str, int, float)) or (
        isinstance(value, float) and not isfinite(value)
    ):
        raise InputError(f"a {what} name must be a string or a number; got {shown(name)}.")
    return str(value) if isinstance(value, str) else value


def is_zero_one(array: NDArray[Any]) -> bool:
    """Tell whether an array holds the numbers 0 and 1 and nothing else."""
    return array.dtype.kind in "biuf" and bool(((array == 0) | (array == 1)).all())
