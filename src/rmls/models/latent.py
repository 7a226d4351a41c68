"""A vector for every row and label: what such models share once they are trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import check_number, check_whole
from rmls.features import Normalizer
from rmls.kernels import cpu
from rmls.models.base import MultiLabelEstimator, restore_normalizer
from rmls.models.sampling import Totals
from rmls.models.start import param_shapes
from rmls.models.training import Sgd

RECORD = ("n_iter", "loss_curve", "validation_curve")


class LatentModel(MultiLabelEstimator):
    """Scores ``activation(x W + b) . l_j + c_j``, with ``x`` normalised as in training.

    Attributes
    ----------
    n_iter_ : int
        Passes made.
    loss_curve_, validation_curve_ : list of float
        Mean loss of a row, and held-out metric, per pass.
    """

    n_components: int
    activation: str
    accumulators: str

    n_iter_: int
    loss_curve_: list[float]
    validation_curve_: list[float]
    _sgd: Sgd
    _totals: Totals
    _normalizer: Normalizer

    @property
    def cardinality_(self) -> float:
        """Mean number of labels of the training rows."""
        return self._totals.cardinality

    @property
    def total_weight_(self) -> float:
        """Weight of the training rows."""
        return self._totals.weight

    @property
    def feature_vectors_(self) -> NDArray[np.float32]:
        """``W``, of shape (n_features, n_components)."""
        return self._sgd.params.W

    @property
    def feature_bias_(self) -> NDArray[np.float32]:
        """``b``, of shape (n_components,)."""
        return self._sgd.params.b

    @property
    def label_vectors_(self) -> NDArray[np.float32]:
        """``L``, of shape (n_labels, n_components)."""
        return self._sgd.params.L

    @property
    def label_bias_(self) -> NDArray[np.float32]:
        """``c``, of shape (n_labels,)."""
        return self._sgd.params.c

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        hidden = self._normalizer.apply(X) @ self.feature_vectors_ + self.feature_bias_
        if self.activation == "tanh":
            np.tanh(hidden, out=hidden)
        elif self.activation == "relu":
            np.maximum(hidden, 0, out=hidden)
        scores: NDArray[np.float32] = hidden @ self.label_vectors_.T
        scores += self.label_bias_
        return scores

    def _set_objective(self, totals: Totals) -> None:
        """Settle what depends on the mean number of labels and on the weight of the rows."""
        raise NotImplementedError

    def _was_interrupted(self) -> bool:
        stops_early = getattr(self, "early_stopping", False)
        return not stops_early and self.n_iter_ < getattr(self, "max_iter", 0)

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        record = {name: getattr(self, f"{name}_") for name in RECORD}
        record |= {"cardinality": self.cardinality_, "total_weight": self.total_weight_}
        arrays: dict[str, NDArray[Any]] = dict(self._normalizer.as_arrays())
        arrays |= {"positives": self._totals.positives, "visited": self._totals.visited}
        for prefix, group in (("", self._sgd.params), ("accumulator_", self._sgd.accumulators)):
            arrays |= {f"{prefix}{name}": array for name, array in group._asdict().items()}
        return {**record, "normalizer": self._normalizer.mode, "seed": self._sgd.seed}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        shape = (int(self.n_features_in_), self._space.n_labels, self.n_components)
        check_whole("n_iter", fitted["n_iter"], 0)
        for name in ("cardinality", "total_weight"):
            check_number(name, fitted[name], positive=name == "total_weight")
        for name in ("loss_curve", "validation_curve"):
            if not isinstance(fitted[name], list):
                raise InputError(f"{name} is not a list")
        for name in RECORD:
            setattr(self, f"{name}_", fitted[name])
        expected = param_shapes(shape, self.n_components)
        width = self.n_components if self.accumulators == "element" else 1
        expected |= {
            f"accumulator_{name}": size for name, size in param_shapes(shape, width).items()
        }
        wanted: dict[str, Any] = {name: (np.float32, size) for name, size in expected.items()}
        wanted |= dict.fromkeys(("positives", "visited"), (np.float64, (shape[1],)))
        check_arrays(archive, wanted)
        arrays = archive.arrays
        self._normalizer = restore_normalizer(fitted["normalizer"], archive, shape[0])
        self._sgd = Sgd(
            cpu.Params(*(arrays[name] for name in cpu.Params._fields)),
            cpu.Params(*(arrays[f"accumulator_{name}"] for name in cpu.Params._fields)),
            int(fitted["seed"]),
        )
        weight, cardinality = float(fitted["total_weight"]), float(fitted["cardinality"])
        self._set_objective(Totals(weight, cardinality, arrays["positives"], arrays["visited"]))
