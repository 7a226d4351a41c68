"""Wrong input meets one sentence that names the argument."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_samples import ESTIMATORS, NAMES, as_names, fitted, make, make_blocks, spread
from scipy import sparse
from sklearn.exceptions import NotFittedError

from rmls.core.errors import InputError

X, Y = make_blocks()
N = len(X)
ASKING = ("predict", "rank", "decision_function", "predict_sets")
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def with_value(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.astype(np.float64)
    changed[3, 1] = value
    return changed


def assert_one_line(error: BaseException, *words: str) -> None:
    sentence = str(error)
    assert "\n" not in sentence
    for word in words:
        assert word.lower() in sentence.lower(), sentence


# (what is wrong, arguments of fit, what the message names)
WRONG_DATA: dict[str, tuple[tuple, dict, str]] = {
    "fewer labels than rows": ((X, Y[:-1]), {}, f"Y has {N - 1} rows but X has {N}"),
    "fewer rows than labels": ((X[:-1], Y), {}, f"Y has {N} rows but X has {N - 1}"),
    "fewer lists than rows": ((X, as_names(Y, NAMES)[:-1]), {}, f"Y has {N - 1} rows"),
    "fewer classes than rows": ((X, Y[:-1].argmax(axis=1)), {}, f"Y has {N - 1} rows"),
    "no labels given": ((X, None), {}, "y"),
    "a 2 among the labels": ((X, with_value(Y, 2).astype(int)), {}, "Y must hold only 0 and 1"),
    "a half among the labels": ((X, with_value(Y, 0.5)), {}, "Y must hold only 0 and 1"),
    "nan among the labels": ((X, with_value(Y, np.nan)), {}, "Y must hold only 0 and 1"),
    "a negative label": ((X, with_value(Y, -1)), {}, "Y must hold only 0 and 1"),
    "a frame with a 2": ((X, pd.DataFrame(with_value(Y, 2))), {}, "Y must hold only 0 and 1"),
    "labels of three dimensions": ((X, Y[..., None]), {}, "Y must be 2-d"),
    "lists without any name": ((X, [[] for _ in X]), {}, "Y names no label"),
    "a name that is None": ((X, [[None, "a", "b"]] * N), {}, "label name"),
    "too few label names": ((X, Y), {"label_names": ["a"]}, "label names"),
    "nan in X": ((with_value(X, np.nan), Y), {}, "Input X contains NaN"),
    "infinity in X": ((with_value(X, np.inf), Y), {}, "Input X contains infinity"),
    "too large for float32": ((with_value(X, 1e300), Y), {}, "Input X contains infinity"),
    "no rows": ((X[:0], Y[:0]), {}, "0 sample"),
    "no features": ((X[:, :0], Y), {}, "0 feature"),
    "negative weight": ((X, Y), {"sample_weight": [-1.0] * N}, "sample_weight"),
    "weights of zero": ((X, Y), {"sample_weight": np.zeros(N)}, "weight"),
    "nan among the weights": ((X, Y), {"sample_weight": [np.nan] * N}, "sample_weight"),
    "too few weights": ((X, Y), {"sample_weight": np.ones(N - 1)}, "sample_weight"),
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@spread(WRONG_DATA, ["fewer labels than rows", "nan in X", "negative weight"])
def test_wrong_data_are_refused_by_name(name: str, case: tuple[tuple, dict, str]) -> None:
    arguments, options, named = case
    with pytest.raises(ValueError, match="(?i)^[^\\n]*" + re.escape(named)) as caught:
        make(name).fit(*arguments, **options)
    if isinstance(caught.value, InputError):
        assert_one_line(caught.value)


def test_labels_without_columns_are_refused_in_a_sentence() -> None:
    with pytest.raises(InputError) as caught:
        make("RMLS").fit(X, Y[:, :0])
    assert_one_line(caught.value, "Y")


WRONG_OPTIONS: dict[str, list[Any]] = {
    "loss": ["hinge", None, 3],
    "activation": ["sigmoid"],
    "negatives": ["none"],
    "accumulators": ["column"],
    "schedule": ["cosine"],
    "init": ["zeros"],
    "normalize": ["l1", True],
    "n_components": [0, -1, 2.5, "8", True],
    "batch_size": [0, 1.5],
    "max_iter": [0, -3, 2.0, "many", None, True],
    "min_negatives": [-1, 1.5],
    "n_iter_no_change": [0],
    "l2": [-0.1, np.nan, np.inf, "some"],
    "learning_rate": [0, -1, None],
    "initial_accumulator": [0, "x"],
    "negatives_per_positive": [-1, "few"],
    "gradient_floor": [-0.1, "auto"],
    "tol": [-1],
    "max_label_norm": [0, -1, "big", [1.0, 2.0], [0.0] * 6, [np.nan] * 6, ["a"] * 6],
    "label_norm_power": [-1, "half", None],
    "sampler": ["random", None, 1],
    "sampler_power": [-1, np.nan, "auto"],
    "sampler_mix": [-0.1, 1.5, None],
    "replacement": ["no", None, 2],
    "log_q": ["yes", None, 1],
    "focus_relevant": [-1, "low", None, np.inf],
    "focus_irrelevant": [-1, "low"],
    "margin": [-0.1, 1.0, "wide"],
    "max_feature_norm": [0, -1],
    "validation_fraction": [0, 1, 1.5, -0.1, "half"],
    "class_weight": ["heavy", [1.0], [-1.0] * 6, [np.nan] * 6, {99: 2.0}],
    "decision": ["best", "top_0", None, 5, {"name": "top_k", "k": 0}, {"value": 1}],
    "n_jobs": [0],
}


@pytest.mark.parametrize(
    ("option", "value"),
    [(option, value) for option, values in WRONG_OPTIONS.items() for value in values],
    ids=str,
)
def test_wrong_options_are_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        make("RMLS", **{option: value}).fit(X, Y)
    named = "k must be" if "0" in str(value) and option == "decision" else option
    assert_one_line(caught.value, named)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"log_q": True, "loss": "squared"}, ["log_q", "loss"]),
        ({"log_q": True, "loss": "focal"}, ["log_q", "loss"]),
        ({"sampler": "in_batch"}, ["in_batch", "batch_size"]),
        ({"negatives": "all", "sampler": "frequency"}, ["negatives", "sampler"]),
        ({"negatives": "all", "replacement": True}, ["negatives", "replacement"]),
        ({"loss": "focal", "focus_relevant": 1.0, "focus_irrelevant": 2.0}, ["focal", "focus"]),
        ({"loss": "focal", "margin": 0.1}, ["focal", "margin"]),
    ],
    ids=str,
)
def test_options_that_do_not_go_together_are_refused(options: dict, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        make("RMLS", **options).fit(X, Y)
    assert_one_line(caught.value, *words)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_jobs", "all"),
        ("n_jobs", 1.5),
        ("random_state", 2**64),
        ("class_weight", ["a"] * 6),
        ("decision", {"name": "threshold", "value": "high"}),
        ("decision", {"name": "threshold", "value": 0.5, "metric": 3}),
    ],
    ids=str,
)
def test_options_of_a_wrong_type_are_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        make("RMLS", **{option: value}).fit(X, Y)
    assert_one_line(caught.value, option)


def test_an_unknown_metric_is_refused_where_it_is_used() -> None:
    with pytest.raises(InputError, match="'best'"):
        make("RMLS", early_stopping=True, validation_metric="best").fit(X, Y)


def test_a_threshold_cannot_be_tuned_for_a_metric_of_rankings() -> None:
    from rmls.decide import Threshold

    with pytest.raises(InputError, match="metric of sets"):
        make("RMLS", decision=Threshold(metric="precision@1")).fit(X, Y)


def test_holding_out_everything_is_refused() -> None:
    with pytest.raises(InputError, match="validation_fraction"):
        make("RMLS", early_stopping=True).fit(X[:1], Y[:1])


@every_estimator
def test_a_model_that_is_not_fitted_says_so(name: str) -> None:
    for method in ASKING:
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(make(name), method)(X)


@every_estimator
def test_an_unfitted_model_cannot_be_scored_or_saved(name: str, tmp_path) -> None:
    for use in (lambda m: m.score(X, Y), lambda m: m.save(tmp_path / "model")):
        with pytest.raises(NotFittedError):
            use(make(name))
    assert not (tmp_path / "model").exists()


@every_estimator
def test_another_number_of_features_is_refused(name: str) -> None:
    for method in ASKING:
        with pytest.raises(ValueError, match=r"X has 11 features.*12 features") as caught:
            getattr(fitted(name), method)(X[:, :-1])
        assert_one_line(caught.value)


@every_estimator
def test_rank_needs_a_whole_number_of_labels(name: str) -> None:
    for k in (0, -1, 2.0, "3", None):
        with pytest.raises(InputError, match=r"^k must be a whole number") as caught:
            fitted(name).rank(X, k)
        assert_one_line(caught.value)


def test_a_rule_that_was_not_fitted_is_refused_with_a_way_out() -> None:
    model = make("RMLS").fit(X, Y)
    with pytest.raises(InputError, match="fit the model with decision='threshold'") as caught:
        model.predict(X, decision="threshold")
    assert_one_line(caught.value)


def test_scoring_with_other_labels_is_refused() -> None:
    model = make("RMLS").fit(X, Y)
    with pytest.raises(InputError, match="Y has 5 labels but the model was fitted with 6"):
        model.score(X, Y[:, :-1])
    with pytest.raises(InputError, match="Y must keep its form"):
        model.score(X, Y.argmax(axis=1))


def test_partial_fit_refuses_unknown_names() -> None:
    model = make("RMLS").partial_fit(X, as_names(Y, NAMES))
    with pytest.raises(InputError, match="'fraud', which is not known") as caught:
        model.partial_fit(X[:1], [["fraud"]])
    assert_one_line(caught.value, "Y")


def test_partial_fit_refuses_unknown_classes() -> None:
    y = np.array(NAMES)[np.arange(N) % 6]
    model = make("RMLS").partial_fit(X, y)
    with pytest.raises(InputError, match=r"'fraud'.* not known") as caught:
        model.partial_fit(X[:1], ["fraud"])
    assert_one_line(caught.value, "y")


def test_a_refused_partial_fit_leaves_the_model_as_it_was() -> None:
    model = make("RMLS").fit(X, Y)
    with pytest.raises(InputError, match="both need one row per sample"):
        model.partial_fit(X[:5], Y[:4])
    assert model.label_counts_.tolist() == Y.sum(axis=0).tolist()


def forbid_memory(monkeypatch: pytest.MonkeyPatch, available: int) -> None:
    monkeypatch.setattr("rmls.core.resources.available_memory", lambda: available)


@every_estimator
def test_a_dense_array_that_does_not_fit_is_refused_with_a_way_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make(name).fit(X, Y)
    wanted = model.predict(X)
    forbid_memory(monkeypatch, 4 * N * 6 - 1)
    methods: list[Callable] = [model.decision_function]
    methods += [model.predict_proba] if hasattr(model, "predict_proba") else []
    for method in methods:
        with pytest.raises(InputError, match=r"use rank\(X, k\)") as caught:
            method(X)
        assert_one_line(caught.value, f"{N} rows × 6 labels")
    np.testing.assert_array_equal(model.predict(X), wanted)
    assert model.rank(X, 2).n_samples == N
    forbid_memory(monkeypatch, 4 * N * 6)
    assert model.decision_function(X).shape == (N, 6)


def test_a_model_that_does_not_fit_is_refused_before_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forbid_memory(monkeypatch, 1000)
    with pytest.raises(InputError, match="use fewer components") as caught:
        make("RMLS", n_components=500).fit(X, Y)
    assert_one_line(caught.value, "500 components")


def test_the_baseline_refuses_decision_rules() -> None:
    with pytest.raises(InputError, match=r"use rank\(X, k\)"):
        make("AllIrrelevant").fit(X, Y).predict(X, decision="top_1")


# -- numbers that run away -----------------------------------------------------------------------


def test_scores_that_are_no_numbers_never_name_labels_that_are_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = make("RMLS").fit(X, Y)
    broken = np.full((len(X), 6), np.nan, dtype=np.float32)
    monkeypatch.setattr(type(model), "_score_block", lambda self, X: broken[: X.shape[0]])
    with pytest.raises(InputError, match="not finite"):
        model.rank(X, 3)
    labels, _ = model._backend.best_of_rows(broken, 3, 1)
    assert 0 <= labels.min() <= labels.max() < 6


@pytest.mark.filterwarnings("ignore:invalid value")
def test_counts_below_zero_at_prediction_give_numbers_or_a_sentence() -> None:
    model = make("RMLS", normalize="log_l2").fit(X, Y)
    try:
        scores = model.decision_function(-2 * X)
    except InputError:
        return
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("scale", "options", "weight"),
    [(1.0, {"learning_rate": 1e30}, 1.0), (1e20, {"normalize": "none"}, 1.0), (1.0, {}, 1e30)],
    ids=["learning rate", "features", "weight"],
)
def test_training_that_runs_away_is_refused_in_a_sentence(
    scale: float, options: dict, weight: float
) -> None:
    with pytest.raises(InputError) as caught:
        make("RMLS", **options).fit(X * scale, Y, sample_weight=np.full(N, weight))
    assert_one_line(caught.value)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_weight_of_almost_nothing_is_learned_from() -> None:
    weights = np.ones(N)
    weights[0] = 1e-320
    assert make("RMLS").fit(X, Y, sample_weight=weights).score(X, Y) > 0.5


@pytest.mark.parametrize("ask", ["fit", *ASKING])
@pytest.mark.parametrize("part", ["indptr", "indices"])
def test_a_sparse_matrix_that_leads_outside_is_refused(ask: str, part: str) -> None:
    changed = sparse.csr_matrix(X)
    getattr(changed, part)[1] = 10**9
    model = fitted("RMLS")
    with pytest.raises(InputError, match=r"(does not fit|outside its)"):
        make("RMLS").fit(changed, Y) if ask == "fit" else getattr(model, ask)(changed)
    if ask == "fit":
        labels = sparse.csr_matrix(Y)
        getattr(labels, part)[1] = 10**9
        with pytest.raises(InputError, match=r"(does not fit|outside its)"):
            make("RMLS").fit(X, labels)
