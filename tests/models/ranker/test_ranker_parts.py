"""The parts of RMLSRanker: held-out rows, the combination of two scores, fewer bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from tolerances import assert_close, assert_same_lists

from rmls import RMLS, RMLSRanker, make_longtail
from rmls.core.frequency import propensities
from rmls.core.labels import read_labels
from rmls.core.numeric import N_BANDS, bands
from rmls.features import unit_rows
from rmls.kernels.arrays import DUAL_LOSSES, N_TERMS, ListScores, Params, SparseWeights
from rmls.kernels.backend import Vectors, join_vectors
from rmls.kernels.cpu.ranker.listed import mix_listed
from rmls.models.ranker import combination
from rmls.models.ranker.archive import pack_vectors, quantize, round_vectors
from rmls.models.ranker.combination import (
    Combination,
    Frequencies,
    HeldOut,
    choose_tail,
    fit_combination,
    no_more,
    plain_combination,
    regress,
)
from rmls.models.ranker.label_index import ExactIndex
from rmls.models.ranker.scoring import Proposer
from rmls.models.ranker.sources import Rows
from rmls.models.ranker.trainer import ClassifierOptions, StageTrainer
from rmls.models.shared.training_set import TrainingSet

N_LABELS = 60


# -- rows that are held out ----------------------------------------------------------------------


def make_trainer(Y: Any, loss: str, offset: float, size: int) -> StageTrainer:
    space, _ = read_labels(Y)
    options = ClassifierOptions(loss, 1.0, 0.25, 0.3, 10, 0.1, offset)
    members = [RMLS(8, max_iter=3, normalize="none", random_state=0)]
    return StageTrainer(space, members, size, "exact", "float32", options, seed=0, n_threads=1)


@pytest.mark.parametrize("size", [15, N_LABELS])
@pytest.mark.parametrize("offset", [0.0, 0.5])
@pytest.mark.parametrize("loss", DUAL_LOSSES)
@pytest.mark.parametrize("change", ["cleared", "shuffled", "drawn"])
def test_labels_of_held_out_rows_do_not_touch_the_scores_they_are_judged_by(
    change: str, loss: str, offset: float, size: int
) -> None:
    data = make_longtail(400, 200, N_LABELS, labels_per_row=3, random_state=1)
    truth = data.train.Y.toarray()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(truth))
    left_out, kept = np.sort(order[:100]), np.sort(order[100:])
    truth[kept, -5:] = 0
    truth[left_out[:20], -5:] = 1
    other = truth.copy()
    if change == "cleared":
        other[left_out] = 0
    elif change == "shuffled":
        other[left_out] = truth[rng.permutation(left_out)]
    else:
        other[left_out] = rng.random((100, N_LABELS)) < 0.3
    results = []
    for Y in (truth, other):
        labels = sparse.csr_matrix(Y)
        rows = TrainingSet(
            unit_rows(data.train.X), labels, np.arange(len(Y)), np.ones(len(Y)), left_out
        )
        results.append(make_trainer(labels, loss, offset, size).fit(rows, 0))
    (stages, held), (other_stages, other_held) = results
    np.testing.assert_array_equal(held.labels, other_held.labels)
    np.testing.assert_array_equal(held.other, other_held.other)
    np.testing.assert_array_equal(held.own, other_held.own)
    assert (held.truth != other_held.truth).nnz > 50
    # Afterwards the weights do learn from them.
    assert not np.array_equal(stages.weights.bias, other_stages.weights.bias)


def test_few_labels_are_learned_from_all_rows_whatever_the_vectors_propose() -> None:
    data = make_longtail(400, 200, N_LABELS, labels_per_row=3, random_state=1).train
    weights = []
    for representation in (RMLS(4, max_iter=1), RMLS(8, max_iter=3)):
        model = RMLSRanker(representation=representation, prune=0.0).fit(data.X, data.Y)
        assert model.shortlist_recall_ == 1.0
        weights.append(model._scorer.weights)
    for ours, other in zip(*weights, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-5, atol=1e-6)


def make_held() -> HeldOut:
    labels = np.int32([[0, 2], [1, 3], [0, 1]])
    truth = sparse.csr_matrix([[1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]])
    scores = np.arange(6, dtype=np.float32).reshape(3, 2)
    return HeldOut(labels, scores, -scores, truth, np.array([1.0, 2.0, 5.0]))


def test_recall_and_what_is_missed_are_weighted_by_row() -> None:
    held = make_held()
    assert held.relevant.tolist() == [[True, True], [False, True], [False, False]]
    assert held.recall == pytest.approx((2 + 2 * 1) / (3 + 2 * 2))
    assert held.unlisted == pytest.approx((1 + 2 * 1) / 8)


def test_rows_without_labels_have_full_recall() -> None:
    held = make_held()
    empty = HeldOut(held.labels, held.own, held.other, 0 * held.truth, held.weights)
    empty.truth.eliminate_zeros()
    assert (empty.recall, empty.unlisted) == (1.0, 0.0)


def test_stacked_parts_keep_rows_and_their_truth_together() -> None:
    held = make_held()
    both = HeldOut.stack([held, held])
    assert both.labels.shape == (6, 2)
    np.testing.assert_array_equal(both.relevant, np.vstack([held.relevant] * 2))
    assert both.recall == held.recall
    assert both.weights.tolist() == [1.0, 2.0, 5.0] * 2


# -- the combination -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_bands_sum_to_1_and_follow_the_logarithm(seed: int) -> None:
    positives = np.exp(np.random.default_rng(seed).uniform(-1, 9, 200))
    near = bands(positives, positives.max())
    assert near.shape == (200, N_BANDS)
    assert (near >= 0).all()
    np.testing.assert_allclose(near.sum(axis=1), 1)
    assert ((near > 0).sum(axis=1) <= 2).all()
    place = near @ np.arange(N_BANDS)
    wanted = np.log(np.maximum(positives, 1)) / np.log(positives.max()) * (N_BANDS - 1)
    np.testing.assert_allclose(place, wanted, atol=1e-9)


@pytest.mark.parametrize("positives", [[0.0, 0.0], [1.0], [1.0, 2.0], []], ids=str)
def test_bands_of_rare_labels_alone_sum_to_1(positives: list[float]) -> None:
    np.testing.assert_allclose(
        bands(np.array(positives), max(positives, default=1)).sum(axis=1), np.ones(len(positives))
    )


def test_rarity_is_0_for_the_most_frequent_label_and_grows() -> None:
    counts = Frequencies(np.array([100.0, 0.0, 10.0, 1.0, 100.0]), 1000.0)
    rarity = counts.rarity()
    assert rarity[0] == rarity[4] == 0
    assert 0 < rarity[2] < rarity[3] < rarity[1]
    propensity = propensities(counts.positives, 1000)
    np.testing.assert_allclose(np.exp(rarity), propensity[0] / propensity)


def test_frequencies_weigh_the_rows() -> None:
    Y = sparse.csr_matrix([[1, 0], [1, 1]])
    rows = TrainingSet(sparse.csr_matrix((2, 1)), Y, np.arange(2), np.array([2.0, 0.5]))
    counts = Frequencies.of(rows)
    assert counts.positives.tolist() == [2.5, 0.5]
    assert counts.total == 2.5


def simulate(theta: np.ndarray, knots: np.ndarray, n_rows: int = 6000, seed: int = 0) -> Any:
    """Held-out rows whose labels follow the given combination, and their true logits."""
    rng = np.random.default_rng(seed)
    positives = np.exp2(np.linspace(0, 10, N_LABELS))
    labels = np.sort([rng.permutation(N_LABELS)[:10] for _ in range(n_rows)], axis=1)
    own, other = rng.normal(size=(2, n_rows, 10)).astype(np.float32)
    logits = np.empty_like(own)
    mixture = Combination(theta, knots).mixture(Frequencies(positives, 2000.0))
    scores = ListScores(own, other, no_more(own))
    mix_listed(labels.astype(np.int32), scores, mixture, logits)
    relevant = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    rows = np.repeat(np.arange(n_rows), relevant.sum(axis=1))
    truth = sparse.csr_matrix(
        (np.ones(len(rows), np.int32), (rows, labels[relevant])), shape=(n_rows, N_LABELS)
    )
    held = HeldOut(labels.astype(np.int32), own, other, truth, np.ones(n_rows))
    return held, Frequencies(positives, 2000.0), logits


@pytest.mark.parametrize("seed", range(3))
def test_the_combination_recovers_the_logits_that_made_the_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = np.zeros((N_BANDS, N_TERMS))
    theta[:, 0] = rng.normal(-1, 0.3, N_BANDS)
    theta[:, 1] = rng.uniform(0.5, 2, N_BANDS)
    theta[:, 4] = rng.uniform(-1, 1, N_BANDS)
    held, frequencies, logits = simulate(theta, np.zeros(3, np.float32), seed=seed)
    found = fit_combination(held, frequencies)
    assert found.theta.shape == (N_BANDS, N_TERMS)
    errors = held.combined(found.mixture(frequencies)) - logits
    assert np.sqrt(np.mean(errors**2)) < 0.15
    plain = held.combined(plain_combination().mixture(frequencies)) - logits
    assert np.sqrt(np.mean(plain**2)) > 0.5


def test_the_combination_bends_where_the_scores_do() -> None:
    theta = np.tile([-1.0, 0.0, 2.0, 0.0, 1.0, -1.0], (N_BANDS, 1))
    held, frequencies, logits = simulate(theta, np.zeros(3, np.float32))
    errors = held.combined(fit_combination(held, frequencies).mixture(frequencies))
    errors -= logits
    assert np.sqrt(np.mean(errors**2)) < 0.3
    straight = LogisticRegression().fit(
        np.column_stack([held.own.ravel(), held.other.ravel()]), held.relevant.ravel()
    )
    line = straight.decision_function(np.column_stack([held.own.ravel(), held.other.ravel()]))
    assert np.sqrt(np.mean((line - logits.ravel()) ** 2)) > 0.4


def test_a_part_of_the_easy_pairs_stands_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    theta = np.tile([-4.0, 1.5, 0.0, 0.0, 1.0, 0.0], (N_BANDS, 1))
    held, frequencies, logits = simulate(theta, np.zeros(3, np.float32), n_rows=12000)
    held = replace(held, weights=np.random.default_rng(1).uniform(0.5, 2, len(held.labels)))
    seen: list[tuple[int, float]] = []

    def watch(design: Any, relevant: Any, weights: Any, place: Any, **given: Any) -> Any:
        seen.append((len(design), float(weights.sum())))
        return regress(design, relevant, weights, place, **given)

    monkeypatch.setattr(combination, "regress", watch)
    found = []
    for many in (10**9, 1):
        monkeypatch.setattr(combination, "MANY_PAIRS", many)
        found.append(held.combined(fit_combination(held, frequencies).mixture(frequencies)))
    (n_all, total), (n_part, weighted) = seen
    assert n_part < 0.6 * n_all
    assert weighted == pytest.approx(total, rel=0.02)
    chances = [1 / (1 + np.exp(-scores.astype(float))) for scores in found]
    # As far from the truth as all pairs leave it, and as many relevant labels expected.
    errors = [np.sqrt(np.mean((scores - logits)[logits > -4] ** 2)) for scores in found]
    assert errors[1] < 1.3 * errors[0] + 0.02
    assert held.weights @ chances[1].sum(axis=1) == pytest.approx(
        held.weights @ held.relevant.sum(axis=1), rel=0.03
    )


def test_the_tail_adds_its_share_of_the_rarity() -> None:
    theta = np.tile([-0.5, 1.0, 0.0, 0.0, 0.5, 0.0], (N_BANDS, 1))
    held, frequencies, logits = simulate(theta, np.zeros(3, np.float32))
    known = Combination(theta, np.zeros(3, np.float32))
    raised = held.combined(known.mixture(frequencies, 0.5)) - logits
    wanted = 0.5 * frequencies.rarity()[held.labels]
    assert wanted.max() > 0.5
    np.testing.assert_allclose(raised, wanted, atol=1e-5)


def expected_precision(held: HeldOut, logits: np.ndarray, scores: np.ndarray) -> float:
    """Mean probability of the 1, 3 and 5 best labels of every row, row by row."""
    chance = 1 / (1 + np.exp(-logits.astype(np.float64)))
    depths = []
    for row in range(len(scores)):
        best = sorted(range(scores.shape[1]), key=lambda place: -scores[row, place])
        depths.append(np.mean([chance[row, best[:k]].mean() for k in (1, 3, 5)]))
    return float(np.average(depths, weights=held.weights))


def test_the_automatic_tail_costs_a_tenth_of_a_point_of_expected_precision() -> None:
    theta = np.tile([-0.5, 1.0, 0.0, 0.0, 0.5, 0.0], (N_BANDS, 1))
    held, frequencies, logits = simulate(theta, np.zeros(3, np.float32))
    held = replace(held, weights=np.random.default_rng(0).uniform(0.5, 2, len(held.labels)))
    known = Combination(theta, np.zeros(3, np.float32))
    tail = choose_tail(held, known, frequencies)
    assert 0 < tail < 1
    rarity = frequencies.rarity()[held.labels]
    most = expected_precision(held, logits, logits)
    cost = most - expected_precision(held, logits, logits + tail * rarity)
    more = most - expected_precision(held, logits, logits + (tail + 0.02) * rarity)
    assert cost <= 0.001 < more


def test_the_automatic_tail_is_1_where_no_label_is_rarer_than_another() -> None:
    theta = np.tile([-0.5, 1.0, 0.0, 0.0, 0.5, 0.0], (N_BANDS, 1))
    held, _, _ = simulate(theta, np.zeros(3, np.float32), n_rows=50)
    even = Frequencies(np.full(N_LABELS, 7.0), 100.0)
    assert choose_tail(held, Combination(theta, np.zeros(3, np.float32)), even) == 1.0


@pytest.mark.parametrize("relevant", [0, 1])
def test_without_both_kinds_of_pairs_the_plain_combination_is_used(relevant: int) -> None:
    held = make_held()
    truth = sparse.csr_matrix(np.full((3, 4), relevant))
    one_kind = HeldOut(held.labels, held.own, held.other, truth, held.weights)
    found = fit_combination(one_kind, Frequencies(np.ones(4), 8.0))
    np.testing.assert_array_equal(found.theta, plain_combination().theta)
    # The higher both scores, the higher the result.
    mixture = found.mixture(Frequencies(np.ones(4), 8.0))
    assert (mixture.coefficients[:, [1, 4]] > 0).all()


def test_regression_is_the_one_of_scikit_learn_on_scaled_columns() -> None:
    rng = np.random.default_rng(0)
    design = (rng.normal(size=(500, 4)) * [1, 10, 0.1, 3]).astype(np.float32)
    design[:, 0] = 1
    relevant = rng.random(500) < 1 / (1 + np.exp(-design @ [0.5, 0.1, -5, 0.3]))
    weights = rng.uniform(0.5, 2, 500).astype(np.float32)
    scale = np.sqrt((design.astype(np.float64) ** 2).mean(axis=0))
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    model.fit(design / scale, relevant, sample_weight=weights)
    np.testing.assert_allclose(
        regress(design, relevant, weights), model.coef_[0] / scale, rtol=1e-3, atol=1e-4
    )


def test_regression_survives_columns_without_numbers_and_separable_pairs() -> None:
    design = np.zeros((40, 2), np.float32)
    design[:, 0] = np.linspace(-100, 100, 40)
    theta = regress(design, design[:, 0] > 0, np.full(40, 1e4, np.float32))
    assert np.isfinite(theta).all()
    assert theta[0] > 0
    assert theta[1] == 0


# Seeds of problems on which Newton steps without a bound end at coefficients in the thousands.
@pytest.mark.parametrize("seed", [19, 73, 165])
def test_regression_does_not_run_away_on_rows_of_very_different_length(seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = (rng.normal(size=(30, 3)) * 10 ** rng.uniform(-2, 2, size=(30, 1))).astype(np.float32)
    relevant = rng.random(30) < 0.5
    weights = (10 ** rng.uniform(-2, 5, size=30)).astype(np.float32)
    scale = np.sqrt((design.astype(np.float64) ** 2).mean(axis=0))
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=10_000)
    model.fit(design / scale, relevant, sample_weight=weights)
    np.testing.assert_allclose(
        regress(design, relevant, weights), model.coef_[0] / scale, rtol=1e-3, atol=1e-3
    )


# -- vectors -------------------------------------------------------------------------------------


def make_vectors(seed: int, activation: str = "tanh") -> Vectors:
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in ((20, 5), 5, (30, 5), 30)]
    return Vectors(Params(*arrays), activation)


@pytest.mark.parametrize("activation", ["tanh", "linear", "relu"])
def test_joined_representations_score_the_mean(activation: str) -> None:
    X = sparse.random(9, 20, 0.5, "csr", np.float32, random_state=np.random.default_rng(0))
    parts = [make_vectors(seed, activation) for seed in range(3)]
    joined = join_vectors(parts)
    scores = [part.scores(part.hidden(X)) for part in [*parts, joined]]
    np.testing.assert_allclose(scores[3], np.mean(scores[:3], axis=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("size", [1, 7, 30])
def test_shortlists_are_the_best_labels_in_their_order(
    size: int, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rmls.kernels.cpu.ranker.listed.TILE_LABELS", 8)
    monkeypatch.setattr(ExactIndex, "block_rows", 4)
    X = sparse.random(11, 20, 0.5, "csr", np.float32, random_state=np.random.default_rng(0))
    vectors = make_vectors(0)
    found = Proposer(vectors, ExactIndex(vectors), size).propose_all(Rows(X), n_threads)
    scores = vectors.scores(vectors.hidden(X))
    wanted = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :size], axis=1)
    assert_same_lists(found.labels, wanted, scores)
    assert (np.diff(found.labels, axis=1) > 0).all()
    assert_close(found.scores, np.take_along_axis(scores, found.labels, axis=1))


@pytest.mark.parametrize(("precision", "bytes_each"), [("float32", 4), ("int16", 2), ("int8", 1)])
def test_rounded_vectors_are_packed_without_loss(precision: str, bytes_each: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)
    vectors[3] = 0
    vectors[4] *= 1e-6
    vectors[5] *= 1e6
    rounded = round_vectors(vectors, precision)
    tolerance = {"float32": 0, "int16": 1 / 32767, "int8": 1 / 64}[precision]
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    assert (np.abs(rounded - vectors) <= tolerance * largest).all()
    np.testing.assert_array_equal(round_vectors(rounded, precision), rounded)
    packed = pack_vectors("v", rounded, precision)["v"]
    assert packed.nbytes == bytes_each * vectors.size
    assert packed.dtype == precision


@pytest.mark.parametrize("precision", ["int16", "int8"])
def test_vectors_next_to_nothing_are_packed_as_nothing(precision: str) -> None:
    assert not round_vectors(np.float32([[1e-45, -1e-44], [0, 0]]), precision).any()


@pytest.mark.parametrize(("precision", "most"), [("int16", 32767), ("int8", 127)])
def test_quantized_weights_are_off_by_half_a_step_at_most(precision: str, most: int) -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([4, 0, 9, 1, 0])
    values = (rng.normal(size=14) * np.repeat([1e-3, 1, 50, 1, 1], lengths)).astype(np.float32)
    one = np.ones(5, np.float32)
    labels = np.repeat(np.arange(5, dtype=np.uint16), lengths)
    order = rng.permutation(14)
    full = SparseWeights(np.arange(15), labels[order], values[order], one, one)
    small = quantize(full, precision)
    small = small._replace(values=small.values[np.argsort(order)])
    scale = np.repeat(small.scale, lengths)
    assert small.values.dtype == precision
    assert (np.abs(small.values * scale - values) <= 0.5001 * scale).all()
    np.testing.assert_allclose(
        np.maximum.reduceat(np.abs(small.values.astype(int)), [0, 4, 13]), most
    )


def test_a_nearly_empty_column_of_the_combination_has_a_bounded_coefficient() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2000).astype(np.float32)
    rare = np.zeros(2000, np.float32)
    # Two labels just above the frequency of a band: their nearness to it is next to nothing.
    rare[:2] = 1e-6
    design = np.stack([np.ones(2000, np.float32), scores, rare], axis=1)
    relevant = scores + rng.normal(size=2000) > 1
    relevant[:2] = True
    theta = regress(design, relevant, np.ones(2000, np.float32))
    # 1e6 would move the two by one; what the other columns say stays what they say.
    assert abs(theta[2] * 1e-6) < 0.1
    assert 1 < theta[1] < 3
