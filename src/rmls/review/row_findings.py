"""Rows that cost quality: without text or labels, twice, very short or very long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.datasets.tables import TextTable
from rmls.review.duplicates import Duplicates, repeated
from rmls.review.findings import SHOWN, Finding, counted, have, listed, quote

FEW_WORDS = 3
# What stands behind ten thousand words is rarely about the subject of a text.
MANY_WORDS = 10_000

Ints = NDArray[np.int64]


def row_findings(table: TextTable, duplicates: Duplicates) -> Iterator[Finding]:
    """Yield what is found in the rows of a table."""
    yield from _without_text(table, duplicates.n_words)
    yield from _without_labels(table)
    groups = repeated(duplicates.same)
    yield from _same_text(table, groups)
    yield from _other_labels(table, groups)
    yield from _near_text(table, duplicates)
    yield from _lengths(table, duplicates.n_words)


def row_name(table: TextTable, row: int) -> str:
    """Return the number of a row, from 1, and its name where it has one.

    Examples
    --------
    >>> row_name(TextTable(("text",), [("a",)], ids=["X7"]), 0)
    '1 (X7)'
    """
    return name_row(row, None if table.ids is None else table.ids[row])


def name_row(place: int, name: Any = None) -> str:
    """Return the number of a row, from 1, and its name where it has one."""
    return f"{place + 1}" if name is None else f"{place + 1} ({quote(str(name), 24)})"


def _without_text(table: TextTable, n_words: Ints) -> Iterator[Finding]:
    rows = np.flatnonzero(n_words == 0)
    if len(rows):
        shown = [(row_name(table, row), _labels(table, row)) for row in rows[:SHOWN].tolist()]
        yield Finding(
            "no_text",
            "Rows without text",
            len(rows),
            f"{counted(len(rows), 'row')} of {len(table):,} {have(len(rows))} no word.",
            "A model learns nothing from them and can only guess; fill them in or leave them out.",
            ("row", "labels"),
            tuple(shown),
            tuple(rows.tolist()),
            weight="problem",
        )


def _without_labels(table: TextTable) -> Iterator[Finding]:
    if table.labels is None:
        return
    rows = [row for row, labels in enumerate(table.labels) if not labels]
    if rows:
        yield Finding(
            "no_labels",
            "Rows without a label",
            len(rows),
            f"{counted(len(rows), 'row')} of {len(table):,} {have(len(rows))} no label.",
            "If nobody has labelled them yet, leave them out of training and let the model "
            "suggest; as they are they teach that no label fits.",
            ("row", "text"),
            tuple((row_name(table, row), quote(table.texts[row])) for row in rows[:SHOWN]),
            tuple(rows),
        )


def _same_text(table: TextTable, groups: list[Ints]) -> Iterator[Finding]:
    if not groups:
        return
    rows = np.sort(np.concatenate(groups))
    extra = len(rows) - len(groups)
    yield Finding(
        "same_text",
        "Rows with the same text",
        len(rows),
        f"{counted(len(rows), 'row')} have the words of another row; "
        f"{counted(extra, 'row')} would go if each text were kept once.",
        "Keep each text once, or at least on one side of a split: a test on rows that were "
        "learned by heart flatters the model.",
        ("rows", "text"),
        tuple((_numbers(table, group), quote(table.texts[group[0]])) for group in groups[:SHOWN]),
        tuple(rows.tolist()),
        weight="problem" if len(rows) > 0.01 * len(table) else "note",
    )


def _other_labels(table: TextTable, groups: list[Ints]) -> Iterator[Finding]:
    """Yield the texts that come again with other labels."""
    if table.labels is None:
        return
    labels = table.labels
    torn = [g for g in groups if len({frozenset(labels[row]) for row in g.tolist()}) > 1]
    if not torn:
        return
    shown = []
    for group in torn[:SHOWN]:
        sets = list(dict.fromkeys(", ".join(sorted(labels[row])) for row in group.tolist()))
        shown.append(
            (
                _numbers(table, group),
                quote(table.texts[group[0]], 40),
                quote(" | ".join(part or "none" for part in sets[:3]), 60),
            )
        )
    yield Finding(
        "torn_text",
        "Same text, other labels",
        len(torn),
        f"{counted(len(torn), 'text')} {have(len(torn))} other labels in another row.",
        "No model can be right about all of them: agree on one set, or add the column that "
        "tells them apart.",
        ("rows", "text", "labels"),
        tuple(shown),
        tuple(np.sort(np.concatenate(torn)).tolist()),
        weight="problem",
    )


def _near_text(table: TextTable, duplicates: Duplicates) -> Iterator[Finding]:
    near = repeated(duplicates.near)
    # Groups of texts that are all the same were told before.
    groups = [g for g in near if len(np.unique(duplicates.same[g])) > 1]
    if not groups:
        return
    rows = np.sort(np.concatenate(groups))
    shown = []
    for group in groups[:SHOWN]:
        first = group[0]
        other = group[duplicates.same[group] != duplicates.same[first]][0]
        texts = (quote(table.texts[row], 50) for row in (first, other))
        shown.append((_numbers(table, group), *texts))
    yield Finding(
        "near_text",
        "Rows with nearly the same text",
        len(rows),
        f"{counted(len(rows), 'row')} in {counted(len(groups), 'group')} share four fifths of "
        "their words and word pairs with another one.",
        "Keep every group on one side of a split; if they are templates, remove what they all "
        "share.",
        ("rows", "one text", "another one"),
        tuple(shown),
        tuple(rows.tolist()),
    )


def _lengths(table: TextTable, n_words: Ints) -> Iterator[Finding]:
    short = np.flatnonzero((n_words > 0) & (n_words < FEW_WORDS))
    long = np.flatnonzero(n_words > MANY_WORDS)
    # Where all texts are short it is their nature.
    if 0 < len(short) < 0.5 * len(table):
        yield Finding(
            "short_text",
            "Very short texts",
            len(short),
            f"{counted(len(short), 'row')} {have(len(short))} fewer than {FEW_WORDS} words.",
            "Name more columns with --text if there are any.",
            ("row", "text", "labels"),
            tuple(
                (row_name(table, row), quote(table.texts[row], 30), _labels(table, row))
                for row in short[:SHOWN].tolist()
            ),
            tuple(short.tolist()),
        )
    if len(long):
        order = long[np.argsort(-n_words[long], kind="stable")]
        yield Finding(
            "long_text",
            "Very long texts",
            len(long),
            f"{counted(len(long), 'row')} {have(len(long))} more than {MANY_WORDS:,} words, up to "
            f"{n_words.max():,}.",
            "Look at the longest: several documents in one cell, or a quotation mark that was "
            "never closed.",
            ("row", "words", "text"),
            tuple(
                (row_name(table, row), f"{n_words[row]:,}", quote(table.texts[row], 50))
                for row in order[:SHOWN].tolist()
            ),
            tuple(np.sort(long).tolist()),
        )


def _numbers(table: TextTable, rows: Ints) -> str:
    return listed((row_name(table, row) for row in rows.tolist()), 3)


def _labels(table: TextTable, row: int) -> str:
    return quote(", ".join(table.labels[row]), 50) if table.labels is not None else ""
