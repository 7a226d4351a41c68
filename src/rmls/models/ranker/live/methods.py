"""What a fitted ranker offers beside its answers: labels come and go, and new rows are learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rmls.core.lean.learn import check_is_fitted
from rmls.core.resources import keeps_to_n_jobs

if TYPE_CHECKING:
    from rmls.models.ranker.sources import Background
    from rmls.models.shared.estimator import MultiLabelEstimator as Base
else:
    Base = object


class LiveLabels(Base):
    """Mixin: the vocabulary of a fitted ranker changes without training again."""

    former_labels_: dict[Any, str]
    _background: Background | None = None

    @keeps_to_n_jobs
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
        """Learn from further rows, in time that goes with these.

        The classifiers of the labels that the rows have, or list, start from what they know. Labels
        that are new are added. Vectors, and how scores are combined, stay; probabilities are
        corrected by how well they fit the rows before these were learned.

        Parameters
        ----------
        X, y, sample_weight, label_names : as for `fit`
            A model that is not fitted is fitted to them.
        classes : sequence, optional
            Labels that may come, in the first call; those without rows are added.
        label_text : as for `fit`, optional
            What labels that are new are called.
        rejected : like ``y``, optional
            The labels that are known to be wrong. Nothing is then assumed of labels that are
            neither in ``y`` nor here; without it a label that a row does not have is wrong for it.

        Returns
        -------
        self

        Examples
        --------
        >>> from rmls import RMLSRanker
        >>> model = RMLSRanker(4).fit([[1, 0, 0], [0, 1, 0]] * 20, [["tax"], ["law"]] * 20)
        >>> model = model.partial_fit([[0, 0, 1]] * 3, [["art"]] * 3)
        >>> model.rank([[0, 0, 1]], k=1)[0][0].label
        'art'
        """
        if not self.__sklearn_is_fitted__():
            self.fit(X, y, sample_weight, label_names, label_text)
            known = set(self._space.names)
            others = [] if classes is None else [name for name in classes if name not in known]
            return self.add_labels(others) if others else self
        from rmls.models.ranker.live import changes

        rows = changes.Given(X, y, sample_weight, label_names, label_text, rejected)
        changes.learn(self, rows)
        return self

    @keeps_to_n_jobs
    def add_labels(
        self: Any, labels: Sequence[Any], label_text: Any = None, X: Any = None, y: Any = None
    ) -> Any:
        """Add labels to a fitted model; no other label's score changes.

        Parameters
        ----------
        labels : sequence
            Names of labels that the model does not have.
        label_text : as for `fit`, optional
            What they are called.
        X, y : as for `fit`, optional
            Rows that show them, a few for each label. Other labels do not learn from them.
        """
        check_is_fitted(self)
        from rmls.models.ranker.live import changes

        changes.add(self, labels, label_text, X, y)
        return self

    def retire_labels(self: Any, labels: Sequence[Any]) -> Any:
        """Take labels out of a fitted model; rows that have them are refused from now on."""
        check_is_fitted(self)
        from rmls.models.ranker.live import changes

        changes.retire(self, labels)
        return self

    def rename_labels(self: Any, names: Mapping[Any, Any], label_text: Any = None) -> Any:
        """Call labels something else: ``{old name: new name}``.

        ``label_text`` says what they are called then, where names are evidence.
        """
        check_is_fitted(self)
        from rmls.models.ranker.live import changes

        changes.rename(self, names, label_text)
        return self

    def merge_labels(self: Any, into: Mapping[Any, Any]) -> Any:
        """Let labels become part of others: ``{label: the label that takes it up}``.

        The classifier of both is the sum of theirs, which says yes where one of them does.
        """
        check_is_fitted(self)
        from rmls.models.ranker.live import changes

        changes.merge(self, into)
        return self

    @keeps_to_n_jobs
    def split_label(
        self: Any,
        label: Any,
        into: Sequence[Any],
        label_text: Any = None,
        X: Any = None,
        y: Any = None,
    ) -> Any:
        """Replace a label by several, which start from what was known of it.

        Their names (``label_text``) and a few rows of each (``X``, ``y``) tell them apart.
        """
        check_is_fitted(self)
        from rmls.models.ranker.live import changes

        changes.split(self, label, into, changes.Given(X, y, label_text=label_text))
        return self
