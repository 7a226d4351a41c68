"""Label-space dimension reduction: encode labels, regress features on the codes, decode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import Option, positive, read_seed, store_params, whole
from rmls.core.resources import count_threads, require_memory
from rmls.core.sparse import are_within
from rmls.models.lsdr.label_operator import Floats, SignedLabels
from rmls.models.lsdr.ridge import DIRECT_FEATURES, RidgeSystem
from rmls.models.shared.answers import BLOCK_BYTES
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.progress import say
from rmls.models.shared.training_set import TrainingSet

# Of a block of scores and what it is computed from, in float64.
SCORED_BYTES = 6 * BLOCK_BYTES
# Defaults of the toolbox that the study of RMLS ran, of its labels in -1 and 1.
TOOLBOX: dict[str, Any] = {"ridge": 0.1, "normalize": "none", "decision": "round"}


@dataclass(frozen=True)
class Encoding:
    """What the labels of a fit are encoded from.

    Attributes
    ----------
    labels : SignedLabels
    X : CSR matrix
        Normalised rows, scaled by ``scale``.
    scale : ndarray of float64, shape (n_rows,)
        Root of the weight of every row, the column of the intercept.
    seed : int
    """

    labels: SignedLabels
    X: sparse.csr_matrix
    scale: Floats
    seed: int


class LSDR(MultiLabelEstimator):
    """Template of the methods that replace the labels by k codes.

    A subclass writes ``_encode(problem)``, which returns the codes (n_samples, k) and sets what
    ``_decode(codes)`` needs to turn predicted codes into scores of all labels. Codes are predicted
    by ridge regression with an intercept that is regularised as well; labels are ±1, so that
    rounding means a threshold of 0.

    Attributes
    ----------
    coef_ : ndarray of shape (1 + n_features, n_codes)
        Coefficients of the codes, the intercept first.
    """

    _decoder: tuple[str, ...] = ()
    """Names of the fitted arrays of the decoder, without the underscore behind."""

    coef_: Floats

    n_components: int
    ridge: float

    _options: ClassVar[dict[str, Option]] = {"n_components": whole(1), "ridge": positive()}

    def __init__(
        self,
        n_components: int = 250,
        *,
        ridge: float = 0.1,
        normalize: str = "none",
        decision: Any = "round",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    def _encode(self, problem: Encoding) -> Floats:
        raise NotImplementedError

    def _decode(self, codes: Floats) -> Floats:
        raise NotImplementedError

    def _fit(self, data: TrainingSet) -> ScoredRows:
        self._require_memory(data.n_rows, data.n_features, data.n_labels)
        # Rows times the root of their weight: unweighted solvers then minimise the weighted
        # squares.
        scale = np.sqrt(data.weights)
        X = sparse.csr_matrix(sparse.diags(scale) @ self._normalized(data).features)
        labels = SignedLabels.of(data.labels, data.weights)
        self.coef_ = self._regress(Encoding(labels, X, scale, read_seed(self.random_state)))
        return ScoredRows(self, data)

    def _require_memory(self, n: int, d: int, m: int) -> None:
        """Refuse sizes that do not fit, before anything is asked for."""
        k, fewer = self._count_codes(n, m), min(n, d)
        # Codes, coefficients and decoder in float64; the Gram matrix, or conjugate gradients.
        arrays = 8 * k * (2 * n + d + 3 * m)
        solver = 16 * fewer**2 if fewer <= DIRECT_FEATURES else 20 * k * d
        require_memory(
            arrays + solver + SCORED_BYTES,
            f"{k} codes of {n} rows with {d} features and {m} labels",
            "use fewer components",
        )

    def _regress(self, problem: Encoding) -> Floats:
        """Return the coefficients of all codes, the intercept first."""
        n_rows, n_labels = problem.labels.shape
        self._say(f"encoding {n_labels} labels of {n_rows} rows")
        codes = self._encode(problem)
        self._say(f"regressing {problem.X.shape[1]} features on {codes.shape[1]} codes")
        # A column of ones, weighted like the rows, is the column of the roots.
        return self._make_system(problem.X, problem.scale).fit(codes)

    def _make_system(
        self, X: sparse.csr_matrix, intercept: Floats | None = None, tol: float = 1e-4
    ) -> RidgeSystem:
        """Return the normal equations of the features, with this method's penalty and threads."""
        return RidgeSystem(
            X, self.ridge, intercept, tol, n_threads=self._n_threads(), report=self._say
        )

    def _say(self, text: str) -> None:
        if self.verbose:
            say(f"{type(self).__name__}: {text}")

    def _n_threads(self) -> int:
        return count_threads(self.n_jobs)

    def _count_codes(self, n_rows: int, n_labels: int) -> int:
        """Return how many codes rows and labels of these numbers have at most."""
        return self._n_codes(n_labels)

    def _n_codes(self, limit: int) -> int:
        """Return the number of codes: ``n_components``, or all that exist."""
        return min(self.n_components, limit)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        codes = X @ self.coef_[1:] + self.coef_[0]
        return self._decode(codes).astype(np.float32)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {name: getattr(self, f"{name}_") for name in ("coef", *self._decoder)}
        return {}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        check_arrays(archive, {"coef": (np.float64, (1 + int(self.n_features_in_), None))})
        n_codes = archive.arrays["coef"].shape[1]
        check_arrays(archive, self._decoder_shapes(n_codes))
        selected = archive.arrays["selected"] if "selected" in self._decoder else np.zeros(0, int)
        if not are_within(selected, self._space.n_labels):
            raise InputError("the selected labels are not there")
        for name in ("coef", *self._decoder):
            setattr(self, f"{name}_", archive.arrays[name])

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        """Return type and shape of the decoder's arrays."""
        raise NotImplementedError
