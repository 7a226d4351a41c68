"""What explanations are made of: parts of a score, features, labels and rows beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class FeaturePart(NamedTuple):
    """What a feature of a row adds to the score of a label.

    Attributes
    ----------
    feature : str or int
        Its name, or its column where features have no names.
    value : float
        In the row, as the model scales it.
    classifier : float
        Through the classifier of the label.
    vectors : float
        Through the vectors of the row and the label.
    named : float
        As a word of what the label is called.
    """

    feature: Any
    value: float
    classifier: float
    vectors: float
    named: float

    @property
    def total(self) -> float:
        """All that it adds."""
        return self.classifier + self.vectors + self.named


class FeatureWeight(NamedTuple):
    """A feature and its weight in the classifier of a label."""

    feature: Any
    weight: float


class SimilarLabel(NamedTuple):
    """A label and the cosine of its vector with that of another."""

    label: Any
    similarity: float


class SimilarRow(NamedTuple):
    """A training row that is like another one.

    Attributes
    ----------
    row : int
        Its number among the rows that `fit` was given.
    similarity : float
        Cosine of the features.
    labels : list
        All its labels.
    text : str or None
        Its beginning, where the rows are texts.
    """

    row: int
    similarity: float
    labels: list[Any]
    text: str | None


@dataclass(frozen=True)
class Explanation:
    """Why a label has its score: parts that add up to it.

    Attributes
    ----------
    label : str or int
    score : float
        The score that ranks the label; what it would be where it is not listed.
    probability : float
    listed : bool
        Whether the label is on the shortlist of the row; others are not ranked by their score.
    prior : float
        The score that the label has without any feature.
    boost : float
        What rare labels are given in the ranking; no part of the probability.
    features : tuple of FeaturePart
        Those of the row, the largest part first.
    names : float
        What the name of the label in the text adds; shared by its words in ``features``.
    dense : float
        What dense columns add.
    remainder : float
        What bends in the activation of the vectors leave. Along a path that is nothing, but for
        the rounding of the product of the vectors in the ranking.

    Notes
    -----
    ``total`` is the sum of ``parts`` and differs from ``score`` by rounding alone: the ranking
    computes in single precision, the parts are computed in double.
    """

    label: Any
    score: float
    probability: float
    listed: bool
    prior: float
    boost: float
    features: tuple[FeaturePart, ...]
    names: float
    dense: float
    remainder: float

    @property
    def classifier(self) -> float:
        """What the features add through the classifier."""
        return sum(part.classifier for part in self.features)

    @property
    def vectors(self) -> float:
        """What the features add through the vectors."""
        return sum(part.vectors for part in self.features)

    @property
    def parts(self) -> dict[str, float]:
        """The parts of the score by name."""
        return {
            "prior": self.prior,
            "classifier": self.classifier,
            "vectors": self.vectors,
            "names": self.names,
            "dense": self.dense,
            "boost": self.boost,
            "remainder": self.remainder,
        }

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return sum(self.parts.values())

    def _repr_html_(self) -> str:
        from rmls.core.show.explanations import explanation_html

        return explanation_html(self)
