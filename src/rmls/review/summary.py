"""A review in short: what a terminal shows of it on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmls.report.content import Bullets, Part, Report, Section
from rmls.report.numbers import format_percent
from rmls.review.pages import judged_in_words, quality_table

if TYPE_CHECKING:
    from rmls.review.model_review import Review
    from rmls.review.quality import Quality

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


def answer(review: Review) -> str:
    """Return the quality in a sentence or two."""
    methods = review.quality.methods

    def share(method: str, metric: str, quality: Quality = review.quality) -> str:
        return format_percent(quality.values[method, metric, "all"].value)

    model, without = methods[0], review.without_leaks
    first = f"The best label is right in {share(model, 'P@1')} of the rows"
    if len(methods) > 1:
        first += f" ({methods[1]}: {share(methods[1], 'P@1')})"
    said = f"{first}; of the best five {share(model, 'P@5')} are."
    if without is not None:
        said += (
            f" Without texts that training has nearly seen: {share(model, 'P@1', without)} and "
            f"{share(model, 'P@5', without)}."
        )
    return said
