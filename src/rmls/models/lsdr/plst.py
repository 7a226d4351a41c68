"""PLST: principal label space transformation (Tai and Lin, 2012)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rmls.models.lsdr.label_operator import Floats, leading_labels
from rmls.models.lsdr.template import LSDR, TOOLBOX, Encoding


class PrincipalDecoder(LSDR):
    """Codes ``(y - mean) V`` and decoder ``z V' + mean`` for an orthogonal basis ``V``.

    Attributes
    ----------
    basis_ : ndarray of shape (n_labels, n_codes)
    mean_ : ndarray of shape (n_labels,)
    """

    _decoder = ("basis", "mean")
    basis_: Floats
    mean_: Floats

    def _basis(self, problem: Encoding, k: int) -> Floats:
        """Return the basis of centred labels."""
        raise NotImplementedError

    def _encode(self, problem: Encoding) -> Floats:
        labels = problem.labels
        # The mean is decoded for free; all k directions are left to what differs between rows.
        centred = labels.centred()
        self.mean_ = labels.mean
        self.basis_ = self._basis(replace(problem, labels=centred), self._n_codes(labels.shape[1]))
        return centred.times(self.basis_)

    def _count_codes(self, n_rows: int, n_labels: int) -> int:
        return self._n_codes(min(n_rows, n_labels))

    def _decode(self, codes: Floats) -> Floats:
        return codes @ self.basis_.T + self.mean_

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        m = self._space.n_labels
        return {"basis": (np.float64, (m, n_codes)), "mean": (np.float64, (m,))}


class PLST(PrincipalDecoder):
    """Encode centred ±1 labels by their first k principal directions.

    ``V`` holds the top right singular vectors of the centred label matrix; codes are
    ``(y - mean) V``, scores ``z V' + mean``.

    Parameters
    ----------
    n_components : int, default=250
        Number of codes; all of them where there are fewer labels or rows.
    ridge : float, default=0.1
        Penalty of the regression from features to codes, the intercept included.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="none"
        Scaling of the features; see `rmls.features.fit_normalizer`.
    decision : str, float or Rule, default="round"
        ``"round"`` takes scores of at least 0, half-way between the labels -1 and 1.
    random_state : int, RandomState or None, default=0
        Seed of the start vector of the Lanczos iteration.
    n_jobs : int or None, default=None
        Threads of linear algebra, of `rank` and of large regressions.
    verbose : int, default=0
        1 says what is being computed.

    References
    ----------
    F. Tai, H.-T. Lin: Multilabel classification with principal label space
    transformation. Neural Computation 24, 2012.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 1]]
    >>> PLST(n_components=2, ridge=0.01).fit(X, Y).predict([[1, 0]]).tolist()
    [[1, 0]]
    """

    @classmethod
    def paper(cls, n_components: int = 250, **overrides: Any) -> PLST:
        """Return the method with the settings of the study of RMLS: those of the authors' toolbox.

        Ridge 0.1, features as they are, scores rounded at 0.

        Examples
        --------
        >>> PLST.paper(50).ridge
        0.1
        """
        return cls(n_components, **{**TOOLBOX, **overrides})

    def _basis(self, problem: Encoding, k: int) -> Floats:
        return leading_labels(problem.labels, k, problem.seed)
