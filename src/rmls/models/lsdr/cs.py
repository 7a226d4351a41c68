"""CS: multi-label prediction via compressed sensing (Hsu et al., 2009)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rmls.core.options import (
    Option,
    check_components,
    check_whole,
    choice,
    store_params,
    whole,
)
from rmls.models.lsdr.label_operator import Floats
from rmls.models.lsdr.sparse_recovery import RECOVERIES
from rmls.models.lsdr.template import LSDR, Encoding

MATRICES = ("gaussian", "hadamard")
# Recovered labels score -0.5 or more, all others -0.5 or less.
FOUND, MISSED = 0.5, 1.0


class CS(LSDR):
    """Encode 0/1 labels by k random sums and recover the few relevant ones from predicted sums.

    Parameters
    ----------
    n_components : int, default=250
        Number of random sums.
    recovery : {"omp", "cosamp", "lasso"}, default="omp"
        Orthogonal matching pursuit, CoSaMP, or the lasso.
    matrix : {"gaussian", "hadamard"}, default="gaussian"
        Independent normal numbers, or random rows of a Hadamard matrix.
    sparsity : int or None, default=None
        Number of labels recovered for a row; the mean number of labels, rounded up, by default.
    ridge, normalize, decision, random_state, n_jobs, verbose
        As for `PLST`.

    Attributes
    ----------
    matrix_ : ndarray of shape (n_codes, n_labels)
    sparsity_ : int

    Notes
    -----
    The score of a recovered label is its coefficient minus 0.5, so that rounding at 0 means a
    coefficient of at least one half; a label that was not recovered scores below -0.5, ordered by
    its correlation with the predicted sums.

    References
    ----------
    D. Hsu, S. M. Kakade, J. Langford, T. Zhang: Multi-label prediction via compressed sensing.
    NIPS 2009.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 1]]
    >>> CS(n_components=20, ridge=0.01).fit(X, Y).predict([[1, 0]]).tolist()
    [[1, 0]]
    """

    _decoder = ("matrix",)
    matrix_: Floats

    recovery: str
    matrix: str
    sparsity: int | None

    _options: ClassVar[dict[str, Option]] = {
        "recovery": choice(*RECOVERIES),
        "matrix": choice(*MATRICES),
        "sparsity": whole(1).or_none(),
    }

    def __init__(
        self,
        n_components: int = 250,
        *,
        recovery: str = "omp",
        matrix: str = "gaussian",
        sparsity: int | None = None,
        ridge: float = 0.1,
        normalize: str = "none",
        decision: Any = "round",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    def _encode(self, problem: Encoding) -> Floats:
        labels = problem.labels
        n_labels = labels.shape[1]
        check_components(self.n_components, n_labels)
        rng = np.random.default_rng(problem.seed)
        if self.matrix == "gaussian":
            drawn = rng.standard_normal((self.n_components, n_labels))
        else:
            drawn = hadamard_rows(self.n_components, n_labels, rng)
        # Columns of length 1 (in the mean, if Gaussian): correlations with codes are comparable.
        self.matrix_ = drawn / np.sqrt(len(drawn))
        weights = labels.scale**2
        mean = float(weights @ np.diff(labels.Y.indptr)) / float(weights.sum())
        wanted = int(np.ceil(mean)) if self.sparsity is None else int(self.sparsity)
        self.sparsity_ = min(max(wanted, 1), n_labels)
        return np.asarray(labels.scale[:, None] * (labels.Y @ self.matrix_.T))

    def _count_codes(self, n_rows: int, n_labels: int) -> int:
        return self.n_components

    def _decode(self, codes: Floats) -> Floats:
        found, coefficients = RECOVERIES[self.recovery](codes, self.matrix_, self.sparsity_)
        correlation = codes @ self.matrix_
        # Within +-0.5 of the row, hence between -1.5 and -0.5 after the shift.
        correlation /= 2 * np.maximum(np.abs(correlation).max(axis=1, keepdims=True), 1e-12)
        scores = correlation - MISSED
        np.put_along_axis(scores, found, np.maximum(coefficients - FOUND, -FOUND), axis=1)
        return scores

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fitted, arrays = super()._state()
        return {**fitted, "sparsity": self.sparsity_}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Any) -> None:
        super()._restore(fitted, archive)
        check_whole("sparsity", fitted["sparsity"], 1)
        self.sparsity_ = min(int(fitted["sparsity"]), self._space.n_labels)

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        return {"matrix": (np.float64, (n_codes, self._space.n_labels))}


def hadamard_rows(k: int, n_labels: int, rng: np.random.Generator) -> Floats:
    """Return ``k`` distinct random rows of the smallest Hadamard matrix that has enough columns.

    Entry (i, j) of Sylvester's matrix is -1 to the number of common bits of i and j. The first row,
    all ones, is left out while there are others; where k exceeds the order, a larger one is taken.

    Examples
    --------
    >>> H = hadamard_rows(3, 4, np.random.default_rng(0))
    >>> (H @ H.T).tolist()
    [[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    """
    order = 1 << max(int(np.ceil(np.log2(max(n_labels, 2)))), int(np.ceil(np.log2(k + 1))))
    rows = 1 + rng.choice(order - 1, size=k, replace=False)
    common = rows[:, None] & np.arange(n_labels)
    # Parity of 64 bits by folding halves onto each other; the last bit is that of the count.
    for shift in (32, 16, 8, 4, 2, 1):
        common ^= common >> shift
    return np.asarray(1.0 - 2.0 * (common & 1), dtype=np.float64)
