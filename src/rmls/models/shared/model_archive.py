"""Fitted models to folders and back."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rmls.archive import Archive, check_arrays, read_archive, write_archive
from rmls.core.errors import ArchiveError, InputError, RmlsError
from rmls.core.labels import CONTAINERS, LabelSpace
from rmls.core.options import check_number
from rmls.core.version import VERSION
from rmls.decide import Calibration, MacroF1, Rule, make_rule
from rmls.features import Normalizer
from rmls.imbalance import RESAMPLERS
from rmls.imbalance.resampling import Resampler
from rmls.models.shared.estimator import MultiLabelEstimator

CURVE_NUMBERS = ("low", "step", "slope")
CURVE_ARRAYS: dict[str, type] = {
    "curves": np.float32,
    "curve_of": np.int32,
    "bias": np.float32,
}
MIN_STEP = 1e-12
THRESHOLDS = "macro_f1_thresholds"


def save_model(model: MultiLabelEstimator, path: str | Path) -> None:
    """Write a fitted model to the folder ``path``; see `rmls.archive.write_archive`."""
    check_is_fitted(model)
    write_archive(path, *describe_model(model))


def describe_model(model: MultiLabelEstimator) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a fitted model as plain values and arrays."""
    fitted, arrays = model._state()
    if model._normalizer is not None:
        fitted = {**fitted, "normalizer": model._normalizer.mode}
        arrays = {**arrays, **model._normalizer.as_arrays()}
    space = model._space
    params = model.get_params(deep=False)
    manifest = {
        "method": type(model).__name__,
        "rmls_version": VERSION,
        "params": {name: _to_plain(name, value) for name, value in params.items()},
        "labels": {
            "container": space.container,
            "dtype": space.dtype,
            "names": [_to_plain("label name", name) for name in space.names],
        },
        "n_samples": int(model.n_samples_),
        "n_features": int(model.n_features_in_),
        "feature_names": getattr(model, "feature_names_in_", np.zeros(0)).tolist() or None,
        "rules": [rule.as_dict() for rule in model._rules.values()],
        "calibration": calibration_numbers(model._calibration),
        "fitted": fitted,
        "training": getattr(model, "training_record_", None),
    }
    arrays = {**arrays, **decision_arrays(model._calibration, model._rules)}
    return manifest, {"label_counts": model.label_counts_, **arrays}


def load_model(path: str | Path) -> MultiLabelEstimator:
    """Read a model that `save` wrote; arrays stay on disk until they are used.

    Nothing in the folder is ever executed. A damaged folder is refused with one sentence.
    """
    archive = read_archive(path)
    try:
        return build_model(archive)
    except ArchiveError:
        raise
    except (
        RmlsError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
    ) as error:
        raise ArchiveError(
            f"{path}: the model description does not make sense ({error}); "
            "the folder was edited or written by another program."
        ) from error


def build_model(archive: Archive) -> MultiLabelEstimator:
    """Return the model that an archive describes."""
    manifest = archive.manifest
    model = _method(manifest["method"])(**_from_plain(manifest["params"]))
    model._check_options()
    model._space = _read_space(manifest["labels"])
    model.classes_ = model._space.classes
    model.n_features_in_ = int(manifest["n_features"])
    model.n_samples_ = int(manifest["n_samples"])
    model.training_record_ = manifest["training"]
    names = manifest["feature_names"]
    if names is not None:
        if not isinstance(names, list) or len(names) != model.n_features_in_:
            raise InputError("the feature names do not fit the features")
        model.feature_names_in_ = np.asarray(names, dtype=object)
    check_arrays(archive, {"label_counts": (np.int64, (model._space.n_labels,))})
    model.label_counts_ = archive.arrays["label_counts"]
    if not isinstance(manifest["fitted"], dict):
        raise InputError("the fitted values are not a dictionary")
    if "normalize" in manifest["params"]:
        model._normalizer = _read_normalizer(manifest["fitted"]["normalizer"], archive)
    model._restore(manifest["fitted"], archive)
    n_labels = model._space.n_labels
    model._rules = read_rules(manifest["rules"], archive, n_labels)
    model._calibration = read_calibration(manifest.get("calibration"), archive, n_labels)
    return model


def _read_normalizer(mode: Any, archive: Archive) -> Normalizer:
    sizes = Normalizer.sizes(mode, int(archive.manifest["n_features"]))
    check_arrays(archive, {name: (np.float32, (size,)) for name, size in sizes.items()})
    return Normalizer(mode, *(archive.arrays[name] for name in sizes))


def _read_space(labels: dict[str, Any]) -> LabelSpace:
    names = labels["names"]
    if labels["container"] not in CONTAINERS or not isinstance(names, list):
        raise InputError("unknown label container")
    if not all(isinstance(name, (str, int, float)) for name in names):
        raise InputError("a label name is neither text nor a number")
    if len(set(names)) != len(names):
        raise InputError("a label name occurs twice")
    np.dtype(labels["dtype"])
    return LabelSpace(labels["container"], names, labels["dtype"])


