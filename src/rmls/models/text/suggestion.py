"""A label that is suggested for a text."""

from __future__ import annotations

from typing import Any, NamedTuple

from rmls.core.ranking import RankedLabel, Ranking


class Suggestion(NamedTuple):
    """A label that suits a text, and how likely it is right.

    Attributes
    ----------
    name : str
    probability : float
        Calibrated on rows that the model was not trained on.
    """

    name: Any
    probability: float


class Suggestions(list[list[Suggestion]]):
    """The suggestions of several texts: a list of lists, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        from rmls.core.show.labels import suggestions_html

        return suggestions_html(self)


def rank_rows(model: Any, rows: Any, k: int) -> Ranking:
    """Return the best labels of rows that the features of a model have made."""
    # Vectors come from elsewhere and are looked at; words do not.
    if model.features_.n_dense_:
        ranking: Ranking = model.estimator_.rank(rows, k)
        return ranking
    made: Ranking = model.estimator_._rank_made(rows, k)
    return made


def likely(row: list[RankedLabel], least: float) -> list[Suggestion]:
    """Return the labels of a row that are likely enough, the most likely first."""
    found = [Suggestion(entry.label, float(entry.probability or 0.0)) for entry in row]
    kept = [suggestion for suggestion in found if suggestion.probability >= least]
    return sorted(kept, key=lambda suggestion: -suggestion.probability)
