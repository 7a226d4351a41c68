"""From scores to probabilities and label sets, and the scales of raw features."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tolerances import assert_cut

from rmls import RMLS, make_longtail
from rmls.decide import Cardinality, Threshold, TopK
from rmls.features import unit_rows
from rmls.metrics import get_metric

DATA = make_longtail(1200, 300, 40, labels_per_row=3, random_state=3)
TRAIN, TEST = DATA.train, DATA.test


@cache
def model() -> RMLS:
    return RMLS(16, max_iter=8).fit(TRAIN.X, TRAIN.Y)


# -- probabilities -------------------------------------------------------------------------------

N_LABELS = 200
RATES = 0.3 * np.arange(1, N_LABELS + 1) ** -0.6


def draw_labels(n: int) -> np.ndarray:
    """Labels of known probabilities that do not depend on the features."""
    return (np.random.default_rng(0).random((n, N_LABELS)) < RATES).astype(int)


@pytest.mark.parametrize("negatives", ["sampled", "all"])
def test_probabilities_take_back_the_shift_of_sampling(negatives: str) -> None:
    Y = draw_labels(4000)
    X = np.eye(4)[np.arange(4000) % 4]
    model = RMLS(4, max_iter=8, negatives_per_positive=5, negatives=negatives).fit(X, Y)
    frequent = RATES >= 0.02
    drawn = Y.mean(axis=0)[frequent]
    found = model.predict_proba(X).mean(axis=0)[frequent]
    np.testing.assert_allclose(found, drawn, rtol=0.2)
    # The rate of sampling is known here: 5 irrelevant labels for every relevant one.
    cardinality = Y.sum() / len(Y)
    rate = 5 * cardinality / (N_LABELS - cardinality)
    assert model.negative_rate_ == pytest.approx(rate, rel=1e-6)
    scores = model.decision_function(X).mean(axis=0)[frequent]
    shift = np.mean(scores - np.log(drawn / (1 - drawn)))
    assert shift == pytest.approx(-np.log(rate), abs=0.1)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_probabilities_of_the_other_losses_are_near_the_truth(loss: str) -> None:
    Y = draw_labels(3000)
    X = np.eye(4)[np.arange(3000) % 4]
    model = RMLS(4, max_iter=10, negatives_per_positive=5, loss=loss).fit(X, Y)
    found = model.predict_proba(X).mean(axis=0)
    frequent = RATES >= 0.05
    np.testing.assert_allclose(found[frequent], Y.mean(axis=0)[frequent], rtol=0.3)


def test_own_probabilities_rank_labels_as_scores_do() -> None:
    plain = RMLS(16, max_iter=8, calibration=None).fit(TRAIN.X, TRAIN.Y)
    scores, chances = plain.decision_function(TEST.X), plain.predict_proba(TEST.X)
    assert ((chances >= 0) & (chances <= 1)).all()
    order = np.argsort(scores, axis=1)
    assert (np.diff(np.take_along_axis(chances, order, axis=1), axis=1) >= 0).all()


def test_class_probabilities_sum_to_one() -> None:
    topic = np.arange(TRAIN.n_samples) % 3
    chances = RMLS(8, max_iter=3).fit(TRAIN.X, topic).predict_proba(TEST.X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-5)


# -- decision rules ------------------------------------------------------------------------------


def test_the_cardinality_rule_predicts_as_many_labels_as_there_are() -> None:
    assert abs(model().predict_sets(TRAIN.X, "cardinality").nnz - TRAIN.Y.nnz) <= 1


def test_the_cardinality_rule_counts_weights() -> None:
    weights = np.random.default_rng(0).integers(1, 5, TRAIN.n_samples)
    weighted = RMLS(16, max_iter=8).fit(TRAIN.X, TRAIN.Y, sample_weight=weights)
    predicted = weights @ np.diff(weighted.predict_sets(TRAIN.X, "cardinality").indptr)
    assert abs(predicted - weights @ np.diff(TRAIN.Y.indptr)) <= weights.max()


@pytest.mark.parametrize("k", [1, 3, 39, 40, 41])
def test_top_k_gives_exactly_k_labels_a_row(k: int) -> None:
    sets = model().predict_sets(TEST.X, f"top_{k}")
    assert (np.diff(sets.indptr) == min(k, 40)).all()


@pytest.mark.parametrize("metric", ["example_f1", "micro_f1", "macro_f1", "hamming_loss"])
def test_a_tuned_threshold_is_no_worse_than_cardinality(metric: str) -> None:
    measure = get_metric(metric)
    tuned, plain = [], []
    for seed in range(3):
        rule = Threshold(metric=metric)
        model = RMLS(16, max_iter=8, decision=rule, validation_fraction=0.2, random_state=seed)
        model.fit(TRAIN.X, TRAIN.Y)
        tuned.append(measure(TEST.Y, model.predict_sets(TEST.X)))
        plain.append(measure(TEST.Y, model.predict_sets(TEST.X, "cardinality")))
    gain = np.mean(tuned) - np.mean(plain)
    assert (gain if measure.greater_is_better else -gain) > -0.01


def test_a_threshold_tuned_for_hamming_loss_beats_cardinality() -> None:
    model = RMLS(16, max_iter=8, decision=Threshold(metric="hamming_loss")).fit(TRAIN.X, TRAIN.Y)
    loss = get_metric("hamming_loss")
    tuned = loss(TEST.Y, model.predict_sets(TEST.X))
    assert tuned < loss(TEST.Y, model.predict_sets(TEST.X, "cardinality"))


def test_another_rule_at_prediction_changes_no_parameter() -> None:
    before = model().predict_sets(TEST.X)
    model().predict_sets(TEST.X, TopK(2))
    model().predict_sets(TEST.X, Threshold(0.0))
    assert (model().predict_sets(TEST.X) != before).nnz == 0


def test_a_given_threshold_cuts_the_scores_there() -> None:
    scores = model().decision_function(TEST.X)
    for rule in (Threshold(0.5), Cardinality(0.5)):
        assert_cut(model().predict_sets(TEST.X, rule), scores, 0.5)


def test_rank_sets_gives_the_predicted_labels_best_first() -> None:
    ranking = model().rank_sets(TEST.X)
    assert (ranking.to_sets() != model().predict_sets(TEST.X)).nnz == 0
    within = np.diff(ranking.rows) == 0
    assert (np.diff(ranking.scores)[within] <= 0).all()


def test_score_is_the_mean_f_measure_of_the_rows() -> None:
    predicted, truth = model().predict_sets(TEST.X).toarray(), TEST.Y.toarray()
    both, either = (predicted * truth).sum(axis=1), predicted.sum(axis=1) + truth.sum(axis=1)
    by_hand = np.mean(2 * both / np.maximum(either, 1))
    assert model().score(TEST.X, TEST.Y) == pytest.approx(by_hand)


# -- raw features --------------------------------------------------------------------------------

SCALES = 10.0 ** np.linspace(-6, 6, 20)


def make_dense(share: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Real features of unit variance, and labels on the rare side of a noisy plane each."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1000, 20)) * (rng.random((1000, 20)) < share)
    S = Z @ rng.standard_normal((20, 12)) + 0.5 * rng.standard_normal((1000, 12))
    return Z, (np.quantile(S, 0.8, axis=0) < S).astype(int)


def held_out_quality(X: Any, Y: Any, **options: Any) -> float:
    model = RMLS(16, max_iter=10, **options).fit(X[:700], Y[:700])
    return model.score(X[700:], Y[700:])


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_dense_columns_of_any_scale_learn_as_well_as_by_hand(shift: float) -> None:
    Z, Y = make_dense()
    by_hand = held_out_quality(Z / np.sqrt(20), Y, normalize="none")
    assert by_hand > 0.6
    assert held_out_quality((Z + shift) * SCALES, Y) > by_hand - 0.05
    # The scales matter: without normalisation the problem is lost.
    assert held_out_quality(Z * SCALES, Y, normalize="none") < by_hand - 0.2


def test_sparse_signed_columns_of_any_scale_learn_as_well_as_by_hand() -> None:
    Z, Y = make_dense(share=0.3)
    by_hand = held_out_quality(unit_rows(sparse.csr_matrix(Z.astype(np.float32))), Y)
    assert by_hand > 0.5
    assert held_out_quality(sparse.csr_matrix(Z * SCALES), Y) > by_hand - 0.05


def test_counts_and_unit_rows_learn_equally_well() -> None:
    lengths = unit_rows(TRAIN.X), unit_rows(TEST.X)
    unit = RMLS(16, max_iter=8).fit(lengths[0], TRAIN.Y).score(lengths[1], TEST.Y)
    assert unit == pytest.approx(model().score(TEST.X, TEST.Y), abs=0.05)


def test_counts_of_any_unit_learn_equally_well() -> None:
    thousands = RMLS(16, max_iter=8).fit(TRAIN.X * 0.001, TRAIN.Y).score(TEST.X * 0.001, TEST.Y)
    assert thousands == pytest.approx(model().score(TEST.X, TEST.Y), abs=0.05)