def _method(name: Any) -> type[MultiLabelEstimator]:
    models = import_module("rmls.models")
    if name not in models.__all__:
        raise InputError(f"unknown method {name!r}")
    method: type[MultiLabelEstimator] = getattr(models, name)
    return method


def _to_plain(name: str, value: Any) -> Any:
    """Return a parameter as a value JSON can hold."""
    if isinstance(value, MacroF1) and value.thresholds is not None:
        return {"rule": {**value.as_dict(), "thresholds": value.thresholds.tolist()}}
    if isinstance(value, Rule):
        return {"rule": value.as_dict()}
    if isinstance(value, MultiLabelEstimator):
        params = value.get_params(deep=False)
        plain = {key: _to_plain(key, each) for key, each in params.items()}
        return {"estimator": type(value).__name__, "params": plain}
    if isinstance(value, Resampler) and type(value).__name__ in RESAMPLERS:
        params = value.get_params(deep=False)
        plain = {key: _to_plain(key, each) for key, each in params.items()}
        return {"resampler": type(value).__name__, "params": plain}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.random.RandomState):
        return None
    if value is None or isinstance(value, (bool, int, float, str, list, dict)):
        return value
    raise InputError(f"{name}={value!r} cannot be written to a model folder.")


def _from_plain(params: dict[str, Any]) -> dict[str, Any]:
    return {name: _read_param(value) for name, value in params.items()}


def _read_param(value: Any) -> Any:
    if isinstance(value, dict) and "rule" in value:
        return make_rule(value["rule"])
    if isinstance(value, dict) and "estimator" in value:
        return _method(value["estimator"])(**_from_plain(value["params"]))
    if isinstance(value, dict) and "resampler" in value:
        return _resampler(value["resampler"])(**_from_plain(value["params"]))
    return value


def _resampler(name: Any) -> Any:
    if name not in RESAMPLERS:
        raise InputError(f"unknown resampler {name!r}")
    return getattr(import_module("rmls.imbalance"), name)


def calibration_numbers(calibration: Calibration | None) -> dict[str, float] | None:
    """Return the plain numbers of a calibration."""
    if calibration is None:
        return None
    return {name: getattr(calibration, name) for name in CURVE_NUMBERS}


def decision_arrays(
    calibration: Calibration | None, rules: dict[str, Rule]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the calibration and of the rules."""
    arrays: dict[str, NDArray[Any]] = {}
    if calibration is not None:
        arrays = {f"calibration_{name}": getattr(calibration, name) for name in CURVE_ARRAYS}
    rule = rules.get(MacroF1.name)
    if isinstance(rule, MacroF1) and rule.thresholds is not None:
        arrays[THRESHOLDS] = rule.thresholds
    return arrays


def read_rules(values: Any, archive: Archive, n_labels: int) -> dict[str, Rule]:
    """Return the fitted rules of a saved model."""
    rules = {rule.name: rule for rule in map(make_rule, values)}
    rule = rules.get(MacroF1.name)
    if isinstance(rule, MacroF1):
        check_arrays(archive, {THRESHOLDS: (np.float32, (n_labels,))})
        rules[MacroF1.name] = replace(rule, thresholds=archive.arrays[THRESHOLDS])
    return rules


def read_calibration(values: Any, archive: Archive, n_labels: int) -> Calibration | None:
    """Return the calibration of a saved model, None where it has none."""
    if values is None:
        return None
    shapes: dict[str, tuple[int | None, ...]] = {
        "curves": (None, None),
        "curve_of": (n_labels,),
        "bias": (n_labels,),
    }
    wanted = {f"calibration_{name}": (CURVE_ARRAYS[name], shape) for name, shape in shapes.items()}
    check_arrays(archive, wanted)
    for name in CURVE_NUMBERS:
        check_number(f"calibration {name}", values[name] ** 2, positive=name != "low")
    if values["step"] < MIN_STEP or values["slope"] < 0:
        raise InputError("the calibration has a curve that does not rise")
    arrays = {name: archive.arrays[f"calibration_{name}"] for name in CURVE_ARRAYS}
    curves, curve_of = arrays["curves"], arrays["curve_of"]
    if curves.size == 0 or curve_of.min(initial=0) < 0 or curve_of.max(initial=0) >= len(curves):
        raise InputError("the calibration names curves that it does not have")
    if not (np.isfinite(curves).all() and np.isfinite(arrays["bias"]).all()):
        raise InputError("the calibration holds a number that is not finite")
    low, step, slope = (float(values[name]) for name in CURVE_NUMBERS)
    return Calibration(low, step, slope, curves, curve_of, arrays["bias"])
