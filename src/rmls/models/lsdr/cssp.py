"""ML-CSSP: column subset selection for multi-label problems (Bi and Kwok, 2013)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from rmls.models.lsdr.label_operator import Floats, leading_labels
from rmls.models.lsdr.template import LSDR, TOOLBOX, Encoding


class CSSP(LSDR):
    """Let k labels, drawn by their leverage, speak for all.

    Label j is drawn with probability ``||V_k[j]||^2 / k``, ``V_k`` being the top right singular
    vectors of the ±1 label matrix, until k distinct labels are found; they are the codes ``Z``, and
    scores are ``z pinv(Z) Y``.

    Parameters
    ----------
    n_components : int, default=250
        Number of labels drawn; all of them where there are fewer.
    random_state : int, RandomState or None, default=0
        Seed of the drawn labels, and of the start vector of the Lanczos iteration.
    ridge, normalize, decision, n_jobs, verbose
        As for `PLST`.

    Attributes
    ----------
    selected_ : ndarray of shape (n_codes,)
        The labels drawn.

    References
    ----------
    W. Bi, J. T. Kwok: Efficient multi-label classification with many labels. ICML 2013.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 1]]
    >>> CSSP(n_components=2, ridge=0.01).fit(X, Y).predict([[1, 0]]).tolist()
    [[1, 0]]
    """

    _decoder = ("decoder", "selected")
    decoder_: Floats

    @classmethod
    def paper(cls, n_components: int = 250, **overrides: Any) -> CSSP:
        """Return the method with the settings of the study of RMLS: those of the authors' toolbox.

        Ridge 0.1, features as they are, scores rounded at 0.

        Examples
        --------
        >>> CSSP.paper(50).ridge
        0.1
        """
        return cls(n_components, **{**TOOLBOX, **overrides})

    def _encode(self, problem: Encoding) -> Floats:
        labels = problem.labels
        n_labels = labels.shape[1]
        k = self._n_codes(n_labels)
        vectors = leading_labels(labels, k, problem.seed)
        # Leverage: the squared length of a label's row in the basis, which sums to k.
        self.selected_ = draw_distinct((vectors**2).sum(axis=1), k, problem.seed)
        codes = labels.columns(self.selected_)
        # pinv(Z) Y = (Z'Z)^+ Z'Y: a k x k inverse, and a product that keeps Y sparse.
        gram = linalg.pinvh(codes.T @ codes)
        self.decoder_ = gram @ labels.transposed_times(codes).T
        return codes

    def _decode(self, codes: Floats) -> Floats:
        return codes @ self.decoder_

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        shape = (n_codes, self._space.n_labels)
        return {"decoder": (np.float64, shape), "selected": (np.int64, (n_codes,))}


def draw_distinct(shares: Floats, k: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Draw ``k`` distinct indices one after another with probability in proportion to ``shares``.

    Drawing with replacement until k different indices are found gives the same distribution as
    taking the k first of independent exponential waiting times with these rates.

    Examples
    --------
    >>> draw_distinct(np.array([0.0, 1.0, 1.0]), 2, seed=0).tolist()
    [1, 2]
    """
    waiting = np.random.default_rng(seed).exponential(size=len(shares))
    with np.errstate(divide="ignore"):
        times = np.where(shares > 0, waiting / shares, np.inf)
    return np.sort(np.argsort(times, kind="stable")[:k]).astype(np.int64)
