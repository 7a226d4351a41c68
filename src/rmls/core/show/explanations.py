"""Explanations in notebooks: the text with its words marked, and the parts of the score."""

from __future__ import annotations

from typing import Any

from rmls.core.show.fragments import fragment, grid, heading, marked, paragraph
from rmls.core.show.markup import Markup

SHOWN_FEATURES = 8
# Smaller parts are zeros in the table.
SMALLEST = 0.0005


def explanation_html(found: Any) -> str:
    """Return why a label has its score; of texts the words are marked."""
    said = f"{found.probability:.1%}, score {found.score:.3f}"
    if not found.listed:
        said += "; not on the shortlist, so that it is not ranked by this score"
    parts = [heading(str(found.label)), paragraph(said), *_texts(found)]
    if not getattr(found, "texts", ()):
        rows = [[str(each.feature), f"{each.total:+.3f}"] for each in found.features]
        parts.append(grid(["feature", "adds"], rows[:SHOWN_FEATURES]))
    shares = [[name, f"{value:+.3f}"] for name, value in found.parts.items()
              if abs(value) >= SMALLEST]  # fmt: skip
    return fragment(*parts, grid(["part", "of the score"], shares))


def _texts(found: Any) -> list[Markup]:
    words = getattr(found, "words", ())
    largest = max((abs(word.part) for word in words), default=0.0)
    return [
        marked(
            text,
            ((word.start, word.end, word.part) for word in words if word.field == field),
            largest,
        )
        for field, text in enumerate(getattr(found, "texts", ()))
    ]
