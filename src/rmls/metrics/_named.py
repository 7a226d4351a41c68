"""Labels with names in the input of the metrics: lists and frames, brought into common columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.label_matching import with_unknown
from rmls.core.labels import check_names, match_columns, read_labels
from rmls.core.ranking import Ranking
from rmls.core.sparse import as_label_csr
from rmls.metrics._inputs import as_ranking, check_shape


class Named(NamedTuple):
    """Label sets and the names of their columns."""

    sets: sparse.csr_matrix
    names: list[Any]
    is_frame: bool


class Columns(NamedTuple):
    """What is compared, in columns of the same labels."""

    true: Any
    sets: Any
    ranking: Any
    probabilities: Any
    train_counts: Any


def read_named(Y: Any) -> Named | None:
    """Return label sets with their names, None for a matrix that has none."""
    if sparse.issparse(Y) or Y is None:
        return None
    if hasattr(Y, "columns"):
        space, matrix = read_labels(Y)
        return Named(matrix, space.names, True) if space.container == "frame" else None
    from rmls.core.label_rows import holds_name_lists, read_name_rows

    if not holds_name_lists(Y):
        return None
    space, matrix = read_name_rows(Y, may_be_empty=True)
    return Named(matrix, space.names, False)


def pair_sets(Y_true: Any, Y_pred: Any) -> tuple[Any, Any]:
    """Return true and predicted sets as matrices of the same columns, if they have names."""
    true, predicted = read_named(Y_true), read_named(Y_pred)
    if true is None or predicted is None:
        _refuse_lists("Y_true", true, "Y_pred")
        _refuse_lists("Y_pred", predicted, "Y_true")
        return Y_true, Y_pred
    return _join(true, predicted)


def _refuse_lists(name: str, named: Named | None, other: str) -> None:
    if named is not None and not named.is_frame:
        raise InputError(
            f"{name} holds lists of label names and {other} does not; give both as lists, or "
            "give evaluate the names of the columns: label_names=model.classes_."
        )


def _join(true: Named, predicted: Named) -> tuple[Any, Any]:
    if _are_strangers(true, predicted):
        return true.sets, predicted.sets
    sets, extra = match_columns(predicted.sets, predicted.names, true.names)
    return _widen(true.sets, len(true.names) + len(extra)), sets


def _are_strangers(true: Named, predicted: Named) -> bool:
    """Tell whether two frames are compared by place: the columns of one have no names."""
    both = true.is_frame and predicted.is_frame
    if not both or not set(true.names).isdisjoint(predicted.names):
        return False
    # Numbers are what pandas calls columns without names.
    if all(isinstance(name, str) for name in [*true.names, *predicted.names]):
        raise InputError("Y_true and Y_pred are frames without a column of the same name.")
    return True


def name_columns(Y_true: Any, ranking: Any) -> Any:
    """Return what a ranking is compared with: lists of numbers name its columns.

    Examples
    --------
    >>> name_columns([[2], [0, 1]], [[0.1, 0.2, 0.9], [0.5, 0.4, 0.1]]).toarray().tolist()
    [[0, 0, 1], [1, 1, 0]]
    """
    named = read_named(Y_true)
    if named is None or named.is_frame:
        return Y_true
    width = _width(ranking)
    if not all(type(name) is int and 0 <= name < width for name in named.names):
        raise InputError(
            "Y_true holds lists of label names, but what it is compared with has columns without "
            "names; give them to evaluate: label_names=model.classes_."
        )
    return match_columns(named.sets, named.names, range(width))[0]


def to_columns(given: Columns, label_names: Any) -> Columns:
    """Bring all that is compared into the columns that ``label_names`` names.

    Without ``label_names`` the true labels give the names, and what has none stays as it is.
    """
    true, predicted = read_named(given.true), read_named(given.sets)
    by_place = [each for each in given[2:] if each is not None]
    by_place += [given.sets] if given.sets is not None and predicted is None else []
    if label_names is not None:
        return _place_all(given, true, predicted, check_names(list(label_names)))
    if true is None:
        _refuse_lists("Y_pred", predicted, "Y_true")
        return given
    if true.is_frame and (predicted is None or _are_strangers(true, predicted)):
        return given
    if true.is_frame and by_place:
        return _place_all(given, true, predicted, true.names)
    if by_place:
        # Numbers name the columns of what has no other names.
        plain = name_columns(given.true, by_place[-1])
        return to_columns(given._replace(true=plain), range(_width(by_place[-1])))
    if predicted is None:
        return given
    joined, sets = _join(true, predicted)
    return given._replace(true=joined, sets=sets)


def _place_all(
    given: Columns, true: Named | None, predicted: Named | None, columns: list[Any]
) -> Columns:
    """Put everything into the given columns; what they lack stands behind them."""
    Y, unknown = _place(given.true, true, columns, "Y_true")
    shape = (int(Y.shape[0]), len(columns))
    sets: Any = given.sets
    extra: list[Any] = []
    if sets is not None:
        sets, extra = _place(sets, predicted, columns, "Y_pred", unknown)
    ranking, chances, counts = given[2:]
    if ranking is not None:
        # A list of the best labels has no place for an unknown one, as a score of 0 would be.
        ranking = as_ranking(ranking, shape)
    if chances is not None:
        check_shape("probabilities", (shape[0], _width(chances)), shape)
    if counts is not None and np.shape(counts) == (len(columns),):
        counts = np.pad(np.asarray(counts), (0, len(unknown) + len(extra)))
    with_unknown(Y, unknown, np.zeros(len(columns)), "Y_true")
    total = len(columns) + len(unknown) + len(extra)
    true_sets, sets, ranking, chances = (_widen(v, total) for v in (Y, sets, ranking, chances))
    return Columns(true_sets, sets, ranking, chances, counts)


def _place(
    Y: Any, named: Named | None, columns: list[Any], name: str, unknown: Sequence[Any] = ()
) -> tuple[sparse.csr_matrix, list[Any]]:
    if named is not None:
        return match_columns(named.sets, named.names, [*columns, *unknown])
    matrix = as_label_csr(Y, name)
    if matrix.shape[1] != len(columns):
        raise InputError(
            f"{name} has {matrix.shape[1]} labels but label_names has {len(columns)}; "
            "give one name per column."
        )
    return matrix, []


def _width(values: Any) -> int:
    if isinstance(values, Ranking):
        return values.n_labels
    try:
        return int(np.shape(values)[-1])
    except (IndexError, ValueError):
        raise InputError("scores and label sets must be 2-d (rows × labels).") from None


def _widen(values: Any, total: int) -> Any:
    """Return sets, probabilities or a ranking with further columns, which are empty."""
    if values is None or _width(values) >= total:
        return values
    if isinstance(values, Ranking):
        return replace(values, n_labels=total)
    given: Any = values
    if sparse.issparse(values):
        matrix = given.tocsr()
        parts = (matrix.data, matrix.indices, matrix.indptr)
        return sparse.csr_matrix(parts, shape=(matrix.shape[0], total))
    dense = np.asarray(values, dtype=np.float64)
    return np.pad(dense, ((0, 0), (0, total - dense.shape[1])))
