"""Fitted models to folders and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays, check_manifest, read_archive, write_archive
from rmls.core.errors import ArchiveError, InputError, RmlsError
from rmls.core.labels import CONTAINERS, LabelSpace, check_texts
from rmls.core.lean.learn import check_is_fitted
from rmls.core.options import check_numbers, check_whole
from rmls.core.sparse import INT32_MAX, are_within
from rmls.core.tables import LIBRARIES
from rmls.core.version import VERSION
from rmls.core.words import shorten
from rmls.decide import Calibration, MacroF1, Rule, make_rule
from rmls.decide.calibration import MAX_SCORE, MIN_STEP
from rmls.features import Normalizer
from rmls.kernels.backend import device_here
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.training_set import share_names

CURVE_NUMBERS = ("low", "step", "slope")
CURVE_ARRAYS: dict[str, type] = {
    "curves": np.float32,
    "curve_of": np.int32,
    "bias": np.float32,
}
# A type of text wider than this, and than all names, is no type of these names.
MAX_TEXT = 4096
MAX_TYPE_NAME = 32
# A sentence that repeats a value of thousands of letters helps nobody.
MAX_REASON = 300
# What a value of the wrong kind can lead to when a model is built from it.
REFUSALS = (
    RmlsError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    MemoryError,
)
THRESHOLDS = "macro_f1_thresholds"
QUALITY = "quality"
HUB = "hf://"


def save_model(model: Any, path: str | Path, *, overwrite: bool = True) -> None:
    """Write a fitted model to the folder ``path``; see `rmls.archive.write_archive`.

    What `load_model` would refuse is refused here, before anything is written.
    """
    check_is_fitted(model)
    with _told(lambda error: f"{path} cannot be written ({error})", ()):
        manifest, arrays = describe_model(model)
        plain = check_manifest(manifest, path)
    with _told(lambda error: f"{path} cannot be written: the model could not be loaded ({error})"):
        # From the very values that will be in the files, by the code that will read them.
        build_model(Archive(Path(path), plain, arrays))
    write_archive(path, plain, arrays, overwrite=overwrite)


def describe_model(model: MultiLabelEstimator) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a fitted model as plain values and arrays."""
    if hasattr(model, "_describe"):
        described: tuple[dict[str, Any], dict[str, NDArray[Any]]] = model._describe()
        return described
    fitted, arrays = model._state()
    if model._normalizer is not None:
        fitted = {**fitted, "normalizer": model._normalizer.mode}
        arrays = {**arrays, **model._normalizer.as_arrays()}
    space = model._space
    manifest = {
        "method": type(model).__name__,
        "rmls_version": VERSION,
        "params": _plain_params(model),
        "labels": {
            "container": space.container,
            "dtype": space.dtype,
            "library": space.library,
            "names": [to_plain("label name", name) for name in space.names],
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
    manifest |= describe_quality(model)
    return manifest, {"label_counts": model.label_counts_, **arrays}


def load_model(path: str | Path, *, mmap: bool = True) -> MultiLabelEstimator:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path
        The folder; or ``"hf://user/name"``, which fetches the model from the Hugging Face Hub, with
        ``@revision`` behind it for another than the newest.
    mmap : bool, default=True
        Leave the arrays on disk and read what is used: a large model is there at once, and
        processes share it. False copies them to memory: right for a service, whose model then
        cannot change or vanish under it.

    Notes
    -----
    Nothing in the folder is ever executed. A damaged folder is refused with one sentence, and
    what is loaded can be used: every index, size and parameter is checked before.

    Examples
    --------
    >>> import rmls, tempfile
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> rmls.RMLS(n_components=4).fit([[1, 0], [0, 1]], [["tax"], ["law"]]).save(folder)
    >>> rmls.load(folder).predict([[0, 1]])
    [['law']]
    """
    if isinstance(path, str) and path.startswith(HUB):
        # By name: what fetches models stands above them.
        fetched: MultiLabelEstimator = import_module("rmls.exchange").from_hub(path, mmap=mmap)
        return fetched
    archive = read_archive(path, mmap=mmap)
    with _told(
        lambda error: (
            f"{path}: the model description does not make sense ({error}); "
            "the folder was edited or written by another program"
        )
    ):
        return build_model(archive)


@contextmanager
def _told(
    describe: Callable[[str], str], kinds: tuple[type[Exception], ...] = REFUSALS
) -> Iterator[None]:
    """Turn whatever a value of the wrong kind leads to into one sentence."""
    try:
        # A number that leaves its range is told where it is used.
        with np.errstate(all="ignore"):
            yield
    except ArchiveError:
        raise
    except RecursionError:
        raise ArchiveError(describe("its estimators nest too deep") + ".") from None
    except kinds as error:
        reason = shorten(" ".join(str(error).split()), MAX_REASON).rstrip(".")
        raise ArchiveError(describe(reason or type(error).__name__) + ".") from error


def build_model(archive: Archive) -> MultiLabelEstimator:
    """Return the model that an archive describes."""
    manifest = archive.manifest
    method = _method(manifest["method"])
    if hasattr(method, "_build"):
        built: MultiLabelEstimator = method._build(archive)
        return built
    params = from_plain(manifest["params"])
    if isinstance(params, dict) and "device" in params:
        params["device"] = device_here(params["device"])
    model = method(**params)
    model._check_options()
    model._space = _read_space(manifest["labels"])
    model.classes_ = model._space.classes
    _read_sizes(model, archive)
    if not isinstance(manifest["fitted"], dict):
        raise InputError("the fitted values are not a dictionary")
    # Asked of the model: older versions wrote fewer parameters.
    if "normalize" in model.get_params(deep=False):
        model._normalizer = _read_normalizer(
            manifest["fitted"]["normalizer"],
            archive,
            # Dense columns are no part of what is scaled.
            model.n_features_in_ - getattr(model, "dense_columns", 0),
        )
    model._restore(manifest["fitted"], archive)
    share_names(model)
    n_labels = model._space.n_labels
    model._rules = read_rules(manifest["rules"], archive, n_labels)
    model._calibration = read_calibration(manifest.get("calibration"), archive, n_labels)
    return model


def _read_sizes(model: MultiLabelEstimator, archive: Archive) -> None:
    """Set what the training rows were like."""
    manifest, n_labels = archive.manifest, model._space.n_labels
    for name in ("n_features", "n_samples"):
        check_whole(name, manifest[name], 1)
    if manifest["n_features"] > INT32_MAX:
        raise InputError(f"{manifest['n_features']} features are more than can be numbered")
    model.n_features_in_, model.n_samples_ = manifest["n_features"], manifest["n_samples"]
    if not isinstance(manifest["training"], dict | None):
        raise InputError("the record of the training is not a dictionary")
    model.training_record_ = manifest["training"]
    restore_quality(model, manifest)
    names = manifest["feature_names"]
    if names is not None:
        fits = isinstance(names, list) and len(names) == model.n_features_in_
        if not fits or not all(isinstance(name, str) for name in names):
            raise InputError("the feature names do not fit the features")
        check_texts(names, "feature", "")
        model.feature_names_in_ = np.asarray(names, dtype=object)
    check_arrays(archive, {"label_counts": (np.int64, (n_labels,))})
    model.label_counts_ = archive.arrays["label_counts"]
    if not are_within(model.label_counts_, model.n_samples_ + 1):
        raise InputError("a label has more rows than there are")


def describe_quality(model: Any) -> dict[str, Any]:
    """Return the record of a model's quality for its manifest, where it has one."""
    record = getattr(model, "quality_record_", None)
    return {} if record is None else {QUALITY: record.as_dict()}


def restore_quality(model: Any, manifest: dict[str, Any]) -> None:
    """Set the record of a model's quality; folders of older versions have none."""
    found = manifest.get(QUALITY)
    if found is not None:
        # Inside: a training needs none of it.
        from rmls.models.shared.quality_record import read_quality

        model.quality_record_ = read_quality(found)


def _read_normalizer(mode: Any, archive: Archive, n_features: int) -> Normalizer:
    sizes = Normalizer.sizes(mode, n_features)
    check_arrays(archive, {name: (np.float32, (size,)) for name, size in sizes.items()})
    return Normalizer(mode, *(archive.arrays[name] for name in sizes))


def _read_space(labels: dict[str, Any]) -> LabelSpace:
    names = labels["names"]
    if labels["container"] not in CONTAINERS or not isinstance(names, list) or not names:
        raise InputError("unknown label container, or no labels")
    if not all(isinstance(name, (str, int, float)) for name in names):
        raise InputError("a label name is neither text nor a number")
    if len(set(names)) != len(names):
        raise InputError("a label name occurs twice")
    check_texts([str(name) for name in names], "label", "")
    library = labels.get("library", LIBRARIES[0])
    if library not in LIBRARIES:
        raise InputError("the labels are of no known library")
    space = LabelSpace(labels["container"], names, labels["dtype"], library)
    _check_label_type(space)
    return space


def _check_label_type(space: LabelSpace) -> None:
    """Refuse a type that cannot hold the labels, or asks for far more memory than they take."""
    if not isinstance(space.dtype, str) or len(space.dtype) > MAX_TYPE_NAME:
        raise InputError("the type of the labels is not the name of a type")
    try:
        dtype = np.dtype(space.dtype)
    except (TypeError, ValueError, SyntaxError):
        # NumPy reads a comma-separated list of types as a Python literal.
        raise InputError("the type of the labels is not the name of a type") from None
    if not space.is_single:
        if dtype.kind not in "biuf":
            raise InputError(f"label sets of type {space.dtype} do not exist")
        return
    longest = max((len(name) for name in space.names if isinstance(name, str)), default=1)
    if dtype.kind not in "biufUO" or dtype.itemsize > 4 * max(longest, MAX_TEXT):
        raise InputError(f"classes of type {space.dtype} do not exist")
    if space.classes.tolist() != space.names:
        raise InputError(f"the classes do not fit their type {space.dtype}")


def _method(name: Any) -> type[MultiLabelEstimator]:
    models = import_module("rmls.models")
    if name not in models.__all__:
        raise InputError(f"{name!r} is no estimator of rmls, and only those can be loaded")
    home = import_module(f"rmls.models.{models.HOMES[name]}")
    method: type[MultiLabelEstimator] = getattr(home, name)
    return method


def to_plain(name: str, value: Any) -> Any:
    """Return a parameter as a value JSON can hold."""
    if isinstance(value, MacroF1) and value.thresholds is not None:
        return {"rule": {**value.as_dict(), "thresholds": value.thresholds.tolist()}}
    if isinstance(value, Rule):
        return {"rule": value.as_dict()}
    if isinstance(value, MultiLabelEstimator):
        return {"estimator": type(value).__name__, "params": _plain_params(value)}
    if type(value).__module__.startswith("rmls.imbalance.") and hasattr(value, "fit_resample"):
        params = value.get_params(deep=False)
        plain = {key: to_plain(key, each) for key, each in params.items()}
        return {"resampler": type(value).__name__, "params": plain}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, tuple):
        return list(value)
    if value is None or isinstance(value, (bool, int, float, str, list, dict)):
        return value
    raise InputError(f"{name}={value!r} cannot be written to a model folder.")


def _plain_params(model: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that are part of a model."""
    params = model.get_params(deep=False)
    # Which nodes have trained a model is no property of it.
    return {name: to_plain(name, value) for name, value in params.items() if name != "cluster"}


def from_plain(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that `to_plain` wrote."""
    return {name: _read_param(value) for name, value in params.items()}


def _read_param(value: Any) -> Any:
    if isinstance(value, dict) and "rule" in value:
        return make_rule(value["rule"])
    if isinstance(value, dict) and "estimator" in value:
        return _method(value["estimator"])(**from_plain(value["params"]))
    if isinstance(value, dict) and "resampler" in value:
        return _resampler(value["resampler"])(**from_plain(value["params"]))
    return value


def _resampler(name: Any) -> Any:
    # Most models have none: the package of resamplers is not imported for their sake.
    imbalance = import_module("rmls.imbalance")
    if name not in imbalance.RESAMPLERS:
        raise InputError(f"unknown resampler {name!r}")
    return getattr(imbalance, name)


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
    if not isinstance(values, list):
        raise InputError("the decision rules are not a list")
    rules = {rule.name: rule for rule in map(make_rule, values)}
    rule = rules.get(MacroF1.name)
    if isinstance(rule, MacroF1):
        check_arrays(archive, {THRESHOLDS: (np.float32, (n_labels,))})
        rules[MacroF1.name] = replace(rule, thresholds=archive.arrays[THRESHOLDS])
    if not all(rule.is_fitted for rule in rules.values()):
        raise InputError("a decision rule lacks its value")
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
    check_numbers("calibration", [values[name] for name in CURVE_NUMBERS], signed=True)
    largest = max(abs(values[name]) for name in CURVE_NUMBERS)
    # The kernel divides by the step, and takes all three as float32.
    if values["step"] < MIN_STEP or values["slope"] < 0 or largest > MAX_SCORE:
        raise InputError("the calibration has a curve that does not rise")
    arrays = {name: archive.arrays[f"calibration_{name}"] for name in CURVE_ARRAYS}
    curves, curve_of = arrays["curves"], arrays["curve_of"]
    if curves.size == 0 or curve_of.min(initial=0) < 0 or curve_of.max(initial=0) >= len(curves):
        raise InputError("the calibration names curves that it does not have")
    low, step, slope = (float(values[name]) for name in CURVE_NUMBERS)
    return Calibration(low, step, slope, curves, curve_of, arrays["bias"])
