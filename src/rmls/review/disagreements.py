"""Where a model and the labels of held-out rows disagree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.review.findings import SHOWN, Finding, counted, quote
from rmls.review.held_out import HeldOut
from rmls.review.quality import values_at

LISTED = 25
# A label is missed by mistake rather than by choice where the model is this sure.
SURE = 0.8
# A label is in doubt where its other rows are recognised and this one gets next to nothing.
EXCLUDED = 0.02
RECOGNISED = 0.3
MIN_ROWS = 4
MIN_CONFUSED = 3
MIN_LIFT = 2.0

Floats = NDArray[np.float64]


def confused_pairs(rows: HeldOut) -> Iterator[Finding]:
    """Yield the pairs of labels of which one is predicted where the other one is true."""
    # Rows by labels: missed, and predicted without being true.
    missed = (rows.Y - rows.Y.multiply(rows.sets)).tocsr()
    added = (rows.sets - rows.sets.multiply(rows.Y)).tocsr()
    missed.eliminate_zeros()
    added.eliminate_zeros()
    pairs = (missed.T.tocsr() @ added).tocoo()
    n_missed = np.bincount(missed.indices, minlength=rows.Y.shape[1])
    n_added = np.bincount(added.indices, minlength=rows.Y.shape[1])
    # Two labels that are often wrong meet by chance: so often, if they were independent.
    expected = n_missed[pairs.row] * n_added[pairs.col] / rows.n_rows
    lift = pairs.data / np.maximum(expected, 1e-12)
    keep = (pairs.data >= MIN_CONFUSED) & (lift >= MIN_LIFT)
    if not keep.any():
        return
    number, lift = pairs.data[keep], lift[keep]
    true, instead = pairs.row[keep], pairs.col[keep]
    order = np.argsort(-number * np.log(lift), kind="stable")
    names = rows.names
    n_true = np.bincount(rows.Y.indices, minlength=rows.Y.shape[1])
    shown = [
        (
            quote(names[true[at]], 40),
            quote(names[instead[at]], 40),
            f"{number[at]:,} of {n_true[true[at]]:,}",
            f"×{lift[at]:.1f}",
        )
        for at in order[:LISTED]
    ]
    yield Finding(
        "confused",
        "Labels that are confused",
        len(order),
        f"{counted(len(order), 'pair')} of labels are confused more often than chance explains: "
        f"{names[instead[order[0]]]!r} is predicted where {names[true[order[0]]]!r} is true.",
        "Ask whether two people would tell them apart by the text; if not, merge them or write "
        "down the rule.",
        ("true", "predicted instead", "held-out rows", "against chance"),
        tuple(shown),
        labels=tuple(names[label] for label in np.unique([true[order], instead[order]])),
    )


def label_doubts(rows: HeldOut) -> Iterator[Finding]:
    """Yield labels that rows may lack, and labels that they may have by mistake."""
    if rows.ranking.probabilities is None:
        return
    yield from _missing(rows)
    yield from _mistaken(rows)


class Doubts(NamedTuple):
    """Labels of rows that a model disagrees with, the clearest first.

    Attributes
    ----------
    rows, labels : ndarray of int64
    chances : ndarray of float64
        What the model gives the label.
    """

    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    chances: Floats


def missing_labels(rows: HeldOut) -> tuple[Doubts, int]:
    """Return labels that rows may lack, and how many as likely ones the rows have."""
    ranking = rows.ranking
    chance = np.asarray(ranking.probabilities, dtype=np.float64)
    sure = np.flatnonzero(chance >= SURE)
    row, label = ranking.rows[sure], ranking.labels[sure].astype(np.int64)
    present = values_at(rows.Y, row, label) > 0
    absent = ~present
    # Rows without any label may not be labelled at all, which is said elsewhere.
    absent &= np.diff(rows.Y.indptr)[row] > 0
    trust = _precision(rows, chance)
    row, label, chance = row[absent], label[absent], chance[sure][absent]
    # A rare label is easily sure and wrong; one that was right elsewhere goes first.
    order = np.argsort(-chance * trust[label], kind="stable")
    return Doubts(row[order], label[order], chance[order]), int(present.sum())


def mistaken_labels(rows: HeldOut) -> Doubts:
    """Return labels that rows may have by mistake."""
    row, label, chance = _true_pairs(rows)
    n_rows = np.bincount(label, minlength=rows.Y.shape[1])[label]
    totals = np.bincount(label, chance, rows.Y.shape[1])[label]
    # What the other rows of the label get: a label that is never recognised is no evidence.
    others = np.where(n_rows >= MIN_ROWS, (totals - chance) / np.maximum(n_rows - 1, 1), 0)
    known = (np.diff(rows.X.indptr) > 0)[row]
    doubtful = np.flatnonzero((others >= RECOGNISED) & (chance <= EXCLUDED) & known)
    # How much less likely the label is than before the text was read.
    ratio = chance[doubtful] / np.maximum(rows.counts[label[doubtful]], 1)
    order = doubtful[np.argsort(ratio, kind="stable")]
    return Doubts(row[order], label[order], chance[order])


def _missing(rows: HeldOut) -> Iterator[Finding]:
    found, n_present = missing_labels(rows)
    n_found = len(found.rows)
    if not n_found:
        return
    yield Finding(
        "missing_label",
        "Labels that rows may lack",
        n_found,
        f"{counted(n_found, 'label')} got at least {SURE:.0%} in held-out rows without "
        f"{'it' if n_found == 1 else 'them'}; {n_present:,} got as much in rows that have them.",
        "Look at the first ones: where they belong, add them, and look for more of the kind in "
        "the training rows.",
        ("row", "text", "labels", "may lack", "probability"),
        tuple(_shown(rows, found)),
        rows.places_of(found.rows),
        tuple(rows.names[at] for at in found.labels.tolist()),
    )


def _precision(rows: HeldOut, chance: Floats) -> Floats:
    """Return for every label how often it is there where it is likelier than not, from 1 of 2."""
    likely = np.flatnonzero(chance >= 0.5)
    labels = rows.ranking.labels[likely]
    right = values_at(rows.Y, rows.ranking.rows[likely], labels)
    n_labels = rows.Y.shape[1]
    precision: Floats = (np.bincount(labels, right, n_labels) + 1) / (
        np.bincount(labels, minlength=n_labels) + 2
    )
    return precision


def _mistaken(rows: HeldOut) -> Iterator[Finding]:
    found = mistaken_labels(rows)
    if not len(found.rows):
        return
    yield Finding(
        "mistaken_label",
        "Labels that rows may have by mistake",
        len(found.rows),
        f"{counted(len(found.rows), 'label')} of held-out rows get at most {EXCLUDED:.0%}, though "
        "the model recognises the other rows of the same label.",
        "Look at the first ones: the label is wrong, or the text does not say what it was given "
        "for.",
        ("row", "text", "labels", "in doubt", "probability"),
        tuple(_shown(rows, found)),
        rows.places_of(found.rows),
        tuple(rows.names[at] for at in found.labels.tolist()),
    )


def _true_pairs(rows: HeldOut) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return rows, labels and probabilities of all labels that rows have."""
    chances = rows.ranking.to_csr(probabilities=True)
    pattern = sparse.csr_matrix((np.ones(rows.Y.nnz), rows.Y.indices, rows.Y.indptr), rows.Y.shape)
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.Y.indptr))
    label = rows.Y.indices.astype(np.int64)
    listed = chances.multiply(pattern).tocsr()
    chance = values_at(listed, row, label)
    # A label that is not ranked is less likely than the last one that is.
    last = np.ones(rows.n_rows)
    np.minimum.at(last, rows.ranking.rows, np.asarray(rows.ranking.probabilities, float))
    return row, label, np.where(chance > 0, chance, last[row] / 2)


def _shown(rows: HeldOut, found: Doubts) -> Iterator[tuple[str, ...]]:
    for place, label, chance in zip(*(part[:LISTED].tolist() for part in found), strict=True):
        given = ", ".join(map(str, rows.labels_of(place)[:SHOWN]))
        sure = "<1%" if chance < 0.01 else ">99%" if chance > 0.99 else f"{chance:.0%}"
        yield rows.row_name(place), rows.quote(place), quote(given, 50), rows.names[label], sure
