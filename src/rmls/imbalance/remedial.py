"""REMEDIAL: part frequent and rare labels that share a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.options import check_number, flag
from rmls.imbalance.minority import find_sides
from rmls.imbalance.resampling import Changes, Csr, Indices, Resampler
from rmls.imbalance.statistics import scumble_per_row

# Of sums of logarithms: far below any difference that counts make.
ROUNDING = 1e-12


class REMEDIAL(Resampler):
    """Split rows that mix frequent and rare labels: one copy for each kind (REMEDIAL).

    A row is split when its SCUMBLE is above the mean SCUMBLE of all rows. The row keeps its
    majority labels (IRLbl of at most MeanIR), and a copy of it has the minority labels (IRLbl above
    MeanIR). No label gains or loses a row [1]_ [2]_.

    Parameters
    ----------
    threshold : "mean" or float, default="mean"
        The SCUMBLE above which a row is split; the mean in the papers. SCUMBLE lies between 0
        and 1.
    empty_copies : bool, default=True
        Whether a row whose labels are all of one kind is split as well, as the authors' code does:
        one of the two then has no label. False leaves such a row as it is.
    random_state : int, RandomState or None, default=0
        Changes nothing: no row is drawn. Every resampler takes it.

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        For every row of the output the row of ``X`` that it is a copy of.

    Notes
    -----
    A copy without labels says of its features that nothing applies to them; ``empty_copies=False``
    spares a learner that. On Enron 845 rows are above the mean, 776 of them of one kind.

    The split helps methods that learn from labels one by one or from their neighbourhood; it takes
    from all methods what they could learn about which labels occur together.

    Time and memory are proportional to the label assignments and the size of the output.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera, "Resampling multilabel datasets by decoupling
       highly imbalanced labels", HAIS 2015.
    .. [2] Charte, Rivera, del Jesus and Herrera, "Dealing with difficult minority labels in
       imbalanced multilabel data sets", Neurocomputing 326-327, 2019.

    Examples
    --------
    >>> X, Y = np.arange(8.0)[:, None], [["law"]] * 7 + [["law", "tax"]]
    >>> X_new, Y_new = REMEDIAL().fit_resample(X, Y)
    >>> X_new.ravel()[7:].tolist(), Y_new[7:]
    ([7.0, 7.0], [['law'], ['tax']])
    """

    def __init__(
        self, threshold: float | str = "mean", *, empty_copies: bool = True, random_state: Any = 0
    ) -> None:
        self.threshold = threshold
        self.empty_copies = empty_copies
        self.random_state = random_state

    def _check_options(self) -> None:
        flag().check("empty_copies", self.empty_copies)
        if isinstance(self.threshold, str):
            if self.threshold != "mean":
                raise InputError(f"threshold must be 'mean' or a number; got {self.threshold!r}.")
        else:
            check_number("threshold", self.threshold, positive=False)

    def _fit_resample(self, X: Csr, Y: Csr, rows: Indices, generator: Generator) -> Changes:
        minority = find_sides(Y).minority
        scores = scumble_per_row(Y)
        level: Any = scores.mean() if self.threshold == "mean" else self.threshold
        rare = Y @ minority.astype(np.int32)
        # A row at the level stays, whatever rounding makes of both.
        split = scores > level + ROUNDING
        if not self.empty_copies:
            split &= (rare > 0) & (rare < np.diff(Y.indptr))
        # Which side an assignment goes to: its row is split and its label is rare.
        of_row = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        moved = split[of_row] & minority[Y.indices]
        stays = _select(Y, of_row, ~moved)
        added = np.flatnonzero(split)
        labels = sparse.vstack([stays, _select(Y, of_row, moved)[added]], format="csr")
        return Changes(np.ones(Y.shape[0], bool), added, labels)


def _select(Y: Csr, of_row: Any, chosen: Any) -> Csr:
    """Return the chosen assignments of ``Y``."""
    sizes = np.bincount(of_row[chosen], minlength=Y.shape[0])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sparse.csr_matrix((Y.data[chosen], Y.indices[chosen], indptr), shape=Y.shape)
