"""LP-RUS: delete rows of frequent label sets."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from rmls.core.options import Option, share
from rmls.imbalance.label_sets import group_by_set, share_out
from rmls.imbalance.minority import count_share
from rmls.imbalance.resampling import Changes, Csr, Indices, Resampler


class LPRUS(Resampler):
    """Delete random rows of the frequent label sets (LP-RUS).

    Every distinct label set is taken for a class. Sets with more rows than the mean are in the
    majority. The rows to delete are divided equally among them, from the smallest set to the
    largest; a set loses no more than it has above the mean, and what is left over goes to the sets
    after it [1]_.

    Parameters
    ----------
    sampling_strategy : float, default=0.25
        Rows to delete, as a share of all rows (the paper's P / 100).
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        The rows of ``X`` that stay, ascending.

    Notes
    -----
    What the paper leaves open: a set may shrink to the mean rounded down, so that no set is lost;
    where the rows to delete cannot be divided equally, the most frequent sets lose one more, and
    among equals chance decides. Fewer rows are deleted when all sets have come down to the mean.
    Rows without labels are no set: they are neither counted nor deleted. Where sets are equally
    large nothing changes.

    Time and memory are proportional to the label assignments and the size of the output.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera, "Addressing imbalance in multilabel
       classification: measures and random resampling algorithms", Neurocomputing 163, 2015.

    Examples
    --------
    >>> X, Y = np.arange(8.0)[:, None], [["law"]] * 7 + [["law", "tax"]]
    >>> X_new, Y_new = LPRUS(0.25).fit_resample(X, Y)
    >>> Y_new
    [['law'], ['law'], ['law'], ['law'], ['law'], ['law', 'tax']]
    """

    _options: ClassVar[dict[str, Option]] = {"sampling_strategy": share()}

    def __init__(self, sampling_strategy: float = 0.25, *, random_state: Any = 0) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state

    def _fit_resample(self, X: Csr, Y: Csr, rows: Indices, generator: Generator) -> Changes:
        bags = group_by_set(Y, generator)
        sizes = np.array([len(bag) for bag in bags])
        # Bags ascend in size: the majority is behind the mean.
        many = bags[np.count_nonzero(sizes <= sizes.mean()) :]
        room = [len(bag) for bag in many] - np.floor(sizes.mean())
        given = share_out(count_share(self.sampling_strategy, Y.shape[0]), room)
        kept = np.ones(Y.shape[0], bool)
        for bag, n_deleted in zip(many, given.tolist(), strict=True):
            kept[generator.choice(bag, n_deleted, replace=False)] = False
        return Changes(kept, np.empty(0, np.int64))
