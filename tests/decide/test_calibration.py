"""Counts of held-out scores, and the probabilities fitted to them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from tolerances import assert_close

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.decide import Calibration, ScoreCounts, fit_calibration
from rmls.decide.calibration import MAX_BINS, MAX_COUNTS, METHODS, MIN_BINS

BIAS = np.linspace(-1.5, 1.0, 12)
every_method = pytest.mark.parametrize("method", METHODS)


def sigmoid(logits: Any) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-np.asarray(logits, dtype=np.float64))))


def draw(
    n: int = 6000, bias: np.ndarray = BIAS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, true probabilities and labels drawn from sigmoid(2 s - 1 + bias of the label)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1, (n, len(bias))).astype(np.float32)
    chances = sigmoid(2 * scores - 1 + bias)
    return scores, chances, (rng.random(scores.shape) < chances).astype(int)


def count(scores: Any, Y: Any, weights: Any = None) -> ScoreCounts:
    counts = ScoreCounts.covering(scores)
    counts.add(scores, Y, weights)
    return counts


@cache
def fitted(method: str) -> Calibration:
    scores, _, Y = draw()
    return fit_calibration(count(scores, Y), method)


# -- probabilities known by construction ----------------------------------------------------------


@pytest.mark.parametrize(("method", "error"), [("temperature", 0.015), ("auto", 0.02)])
def test_known_probabilities_are_recovered(method: str, error: float) -> None:
    scores, chances, _ = draw(seed=1)
    found = fitted(method).probabilities(scores)
    assert np.abs(found - chances).mean() < error
    np.testing.assert_allclose(found.mean(axis=0), chances.mean(axis=0), atol=0.02)


def test_the_line_and_the_biases_are_those_of_the_draw() -> None:
    calibration = fitted("temperature")
    middle = calibration.low + calibration.step * np.arange(calibration.curves.shape[1])
    slope, offset = np.polyfit(middle, calibration.curves[0], 1)
    # Fitted to all labels before their biases, the line is a little flatter than that of one.
    assert slope == pytest.approx(2.0, rel=0.12)
    assert calibration.slope == pytest.approx(slope, rel=1e-4)
    np.testing.assert_allclose(offset + calibration.bias, BIAS - 1, atol=0.2)


@pytest.mark.parametrize("method", ["auto", "isotonic"])
@pytest.mark.parametrize(
    "distort",
    [lambda s: np.tanh(s), lambda s: np.sign(s) * s**2, lambda s: np.exp(s / 2)],
    ids=["tanh", "square", "exp"],
)
def test_scores_bent_by_a_rising_function_are_straightened(method: str, distort: Any) -> None:
    scores, chances, Y = draw(bias=np.zeros(6))
    bent = distort(scores.astype(np.float64))
    error = np.abs(fit_calibration(count(bent, Y), method).probabilities(bent) - chances).mean()
    line = np.abs(fit_calibration(count(bent, Y), "platt").probabilities(bent) - chances).mean()
    assert error < 0.02
    assert error < line


def test_a_frequent_label_gets_a_curve_of_its_own() -> None:
    scores, chances, _ = draw(bias=np.zeros(3))
    chances[:, 2] = sigmoid(3 * np.sign(scores[:, 2]) - 1)
    Y = (np.random.default_rng(1).random(chances.shape) < chances).astype(int)
    Y[50:, 1] = 0
    found = {name: fit_calibration(count(scores, Y), name) for name in ("auto", "isotonic")}
    assert found["auto"].curve_of.tolist() == [0, 0, 0]
    assert found["isotonic"].curve_of[1] == 0
    assert len(set(found["isotonic"].curve_of.tolist())) == 3
    errors = {
        name: np.abs(calibration.probabilities(scores) - chances)[:, 2].mean()
        for name, calibration in found.items()
    }
    assert errors["isotonic"] < 0.5 * errors["auto"]


# -- against another implementation ----------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 3.0, -500.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_platt_is_the_logistic_regression_of_the_pairs(shift: float, scale: float) -> None:
    scores, _, Y = draw(1500)
    model = LogisticRegression(C=np.inf).fit(scores.reshape(-1, 1), Y.ravel())
    wanted = model.predict_proba(scores.reshape(-1, 1))[:, 1].reshape(scores.shape)
    moved = scale * (scores + shift)
    found = fit_calibration(count(moved, Y), "platt").probabilities(moved)
    # What is left is the width of a bin, 1/256 of the range of the scores.
    np.testing.assert_allclose(found, wanted, atol=0.004)


# -- the shape of the map -------------------------------------------------------------------------


@every_method
def test_the_order_of_the_scores_of_a_label_is_kept(method: str) -> None:
    grid = np.sort(np.random.default_rng(0).uniform(-6, 6, 400)).astype(np.float32)
    chances = fitted(method).probabilities(np.repeat(grid[:, None], len(BIAS), axis=1))
    assert (np.diff(chances, axis=0) >= 0).all()
    inner = np.abs(grid) < 2
    assert (np.diff(chances[inner], axis=0) > 0).mean() > 0.99


@every_method
@pytest.mark.parametrize("seed", range(3))
def test_curves_rise_everywhere_even_on_few_pairs(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1, (12, 4))
    Y = (rng.random((12, 4)) < 0.3).astype(int)
    Y[0, 0] = 1
    calibration = fit_calibration(count(scores, Y), method)
    assert (np.diff(calibration.curves, axis=1) > 0).all()
    assert calibration.slope > 0


@every_method
def test_probabilities_lie_between_0_and_1(method: str) -> None:
    scores = np.linspace(-4, 4, 300)[:, None] + np.zeros(len(BIAS))
    chances = fitted(method).probabilities(scores)
    assert ((chances > 0) & (chances < 1)).all()
    far = np.array([[-1e30], [-1e6], [1e6], [1e30]]) + np.zeros(len(BIAS))
    np.testing.assert_array_equal(fitted(method).probabilities(far).round(6)[[0, -1], 0], [0, 1])


@every_method
@pytest.mark.parametrize("kind", ["separated", "constant", "upside down", "all relevant"])
def test_odd_scores_give_probabilities_of_the_right_mean(method: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 3)) < 0.3).astype(int)
    scores = {
        "separated": 100 + Y + 0.1 * rng.random(Y.shape),
        "constant": np.full(Y.shape, 100.0),
        "upside down": 100 - Y + rng.normal(0, 0.5, Y.shape),
        "all relevant": rng.normal(0, 1, Y.shape),
    }[kind]
    Y = np.ones_like(Y) if kind == "all relevant" else Y
    chances = fit_calibration(count(scores, Y), method).probabilities(scores)
    assert np.isfinite(chances).all()
    assert chances.mean() == pytest.approx(Y.mean(), abs=0.03)


# -- biases of labels -----------------------------------------------------------------------------


def test_rare_labels_keep_the_common_curve_and_frequent_ones_their_own_bias() -> None:
    scores, _, Y = draw(4000, np.zeros(8))
    scores[:, 6] -= 6
    Y[:, 6] = 0
    rng = np.random.default_rng(1)
    Y[:, 7] = rng.random(len(Y)) < sigmoid(2 * scores[:, 7] - 3)
    bias = fit_calibration(count(scores, Y), "temperature").bias
    # Label 6 has no positives and was hardly expected to; label 7 has many, but fewer.
    assert abs(bias[6]) < 0.7
    np.testing.assert_allclose(bias[7] - bias[:6].mean(), -2.0, atol=0.2)


def test_the_bias_of_a_label_is_shrunk_the_more_the_fewer_rows_tell_about_it() -> None:
    common, _, Y = draw(3000, np.zeros(4))
    found = []
    for n in (10, 100, 3000):
        counts = count(np.hstack([common, common[:, :1]]), np.hstack([Y, Y[:, :1]]))
        counts.total[4], counts.positive[4] = 0, 0
        few = np.zeros((n, 5), dtype=np.float32)
        one = ScoreCounts(counts.low, counts.step, np.zeros_like(counts.total), few[:0])
        one.positive = np.zeros_like(counts.total)
        one.add(few, np.hstack([few[:, :4], np.ones((n, 1))]).astype(int))
        counts.total[4], counts.positive[4] = one.total[4], one.positive[4]
        found.append(float(fit_calibration(counts, "temperature").bias[4]))
    assert 0.5 < found[0] < found[1] < found[2]


# -- counting -------------------------------------------------------------------------------------


def test_weights_are_the_same_as_repetition() -> None:
    scores, _, Y = draw(300)
    weights = np.random.default_rng(0).integers(0, 4, 300)
    weighted, repeated = ScoreCounts.covering(scores), ScoreCounts.covering(scores)
    weighted.add(scores, Y, weights)
    repeated.add(np.repeat(scores, weights, axis=0), np.repeat(Y, weights, axis=0))
    np.testing.assert_array_equal(weighted.total, repeated.total)
    np.testing.assert_array_equal(weighted.positive, repeated.positive)


@given(seed=st.integers(0, 1000), n_blocks=st.integers(1, 5))
def test_neither_blocks_nor_the_order_of_rows_matter(seed: int, n_blocks: int) -> None:
    scores, _, Y = draw(40)
    order = np.random.default_rng(seed).permutation(40)
    whole, parts = ScoreCounts.covering(scores), ScoreCounts.covering(scores)
    whole.add(scores, Y)
    for rows in np.array_split(order, n_blocks):
        parts.add(scores[rows], sparse.csr_matrix(Y[rows]))
    np.testing.assert_array_equal(whole.total, parts.total)
    np.testing.assert_array_equal(whole.positive, parts.positive)


def test_every_pair_is_counted_once_even_beyond_the_bins() -> None:
    scores, _, Y = draw(200)
    counts = ScoreCounts.covering(scores[:20] * 0.1)
    counts.add(scores, Y)
    np.testing.assert_array_equal(counts.total.sum(axis=1), np.full(len(BIAS), 200))
    np.testing.assert_array_equal(counts.positive.sum(axis=1), Y.sum(axis=0))
    assert (counts.positive <= counts.total).all()


def test_a_pair_lies_in_the_bin_around_its_score() -> None:
    counts = ScoreCounts.covering([[0.0, 10.0]])
    scores = np.random.default_rng(0).uniform(0, 10, (50, 2))
    for row in scores:
        before = counts.total.copy()
        counts.add(row[None], [[1, 0]])
        bins = np.argmax(counts.total - before, axis=1)
        assert (np.abs(counts.centres[bins] - row) <= 0.501 * counts.step).all()


def test_stored_zeros_are_irrelevant() -> None:
    truth = sparse.csr_matrix(([1, 0], [0, 1], [0, 2]), shape=(1, 2))
    counts = count([[1.0, 2.0]], truth)
    assert counts.positive.sum(axis=1).tolist() == [1, 0]
    assert truth.nnz == 2


def test_listed_scores_are_counted_as_dense_ones_are() -> None:
    scores, _, Y = draw(200)
    weights = np.random.default_rng(0).integers(1, 4, 200)
    dense, listed = count(scores, Y, weights), count(sparse.csr_matrix(scores), Y, weights)
    np.testing.assert_array_equal(dense.total.sum(axis=1), listed.total.sum(axis=1))
    # A score at the edge of two bins may fall to either, by rounding.
    assert np.abs(dense.total - listed.total).sum() <= 0.01 * dense.total.sum()
    assert np.abs(dense.positive - listed.positive).sum() <= 0.01 * dense.positive.sum()


def test_only_listed_scores_are_counted() -> None:
    listed = sparse.csr_matrix(([0.5, 0.0, 2.0], [1, 0, 1], [0, 1, 3]), shape=(2, 3))
    counts = count(listed, [[1, 1, 0], [0, 1, 1]])
    assert counts.total.sum(axis=1).tolist() == [1, 2, 0]
    assert counts.positive.sum(axis=1).tolist() == [0, 2, 0]


@pytest.mark.parametrize("n_labels", [1, 100, 5000, 50_000, 200_000])
def test_the_memory_of_the_bins_is_bounded(n_labels: int) -> None:
    scores = np.zeros((2, n_labels), dtype=np.float32)
    scores[1] = 1
    counts = ScoreCounts.covering(scores)
    n_bins = counts.total.shape[1]
    assert MIN_BINS <= n_bins <= MAX_BINS
    assert counts.total.size <= max(MAX_COUNTS, MIN_BINS * n_labels)
    assert (n_bins == MAX_BINS) == (n_labels <= MAX_COUNTS // MAX_BINS)
    assert len(counts.centres) == n_bins


# -- the same map, asked in other ways -------------------------------------------------------------


@every_method
def test_listed_entries_get_the_probabilities_of_the_dense_block(method: str) -> None:
    scores, _, _ = draw(60)
    chances = fitted(method).probabilities(scores)
    listed = fitted(method).apply(Ranking.from_dense(scores, k=5))
    # Exponentials of other numbers of elements may take other instructions.
    assert_close(listed.scores, chances[listed.rows, listed.labels])
    within = np.diff(listed.rows) == 0
    assert (np.diff(listed.scores)[within] <= 0).all()
    assert listed.lengths.tolist() == [5] * 60


@every_method
def test_labels_may_be_renumbered(method: str) -> None:
    scores, _, Y = draw(800)
    order = np.random.default_rng(0).permutation(len(BIAS))
    plain = fit_calibration(count(scores, Y), method).probabilities(scores)
    renumbered = fit_calibration(count(scores[:, order], Y[:, order]), method)
    found = renumbered.probabilities(scores[:, order])
    np.testing.assert_allclose(found, plain[:, order], rtol=1e-4, atol=1e-6)


def test_an_empty_ranking_stays_empty() -> None:
    empty = Ranking.from_csr(sparse.csr_matrix((3, len(BIAS)), dtype=np.float32))
    assert fitted("auto").apply(empty).lengths.tolist() == [0, 0, 0]


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["best", "", None, 1])
def test_an_unknown_method_is_refused(method: Any) -> None:
    with pytest.raises(InputError, match="calibration must be one of 'auto'"):
        fit_calibration(count([[0.0, 1.0]], [[0, 1]]), method)


@every_method
def test_without_positives_there_is_nothing_to_fit(method: str) -> None:
    counts = count([[0.0, 1.0]], [[0, 0]])
    with pytest.raises(InputError, match="needs held-out rows with labels"):
        fit_calibration(counts, method)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ScoreCounts.covering([]),
        lambda: ScoreCounts.covering(np.zeros((0, 3))),
        lambda: ScoreCounts.covering([1.0, 2.0]),
        lambda: ScoreCounts.covering([[np.nan, 1.0]]),
        lambda: ScoreCounts.covering([[np.inf, 1.0]]),
        lambda: ScoreCounts.covering(sparse.csr_matrix((2, 3))),
        lambda: count([[0.0, 1.0]], [[0, 1], [1, 0]]),
        lambda: count([[0.0, 1.0]], [[0, 1, 0]]),
        lambda: count([[0.0, 1.0]], [[0, 2]]),
        lambda: count([[0.0, 1.0]], [[0, 1]], [1.0, 2.0]),
        lambda: count(sparse.csr_matrix([[0.0, 1.0]]), [[0, 1]], [1.0, 2.0]),
        lambda: ScoreCounts.covering([[0.0, 1.0]]).add([[0.0]], [[1]]),
        lambda: ScoreCounts.covering([[0.0, 1.0]]).add([[np.nan, 0.0]], [[1, 0]]),
        lambda: fitted("auto").probabilities([[0.0, 1.0]]),
        lambda: fitted("auto").probabilities(np.zeros(len(BIAS))),
        lambda: fitted("auto").apply(Ranking.from_dense([[0.0, 1.0]])),
        lambda: fitted("auto").apply(Ranking.from_dense(np.zeros((1, 99)))),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(wrong: Any) -> None:
    with pytest.raises(InputError) as caught:
        wrong()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
