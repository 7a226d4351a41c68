"""Three kinds of rows: to learn from, to choose on, and to confirm the choice with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.imbalance import assign_folds

SHARE = 0.2
# Beyond, more rows hardly narrow an interval, and are better learned from.
MOST = 5000
# Up to so many rows the choice is made on all but the confirming ones, by folds.
FEW = 5000
N_FOLDS = 3
LEAST = 40
# Rungs of the ladder: each has a third of the rows of the next, and at least so many.
STEP, SMALLEST = 3, 1500

Ints = NDArray[np.int64]


class Pair(NamedTuple):
    """Rows to fit to, in random order, and rows to ask about."""

    fit: Ints
    ask: Ints


@dataclass(frozen=True)
class Division:
    """How the rows are divided.

    Attributes
    ----------
    choose : list of Pair
        One, or one a fold.
    confirm : Pair
        Rows that are never chosen on, and all others.
    sizes : list of int
        Rows to fit to at every rung of the ladder; the last one is all.
    """

    choose: list[Pair]
    confirm: Pair
    sizes: list[int]

    @property
    def chosen_on(self) -> Ints:
        """Rows that the choice is made on, in the order of their predictions."""
        return np.concatenate([pair.ask for pair in self.choose])


def divide(Y: sparse.csr_matrix, seed: int) -> Division:
    """Divide rows by their labels; the same seed gives the same rows."""
    n_rows = int(Y.shape[0])
    if n_rows < LEAST:
        raise InputError(f"tuning needs at least {LEAST} rows; got {n_rows}.")
    share = min(SHARE, MOST / n_rows)
    parts = assign_folds(Y, [1 - share, share], n_passes=5, random_state=seed)
    others, confirm = np.flatnonzero(parts == 0), np.flatnonzero(parts == 1)
    generator = np.random.default_rng(seed)
    if n_rows <= FEW:
        folds = assign_folds(Y[others], [1 / N_FOLDS] * N_FOLDS, n_passes=5, random_state=seed)
        choose = [
            Pair(generator.permutation(others[folds != fold]), others[folds == fold])
            for fold in range(N_FOLDS)
        ]
        sizes = [max(len(pair.fit) for pair in choose)]
    else:
        share = min(SHARE / (1 - SHARE), MOST / len(others))
        parts = assign_folds(Y[others], [1 - share, share], n_passes=5, random_state=seed)
        choose = [Pair(generator.permutation(others[parts == 0]), others[parts == 1])]
        sizes = _sizes(len(choose[0].fit))
    return Division(choose, Pair(generator.permutation(others), confirm), sizes)


def _sizes(n_rows: int) -> list[int]:
    """Return the rows of every rung.

    Examples
    --------
    >>> _sizes(20_000), _sizes(4_000)
    ([2222, 6666, 20000], [4000])
    """
    sizes = [n_rows]
    while sizes[0] // STEP >= SMALLEST and len(sizes) < 3:
        sizes.insert(0, sizes[0] // STEP)
    return sizes
