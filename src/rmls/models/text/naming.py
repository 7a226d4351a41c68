"""Labels with what they are called: those of the training rows, and those that have no row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.label_text import AlignedLabelText, LabelText
from rmls.core.labels import LabelSpace
from rmls.features.text.names import name_rows
from rmls.features.text.text_features import TextFeatures
from rmls.models.ranker.label_words import LabelWords, as_label_text, name_texts
from rmls.models.shared.training_set import read_targets


@dataclass(frozen=True)
class NamedLabels:
    """Labels of rows and what they are called.

    Attributes
    ----------
    space : LabelSpace
        All labels; those without a row stand behind the others.
    Y : CSR matrix of shape (n_rows, n_labels)
    called : AlignedLabelText
    texts : list of str
        Every name, alternative name and description.
    owners : ndarray of int32
        The label of every text.
    """

    space: LabelSpace
    Y: sparse.csr_matrix
    called: AlignedLabelText
    texts: list[str]
    owners: NDArray[np.int32]

    def words(self, features: TextFeatures) -> LabelWords:
        """Return the names in the terms of fitted features."""
        return LabelWords(name_rows(features, self.texts), self.owners)


def name_labels(y: Any, label_names: Any = None, label_text: Any = None) -> NamedLabels | None:
    """Return labels with their names; None where nothing that is known of them is words.

    Parameters
    ----------
    y : lists of label names, 0/1 matrix, or 1-d classes
    label_names : sequence of str, optional
        Names for the columns of a 0/1 matrix.
    label_text : LabelText, mapping of labels to names, or path, optional
        Labels that ``y`` does not have become labels without rows.
    """
    space, Y = read_targets(y, label_names)
    text = LabelText((), ()) if label_text is None else read_text(label_text)
    # Every row of a 1-d y has its class: a class that none has is no class.
    called = text.align(space.names, add_others=not space.is_single)
    texts, owners = name_texts(called)
    if not texts:
        return None
    wider = sparse.csr_matrix((Y.data, Y.indices, Y.indptr), (Y.shape[0], len(called)))
    return NamedLabels(replace(space, names=list(called.labels)), wider, called, texts, owners)


def other_names(called: AlignedLabelText) -> dict[str, list[str]]:
    """Return what labels are called beside what they are, where there is such a name.

    Examples
    --------
    >>> text = LabelText(("b1", "rye"), ("bread", "rye"), (("loaf",), ("rye bread",)))
    >>> other_names(text.align(["b1", "rye"]))
    {'b1': ['bread', 'loaf'], 'rye': ['rye bread']}
    """
    given = zip(map(str, called.labels), called.names, called.alternatives, strict=True)
    found = {
        label: [name for name in dict.fromkeys((first, *others)) if name and name != label]
        for label, first, others in given
    }
    return {label: names for label, names in found.items() if names}


def read_text(label_text: Any) -> LabelText:
    """Return what labels are called, from a file too."""
    if not isinstance(label_text, str | Path):
        return as_label_text(label_text)
    from rmls.datasets import read_label_text

    text: LabelText = read_label_text(label_text)
    return text
