"""A trained RMLS to the archive and back, with what a training needs to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import check_number, check_numbers, check_whole
from rmls.kernels.arrays import Params
from rmls.models.rmls.sampling import Totals
from rmls.models.rmls.sgd import Settled, Sgd, param_shapes

if TYPE_CHECKING:
    from rmls.models.rmls.rmls import RMLS

RECORD = ("n_iter", "loss_curve", "validation_curve")


def training_state(model: RMLS) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the fitted state as plain values and arrays."""
    state, totals = model._sgd, model._settled.totals
    record = {name: getattr(model, f"{name}_") for name in RECORD}
    record |= {"cardinality": totals.cardinality, "total_weight": totals.weight}
    record |= {"max_iter": getattr(model, "max_iter_", None), "seed": state.seed}
    arrays: dict[str, NDArray[Any]] = {"positives": totals.positives, "visited": totals.visited}
    for prefix, group in (("", state.params), ("accumulator_", state.accumulators)):
        arrays |= {f"{prefix}{name}": array for name, array in group._asdict().items()}
    return record, arrays


def read_state(model: RMLS, fitted: dict[str, Any], archive: Archive) -> None:
    """Set the fitted state of a model from what `training_state` returned."""
    _read_record(model, fitted)
    shape = (int(model.n_features_in_), model._space.n_labels, int(model.n_components))
    width = model.n_components if model.accumulators == "element" else 1
    expected = param_shapes(shape, shape[2])
    expected |= {f"accumulator_{name}": size for name, size in param_shapes(shape, width).items()}
    wanted: dict[str, Any] = {name: (np.float32, size) for name, size in expected.items()}
    wanted |= dict.fromkeys(("positives", "visited"), (np.float64, (shape[1],)))
    check_arrays(archive, wanted)
    arrays = archive.arrays
    # Sums of squares and of weights: training takes roots of them.
    sums = [name for name in wanted if name not in Params._fields]
    if any(arrays[name].min(initial=0) < 0 for name in sums):
        raise InputError("a sum of squares or of weights is negative")
    model._sgd = Sgd(
        Params(*(arrays[name] for name in Params._fields)),
        Params(*(arrays[f"accumulator_{name}"] for name in Params._fields)),
        int(fitted["seed"]),
    )
    weight, cardinality = float(fitted["total_weight"]), float(fitted["cardinality"])
    totals = Totals(weight, cardinality, arrays["positives"], arrays["visited"])
    model._settled = Settled.of(model, model._space, totals)


def _read_record(model: RMLS, fitted: dict[str, Any]) -> None:
    for name in ("n_iter", "seed"):
        check_whole(name, fitted[name], 0)
    for name in ("cardinality", "total_weight"):
        check_number(name, fitted[name], positive=name == "total_weight")
    for name in ("loss_curve", "validation_curve"):
        check_numbers(name, fitted[name], signed=True)
    for name in RECORD:
        setattr(model, f"{name}_", fitted[name])
    # Older archives have the number among the parameters only.
    passes = fitted.get("max_iter", model.max_iter)
    if passes is not None:
        check_whole("max_iter", passes, 1)
        model.max_iter_ = int(passes)
