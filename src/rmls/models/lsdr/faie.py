"""FaIE: feature-aware implicit label space encoding (Lin et al., 2014)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rmls.core.options import Option, number, store_params
from rmls.models.lsdr.label_operator import Floats, leading_vectors
from rmls.models.lsdr.template import LSDR, TOOLBOX, Encoding

HAT_TOLERANCE = 5e-2


class FaIE(LSDR):
    """Let the codes be free, and choose them recoverable and predictable at once.

    The codes are the top eigenvectors of ``Y Y' + alpha H``, ``H`` being the ridge hat matrix of
    the features without an intercept; scores are ``z (Z' Y)``. The n × n matrix is never formed.

    Parameters
    ----------
    n_components : int, default=250
        Number of codes; all of them where there are fewer rows.
    alpha : float, default=0.1
        Weight of predictability against recoverability.
    ridge, normalize, decision, random_state, n_jobs, verbose
        As for `PLST`.

    Notes
    -----
    Above 6,000 features and rows the hat matrix acts through conjugate gradients to a relative
    residual of 0.05: its part of the operator is at most ``alpha``, that of the labels in the
    hundreds.

    References
    ----------
    Z. Lin, G. Ding, M. Hu, J. Wang: Multi-label classification via feature-aware implicit label
    space encoding. ICML 2014.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 1]]
    >>> FaIE(n_components=2, ridge=0.01).fit(X, Y).predict([[1, 0]]).tolist()
    [[1, 0]]
    """

    _decoder = ("decoder",)
    decoder_: Floats

    alpha: float

    _options: ClassVar[dict[str, Option]] = {"alpha": number()}

    def __init__(
        self,
        n_components: int = 250,
        *,
        alpha: float = 0.1,
        ridge: float = 0.1,
        normalize: str = "none",
        decision: Any = "round",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    @classmethod
    def paper(cls, n_components: int = 250, **overrides: Any) -> FaIE:
        """Return the method with the settings of the study of RMLS: those of the authors' toolbox.

        Ridge 0.1, alpha 0.1, features as they are, scores rounded at 0.

        Examples
        --------
        >>> FaIE.paper(50).ridge
        0.1
        """
        return cls(n_components, **{**TOOLBOX, "alpha": 0.1, **overrides})

    def _encode(self, problem: Encoding) -> Floats:
        labels = problem.labels
        system = self._make_system(problem.X, tol=HAT_TOLERANCE)
        n_samples = labels.shape[0]
        codes = leading_vectors(
            # Y (Y'U) + alpha H U: products with blocks of k columns, never the n x n matrix.
            lambda U: labels.times(labels.transposed_times(U)) + self.alpha * system.smooth(U),
            n_samples,
            self._n_codes(n_samples),
            problem.seed,
        )
        # The codes are orthonormal: Z'Y is the least-squares decoder.
        self.decoder_ = np.ascontiguousarray(labels.transposed_times(codes).T)
        return codes

    def _count_codes(self, n_rows: int, n_labels: int) -> int:
        return self._n_codes(n_rows)

    def _decode(self, codes: Floats) -> Floats:
        return codes @ self.decoder_

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        return {"decoder": (np.float64, (n_codes, self._space.n_labels))}
