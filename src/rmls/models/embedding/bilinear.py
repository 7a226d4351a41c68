"""What the models with scores ``x W . l_j`` share once they are trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.options import check_numbers, check_whole
from rmls.models.shared.estimator import MultiLabelEstimator


class BilinearModel(MultiLabelEstimator):
    """Scores ``x W . l_j``, with ``x`` normalised as in training.

    Attributes
    ----------
    feature_vectors_ : ndarray of float32, shape (n_features, n_components)
        ``W``.
    label_vectors_ : ndarray of float32, shape (n_labels, n_components)
        ``L``.
    """

    _record: tuple[str, ...] = ()
    """Names of further fitted values of the archive, without the underscore behind."""

    n_components: int

    feature_vectors_: NDArray[np.float32]
    label_vectors_: NDArray[np.float32]

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = (X @ self.feature_vectors_) @ self.label_vectors_.T
        return scores

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        record = {name: getattr(self, f"{name}_") for name in self._record}
        return record, {"W": self.feature_vectors_, "L": self.label_vectors_}

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        d, m, k = int(self.n_features_in_), self._space.n_labels, self.n_components
        check_arrays(archive, {"W": (np.float32, (d, k)), "L": (np.float32, (m, k))})
        self.feature_vectors_, self.label_vectors_ = archive.arrays["W"], archive.arrays["L"]
        for name in self._record:
            if name.endswith("_curve"):
                check_numbers(name, fitted[name], signed=True)
            else:
                check_whole(name, fitted[name], 0)
            setattr(self, f"{name}_", fitted[name])
