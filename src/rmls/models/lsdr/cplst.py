"""CPLST: conditional principal label space transformation (Chen and Lin, 2012)."""

from __future__ import annotations

import numpy as np

from rmls.models.lsdr.label_operator import Floats, leading_vectors, unit_columns
from rmls.models.lsdr.plst import PrincipalDecoder
from rmls.models.lsdr.template import Encoding

HAT_TOLERANCE = 1e-2
# The hat matrix of so many rows is decomposed in seconds.
HAT_ROWS = 2_000


class CPLST(PrincipalDecoder):
    """Encode centred ±1 labels by the directions that are both principal and predictable.

    ``V`` holds the top eigenvectors of ``Yc' H Yc``, ``H`` being the ridge hat matrix of the
    features without an intercept; codes are ``(y - mean) V``, scores ``z V' + mean``.

    Parameters
    ----------
    n_components, ridge, normalize, decision, random_state, n_jobs, verbose
        As for `PLST`.

    Notes
    -----
    Above 6,000 features and rows the hat matrix acts through conjugate gradients to a relative
    residual of 0.01.

    References
    ----------
    Y.-N. Chen, H.-T. Lin: Feature-aware label space dimension reduction for multi-label
    classification. NIPS 2012.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 1]]
    >>> CPLST(n_components=2, ridge=0.01).fit(X, Y).predict([[1, 0]]).tolist()
    [[1, 0]]
    """

    def _basis(self, problem: Encoding, k: int) -> Floats:
        labels = problem.labels
        n_rows, n_labels = labels.shape
        if n_rows < n_labels and n_rows <= HAT_ROWS:
            return self._basis_by_rows(problem, k)
        system = self._make_system(problem.X, tol=HAT_TOLERANCE)
        return leading_vectors(
            # Yc' H Yc V from right to left: neither H (n x n) nor the m x m product is formed.
            lambda V: labels.transposed_times(system.smooth(labels.times(V))),
            n_labels,
            k,
            problem.seed,
        )

    def _basis_by_rows(self, problem: Encoding, k: int) -> Floats:
        """Return the basis of few rows with many labels, from a matrix of rows × rows."""
        labels, X = problem.labels, problem.X.astype(np.float64)
        # With H = S S', the directions are right singular vectors of S' Yc.
        spectrum, vectors = np.linalg.eigh((X @ X.T).toarray())
        spectrum = np.maximum(spectrum, 0)
        S = vectors * np.sqrt(spectrum / (spectrum + self.ridge))
        U = leading_vectors(
            lambda U: S.T @ labels.times(labels.transposed_times(S @ U)),
            len(S),
            min(k, len(S)),
            problem.seed,
        )
        return unit_columns(labels.transposed_times(S @ U))
