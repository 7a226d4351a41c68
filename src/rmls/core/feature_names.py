"""Names of features: which column of new rows is which feature of a model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning
from rmls.core.labels import check_names, check_texts, shown
from rmls.core.tables import columns_of

MOST_SHOWN = 3


def names_of(table: Any) -> list[str] | None:
    """Return the names of the columns of a table, None where they are numbers or the like.

    Examples
    --------
    >>> from pandas import DataFrame
    >>> names_of(DataFrame({"height": [1], "width": [2]})), names_of(DataFrame([[1, 2]]))
    (['height', 'width'], None)
    """
    names = columns_of(table)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        raise InputError(
            f"column {texts.index(False)} of X is called {shown(names[texts.index(False)])}, which "
            "is no text, while others are; call all columns by text: "
            "X.columns = X.columns.astype(str)."
        )
    if not names or not texts[0]:
        return None
    check_texts(names, "feature")
    if len(set(names)) < len(names):
        check_names(names, "feature")
    return names


def find_order(
    fitted: Sequence[str], names: Sequence[str], whose: str = "X"
) -> NDArray[np.int32] | None:
    """Return where every column of new rows belongs, None where all are in their place.

    Examples
    --------
    >>> find_order(["a", "b", "c"], ["c", "a", "b"]).tolist()
    [2, 0, 1]
    >>> find_order(["a", "b"], ["a", "x"])
    Traceback (most recent call last):
    rmls.core.errors.InputError: the feature names should match those of the model: X lacks...
    """
    wanted, given = list(fitted), list(names)
    # Lists are compared before anything is hashed: a million names cost milliseconds.
    if wanted == given:
        return None
    place = {name: column for column, name in enumerate(wanted)}
    own = set(given)
    missing = [name for name in wanted if name not in own]
    extra = [name for name in given if name not in place]
    if missing or extra:
        parts = [f"lacks {_few(missing)}"] * bool(missing)
        parts += [f"has {_few(extra)}, which the model does not know"] * bool(extra)
        raise InputError(
            f"the feature names should match those of the model: {whose} {' and '.join(parts)}."
        )
    if len(place) < len(wanted) or len(own) < len(given):
        raise InputError(
            f"the columns of {whose} are in another order than those of the model, and some have "
            "the same name; give every feature a name of its own."
        )
    return np.array([place[name] for name in given], dtype=np.int32)


def _few(names: Sequence[str]) -> str:
    told = ", ".join(shown(name) for name in names[:MOST_SHOWN])
    rest = len(names) - MOST_SHOWN
    return told if rest <= 0 else f"{told} and {rest:,} more"


def move_columns(X: sparse.csr_matrix, target: NDArray[np.int32]) -> sparse.csr_matrix:
    """Return features with every column moved to its place."""
    moved = sparse.csr_matrix((X.data, target[X.indices], X.indptr), shape=X.shape)
    moved.sort_indices()
    return moved


def match_features(
    fitted: Sequence[str] | None, names: Sequence[str] | None, method: str, whose: str = "X"
) -> NDArray[np.int32] | None:
    """Return the order of `find_order`, with a warning where only one side has names.

    Warns
    -----
    RmlsWarning
        In the words of scikit-learn.
    """
    if fitted is not None and names is not None:
        return find_order(fitted, names, whose)
    if names is not None:
        told = f"{whose} has feature names, but {method} was fitted without feature names"
        warnings.warn(told, RmlsWarning, stacklevel=4)
    if fitted is not None:
        told = (
            f"{whose} does not have valid feature names, but {method} was fitted with feature names"
        )
        warnings.warn(told, RmlsWarning, stacklevel=4)
    return None
