"""Held-out rows whose text a model has nearly seen in training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmls.datasets.tables import TextTable
from rmls.review.duplicates import find_duplicates
from rmls.review.findings import SHOWN, Finding, counted, have, quote
from rmls.review.row_findings import row_name


def find_leaks(
    train: TextTable, held_out: TextTable, n_jobs: int | None = None
) -> tuple[NDArray[np.int64], Finding | None]:
    """Return the held-out rows that nearly stand in the training rows, also as a finding."""
    n_train = len(train)
    found = find_duplicates([*train.texts, *held_out.texts], n_jobs=n_jobs)
    n_groups = int(found.near.max(initial=-1)) + 1
    # The first training row of every group; a group without one has a number beyond them.
    first = np.full(n_groups, n_train)
    seen = np.flatnonzero(found.near[:n_train] >= 0)
    np.minimum.at(first, found.near[seen], seen)
    own = found.near[n_train:]
    leaked = np.flatnonzero((own >= 0) & (first[own] < n_train)) if n_groups else own[:0]
    if not len(leaked):
        return leaked, None
    shown = [
        (
            row_name(held_out, row),
            quote(held_out.texts[row], 50),
            row_name(train, int(first[own[row]])),
            quote(train.texts[first[own[row]]], 50),
        )
        for row in leaked[:SHOWN].tolist()
    ]
    share = len(leaked) / len(held_out)
    return leaked, Finding(
        "leaked_text",
        "Held-out texts that training has nearly seen",
        len(leaked),
        f"{counted(len(leaked), 'held-out row')} of {len(held_out):,} ({share:.1%}) "
        f"{have(len(leaked))} the same text as a training row, or nearly.",
        "Believe the figures without them, unless new texts will repeat old ones as often.",
        ("held-out row", "text", "training row", "text there"),
        tuple(shown),
        tuple(leaked.tolist()),
        weight="problem" if share > 0.05 else "note",
    )
