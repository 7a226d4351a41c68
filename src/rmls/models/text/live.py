"""A fitted `TextRanker` goes on: labels come and go by their names, and new texts are learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from rmls.core.errors import InputError
from rmls.core.lean.learn import check_is_fitted

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator as Base
else:
    Base = object


class LiveTexts(Base):  # type: ignore[misc]
    """Mixin: what `RMLSRanker` offers after `fit`, for texts."""

    def partial_fit(
        self: Any,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        label_names: Any = None,
        label_text: Any = None,
        rejected: Any = None,
    ) -> Any:
        """Learn from further texts, in time that goes with these; see `RMLSRanker.partial_fit`.

        Words that are new are taken up, and so are labels.

        Examples
        --------
        >>> from rmls import TextRanker
        >>> texts = ["tax on sugar", "fishing in the sea", "tax on fish"]
        >>> model = TextRanker().fit(texts, [["tax"], ["sea"], ["tax", "sea"]])
        >>> model = model.partial_fit(["a film", "films of the year"], [["cinema"], ["cinema"]])
        >>> model.suggest(["an old film"], k=1)[0][0].name
        'cinema'
        """
        if not hasattr(self, "estimator_"):
            self.fit(X, y, sample_weight, label_names, label_text)
            known = set(self.classes_.tolist())
            others = [] if classes is None else [name for name in classes if name not in known]
            return self.add_labels(others) if others else self
        from rmls.models.text import live_changes

        given = (X, y, sample_weight, label_names, label_text, rejected)
        live_changes.learn(self, *given)
        return self

    def add_labels(
        self: Any,
        labels: Sequence[str] | None = None,
        label_text: Any = None,
        X: Any = None,
        y: Any = None,
    ) -> Any:
        """Add labels, which can be suggested by their names at once; no other score changes.

        Parameters
        ----------
        labels : sequence of str, optional
            Labels that the model does not have; without it, all that ``label_text`` has and the
            model has not.
        label_text : LabelText, mapping of labels to names, or path, optional
            What they are called; without it, what they are.
        X, y : as for `fit`, optional
            Texts that show them, a few for each label. Other labels do not learn from them.

        Examples
        --------
        >>> from rmls import TextRanker
        >>> texts = ["tax on sugar", "fishing in the sea", "tax on fish"]
        >>> model = TextRanker().fit(texts, [["tax"], ["sea"], ["tax", "sea"]])
        >>> model.add_labels(["space travel"]).suggest(["travel in space"], k=1)[0][0].name
        'space travel'
        """
        check_is_fitted(self)
        from rmls.models.text import live_changes

        live_changes.add(self, labels, label_text, X, y)
        return self

    def retire_labels(self: Any, labels: Sequence[str]) -> Any:
        """Take labels out; texts that have them are refused from now on."""
        return self._change("retire_labels", labels)

    def rename_labels(self: Any, names: Mapping[str, str], label_text: Any = None) -> Any:
        """Call labels something else: ``{old name: new name}``; the new name is evidence."""
        check_is_fitted(self)
        from rmls.models.text import live_changes

        live_changes.rename(self, names, label_text)
        return self

    def merge_labels(self: Any, into: Mapping[str, str]) -> Any:
        """Let labels become part of others: ``{label: the label that takes it up}``."""
        return self._change("merge_labels", into)

    def split_label(
        self: Any,
        label: str,
        into: Sequence[str],
        label_text: Any = None,
        X: Any = None,
        y: Any = None,
    ) -> Any:
        """Replace a label by several; see `RMLSRanker.split_label`."""
        check_is_fitted(self)
        from rmls.models.text import live_changes

        live_changes.split(self, label, into, label_text, X, y)
        return self

    @property
    def former_labels_(self: Any) -> dict[Any, str]:
        """Labels that the model had once, and what became of each."""
        return dict(getattr(self.estimator_, "former_labels_", {}))

    def _change(self: Any, method: str, *arguments: Any) -> Any:
        check_is_fitted(self)
        getattr(live_estimator(self), method)(*arguments)
        return self


def live_estimator(model: Any) -> Any:
    """Return the ranker inside; other estimators do not change after `fit`."""
    estimator = model.estimator_
    if not hasattr(estimator, "add_labels"):
        name = type(estimator).__name__
        raise InputError(f"{name} does not change once it is fitted; RMLSRanker does.")
    return estimator


def change_copy(model: Any) -> tuple[Any, Any]:
    """Return copies of the features and of the ranker of a model, to be changed together."""
    return copy(model.features_), copy(live_estimator(model))
