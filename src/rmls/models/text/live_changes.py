"""The changes of a fitted `TextRanker`, each of them all or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.label_text import LabelText
from rmls.core.labels import shown
from rmls.features.text.names import name_rows
from rmls.features.text.text_features import TextFeatures
from rmls.models.ranker.label_words import LabelWords, name_texts
from rmls.models.ranker.live.changes import widen_features
from rmls.models.ranker.live.tables import read_label_list, read_label_pairs
from rmls.models.ranker.ranker import RMLSRanker
from rmls.models.shared.new_rows import match_labels
from rmls.models.text.live import change_copy
from rmls.models.text.naming import other_names, read_text
from rmls.models.text.why import list_beginnings

if TYPE_CHECKING:
    from rmls.models.text.text_ranker import TextRanker


@dataclass
class TextChange:
    """Copies of what a model is made of; the model takes them over when all went well."""

    model: TextRanker
    features: TextFeatures
    estimator: RMLSRanker
    names: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: TextRanker) -> TextChange:
        """Begin a change."""
        return cls(model, *change_copy(model))

    def take_up(self, X: Any, names: Sequence[str]) -> None:
        """Learn the words of texts and of names that are new."""
        added = self.features.add_terms(X, names)
        if added:
            widen_features(self.estimator, added)

    def rows(self, X: Any) -> sparse.csr_matrix | None:
        """Return texts as rows."""
        if X is None:
            return None
        rows = self.features.transform(X)
        if not rows.nnz:
            raise InputError("no text has a word; there is nothing to learn from.")
        return rows

    def words(self, texts: list[str], owners: Any) -> LabelWords | None:
        """Return what labels are called in the terms of the features."""
        return LabelWords(name_rows(self.features, texts), owners) if texts else None

    def called(self, labels: Sequence[Any], label_text: Any) -> tuple[list[str], Any]:
        """Return what labels are called, and the label of every text; notes other names."""
        if not self.model.use_names or not labels:
            return [], np.zeros(0, np.int32)
        text = LabelText((), ()) if label_text is None else read_text(label_text)
        aligned = text.align(labels, add_others=False)
        if label_text is not None:
            self.names |= other_names(aligned)
        return name_texts(aligned)

    def finish(self) -> None:
        """Let the model be what was made of it."""
        self.model.other_names_ = {**self.model.other_names_, **self.names}
        self.model.features_, self.model.estimator_ = self.features, self.estimator


def learn(
    model: TextRanker,
    X: Any,
    y: Any,
    sample_weight: Any,
    label_names: Any,
    label_text: Any,
    rejected: Any,
) -> None:
    """Learn from further texts."""
    change = TextChange.of(model)
    new = match_labels(change.estimator, y, label_names)[1]
    texts, owners = change.called(new, label_text)
    change.take_up(X, texts)
    words = change.words(texts, owners)
    rows = change.rows(X)
    change.estimator.partial_fit(rows, y, None, sample_weight, label_names, words, rejected)
    kept = change.estimator._kept_rows
    if kept is not None:
        change.estimator._kept_rows = kept.with_last_texts(list_beginnings(model, X))
    change.finish()


def add(model: TextRanker, labels: Sequence[str] | None, label_text: Any, X: Any, y: Any) -> None:
    """Add labels."""
    change = TextChange.of(model)
    if labels is None:
        if label_text is None:
            raise InputError("add_labels needs labels, or a label_text that has some.")
        labels = _others(read_text(label_text), model.classes_.tolist())
    labels = read_label_list(labels)
    if any(isinstance(label, str) and not label.strip() for label in labels):
        raise InputError("a label that is added needs a name of at least one character.")
    texts, owners = change.called(labels, label_text)
    change.take_up(X, texts)
    words = change.words(texts, owners)
    change.estimator.add_labels(labels, words, change.rows(X), y)
    change.finish()


def _others(text: LabelText, known: list[Any]) -> list[str]:
    """Return the labels of a table that are not known, written as the known ones are."""
    names = {str(name).casefold() for name in known}
    if not names.isdisjoint(str(name).casefold() for name in (*text.ids, *text.names)):
        aligned = text.align(known)
        return list(aligned.labels[len(known) :])
    return [label for label in text.ids if label not in text.deprecated]


def rename(model: TextRanker, names: Mapping[str, str], label_text: Any) -> None:
    """Call labels something else."""
    change = TextChange.of(model)
    names = read_label_pairs(names, "names must be a mapping of labels to new names")
    # Labels keep what else they are called, unless it is said anew.
    change.names = {
        str(new): model.other_names_[str(old)]
        for old, new in names.items()
        if str(old) in model.other_names_
    }
    texts, owners = change.called(list(names.values()), label_text)
    change.take_up(None, texts)
    change.estimator.rename_labels(names, change.words(texts, owners))
    change.finish()


def split(
    model: TextRanker, label: str, into: Sequence[str], label_text: Any, X: Any, y: Any
) -> None:
    """Replace a label by several."""
    if isinstance(into, str):
        raise InputError(f"into must be a list of names; got the text {shown(into)}.")
    change = TextChange.of(model)
    texts, owners = change.called(list(into), label_text)
    change.take_up(X, texts)
    words = change.words(texts, owners)
    change.estimator.split_label(label, into, words, change.rows(X), y)
    change.finish()
