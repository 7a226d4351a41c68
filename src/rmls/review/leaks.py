"""Held-out rows whose text a model has nearly seen in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rmls.datasets.tables import TextTable
from rmls.review.duplicates import find_duplicates
from rmls.review.findings import SHOWN, Finding, counted, have, quote
from rmls.review.held_out import HeldOut, Trained

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TextSides:
    """The texts on both sides of a split, as far as they are known.

    Attributes
    ----------
    train_near, held_near : ndarray of int64
        Number of the group of similar texts of every row; -1 is a row without words.
    train_places : ndarray of int64
        Where the training rows stand in the table that they are from.
    texts : mapping of int to tuple of str
        Texts of training rows by these places; those of some may have been let go.
    """

    train_near: Ints
    held_near: Ints
    train_places: Ints
    texts: Mapping[int, tuple[str, ...]]

    @classmethod
    def of(cls, train: TextTable, held_out: TextTable, n_jobs: int | None = None) -> TextSides:
        """Compare two tables."""
        near = find_duplicates([*train.texts, *held_out.texts], n_jobs=n_jobs).near
        n_train = len(train)
        return cls(near[:n_train], near[n_train:], np.arange(n_train), dict(enumerate(train.texts)))

    @classmethod
    def within(cls, table: TextTable, places: Ints, n_jobs: int | None = None) -> TextSides:
        """Compare some rows of a table with the others."""
        near = find_duplicates(table.texts, n_jobs=n_jobs).near
        return cls(near, near[places], np.arange(len(near)), dict(enumerate(table.texts)))


def find_leaks(rows: HeldOut, trained: Trained, sides: TextSides) -> tuple[Ints, Finding | None]:
    """Return the held-out rows that nearly stand in the training rows, also as a finding."""
    first = np.full(rows.n_rows, -1)
    for part, mask in enumerate(trained.masks):
        inside = np.flatnonzero(rows.part_of == part)
        first[inside] = _first_alike(sides.train_near, mask, sides.held_near[inside])
    leaked = np.flatnonzero(first >= 0)
    if not len(leaked):
        return leaked, None
    shown = []
    for row in leaked[:SHOWN].tolist():
        other = int(sides.train_places[first[row]])
        there = quote(sides.texts.get(other, ()), 50)
        shown.append((rows.row_name(row), rows.quote(row, 50), f"{other + 1}", there))
    # The texts of training rows may have been let go: their numbers are left.
    n_columns = 4 if any(line[-1] for line in shown) else 3
    share = len(leaked) / rows.n_rows
    return leaked, Finding(
        "leaked_text",
        "Held-out texts that training has nearly seen",
        len(leaked),
        f"{counted(len(leaked), 'held-out row')} of {rows.n_rows:,} ({share:.1%}) "
        f"{have(len(leaked))} the same text as a training row, or nearly.",
        "Believe the figures without them, unless new texts will repeat old ones as often.",
        ("held-out row", "text", "training row", "text there")[:n_columns],
        tuple(line[:n_columns] for line in shown),
        rows.places_of(leaked),
        weight="problem" if share > 0.05 else "note",
    )


def _first_alike(train_near: Ints, trained: NDArray[np.bool_], held_near: Ints) -> Ints:
    """Return for held-out rows the first training row of their group, -1 where there is none."""
    seen = np.flatnonzero(trained & (train_near >= 0))
    n_groups = int(max(train_near.max(initial=-1), held_near.max(initial=-1))) + 1
    first = np.full(n_groups + 1, len(trained))
    np.minimum.at(first, train_near[seen], seen)
    # A row without words is in no group: the place behind the last one stands for it.
    found = first[held_near]
    return np.where((held_near >= 0) & (found < len(trained)), found, -1)
