"""Label-space dimension reduction: encode labels, regress features on the codes, decode."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.options import check_number, check_whole, read_seed
from rmls.core.resources import count_threads
from rmls.features import fit_normalizer
from rmls.models.lsdr.label_operator import Floats, SignedLabels
from rmls.models.lsdr.ridge import RidgeSystem
from rmls.models.shared.estimator import MultiLabelEstimator, restore_normalizer
from rmls.models.shared.progress import say


class LSDR(MultiLabelEstimator):
    """Template of the methods that replace the labels by k codes.

    A subclass writes ``_encode(labels, X)``, which returns the codes (n_samples, k) and sets what
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
        self.n_components = n_components
        self.ridge = ridge
        self.normalize = normalize
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _encode(self, labels: SignedLabels, X: sparse.csr_matrix) -> Floats:
        raise NotImplementedError

    def _decode(self, codes: Floats) -> Floats:
        raise NotImplementedError

    def _fit(
        self,
        X: sparse.csr_matrix,
        Y: sparse.csr_matrix,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        if self.n_components is not None:
            check_whole("n_components", self.n_components, 1)
        check_number("ridge", self.ridge, positive=True)
        self._seed = read_seed(self.random_state)
        self._normalizer = fit_normalizer(X, self.normalize, rows, weights)
        scale = np.sqrt(weights)
        scaled = sparse.csr_matrix(sparse.diags(scale) @ self._normalizer.apply(X[rows]))
        labels = SignedLabels.of(Y[rows], weights)
        self.coef_ = self._regress(labels, scaled, scale)
        return rows[:0]

    def _regress(self, labels: SignedLabels, X: sparse.csr_matrix, scale: Floats) -> Floats:
        """Return the coefficients of all codes, the intercept first."""
        self._say(f"encoding {labels.shape[1]} labels of {labels.shape[0]} rows")
        codes = self._encode(labels, X)
        self._say(f"regressing {X.shape[1]} features on {codes.shape[1]} codes")
        return self._make_system(X, scale).fit(codes)

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

    def _n_codes(self, limit: int) -> int:
        """Return the number of codes: ``n_components``, or all that exist."""
        return min(self.n_components, limit)

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        codes = self._normalizer.apply(X) @ self.coef_[1:] + self.coef_[0]
        return self._decode(codes).astype(np.float32)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {name: getattr(self, f"{name}_") for name in ("coef", *self._decoder)}
        return {"normalizer": self._normalizer.mode}, arrays | self._normalizer.as_arrays()

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        check_arrays(archive, {"coef": (np.float64, (1 + int(self.n_features_in_), None))})
        n_codes = archive.arrays["coef"].shape[1]
        check_arrays(archive, self._decoder_shapes(n_codes))
        for name in ("coef", *self._decoder):
            setattr(self, f"{name}_", archive.arrays[name])
        self._normalizer = restore_normalizer(fitted["normalizer"], archive, self.n_features_in_)

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        """Return type and shape of the decoder's arrays."""
        raise NotImplementedError
