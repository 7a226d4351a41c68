"""ML-RUS: delete rows of frequent labels that have no rare one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rmls.core.options import Option, choice, share, store_params
from rmls.core.sparse import label_counts
from rmls.imbalance.minority import Sides, count_share, find_sides
from rmls.imbalance.resampling import Changes, Csr, Indices, Resampler

Mask = NDArray[np.bool_]


class MLRUS(Resampler):
    """Delete random rows of the majority labels, sparing those with a minority label (ML-RUS).

    A label is in the majority when its IRLbl is below MeanIR, in the minority when it is above. The
    rows to delete are drawn from those that have a majority label and no minority label [1]_.

    Parameters
    ----------
    sampling_strategy : float, default=0.25
        Rows to delete, as a share of all rows (the paper's P / 100).
    draw : {"rows", "labels"}, default="rows"
        Two readings of the paper. "rows" draws from all rows that may go, each as likely, like the
        R package of the paper's authors [2]_. "labels" lets the majority labels take turns, the
        most frequent first, as ML-ROS does with the minority: each loses one of its rows, and
        leaves when its IRLbl has reached the MeanIR of the rows as they were given.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        The rows of ``X`` that stay, ascending.

    Notes
    -----
    With many labels the two readings differ. Turns take as many rows from a label just below MeanIR
    as from the most frequent one: CVIR falls more than with "rows", but MeanIR may rise.

    What the paper leaves open: spared rows are those of labels that are in the minority at the
    start; IRLbl in turns is that of the rows left; the last round ends in the middle when enough
    rows were deleted. Fewer rows are deleted where no more may go: on data where most rows have
    some rare label, far fewer. Rows without labels stay, and so do all rows where the labels are
    equally frequent.

    Time is in O(a log a) in the label assignments a, memory in O(a) and the size of the output.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera, "Addressing imbalance in multilabel
       classification: measures and random resampling algorithms", Neurocomputing 163, 2015.
    .. [2] Dávila, Charte, del Jesus and Rivera, "mldr.resampling: resampling algorithms for
       multi-label datasets", CRAN, 2023.

    Examples
    --------
    >>> X, Y = np.arange(8.0)[:, None], [["law"]] * 7 + [["law", "tax"]]
    >>> X_new, Y_new = MLRUS(0.5).fit_resample(X, Y)
    >>> len(X_new), Y_new[-1]
    (4, ['law', 'tax'])
    """

    _options: ClassVar[dict[str, Option]] = {
        "sampling_strategy": share(),
        "draw": choice("rows", "labels"),
    }

    sampling_strategy: float
    draw: str

    def __init__(
        self, sampling_strategy: float = 0.25, *, draw: str = "rows", random_state: Any = 0
    ) -> None:
        store_params(self, locals())

    def _fit_resample(self, X: Csr, Y: Csr, rows: Indices, generator: Generator) -> Changes:
        sides = find_sides(Y)
        # A row that also has a minority label is never deleted.
        free = _has_one(Y, sides.majority) & ~_has_one(Y, sides.minority)
        target = count_share(self.sampling_strategy, Y.shape[0])
        if self.draw == "labels":
            deleted = _delete_round_robin(Y, sides, free, target, generator)
        else:
            may_go = np.flatnonzero(free)
            deleted = np.zeros(Y.shape[0], bool)
            deleted[generator.choice(may_go, min(target, len(may_go)), replace=False)] = True
        return Changes(~deleted, np.empty(0, np.int64))


def _has_one(Y: Csr, chosen: Mask) -> Mask:
    """Tell for every row whether it has one of the chosen labels."""
    result: Mask = Y @ chosen.astype(np.int32) > 0
    return result


def _delete_round_robin(
    Y: Csr, sides: Sides, free: Mask, target: int, generator: Generator
) -> Mask:
    from rmls.kernels.cpu.imbalance import round_robin as kernels

    # Labels come by ascending count: the most frequent one has the first turn.
    chosen = np.flatnonzero(sides.majority)[::-1]
    bags = kernels.Bags(chosen, *_shuffle_bags(Y, chosen, free, generator))
    deleted = np.zeros(Y.shape[0], bool)
    of_row = kernels.Rows(Y.indptr, Y.indices)
    kernels.delete_round_robin(of_row, bags, label_counts(Y), sides.mean_ir, target, deleted)
    return deleted


def _shuffle_bags(
    Y: Csr, chosen: Indices, free: Mask, generator: Generator
) -> tuple[Indices, Indices]:
    """Return where the bag of each chosen label starts, and its free rows in random order."""
    by_label = Y[:, chosen].tocsc()
    bag = np.repeat(np.arange(len(chosen)), np.diff(by_label.indptr))
    there = np.flatnonzero(free[by_label.indices])
    bag, rows = bag[there], by_label.indices[there].astype(np.int64)
    # Random keys within the bags: one sort shuffles all of them.
    order = np.lexsort((generator.random(len(rows)), bag))
    start = np.concatenate([[0], np.cumsum(np.bincount(bag, minlength=len(chosen)))])
    return start.astype(np.int64), rows[order]
