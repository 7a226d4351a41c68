"""Labels that cannot be learned: how many rows a label needs, and which fail in spite of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.report.numbers import format_percent
from rmls.review.findings import Finding, counted, have, listed, quote
from rmls.review.held_out import HeldOut
from rmls.review.quality import values_at

EDGES = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1000)
# With so many rows a label that is never found has another reason than being rare.
ENOUGH = 20
MIN_TESTED = 4
# A label that is found so rarely is as good as not learned.
POOR = 0.1
FEW_IN_TOP, MIN_LIFT = 0.25, 1.5


Ints = NDArray[np.int64]


class CountBin(NamedTuple):
    """Labels with about as many training rows, and how many of their held-out rows are found.

    Attributes
    ----------
    low, high : int
        Training rows, both included; ``high`` is -1 without a limit.
    n_labels, n_tested : int
        Labels, and their assignments to held-out rows.
    in_top, predicted : float
        Share of the assignments among the best five labels of the row, and in the predicted set.
    """

    low: int
    high: int
    n_labels: int
    n_tested: int
    in_top: float
    predicted: float


def recall_by_count(rows: HeldOut) -> list[CountBin]:
    """Return how well labels are found by the number of their training rows."""
    # A row is found or not by what the model that judged it had seen of the label.
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.Y.indptr))
    label = rows.Y.indices
    seen = rows.seen[rows.part_of[row], label]
    top, predicted = (
        values_at(found, row, label) > 0 for found in (rows.ranking.top(5).to_sets(), rows.sets)
    )
    # That a label of one row is not found while this row is held out says nothing.
    edges = (*EDGES[rows.is_own :], np.inf)
    bins = []
    for low, high in pairwise(edges):
        inside = (seen >= low) & (seen < high)
        n_tested = int(np.count_nonzero(inside))
        if n_tested:
            bins.append(
                CountBin(
                    int(low),
                    -1 if high == np.inf else int(high) - 1,
                    int(np.count_nonzero((rows.counts >= low) & (rows.counts < high))),
                    n_tested,
                    float(np.mean(top[inside])),
                    float(np.mean(predicted[inside])),
                )
            )
    return bins


def needed_rows(bins: list[CountBin]) -> int | None:
    """Return the training rows from which on labels are found often enough.

    None where all of the known labels are, or none, or where more rows do not help.

    Examples
    --------
    >>> needed_rows([CountBin(1, 1, 9, 9, 0.05, 0.0), CountBin(2, 2, 9, 9, 0.4, 0.3)])
    2
    """
    poor = [each.low for each in bins if each.in_top < POOR]
    good = [each.low for each in bins if each.in_top >= POOR]
    if not good or max(poor, default=0) == 0 or min(good) < max(poor):
        return None
    return min(good)


def learnability(rows: HeldOut) -> Iterator[Finding]:
    """Yield labels that are not learned: unknown ones, rare ones, and those that fail anyway."""
    yield from _unknown(rows)
    tested, top, predicted = _found(rows)
    hopeless = (rows.counts >= ENOUGH) & (tested >= MIN_TESTED) & (predicted <= POOR * tested)
    # A frequent label stands among the best five of many rows, with it or without it.
    everywhere = np.bincount(rows.ranking.top(5).labels, minlength=len(top)) / rows.n_rows
    hopeless &= (top <= FEW_IN_TOP * tested) | (top <= MIN_LIFT * everywhere * tested)
    order = np.flatnonzero(hopeless)[np.argsort(-tested[hopeless], kind="stable")].tolist()
    if order:
        yield Finding(
            "not_in_text",
            "Labels that the text does not tell",
            len(order),
            f"{counted(len(order), 'label')} {have(len(order))} {ENOUGH} training rows or more "
            "and are hardly ever found.",
            "What decides about them stands elsewhere: give that column to the model, or take "
            "them from it.",
            ("label", "training rows", "held-out rows", "among the best 5"),
            tuple(
                (quote(rows.names[j], 40), f"{rows.counts[j]:,}", f"{tested[j]:,}", f"{top[j]:,}")
                for j in order[:15]
            ),
            labels=tuple(rows.names[label] for label in order),
        )


def _unknown(rows: HeldOut) -> Iterator[Finding]:
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.Y.indptr))
    missed = rows.seen[rows.part_of[row], rows.Y.indices] == 0
    unknown = np.unique(rows.Y.indices[missed])
    if not len(unknown):
        return
    names = [rows.names[label] for label in unknown.tolist()]
    share = format_percent(np.mean(missed))
    what = f"{listed((quote(name, 30) for name in names), 3, '; ')}. "
    if rows.is_own:
        title = "Labels that could not be tested"
        which = "had all of their rows held out at once: "
        advice = "Label more rows of them: nobody knows yet how well the model finds them."
    else:
        title = "Labels without a training row"
        which = f"of held-out rows {have(len(unknown))} no training row: "
        advice = "They cannot be learned; train the model that you use on all rows."
    yield Finding(
        "unknown_label",
        title,
        len(unknown),
        f"{counted(len(unknown), 'label')} {which}{what}"
        f"{share} of what was to be found counts as missed.",
        advice,
        labels=tuple(names),
    )


def _found(rows: HeldOut) -> tuple[Ints, Ints, Ints]:
    """Return for every label its held-out rows, those with it in the best 5, and predicted."""
    n_labels = rows.Y.shape[1]
    tested = np.bincount(rows.Y.indices, minlength=n_labels)
    hits = (
        rows.Y.multiply(matrix).tocsr() for matrix in (rows.ranking.top(5).to_sets(), rows.sets)
    )
    top, predicted = (np.bincount(hit.indices, minlength=n_labels) for hit in hits)
    return tested, top, predicted
