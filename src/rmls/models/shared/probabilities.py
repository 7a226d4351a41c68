"""Probabilities that a method has of its own, and the method that returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rmls.core.numeric import softmax
from rmls.models.shared.training_set import read_features

if TYPE_CHECKING:
    from rmls.models.shared.estimator import MultiLabelEstimator as Base
else:
    Base = object


class GivesProbabilities(Base):
    """Mixin of estimators that can be asked for probabilities without a wrapper around them."""

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense; rows sum to 1 for a 1-d ``y``."""
        check_is_fitted(self)
        to_probabilities = (
            self._class_probabilities if self._space.is_single else self._to_probabilities
        )
        return self._dense(read_features(self, X), to_probabilities)

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probabilities of the classes of a 1-d ``y``."""
        return softmax(scores)
