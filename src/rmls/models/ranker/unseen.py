"""What names are worth for labels that no row has: learned as if no label had rows.

A label without rows may be new, or one that was there all the time and is hardly used. One label
cannot tell; all of them together can. How many rarely used labels the rows have missed, at least,
follows from how many labels have one row and two rows (Chao, 1984); what is above that is taken for
new. How much less a match is worth where a label is used less is learned from the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rmls.models.ranker.combination import (
    N_NAME_COLUMNS,
    PLAIN_UNSEEN,
    UNNAMED,
    Combination,
    Frequencies,
    HeldOut,
    largest_boost,
    regress,
)

# Of fewer matches nothing can be learned.
FEW_MATCHES = 20
# Labels without rows are like the rare ones rather than like the frequent ones: pairs of a label
# with n rows count by this power of n where a name's worth without rows is learned.
RARE_POWER = -0.25
# Three tenths of a point of expected precision.
LIFT_COST = 0.003
# More would list labels that are hardly ever true: 1.5 is a factor of 4.5 of the odds.
MAX_LIFT = 1.5
# A label that nobody uses is not impossible.
LEAST_RATE = 0.01


def with_unseen(
    learned: Combination, held: HeldOut, frequencies: Frequencies, n_threads: int = 1
) -> Combination:
    """Return the combination with what names are worth for labels without rows."""
    assert held.more is not None
    unseen = np.zeros(held.n_more)
    # Labels that no row has would say that names mean nothing, as no row could be right.
    matched = (held.more[:, :, 0].ravel() > 0) & (frequencies.positives[held.labels.ravel()] > 0)
    labels, relevant = held.labels.ravel()[matched], held.relevant.ravel()[matched]
    if len(labels) < FEW_MATCHES:
        unseen[:N_NAME_COLUMNS] = PLAIN_UNSEEN
        return replace(learned, unseen=unseen)
    if not relevant.any():
        return replace(learned, unseen=unseen)
    counts = np.maximum(frequencies.positives[labels], 1.0)
    shares = np.repeat(held.weights, held.labels.shape[1])[matched] * counts**RARE_POWER
    weights = (shares * len(shares) / shares.sum()).astype(np.float32)
    names = held.more.reshape(-1, held.n_more)[matched][:, :N_NAME_COLUMNS]
    place = (n_threads, held.device)
    unseen[:N_NAME_COLUMNS] = regress(names, relevant, weights, place)
    rows = np.log(counts).astype(np.float32)
    usual = float(weights @ rows) / len(weights)
    growth = regress(np.column_stack([names, rows - usual]), relevant, weights, place)[-1]
    # The first column is 1 for every match: the constant of the regression.
    unseen[0] += odds_of_unused(frequencies.positives, growth, usual) - UNNAMED
    return replace(learned, unseen=unseen)


def odds_of_unused(positives: NDArray[np.float64], growth: float, usual: float) -> float:
    """Return what is added to a logit as some labels without rows are not new but unused.

    Parameters
    ----------
    positives : ndarray of float64, shape (n_labels,)
        Rows of every label.
    growth : float
        What the logit of a match gains with the logarithm of a label's rows.
    usual : float
        The logarithm of the rows that new labels are taken to have.

    Examples
    --------
    Of labels of which as many have no row as one expects, none is new.

    >>> natural = np.repeat([0.0, 1.0, 2.0, 50.0], [8, 8, 4, 10])
    >>> new = np.repeat([0.0, 1.0, 2.0, 50.0], [8, 0, 0, 10])
    >>> round(odds_of_unused(natural, 0.5, 2.0), 1), odds_of_unused(new, 0.5, 2.0)
    (-0.5, 0.0)
    """
    none, once, twice = (np.count_nonzero(np.rint(positives) == rows) for rows in range(3))
    # Not biased, and finite where no label has two rows.
    missed = once * (once - 1) / (2 * (twice + 1))
    if not none or not missed:
        return 0.0
    share = min(1.0, missed / none)
    # Rows that such a label can expect in as many rows as there are (Good and Turing).
    rate = max(once / max(missed, none * share), LEAST_RATE)
    rarer = min(1.0, float(np.exp(growth * (np.log(rate) - usual))))
    return float(np.log(1 - share + share * rarer))


def choose_lift(
    held: HeldOut, combination: Combination, frequencies: Frequencies, tail: float
) -> float:
    """Return by how much labels without rows are put forward at the accepted cost in precision."""
    without = frequencies.positives == 0
    if not without[held.labels].any():
        return 0.0
    logits = held.combined(combination.mixture(frequencies))
    before = (tail * frequencies.rarity()).astype(np.float32)
    return largest_boost(held, logits, before, without.astype(np.float32), LIFT_COST, MAX_LIFT)
