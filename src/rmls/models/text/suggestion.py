"""A label that is suggested for a text."""

from __future__ import annotations

from typing import Any, NamedTuple

from rmls.core.ranking import RankedLabel


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


def likely(row: list[RankedLabel], least: float) -> list[Suggestion]:
    """Return the labels of a row that are likely enough, the most likely first."""
    found = [Suggestion(entry.label, float(entry.probability or 0.0)) for entry in row]
    kept = [suggestion for suggestion in found if suggestion.probability >= least]
    return sorted(kept, key=lambda suggestion: -suggestion.probability)
