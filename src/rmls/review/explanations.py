"""Explanations of texts as reports, for HTML and the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rmls.models.ranker.explanation import SimilarRow
from rmls.models.text.why import TextExplanation
from rmls.report.content import Facts, Marked, Part, Piece, Report, Section
from rmls.report.numbers import format_difference, format_number, format_percent
from rmls.report.page import to_html
from rmls.report.tables import Table, TableCell, table_row

# Words that a table lists: so many for the label, so many against it.
N_FOR, N_AGAINST = 10, 5
# Smaller parts are zeros in the table.
SMALLEST = 0.0005
SHOWN_TEXT = 60
PARTS = {
    "prior": "the label without any word",
    "classifier": "words, by the classifier of the label",
    "vectors": "words, by the vectors of text and label",
    "names": "the name of the label in the text",
    "dense": "the vector of the encoder",
    "boost": "the boost of rare labels",
    "remainder": "what bends in the vectors leave",
}


def explanation_report(
    explanations: Sequence[TextExplanation],
    fields: Sequence[str] | None = None,
    similar: Mapping[Any, Sequence[SimilarRow]] | None = None,
) -> Report:
    """Return explanations of the labels of one text.

    Parameters
    ----------
    explanations : sequence of TextExplanation
    fields : sequence of str, optional
        Names of the fields, where there are several.
    similar : mapping of labels to SimilarRow, optional
        Training rows to show beside each label.
    """
    similar = similar or {}
    text = " ".join(" ".join(explanations[0].texts).split())
    sections = [
        Section(
            f"label{number}",
            str(each.label),
            [
                Facts(list(_facts(each))),
                *_marked(each, fields),
                _words(each),
                _parts(each),
                *_similar(similar.get(each.label, ())),
            ],
        )
        for number, each in enumerate(explanations, 1)
    ]
    count = f"{len(explanations)} labels" if len(explanations) > 1 else "one label"
    short = f"{text[:SHOWN_TEXT]}{'…' if len(text) > SHOWN_TEXT else ''}"
    return Report(
        "Why these labels" if len(explanations) > 1 else "Why this label",
        f"{short} – {count}",
        sections,
    )


def explanation_html(explanations: Sequence[TextExplanation], **more: Any) -> str:
    """Return explanations of the labels of one text as a page that needs nothing else."""
    return to_html(explanation_report(explanations, **more))


def _facts(found: TextExplanation) -> Iterator[tuple[str, str]]:
    yield "Probability", format_percent(found.probability)
    yield "Score", format_number(found.score, 3)
    if not found.listed:
        yield "Not listed", "the label is not among those that the model ranks for this text"


def _marked(found: TextExplanation, fields: Sequence[str] | None) -> Iterator[Part]:
    # All fields on one scale: the strongest word of the text is the darkest.
    largest = max((abs(word.part) for word in found.words), default=0.0)
    several = fields is not None and len(fields) == len(found.texts) > 1
    for number, text in enumerate(found.texts):
        if text:
            title = fields[number] if several and fields is not None else ""
            yield Marked(list(_pieces(found, number, largest)), title)


def _pieces(found: TextExplanation, field: int, largest: float) -> Iterator[Piece]:
    """Yield a text in runs of characters that have the same part."""
    text = found.texts[field]
    parts = np.zeros(len(text))
    for word in found.words:
        if word.field == field:
            # In scripts without spaces words overlap: a character has its share of each.
            parts[word.start : word.end] += word.part / (word.end - word.start)
    starts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(text)]
    for start, end in pairwise(starts):
        part = float(parts[start]) * (end - start)
        strength = part / largest if largest else 0.0
        tip = format_difference(part, 2) if part else ""
        yield Piece(text[start:end], strength, tip)


def _words(found: TextExplanation) -> Table:
    beside = [(f"{part.column} = {_cell(part.value)}", part.part) for part in found.columns]
    totals = sorted([*found.top_words, *beside], key=lambda entry: -entry[1])
    told = [entry for entry in totals if abs(entry[1]) >= SMALLEST]
    chosen = [entry for entry in told if entry[1] > 0][:N_FOR]
    chosen += [entry for entry in told if entry[1] < 0][-N_AGAINST:]
    rows = [table_row(word, format_difference(part)) for word, part in chosen]
    left = len(totals) - len(chosen)
    note = f"{left} more with smaller parts" if left else ""
    return Table("Words", ["word", "adds"], rows, note)


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parts(found: TextExplanation) -> Table:
    rows = [
        table_row(PARTS[name], format_difference(part))
        for name, part in found.parts.items()
        if abs(part) >= SMALLEST or name == "prior"
    ]
    rows.append([TableCell("score"), TableCell(format_difference(found.total), "best")])
    return Table("Parts that add up to the score", ["part", "adds"], rows)


def _similar(rows: Sequence[SimilarRow]) -> list[Part]:
    if not rows:
        return []
    lines = [
        table_row(each.text or f"row {each.row}", format_number(each.similarity, 2))
        for each in rows
    ]
    return [Table("Training rows with the label", ["text", "cosine"], lines)]
