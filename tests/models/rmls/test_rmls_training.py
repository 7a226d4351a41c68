"""What training promises: problems of known answer, early stopping, continuing, constraints."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from model_samples import as_names, interrupt_at, make_blocks, train_on_threads

import rmls.models.rmls.rmls as rmls_module
from rmls import RMLS, make_longtail
from rmls.metrics import get_metric, propensities
from rmls.models.rmls.early_stopping import Validation
from rmls.models.shared.progress import TrainingInterrupted

X, Y = make_blocks(n=240, n_topics=6, labels=3)
DATA = make_longtail(1200, 300, 40, labels_per_row=3, random_state=3)
TRAIN, TEST = DATA.train, DATA.test
LOSSES = ("logistic", "squared", "squared_hinge", "focal", "asymmetric")


def fit(**options: Any) -> RMLS:
    """Fit the long-tailed problem."""
    settings = {"n_components": 16, "max_iter": 8, "calibration": None, **options}
    return RMLS(**settings).fit(TRAIN.X, TRAIN.Y)


def quality(model: RMLS) -> float:
    return model.score(TEST.X, TEST.Y)


def parameters(model: RMLS) -> list[np.ndarray]:
    return [
        model.feature_vectors_,
        model.feature_bias_,
        model.label_vectors_,
        model.label_bias_,
    ]


def assert_equal_models(first: RMLS, second: RMLS) -> None:
    for left, right in zip(parameters(first), parameters(second), strict=True):
        np.testing.assert_array_equal(left, right)


# -- problems whose answer is known --------------------------------------------------------------


@pytest.mark.parametrize("negatives", ["sampled", "all"])
@pytest.mark.parametrize("accumulators", ["row", "element"])
@pytest.mark.parametrize("batch_size", [1, 16])
@pytest.mark.parametrize("activation", ["tanh", "linear", "relu"])
@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_are_learned_perfectly(
    loss: str, activation: str, batch_size: int, accumulators: str, negatives: str
) -> None:
    model = RMLS(
        12,
        max_iter=12,
        loss=loss,
        activation=activation,
        batch_size=batch_size,
        accumulators=accumulators,
        negatives=negatives,
        negatives_per_positive=5,
        calibration=None,
    )
    assert model.fit(X, Y).score(X, Y) >= 0.99


@pytest.mark.parametrize("negatives", ["sampled", "all"])
@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_are_learned_perfectly_by_calibrated_models(loss: str, negatives: str) -> None:
    model = RMLS(12, max_iter=12, loss=loss, negatives=negatives, negatives_per_positive=5)
    assert model.fit(X, Y).score(X, Y) >= 0.99
    assert model._calibration is not None


def test_the_paper_preset_learns_blocks_given_more_passes() -> None:
    assert RMLS.paper(12, max_iter=30).fit(X, Y).score(X, Y) >= 0.99


def test_glorot_start_learns_blocks() -> None:
    assert RMLS(12, max_iter=15, init="glorot").fit(X, Y).score(X, Y) >= 0.99


def test_a_checkerboard_needs_and_gets_a_nonlinear_representation() -> None:
    # Label 0 is the exclusive or of the signs of two features, label 1 its opposite.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (300, 2))
    signs *= np.random.default_rng(1).uniform(0.5, 1.0, (300, 2))
    odd = (signs[:, 0] * signs[:, 1] > 0).astype(int)
    board = np.column_stack([odd, 1 - odd])
    options: dict[str, Any] = {"max_iter": 60, "l2": 0.0, "learning_rate": 0.5}
    assert RMLS(32, **options).fit(signs, board).score(signs, board) >= 0.99
    assert RMLS(32, activation="linear", **options).fit(signs, board).score(signs, board) < 0.8


def test_the_loss_falls_with_every_pass() -> None:
    curve = fit().loss_curve_
    assert len(curve) == 8
    assert curve == sorted(curve, reverse=True)


def test_rounding_small_slopes_at_random_keeps_the_quality() -> None:
    assert abs(quality(fit(gradient_floor=0.05)) - quality(fit(gradient_floor=0.0))) < 0.03


def test_two_threads_learn_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    train_on_threads(monkeypatch)
    assert abs(quality(fit(n_jobs=2)) - quality(fit())) < 0.04


def test_the_seed_decides_the_model() -> None:
    first, again, other = fit(random_state=1), fit(random_state=1), fit(random_state=2)
    assert_equal_models(first, again)
    assert not np.array_equal(first.label_vectors_, other.label_vectors_)
    assert abs(quality(first) - quality(other)) < 0.06


def test_a_random_state_object_seeds_the_model() -> None:
    first, again = (fit(random_state=np.random.RandomState(5), max_iter=1) for _ in range(2))
    assert_equal_models(first, again)


# -- early stopping ------------------------------------------------------------------------------


@pytest.fixture
def validations(monkeypatch: pytest.MonkeyPatch) -> list[Validation]:
    """The early-stopping state of every fit of the test."""
    made: list[Validation] = []
    original = rmls_module.watch_held_out

    def record(*arguments: Any) -> Validation | None:
        validation = original(*arguments)
        if validation is not None:
            made.append(validation)
        return validation

    monkeypatch.setattr(rmls_module, "watch_held_out", record)
    return made


@pytest.mark.parametrize("metric", ["example_f1", "precision@1", "hamming_loss"])
def test_early_stopping_keeps_the_best_pass(metric: str, validations: list[Validation]) -> None:
    model = fit(early_stopping=True, validation_metric=metric, schedule="constant", max_iter=25)
    best = max if get_metric(metric).greater_is_better else min
    assert len(model.validation_curve_) == model.n_iter_ == len(model.loss_curve_)
    assert validations[0].measure() == best(model.validation_curve_)


@pytest.mark.parametrize("patience", [1, 3])
def test_early_stopping_ends_after_passes_without_a_rise(patience: int) -> None:
    model = fit(early_stopping=True, n_iter_no_change=patience, schedule="constant", max_iter=80)
    curve = model.validation_curve_
    assert model.n_iter_ < 80
    assert int(np.argmax(curve)) == len(curve) - 1 - patience


def test_a_rise_below_the_tolerance_does_not_count() -> None:
    model = fit(early_stopping=True, n_iter_no_change=2, tol=1.0)
    assert model.n_iter_ == 3


def test_held_out_rows_are_not_trained_on() -> None:
    # Each row has its own word and label: what was held out keeps its untouched vector.
    own = np.eye(40, dtype=np.float32)
    model = RMLS(4, early_stopping=True, validation_fraction=0.25, max_iter=3)
    model.fit(own, own.astype(int))
    started = RMLS(4, max_iter=1, learning_rate=1e-30).fit(own, own.astype(int))
    untouched = (model.feature_vectors_ == started.feature_vectors_).all(axis=1)
    assert untouched.sum() == 10


# -- continuing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"early_stopping": True}, {"batch_size": 16}], ids=str)
def test_an_interrupted_run_continues_as_if_nothing_had_happened(
    options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fit(max_iter=4, **options)
    with monkeypatch.context() as patch:
        interrupt_at(2, patch)
        model = RMLS(16, max_iter=4, warm_start=True, **options)
        with pytest.warns(TrainingInterrupted, match="interrupted after 2 of 4 passes"):
            model.fit(TRAIN.X, TRAIN.Y)
    assert model.n_iter_ == 2
    assert model.predict(TEST.X).shape == TEST.Y.shape
    model.fit(TRAIN.X, TRAIN.Y)
    assert model.n_iter_ == 4
    assert model.loss_curve_ == whole.loss_curve_
    assert model.validation_curve_ == whole.validation_curve_
    assert_equal_models(model, whole)


def test_an_interrupt_before_the_first_pass_leaves_a_usable_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupt_at(0, monkeypatch)
    with pytest.warns(TrainingInterrupted, match="interrupted after 0 of 8 passes"):
        model = fit()
    assert model.n_iter_ == 0
    assert np.isfinite(model.decision_function(TEST.X)).all()


def test_a_warm_start_goes_on_from_the_last_fit() -> None:
    model = fit(max_iter=2, schedule="constant", warm_start=True)
    early = quality(model)
    for _ in range(3):
        model.fit(TRAIN.X, TRAIN.Y)
    assert len(model.loss_curve_) == 8
    assert quality(model) > early + 0.05


def test_a_warm_start_with_more_passes_makes_only_the_missing_ones() -> None:
    model = fit(max_iter=3, schedule="constant", warm_start=True)
    model.set_params(max_iter=5).fit(TRAIN.X, TRAIN.Y)
    assert_equal_models(model, fit(max_iter=5, schedule="constant"))


def test_without_warm_start_a_second_fit_starts_anew() -> None:
    assert_equal_models(fit().fit(TRAIN.X, TRAIN.Y), fit())


def test_partial_fit_learns_from_batches() -> None:
    model = RMLS(16)
    for _ in range(6):
        for start in range(0, TRAIN.n_samples, 240):
            part = slice(start, start + 240)
            model.partial_fit(TRAIN.X[part], TRAIN.Y[part])
    assert model.n_iter_ == 24
    assert quality(model) > quality(fit()) - 0.06
    np.testing.assert_array_equal(model.label_counts_, 6 * TRAIN.Y.sum(axis=0).A1)


def test_partial_fit_knows_classes_before_they_occur() -> None:
    names = ["a", "b", "c", "d", "e", "f"]
    lists = as_names(Y[:, ::3], names)
    model = RMLS(8).partial_fit(X[:5], lists[:5], classes=names)
    for _ in range(8):
        model.partial_fit(X, lists)
    assert model.classes_.tolist() == names
    assert model.score(X, lists) >= 0.99


def test_partial_fit_knows_1d_classes_before_they_occur() -> None:
    topic = np.array(["ash", "birch"])[(X[:, 0] > 0).astype(int)]
    model = RMLS(8).partial_fit(X[topic == "ash"][:3], ["ash"] * 3, classes=["ash", "birch"])
    for _ in range(8):
        model.partial_fit(X, topic)
    assert model.score(X, topic) >= 0.99


def test_partial_fit_reads_number_names_as_fit_did() -> None:
    model = RMLS(4, max_iter=1).fit(X[:3], [[0, 1], [2], []])
    model.partial_fit(X[:2], [[0], [1]])
    assert model.label_counts_.tolist() == [2, 2, 1]


# -- constraints and weights ---------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 16])
def test_norms_stay_within_their_bounds(
    batch_size: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_on_threads(monkeypatch)
    model = fit(
        max_label_norm=0.5, max_feature_norm=3.0, batch_size=batch_size, n_jobs=n_jobs, max_iter=3
    )
    label_norms = (model.label_vectors_.astype(np.float64) ** 2).sum(axis=1)
    feature_norm = (model.feature_vectors_.astype(np.float64) ** 2).sum()
    assert 0.4 < label_norms.max() <= 0.5 * (1 + 1e-5)
    assert 2.9 < feature_norm <= 3.0 * (1 + 1e-5)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_bounds_of_rare_labels_shrink_with_the_power(
    power: float, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_on_threads(monkeypatch)
    model = fit(max_label_norm=0.5, label_norm_power=power, n_jobs=n_jobs, max_iter=3)
    counts = np.maximum(TRAIN.Y.sum(axis=0).A1, 1e-9)
    bounds = 0.5 * (counts / counts.max()) ** power
    norms = (model.label_vectors_.astype(np.float64) ** 2).sum(axis=1)
    assert (norms[counts >= 1] <= bounds[counts >= 1] * (1 + 1e-5)).all()
    assert (norms > 0.9 * bounds).any()


def test_an_array_bounds_every_label_by_itself() -> None:
    bounds = np.linspace(0.1, 1.0, 40)
    model = fit(max_label_norm=bounds, max_iter=3)
    norms = (model.label_vectors_.astype(np.float64) ** 2).sum(axis=1)
    assert (norms <= bounds * (1 + 1e-5)).all()
    assert_equal_models(fit(max_label_norm=np.full(40, 0.3)), fit(max_label_norm=0.3))


def test_more_regularisation_means_smaller_norms() -> None:
    models = [fit(l2=l2) for l2 in (0.0, 0.01, 1.0)]
    for vectors in ("feature_vectors_", "label_vectors_"):
        norms = [float((getattr(model, vectors) ** 2).sum()) for model in models]
        assert norms[0] > norms[1] > 10 * norms[2]


def recall(model: RMLS, label: int) -> float:
    hits = model.predict_sets(TEST.X)[:, [label]].multiply(TEST.Y[:, [label]])
    return hits.sum() / TEST.Y[:, [label]].sum()


@pytest.mark.parametrize("form", ["array", "dict"])
def test_a_weighted_label_is_found_more_often(form: str) -> None:
    label = int(np.argsort(TRAIN.Y.sum(axis=0).A1)[-15])
    weights = np.ones(40)
    weights[label] = 10.0
    weighted = fit(class_weight=weights if form == "array" else {label: 10.0})
    assert recall(weighted, label) > recall(fit(), label) + 0.2


@pytest.mark.parametrize("name", ["balanced", "propensity"])
def test_named_weights_boost_rare_labels_and_keep_the_mean(name: str) -> None:
    weights = fit(class_weight=name, max_iter=1)._settled.objective.label_weight
    counts = TRAIN.Y.sum(axis=0).A1
    assert (counts @ weights) / counts.sum() == pytest.approx(1, rel=1e-5)
    order = np.argsort(counts)
    assert (np.diff(weights[order][counts[order] > 0]) <= 1e-6).all()
    if name == "propensity":
        inverse = 1 / propensities(counts, TRAIN.n_samples)
        np.testing.assert_allclose(weights / inverse, weights[0] / inverse[0], rtol=1e-5)


@pytest.mark.parametrize("loss", ["focal", "asymmetric"])
def test_a_loss_without_focus_and_margin_is_the_logistic_one(loss: str) -> None:
    none = {"focus_relevant": 0.0, "focus_irrelevant": 0, "margin": 0.0}
    model = fit(loss=loss, **none)
    assert_equal_models(model, fit())
    np.testing.assert_array_equal(model.predict_proba(TEST.X), fit().predict_proba(TEST.X))


def test_one_focus_is_enough_for_the_focal_loss() -> None:
    both = fit(loss="focal", focus_relevant=1.0, focus_irrelevant=1.0)
    assert_equal_models(fit(loss="focal", focus_irrelevant=1.0), both)
    same = fit(loss="asymmetric", focus_relevant=1.0, focus_irrelevant=1.0, margin=0.0)
    assert_equal_models(same, both)
    assert not np.array_equal(fit(loss="focal").label_vectors_, both.label_vectors_)


def test_balanced_weights_raise_the_recall_of_the_tail() -> None:
    tail = np.argsort(TRAIN.Y.sum(axis=0).A1)[:20]
    recalls = [
        TEST.Y[:, tail].multiply(model.predict_sets(TEST.X)[:, tail]).sum()
        for model in (fit(), fit(class_weight="balanced"))
    ]
    assert recalls[1] > recalls[0]


def test_equal_weights_change_nothing() -> None:
    assert_equal_models(fit(class_weight=np.ones(40)), fit())


def test_training_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(early_stopping=True, decision="threshold").predict(TEST.X)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_without_an_intercept_no_bias_is_learned(batch_size: int) -> None:
    X, Y = make_blocks()
    model = RMLS(8, fit_intercept=False, batch_size=batch_size, max_iter=20).fit(X, Y)
    assert not model.feature_bias_.any()
    assert not model.label_bias_.any()
    # Equations (4) and (5): a row without features has the scores 0.
    assert not model.decision_function(np.zeros((1, X.shape[1]))).any()
    assert model.score(X, Y) >= 0.95
    assert RMLS(8, batch_size=batch_size).fit(X, Y).label_bias_.any()


@pytest.mark.parametrize("options", [{}, {"batch_size": 8}, {"accumulators": "element"}], ids=str)
def test_labels_whose_gradient_is_thinned_pay_the_penalty(options: dict[str, Any]) -> None:
    data = make_longtail(1500, 300, 120, labels_per_row=3.0)
    common: dict[str, Any] = {"l2": 0.01, "calibration": None, "max_iter": 5, **options}
    whole, thinned = (
        RMLS(12, gradient_floor=floor, **common).fit(data.X, data.Y) for floor in (0.0, 0.05)
    )
    lengths = [np.linalg.norm(model.label_vectors_) for model in (whole, thinned)]
    assert lengths[1] == pytest.approx(lengths[0], rel=0.03)
    free = RMLS(12, gradient_floor=0.05, **{**common, "l2": 0.0}).fit(data.X, data.Y)
    assert lengths[0] < 0.95 * np.linalg.norm(free.label_vectors_)
