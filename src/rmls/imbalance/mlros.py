"""ML-ROS: clone rows of rare labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from rmls.core.options import Option, positive
from rmls.core.sparse import label_counts
from rmls.imbalance.minority import count_share, find_sides
from rmls.imbalance.resampling import Changes, Csr, Indices, Resampler


class MLROS(Resampler):
    """Clone random rows of the minority labels, a row for each label in turn (ML-ROS).

    A label is in the minority when its IRLbl (count of the most frequent label divided by its own)
    is above MeanIR, the mean of IRLbl. In every round each minority label has one of its rows
    cloned, drawn at random; a label leaves as soon as its IRLbl is no longer above the MeanIR of
    the rows as they were given. The rounds end when enough rows were cloned or no label is left
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
    What the paper leaves open: the rarest label comes first in a round; the last round ends in the
    middle when enough rows were added; a label also leaves, before its turn, when clones made for
    other labels were enough for it (otherwise a row with 300 rare labels has 300 clones); IRLbl
    counts the clones, also for the most frequent label, which may gain from them; rows are drawn,
    with replacement, from those given and not from clones. Fewer rows are added when all labels
    leave before. Labels that no row has are in no minority, rows without labels are never cloned,
    and data whose labels are equally frequent stay as they are.

    Time and memory are proportional to the label assignments, the rows and the size of the output.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera, "Addressing imbalance in multilabel
       classification: measures and random resampling algorithms", Neurocomputing 163, 2015.

    Examples
    --------
    >>> X, Y = np.arange(8.0)[:, None], [["law"]] * 7 + [["law", "tax"]]
    >>> X_new, Y_new = MLROS(0.25).fit_resample(X, Y)
    >>> X_new.ravel()[8:].tolist(), Y_new[8:]
    ([7.0], [['law', 'tax']])
    """

    _options: ClassVar[dict[str, Option]] = {"sampling_strategy": positive()}

    def __init__(self, sampling_strategy: float = 0.25, *, random_state: Any = 0) -> None:
        self.sampling_strategy = sampling_strategy
        self.random_state = random_state

    def _fit_resample(self, X: Csr, Y: Csr, rows: Indices, generator: Generator) -> Changes:
        from rmls.kernels.cpu.imbalance import round_robin as kernels

        sides = find_sides(Y)
        # Labels come by ascending count: the rarest one has the first turn.
        chosen = np.flatnonzero(sides.minority)
        draws = generator.random(count_share(self.sampling_strategy, Y.shape[0]))
        added = np.empty(len(draws), np.int64)
        by_label = Y[:, chosen].tocsc()
        bags = kernels.Bags(chosen, by_label.indptr, by_label.indices)
        of_row = kernels.Rows(Y.indptr, Y.indices)
        n_added = kernels.clone_round_robin(
            of_row, bags, label_counts(Y), sides.mean_ir, draws, added
        )
        return Changes(np.ones(Y.shape[0], bool), added[:n_added])
