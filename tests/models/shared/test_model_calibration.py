"""Calibrated models: every rule after one fit, the archive, and what cannot be calibrated."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_samples import MISSING, assert_refused, change_model
from model_samples import NAMES, as_names, make_blocks
from scipy import sparse

import rmls
from rmls import RMLS
from rmls.archive import read_archive
from rmls.core.errors import InputError
from rmls.decide import MacroF1, ScoreCounts, make_rule, shown_names
from rmls.metrics import get_metric
from rmls.models import PLST

X, CLEAN = make_blocks(120)
# One label in seven is forgotten, so that the probabilities are not all 0 or 1.
Y = CLEAN * (np.random.default_rng(0).random(CLEAN.shape) < 6 / 7)
FAST = {"n_components": 8, "max_iter": 5, "decision": "cardinality"}
# Found by fitting; the others cut scores or need nothing.
OF_CALIBRATION = ("micro_f1", "macro_f1")
RULES = [name for name in shown_names() if name != "threshold"]


@cache
def calibrated(method: str | None = "auto") -> RMLS:
    return fit(calibration=method)


def fit(features: Any = X, labels: Any = Y, weights: Any = None, **options: Any) -> RMLS:
    return RMLS(**{**FAST, **options}).fit(features, labels, sample_weight=weights)


def measure(name: str, sets: Any) -> float:
    return get_metric(name)(sparse.csr_matrix(Y), sets)


# -- one fit, every rule --------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_there_after_one_fit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = calibrated()
    monkeypatch.setattr(RMLS, "_fit", None)
    sets = model.predict_sets(X, name)
    assert sets.shape == Y.shape
    k = getattr(make_rule(name), "k", None)
    if k is not None:
        assert (np.diff(sets.indptr) == k).all()
    assert (model.predict(X, decision=name) == sets.toarray()).all()
    assert (model.predict_sets(X) != model.predict_sets(X, "cardinality")).nnz == 0


@pytest.mark.parametrize("name", [name for name in RULES if make_rule(name).needs_probabilities])
def test_a_model_decides_as_the_rule_does_on_its_probabilities(name: str) -> None:
    model = calibrated()
    rule = model._fitted_rule(name)
    wanted = rule.select(rmls.core.ranking.Ranking.from_dense(model.predict_proba(X)))
    assert (model.predict_sets(X, name) != wanted).nnz == 0


@pytest.mark.parametrize("name", ["f1", "jaccard"])
def test_no_row_is_left_without_labels(name: str) -> None:
    assert (np.diff(calibrated().predict_sets(X, name).indptr) > 0).all()


@pytest.mark.parametrize("method", ["auto", "temperature", "platt", "isotonic"])
def test_probabilities_have_the_mean_of_the_labels(method: str) -> None:
    chances = calibrated(method).predict_proba(X)
    assert ((chances > 0) & (chances < 1)).all()
    assert chances.mean() == pytest.approx(Y.mean(), abs=0.05)


def test_thresholds_on_probabilities_are_good_ones() -> None:
    for name in OF_CALIBRATION:
        assert measure(name, calibrated().predict_sets(X, name)) > 0.85


def test_the_rule_of_the_constructor_decides() -> None:
    model = fit(calibration="auto", decision="macro_f1@3")
    wanted = calibrated().predict_sets(X, "macro_f1@3")
    assert (model.predict_sets(X) != wanted).nnz == 0


def test_calibration_leaves_the_model_as_it_was() -> None:
    plain = calibrated(None)
    np.testing.assert_array_equal(plain.decision_function(X), calibrated().decision_function(X))
    assert (plain.predict_sets(X) != calibrated().predict_sets(X)).nnz == 0


# -- not calibrated -------------------------------------------------------------------------------


def test_a_model_that_is_not_calibrated_decides_by_its_own_probabilities() -> None:
    for name in ("f1", "jaccard", "psp@2", "tail@2=0.5", "macro_recall@2", "macro_f1@2"):
        assert calibrated(None).predict_sets(X, name).nnz > 0
    assert measure("example_f1", calibrated(None).predict_sets(X, "f1")) > 0.85


@pytest.mark.parametrize("name", OF_CALIBRATION)
def test_thresholds_that_were_not_fitted_say_how_to_get_them(name: str) -> None:
    with pytest.raises(InputError, match=f"{name!r} was not fitted; fit the model with calib"):
        calibrated(None).predict(X, name)


@pytest.mark.parametrize("name", ["f1", "psp@2", "macro_f1@2"])
def test_a_method_without_probabilities_says_what_to_do(name: str) -> None:
    model = PLST(2, decision=name).fit(X, Y)
    with pytest.raises(InputError, match=r"PLST gives scores and no .*Calibrated\(PLST\(\)\)"):
        model.predict(X)


@pytest.mark.parametrize("folds", [1, -1, 2.5, "many", None])
def test_a_number_of_folds_without_meaning_is_refused(folds: Any) -> None:
    with pytest.raises(InputError, match="calibration_folds"):
        fit(calibration="auto", calibration_folds=folds)


def test_an_unknown_calibration_is_refused() -> None:
    with pytest.raises(InputError, match="calibration must be one of"):
        fit(calibration="best")


# -- which rows it is fitted to -------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"calibration_folds": 0, "validation_fraction": 0.3},
        {"early_stopping": True, "validation_fraction": 0.3},
        {"decision": "threshold", "validation_fraction": 0.3},
        {"calibration_folds": 2},
        {"calibration_folds": 5},
    ],
    ids=str,
)
def test_rows_held_out_or_cross_fitted_calibrate(options: dict) -> None:
    model = fit(calibration="auto", **options)
    assert model.predict_proba(X).mean() == pytest.approx(Y.mean(), abs=0.08)
    for name in ("f1", *OF_CALIBRATION):
        assert measure("micro_f1", model.predict_sets(X, name)) > 0.8


def test_no_row_calibrates_a_model_that_was_trained_on_it() -> None:
    # Labels without rhyme or reason: the model is sure of its own rows, and of new ones wrongly.
    rng = np.random.default_rng(0)
    features, new = rng.normal(0, 1, (90, 40)), rng.normal(0, 1, (90, 40))
    noise = (rng.random((90, 5)) < 0.3).astype(int)
    options = {"l2": 0.0, "max_iter": 100, "learning_rate": 0.5}
    models = [fit(features, noise, calibration=c, **options) for c in (None, "auto")]
    errors = [np.abs(model.predict_proba(new) - 0.3).mean() for model in models]
    assert errors[0] > 0.25
    assert errors[1] < 0.1


def test_whole_weights_are_the_same_as_repetition() -> None:
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    one = fit(weights=weights, calibration="auto")
    two = fit(np.repeat(X, weights, 0), np.repeat(Y, weights, 0), calibration="auto")
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-5)
    plain = calibrated().predict_proba(X)
    assert np.abs(one.predict_proba(X) - plain).max() > 1e-4


def test_the_order_of_the_rows_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(len(X))
    found = fit(X[order], Y[order], calibration="auto").predict_proba(X)
    np.testing.assert_allclose(found, calibrated().predict_proba(X), rtol=1e-5)


def test_weights_of_held_out_rows_count(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[np.ndarray] = []
    add = ScoreCounts.add

    def watch(counts: ScoreCounts, scores: Any, labels: Any, weights: Any = None) -> None:
        counted.append(weights)
        add(counts, scores, labels, weights)

    monkeypatch.setattr(ScoreCounts, "add", watch)
    fit(weights=np.full(len(X), 2.0), calibration="auto", calibration_folds=0)
    assert len(counted) > 0
    assert all((weights >= 2).all() for weights in counted)


# -- little data, other containers -----------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("method", ["auto", "isotonic"])
def test_a_handful_of_rows_is_fitted_quietly(n: int, method: str) -> None:
    model = fit(X[:n], CLEAN[:n], calibration=method)
    chances = model.predict_proba(X[:n])
    assert np.isfinite(chances).all()
    assert model.predict_sets(X[:n], "f1").nnz > 0


def test_rows_without_labels_are_fitted_quietly() -> None:
    model = fit(X[:9], np.zeros((9, 3), dtype=int), calibration="auto")
    assert model.predict_sets(X, "cardinality").nnz == 0


def test_a_label_that_only_held_out_rows_have_is_no_obstacle() -> None:
    rare = CLEAN.copy()
    rare[:, 5] = 0
    rare[7, 5] = 1
    chances = fit(X, rare, calibration="isotonic").predict_proba(X)
    assert np.isfinite(chances).all()


def test_classes_of_a_single_label_are_not_calibrated() -> None:
    topic = CLEAN.argmax(axis=1)
    model = fit(X, topic, calibration="auto")
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)
    assert (model.predict(X, "f1") == model.predict(X)).all()


def test_names_of_labels_reach_the_folds() -> None:
    options: dict[str, Any] = {"class_weight": {"court": 3.0}, "calibration": "auto"}
    model = fit(X, as_names(CLEAN, NAMES), **options)
    assert sorted(model.predict(X[:1], "f1")[0]) == sorted(as_names(CLEAN[:1], NAMES)[0])


# -- the archive ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "isotonic"])
def test_a_loaded_model_decides_as_the_saved_one_by_every_rule(method: str, tmp_path: Path) -> None:
    calibrated(method).save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), calibrated(method).predict_proba(X))
    for name in RULES:
        assert (loaded.predict_sets(X, name) != calibrated(method).predict_sets(X, name)).nnz == 0


@pytest.mark.parametrize("name", RULES)
def test_a_model_with_any_rule_object_can_be_saved(name: str, tmp_path: Path) -> None:
    options = {"calibration": "platt", "n_components": 2, "max_iter": 1}
    model = fit(X[:30], Y[:30], decision=make_rule(name), **options)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert (loaded.predict_sets(X) != model.predict_sets(X)).nnz == 0


def test_thresholds_of_the_user_survive_the_archive(tmp_path: Path) -> None:
    model = fit(decision=MacroF1([0.9] * 6), calibration="auto")
    model.save(tmp_path / "model")
    assert (rmls.load(tmp_path / "model").predict_sets(X) != model.predict_sets(X)).nnz == 0


ARRAYS = ("calibration_curves", "calibration_curve_of", "calibration_bias", "macro_f1_thresholds")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    calibrated("isotonic").save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("damage", ["shape", "type", "missing", "flat"])
def test_damaged_arrays_are_refused(folder: Path, name: str, damage: str) -> None:
    array = np.array(read_archive(folder).arrays[name])
    if name == "calibration_curves" and damage in ("shape", "flat"):
        pytest.skip("curves may be of any length")
    damaged = {
        "shape": array[:-1],
        "type": array.astype(np.float64),
        "missing": MISSING,
        "flat": array[:, None],
    }
    change_model(folder, arrays={name: damaged[damage]})
    assert_refused(folder)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 5), np.float32),
        np.zeros((1, 0), np.float32),
        np.zeros((1, 5, 1), np.float32),
    ],
    ids=["none", "empty", "deep"],
)
def test_curves_that_are_none_are_refused(folder: Path, array: np.ndarray) -> None:
    change_model(folder, arrays={"calibration_curves": array})
    assert_refused(folder)


@pytest.mark.parametrize("value", [-1, 99])
def test_curves_that_are_not_there_are_refused(folder: Path, value: int) -> None:
    change_model(folder, arrays={"calibration_curve_of": np.full(6, value, np.int32)})
    assert_refused(folder)


@pytest.mark.parametrize(
    "name",
    [
        "calibration_bias",
        "calibration_curves",
        "macro_f1_thresholds",
    ],
)
def test_arrays_that_are_no_numbers_are_refused(folder: Path, name: str) -> None:
    array = np.array(read_archive(folder).arrays[name])
    change_model(folder, arrays={name: np.full_like(array, np.nan)})
    assert_refused(folder)


@pytest.mark.parametrize("name", ["low", "step", "slope"])
@pytest.mark.parametrize("value", ["x", None, [], 10**400])
def test_numbers_of_the_calibration_that_are_none_are_refused(
    folder: Path, name: str, value: Any
) -> None:
    change_model(folder, {f"calibration.{name}": value})
    assert_refused(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"step": 0.0},
        {"step": -1.0},
        {"slope": -1.0},
        {"step": 1e-300},
    ],
    ids=str,
)
def test_numbers_of_the_calibration_without_meaning_are_refused(folder: Path, change: dict) -> None:
    change_model(folder, {f"calibration.{name}": value for name, value in change.items()})
    assert_refused(folder)


@pytest.mark.parametrize("values", [5, "text", [], {}, {"low": 0.0}], ids=str)
def test_a_calibration_that_is_none_is_refused(folder: Path, values: Any) -> None:
    change_model(folder, {"calibration": values})
    assert_refused(folder)


def test_models_saved_without_calibration_are_read(folder: Path) -> None:
    change_model(folder, {"calibration": None})
    chances = rmls.load(folder).predict_proba(X)
    np.testing.assert_allclose(chances, calibrated(None).predict_proba(X), rtol=1e-5)
