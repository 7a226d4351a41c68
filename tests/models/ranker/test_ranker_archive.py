"""RMLSRanker on disk: the same model in fewer bytes; damaged folders are refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_samples import assert_refused, change_model

import rmls
from rmls import RMLS, RMLSRanker, make_longtail
from rmls.archive import read_archive, write_archive
from rmls.core.errors import InputError

DATA = make_longtail(900, 600, 80, labels_per_row=3, random_state=2)
PRECISIONS = ("float32", "int16", "int8")
RULES = ("f1", "cardinality", "top_3", "micro_f1", "macro_f1", "psp@5", "tail@5", "jaccard")
every_precision = pytest.mark.parametrize("precision", [*PRECISIONS, "auto"])


@cache
def fitted(precision: str = "float32", **options: Any) -> RMLSRanker:
    settings: dict[str, Any] = {"n_components": 16, "shortlist_size": 30, "calibration_folds": 0}
    settings |= {"precision": precision, **options}
    return RMLSRanker(**settings).fit(DATA.train.X, DATA.train.Y)


def assert_same(first: RMLSRanker, second: RMLSRanker) -> None:
    X = DATA.test.X
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    for k in (5, 40):
        np.testing.assert_array_equal(first.rank(X, k).labels, second.rank(X, k).labels)
    for rule in RULES:
        assert (first.predict_sets(X, rule) != second.predict_sets(X, rule)).nnz == 0


@every_precision
def test_a_loaded_model_is_the_saved_one(precision: str, tmp_path: Path) -> None:
    model = fitted(precision)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert_same(loaded, model)
    for name in ("shortlist_recall_", "unlisted_", "n_weights_", "n_iter_", "seconds_"):
        assert getattr(loaded, name) == getattr(model, name)
    loaded.save(tmp_path / "again")
    assert_same(rmls.load(tmp_path / "again"), model)


def test_a_model_of_two_bytes_from_version_0_1_is_saved_as_it_was(tmp_path: Path) -> None:
    old = rmls.load(Path(__file__).parents[2] / "archive" / "saved_0_1" / "RMLSRanker-int16")
    old.save(tmp_path / "again")
    again = rmls.load(tmp_path / "again")
    for name in ("W", "L"):
        vectors = getattr(old.representation_.params, name)
        np.testing.assert_array_equal(getattr(again.representation_.params, name), vectors)


@pytest.mark.parametrize(
    "options",
    [
        {"n_models": 2},
        {"calibration": None},
        {"index": "clusters"},
        {"index": "leading", "n_components": 40},
        {"representation": RMLS(8, max_iter=3, activation="relu")},
    ],
    ids=str,
)
def test_options_survive_the_archive(options: dict[str, Any], tmp_path: Path) -> None:
    model = fitted("int8", **options)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    X = DATA.test.X
    assert str(loaded) == str(model)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert (loaded.predict_sets(X) != model.predict_sets(X)).nnz == 0


@pytest.mark.parametrize(("precision", "share"), [("int16", 0.97), ("int8", 0.85)])
def test_fewer_bytes_rank_nearly_the_same(precision: str, share: float) -> None:
    full, small = (fitted(name).rank(DATA.test.X, 5).to_sets() for name in ("float32", precision))
    assert full.multiply(small).nnz > share * full.nnz


def test_fewer_bytes_make_smaller_folders(tmp_path: Path) -> None:
    sizes = []
    for precision in PRECISIONS:
        fitted(precision, n_components=32).save(tmp_path / precision)
        files = (tmp_path / precision).iterdir()
        sizes.append(sum(path.stat().st_size for path in files))
    assert sizes[1] < 0.75 * sizes[0]
    assert sizes[2] < 0.75 * sizes[1]


def test_left_open_weights_have_two_bytes_and_vectors_one(tmp_path: Path) -> None:
    assert RMLSRanker().precision == "auto"
    kept = {}
    for precision in ("auto", "int16", "int8"):
        model = fitted(precision, n_components=32)
        model.save(tmp_path / precision)
        archive = read_archive(tmp_path / precision)
        kept[precision] = {name: archive.arrays[name] for name in ("features", "labels")}
        assert archive.arrays["weights_values"].itemsize == (1 if precision == "int8" else 2)
    for name, array in kept["auto"].items():
        np.testing.assert_array_equal(array, kept["int8"][name])
        assert array.itemsize == 1 < kept["int16"][name].itemsize


@pytest.mark.parametrize(("before", "after"), [("int16", "int8"), ("int16", "auto")])
def test_a_precision_changed_after_the_fit_is_refused_before_anything_is_written(
    before: str, after: str, tmp_path: Path
) -> None:
    model = pickle.loads(pickle.dumps(fitted(before))).set_params(precision=after)
    with pytest.raises(InputError, match=f"precision was changed to '{after}' after fit"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# -- damage --------------------------------------------------------------------------------------

Damage = Callable[[dict[str, Any]], Any]


def change(name: str, make: Callable[[np.ndarray], np.ndarray]) -> Damage:
    def damage(arrays: dict[str, Any]) -> None:
        arrays[name] = make(arrays[name])

    return damage


def with_value(place: int, value: int) -> Callable[[np.ndarray], np.ndarray]:
    def make(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[place] = value
        return array

    return make


NAMES = ("weights_indptr", "weights_indices", "weights_values", "weights_scale", "weights_bias")
NAMES += ("features", "labels", "feature_bias", "label_bias", "theta", "knots", "positives")
DAMAGES: dict[str, Damage] = {
    "an index out of range": change("weights_indices", with_value(3, 600)),
    "an index far out of range": change("weights_indices", with_value(-1, 65_535)),
    "indptr falls": change("weights_indptr", with_value(5, 10**6)),
    "indptr below zero": change("weights_indptr", with_value(1, -1)),
    "indptr starts late": change("weights_indptr", with_value(0, 1)),
    "indptr ends early": change("weights_indptr", with_value(-1, 0)),
    "signed indices": change("weights_indices", lambda array: array.astype(np.int32)),
    "wide indices": change("weights_indices", lambda array: array.astype(np.uint32)),
    "fewer indices": change("weights_indices", lambda array: array[:-1]),
    "fewer values": change("weights_values", lambda array: array[:-1]),
    "a table of values": change("weights_values", lambda array: array[:, None]),
    "other values": change("weights_values", lambda array: array.astype(np.float64)),
    "double vectors": change("labels", lambda array: array.astype(np.float64)),
    **{f"no {name}": (lambda arrays, name=name: arrays.pop(name)) for name in NAMES},  # type: ignore[misc]
    **{f"short {name}": change(name, lambda array: array[:-1]) for name in NAMES},
}


@every_precision
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_arrays_are_refused_in_one_sentence(
    damage: Damage, precision: str, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    fitted(precision).save(folder)
    archive = read_archive(folder)
    arrays = {name: np.array(array) for name, array in archive.arrays.items()}
    damage(arrays)
    write_archive(folder, archive.manifest, arrays)
    assert_refused(folder)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("fitted.n_components", 17),
        ("fitted.n_components", "many"),
        ("fitted.n_components", -1),
        ("fitted.activation", "cubic"),
        ("fitted.normalizer", "exec"),
        ("fitted.n_iter", "five"),
        ("fitted.total_weight", 0),
        ("fitted.total_weight", "all"),
        ("fitted.shortlist_recall", -1),
        ("fitted.shortlist_recall", None),
        ("fitted.unlisted", "few"),
        ("fitted.seconds", 5),
        ("fitted.n_probe", 3),
        ("params.precision", "int8"),
        ("params.precision", "float64"),
        ("params.tail", -1),
        ("params.shortlist_size", 0),
        ("params.shortlist_size", "many"),
        ("params.representation", 5),
    ],
    ids=str,
)
def test_values_that_do_not_suit_the_arrays_are_refused(
    path: str, value: Any, tmp_path: Path
) -> None:
    fitted().save(tmp_path / "model")
    change_model(tmp_path / "model", {path: value})
    assert_refused(tmp_path / "model")
