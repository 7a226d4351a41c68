"""LP-ROS: clone rows of rare label sets."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from rmls.core.options import Option, positive
from rmls.imbalance.label_sets import group_by_set, share_out
from rmls.imbalance.minority import count_share
from rmls.imbalance.resampling import Changes, Csr, Indices, Resampler


class LPROS(Resampler):
    """Clone random rows of the rare label sets (LP-ROS).

    Every distinct label set is taken for a class. Sets with fewer rows than the mean are in the
    minority. The rows to add are divided equally among them, from the largest set to the smallest;
    a set gains no more than it lacks to the mean, and what is left over goes to the sets after it
    [1]_.

    Parameters
    ----------
    sampling_strategy : float, default=0.25
        Rows to add, as a share of all rows (the paper's P / 100). More than 1 is allowed.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        For every row of the output the row of ``X`` that it is a copy of.

    Notes
    -----
    What the paper leaves open: a set may grow to the mean rounded up, because with a mean of 1.02
    rows, as on Delicious, sets of one row could not grow otherwise; where the rows to add cannot be
    divided equally, the rarest sets gain one more, and among equals chance decides; rows are drawn
    with replacement from those given. Fewer rows are added when all sets have reached the mean.
    Rows without labels are no set: they are neither counted nor cloned. Where sets are equally
    large nothing changes.

    Time and memory are proportional to the label assignments and the size of the output.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera, "Addressing imbalance in multilabel
       classification: measures and random resampling algorithms", Neurocomputing 163, 2015.

    Examples
    --------
    >>> X, Y = np.arange(8.0)[:, None], [["law"]] * 7 + [["law", "tax"]]
    >>> X_new, Y_new = LPROS(0.25).fit_resample(X, Y)
    >>> X_new.ravel()[8:].tolist()
    [7.0, 7.0]
    """

    _options: ClassVar[dict[str, Option]] = {"sampling_strategy": positive()}

    def __init__(self, sampling_strategy: float = 0.25, *, random_state: Any = 0) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state

    def _fit_resample(self, X: Csr, Y: Csr, rows: Indices, generator: Generator) -> Changes:
        bags = group_by_set(Y, generator)
        sizes = np.array([len(bag) for bag in bags])
        # From large to small: what cannot be divided equally goes to the rarest.
        few = bags[: np.count_nonzero(sizes < sizes.mean())][::-1]
        room = np.ceil(sizes.mean()) - [len(bag) for bag in few]
        given = share_out(count_share(self.sampling_strategy, Y.shape[0]), room)
        drawn = [
            generator.choice(bag, n_clones)
            for bag, n_clones in zip(few, given.tolist(), strict=True)
            if n_clones
        ]
        added = np.concatenate([np.empty(0, np.int64), *drawn])
        return Changes(np.ones(Y.shape[0], bool), added)
