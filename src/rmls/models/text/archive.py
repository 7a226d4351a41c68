"""A fitted `TextRanker` as plain values and arrays, and back."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.version import VERSION
from rmls.features.text.state import restore_text, text_state
from rmls.models.shared.model_archive import (
    build_model,
    describe_model,
    describe_quality,
    from_plain,
    restore_quality,
    to_plain,
)
from rmls.models.text.text_ranker import TextRanker

TEXT, INNER = "text_", "inner_"
NAMES = "label_names"


def describe_text_ranker(model: TextRanker) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a fitted model as plain values and arrays."""
    fitted, text = text_state(model.features_)
    inner, arrays = describe_model(model.estimator_)
    # Columns may be named by any sequence, such as the index of a table.
    roles = model.features_.column_roles_
    columns = {"categories": roles.categories or None, "numbers": roles.numbers or None}
    params = {**model.get_params(deep=False), **columns}
    if callable(params["encoder"]):
        # No file can hold a function: whoever loads the model sets it again.
        params["encoder"] = None
    elif params["encoder"] is not None:
        params["encoder"] = str(params["encoder"])
    manifest = {
        "method": type(model).__name__,
        "rmls_version": VERSION,
        "params": {name: to_plain(name, value) for name, value in params.items()},
        "text": fitted,
        "estimator": inner,
        "training": model.training_record_,
        **describe_quality(model),
    }
    known = set(map(str, model.classes_.tolist()))
    # Labels may have been retired since.
    names = {label: names for label, names in model.other_names_.items() if label in known}
    if names:
        manifest[NAMES] = names
    named = {f"{TEXT}{name}": array for name, array in text.items()}
    return manifest, {**named, **{f"{INNER}{name}": array for name, array in arrays.items()}}


def build_text_ranker(archive: Archive) -> TextRanker:
    """Return the model that an archive describes."""
    manifest = archive.manifest
    params = from_plain(manifest["params"])
    if isinstance(params.get("characters"), list):
        params["characters"] = tuple(params["characters"])
    model = TextRanker(**params)
    model._check_options()
    if not isinstance(manifest["training"], dict | None):
        raise InputError("the record of the training is not a dictionary")
    model.training_record_ = manifest["training"]
    restore_quality(model, manifest)
    model.other_names_ = _read_names(manifest.get(NAMES, {}))
    features = model._make_features()
    text, inner = (_named(archive, prefix) for prefix in (TEXT, INNER))
    model.features_ = restore_text(features.get_params(deep=False), manifest["text"], text)
    estimator = build_model(Archive(archive.path, manifest["estimator"], inner))
    if estimator.n_features_in_ != model.features_.n_terms_ + model.features_.n_dense_:
        raise InputError("the estimator inside has other features than the texts have terms")
    model.estimator_ = estimator
    return model


def _read_names(found: Any) -> dict[str, list[str]]:
    """Return what labels are called, refusing what is no list of names."""
    if not isinstance(found, dict):
        raise InputError("the names of the labels are not a dictionary")
    for names in found.values():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError("the names of a label are not a list of texts")
    return found


def _named(archive: Archive, prefix: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in archive.arrays.items()
        if name.startswith(prefix)
    }
