"""Rankings and suggestions in notebooks: rows with their labels, the best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rmls.core.show.fragments import Cell, fragment, grid, heading, paragraph

if TYPE_CHECKING:
    from rmls.core.ranking import RankedLabel, Ranking

SHOWN_ROWS, SHOWN_LABELS = 10, 5


def ranking_html(ranking: Ranking) -> str:
    """Return the first rows of a ranking: labels with their probabilities, or scores."""
    has_chances = ranking.probabilities is not None
    rows = [[_entry(entry, has_chances) for entry in row[:SHOWN_LABELS]]
            for row in ranking[:SHOWN_ROWS]]  # fmt: skip
    title = f"Ranking of {ranking.n_samples:,} rows, {ranking.n_labels:,} labels"
    what = "probabilities" if has_chances else "scores"
    return _labelled_rows(title, f"with {what}", rows, ranking.n_samples)


def suggestions_html(suggestions: Sequence[Sequence[Any]]) -> str:
    """Return the first rows of suggestions."""
    rows = [
        [(str(each.name), _written(each.probability, True)) for each in row[:SHOWN_LABELS]]
        for row in suggestions[:SHOWN_ROWS]
    ]
    return _labelled_rows(f"Suggestions for {len(suggestions):,} texts", "", rows, len(suggestions))


def _entry(entry: RankedLabel, has_chances: bool) -> tuple[str, str]:
    value = entry.probability if has_chances else entry.score
    return str(entry.label), _written(value, has_chances)


def _written(value: float | None, is_chance: bool) -> str:
    if value is None:
        return ""
    return f"{value:.1%}" if is_chance else f"{value:.3g}"


def _labelled_rows(title: str, said: str, rows: list[list[tuple[str, str]]], n_rows: int) -> str:
    width = max((len(row) for row in rows), default=0)
    columns = ["row", *(str(place) for place in range(1, width + 1))]
    table = grid(columns, _cells(rows, width), n_names=1 + width)
    parts = [heading(title), *([paragraph(said)] if said else []), table]
    if n_rows > len(rows):
        parts.append(paragraph(f"and {n_rows - len(rows):,} more rows"))
    return fragment(*parts)


def _cells(rows: list[list[tuple[str, str]]], width: int) -> Iterator[list[str | Cell]]:
    for number, row in enumerate(rows):
        cells: list[str | Cell] = [Cell(label, said) for label, said in row]
        yield [str(number), *cells, *[""] * (width - len(row))]
