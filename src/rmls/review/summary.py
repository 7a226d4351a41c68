"""A review in short: what a terminal shows of it on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmls.report.content import Bullets, Part, Report, Section
from rmls.review.pages import answer, judged_in_words, quality_table

if TYPE_CHECKING:
    from rmls.review.model_review import Review

NOTE = "± is half of the 95% interval; ✓ ✗: better, worse than the baseline, {baseline}."


def review_summary(review: Review, name: str) -> Report:
    """Return the figures and what to do next, which names what was found."""
    quality = review.quality
    table = quality_table("", quality)
    table.note = NOTE.format(baseline=quality.methods[1]) if len(quality.methods) > 1 else ""
    sections = [Section("quality", "Quality", [answer(review), table])]
    steps: list[Part] = [
        Bullets([(f"{number}. ", text) for number, text in enumerate(review.advice, 1)])
    ]
    told = " ".join(review.advice)
    others = [("Also: ", found.what) for found in review.findings if found.what not in told]
    sections.append(Section("next", "What to do next", [*steps, Bullets(others)]))
    return Report(f"Review of {name}", judged_in_words(review), sections)
