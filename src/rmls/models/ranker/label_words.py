"""What labels are called, in the words that features stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.label_text import AlignedLabelText, LabelText
from rmls.core.lean.learn import check_array
from rmls.core.sparse import as_feature_csr, check_sparse

WORD = re.compile(r"\w+")
# JavaScript is one word for some and two for others: both are tried.
INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class LabelWords:
    """The words of the names of labels, in the columns of the features.

    Attributes
    ----------
    words : CSR matrix of shape (n_names, n_features)
        Which words stand in every name; a label may have several names.
    owners : ndarray of int32, shape (n_names,)
        The label of every name.
    """

    words: sparse.csr_matrix
    owners: NDArray[np.int32]


def read_label_words(
    label_text: Any, labels: Sequence[Any], n_features: int, feature_names: Any = None
) -> LabelWords:
    """Return the words of labels from whatever `RMLSRanker.fit` was given.

    Parameters
    ----------
    label_text : LabelWords, matrix, LabelText or mapping
    labels : sequence
        What the model calls its labels.
    n_features : int
    feature_names : sequence of str, optional
        The words that the features stand for.
    """
    if isinstance(label_text, LabelWords):
        return _checked(label_text, len(labels), n_features)
    if not isinstance(label_text, LabelText | Mapping):
        words = _read_matrix(label_text)
        owners = np.arange(words.shape[0], dtype=np.int32)
        if len(owners) != len(labels):
            raise _wrong_rows(len(owners), len(labels))
        return _checked(LabelWords(words, owners), len(labels), n_features)
    if feature_names is None:
        raise InputError(
            "label_text has names but the features have none: fit a table whose columns are words, "
            "give a matrix with a row of features for every label, or use rmls.TextRanker."
        )
    texts, owners = name_texts(as_label_text(label_text).align(labels, add_others=False))
    return LabelWords(_find_words(texts, feature_names), owners)


def as_label_text(given: Any) -> LabelText:
    """Return a table of labels from one, or from a mapping of labels to names.

    Examples
    --------
    >>> as_label_text({"b1": "bread", "b2": ["rye", "rye bread"]}).alternatives
    ((), ('rye bread',))
    """
    if isinstance(given, LabelText):
        return given
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise InputError(
            f"label_text must be a LabelText or a mapping of labels to names; got {kind}."
        )
    # A value that is neither a name nor names is refused as one name that is no string.
    names = [
        list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        for value in given.values()
    ]
    for label, found in zip(given, names, strict=True):
        if not all(isinstance(name, str) for name in found):
            raise InputError(f"label_text: the names of {str(label)[:60]!r} must be strings.")
    return LabelText(
        tuple(str(label) for label in given),
        tuple(found[0] if found else "" for found in names),
        tuple(tuple(found[1:]) for found in names),
    )


def name_texts(aligned: AlignedLabelText) -> tuple[list[str], NDArray[np.int32]]:
    """Return all that labels are called as texts, and the label of every text."""
    texts: list[str] = []
    owners: list[int] = []
    given = zip(aligned.names, aligned.alternatives, aligned.descriptions, strict=True)
    for label, (name, others, description) in enumerate(given):
        known = [name, *others, description]
        known += [INNER_CAPITAL.sub(" ", text) for text in (name, *others)]
        # In the order given, each once.
        for text in dict.fromkeys(text for text in known if text):
            texts.append(text)
            owners.append(label)
    return texts, np.array(owners, dtype=np.int32)


def _find_words(texts: Sequence[str], feature_names: Sequence[Any]) -> sparse.csr_matrix:
    places = {str(name).casefold(): place for place, name in enumerate(feature_names)}
    found = [
        {places[word] for word in WORD.findall(text.casefold()) if word in places} for text in texts
    ]
    indptr = np.concatenate([[0], np.cumsum([len(words) for words in found])])
    indices = np.array([place for words in found for place in sorted(words)], dtype=np.int32)
    shape = (len(texts), len(feature_names))
    return sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape)


def _read_matrix(label_text: Any) -> sparse.csr_matrix:
    # Before scikit-learn and scipy look at it, whose native code trusts it.
    check_sparse(label_text, "label_text")
    try:
        checked = check_array(label_text, accept_sparse="csr", dtype=np.float32)
    except (TypeError, ValueError) as error:
        why = str(error).partition("\n")[0].rstrip(".:")
        raise InputError(
            f"label_text must be names, or a matrix with a row of features for every label: {why}."
        ) from None
    return as_feature_csr(checked)


def _checked(words: LabelWords, n_labels: int, n_features: int) -> LabelWords:
    if words.words.shape[1] != n_features:
        raise InputError(
            f"label_text has {words.words.shape[1]} features but X has {n_features}; both need the "
            "same."
        )
    owners = words.owners
    if len(owners) != words.words.shape[0] or ((owners < 0) | (owners >= n_labels)).any():
        raise _wrong_rows(len(owners), n_labels)
    return words


def _wrong_rows(n_rows: int, n_labels: int) -> InputError:
    return InputError(
        f"label_text has {n_rows} rows but there are {n_labels} labels; it needs one row for every "
        "label."
    )
