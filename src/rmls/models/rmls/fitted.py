"""A vector for every row and label: what such models share once they are trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import check_number, check_whole
from rmls.core.resources import count_threads
from rmls.features import Normalizer
from rmls.kernels import cpu
from rmls.models.rmls.initial import param_shapes
from rmls.models.rmls.objective import make_objective
from rmls.models.rmls.sampling import Totals, mean_rate
from rmls.models.rmls.schedule import count_passes, is_auto
from rmls.models.rmls.sgd import Sgd
from rmls.models.shared.estimator import MultiLabelEstimator, restore_normalizer

RECORD = ("n_iter", "loss_curve", "validation_curve")


class LatentModel(MultiLabelEstimator):
    """Scores ``activation(x W + b) . l_j + c_j``, with ``x`` normalised as in training.

    Attributes
    ----------
    max_iter_ : int
        Passes that ``max_iter`` asks for; not there after `partial_fit` alone.
    n_iter_ : int
        Passes made.
    loss_curve_, validation_curve_ : list of float
        Mean loss of a row, and held-out metric, per pass.
    """

    n_components: int
    activation: str
    accumulators: str
    batch_size: int
    early_stopping: bool
    max_feature_norm: float | None
    max_iter: int | str

    max_iter_: int
    n_iter_: int
    loss_curve_: list[float]
    validation_curve_: list[float]
    negative_rate_: Any
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
        self._sgd.objective = make_objective(self, self._space, totals)
        self._sgd.batch_size = self.batch_size
        self._sgd.n_threads = count_threads(self.n_jobs)
        self._sgd.max_feature_norm = self.max_feature_norm
        self._totals = totals
        self.negative_rate_ = mean_rate(self._sgd.objective, totals, self.batch_size)

    def _plan_passes(self, n_rows: int) -> range:
        """Settle the number of passes; returns those that a warm start has still to make.

        An unfinished training goes on. A finished one is continued where ``max_iter`` now names a
        larger number; ``"auto"`` names none, and begins anew.
        """
        finished = is_auto(self.max_iter) and self.n_iter_ >= getattr(self, "max_iter_", np.inf)
        self.max_iter_ = count_passes(self.max_iter, n_rows)
        goes_on = self.n_iter_ < self.max_iter_ and not finished
        return range(self.n_iter_ if goes_on else 0, self.max_iter_)

    def _same_passes(self) -> dict[str, Any]:
        return {"max_iter": self.max_iter_}

    def _was_interrupted(self) -> bool:
        return not self.early_stopping and self.n_iter_ < self.max_iter_

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        record = {name: getattr(self, f"{name}_") for name in RECORD}
        record |= {"cardinality": self.cardinality_, "total_weight": self.total_weight_}
        record["max_iter"] = getattr(self, "max_iter_", None)
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
        # Older archives have the number among the parameters only.
        passes = fitted.get("max_iter", self.max_iter)
        if passes is not None:
            check_whole("max_iter", passes, 1)
            self.max_iter_ = int(passes)
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
