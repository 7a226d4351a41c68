"""Calibration error, Brier score and reliability curve, from any listing of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from metric_samples import random_sets, random_truth
from scipy import sparse
from sklearn.metrics import brier_score_loss

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.metrics import (
    brier_score,
    evaluate,
    expected_calibration_error,
    group_labels,
    reliability_curve,
)

Function = Callable[..., float]
BOTH = pytest.mark.parametrize("function", [expected_calibration_error, brier_score])


def random_probabilities(seed: int = 3, n_samples: int = 40, n_labels: int = 13) -> np.ndarray:
    """Few distinct numbers that float32 holds exactly, so that many pairs are tied."""
    return np.random.default_rng(seed).integers(0, 17, (n_samples, n_labels)) / 16


def listed(probabilities: np.ndarray, sets: np.ndarray) -> sparse.csr_matrix:
    """The probabilities of the labels in ``sets``, zeros stored too."""
    matrix = sparse.csr_matrix(sets, dtype=np.float64)
    matrix.data[:] = probabilities[sets.nonzero()]
    return matrix


def honest(n_pairs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes drawn with the very probabilities that are told."""
    generator = np.random.default_rng(seed)
    probabilities = generator.random((n_pairs, 1))
    return (generator.random((n_pairs, 1)) < probabilities).astype(int), probabilities


# -- known by construction -------------------------------------------------------------------------


def test_honest_probabilities_have_a_small_error() -> None:
    assert expected_calibration_error(*honest(20_000, 0)) < 0.02


def test_the_sweep_is_less_biased_than_15_bins_on_few_pairs() -> None:
    samples = [honest(1000, seed) for seed in range(60)]
    plain = np.mean([expected_calibration_error(*sample, bins=15) for sample in samples])
    sweep = np.mean([expected_calibration_error(*sample) for sample in samples])
    assert plain == pytest.approx(0.04, abs=0.004)
    assert sweep < 0.85 * plain


@pytest.mark.parametrize("bins", ["sweep", 1, 7, 15])
@pytest.mark.parametrize("offset", [-0.15, 0.15])
def test_a_constant_offset_is_the_error(bins: int | str, offset: float) -> None:
    rates = np.array([0.2, 0.4, 0.6, 0.8])
    truth = (np.arange(100)[:, None] < 100 * rates).astype(int)
    told = np.tile(rates + offset, (100, 1))
    assert expected_calibration_error(truth, told, bins=bins) == pytest.approx(abs(offset))


@BOTH
def test_certainty_that_is_right_is_0(function: Function) -> None:
    truth = random_truth()
    assert function(truth, truth.astype(float)) == 0


def test_certainty_that_is_wrong_is_1_but_for_the_sweep_that_expects_rising_frequencies() -> None:
    truth = random_truth()
    assert brier_score(truth, 1.0 - truth) == 1
    assert expected_calibration_error(truth, 1.0 - truth, bins=15) == 1
    pooled = abs(1 - 2 * truth.mean())
    assert expected_calibration_error(truth, 1.0 - truth) == pytest.approx(pooled)


def test_the_sweep_stops_before_frequencies_fall() -> None:
    told = np.arange(1, 9)[None] / 10
    rising = reliability_curve([[0, 0, 0, 0, 1, 1, 1, 1]], told)
    assert rising.pairs.tolist() == [1] * 8
    falling = reliability_curve([[1, 1, 1, 1, 0, 0, 0, 0]], told)
    assert falling.pairs.tolist() == [8]
    assert falling.predicted == pytest.approx([0.45])


def test_pairs_of_one_probability_stay_together() -> None:
    told = np.array([[0.1] * 7 + [0.9] * 3])
    truth = np.array([[1, 0, 0, 0, 0, 0, 0, 1, 1, 0]])
    for bins in (2, 3, 5, 10, 99):
        curve = reliability_curve(truth, told, bins=bins)
        assert curve.pairs.tolist() == [7, 3]
        np.testing.assert_allclose(curve.predicted, [0.1, 0.9])
        np.testing.assert_allclose(curve.observed, [1 / 7, 2 / 3])


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 40, 41])
def test_distinct_probabilities_fill_bins_evenly(bins: int) -> None:
    truth, told = honest(40, 1)
    pairs = reliability_curve(truth, told, bins=bins).pairs
    assert pairs.sum() == 40
    assert len(pairs) == min(bins, 40)
    assert np.ptp(pairs) <= 1


# -- a slow reference ------------------------------------------------------------------------------


def slow_bins(p: np.ndarray, y: np.ndarray, n_bins: int) -> list[np.ndarray]:
    """Outcome and probability of the pairs of each bin, by counting ties for every pair."""
    middle = np.array([np.sum(p < value) + np.sum(p == value) / 2 for value in p])
    number = np.floor(n_bins * middle / len(p))
    return [np.array([p[number == b], y[number == b]]) for b in range(n_bins) if b in number]


def slow_error(p: np.ndarray, y: np.ndarray, bins: int | str) -> float:
    if bins == "sweep":
        bins = 1
        while bins < len(p):
            observed = [part[1].mean() for part in slow_bins(p, y, bins + 1)]
            if any(after < before - 1e-12 for before, after in pairwise(observed)):
                break
            bins += 1
    parts = slow_bins(p, y, int(bins))
    return sum(part.shape[1] * abs(part[0].mean() - part[1].mean()) for part in parts) / len(p)


@pytest.mark.parametrize("bins", ["sweep", 1, 4, 15])
@pytest.mark.parametrize("seed", range(8))
def test_error_is_that_of_the_slow_reference(bins: int | str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    n_levels = int(generator.integers(2, 100))
    told = generator.integers(0, n_levels + 1, (12, 5)) / n_levels
    truth = (generator.random(told.shape) < told**2).astype(int)
    expected = slow_error(told.ravel(), truth.ravel(), bins)
    assert expected_calibration_error(truth, told, bins=bins) == pytest.approx(expected, abs=1e-12)


def test_the_error_is_the_distance_of_the_curve_from_the_diagonal() -> None:
    truth, told = random_truth(), random_probabilities()
    curve = reliability_curve(truth, told, bins=6)
    distance = np.average(np.abs(curve.predicted - curve.observed), weights=curve.pairs)
    assert expected_calibration_error(truth, told, bins=6) == pytest.approx(distance)


def test_brier_is_that_of_scikit_learn_over_all_pairs() -> None:
    truth, told = random_truth(), random_probabilities()
    assert brier_score(truth, told) == pytest.approx(brier_score_loss(truth.ravel(), told.ravel()))


def test_unlisted_pairs_are_0_to_brier_and_nothing_to_the_error() -> None:
    truth, told, sets = random_truth(), random_probabilities(), random_sets()
    given = listed(told, sets)
    assert brier_score(truth, given) == pytest.approx(np.mean((truth - told * sets) ** 2))
    pairs = told[sets == 1], truth[sets == 1]
    expected = slow_error(*pairs, "sweep")
    assert expected_calibration_error(truth, given) == pytest.approx(expected)


# -- invariances -----------------------------------------------------------------------------------


@BOTH
def test_every_container_gives_the_same(function: Function) -> None:
    truth, told = random_truth(), random_probabilities()
    expected = function(truth, told)
    full = listed(told, np.ones_like(truth))
    assert full.nnz == truth.size
    for given in (full, full.tocsc(), full.tocoo(), Ranking.from_dense(told), told.tolist()):
        assert function(sparse.csr_matrix(truth), given) == pytest.approx(expected, rel=1e-14)


@BOTH
def test_order_of_rows_and_labels_does_not_matter(function: Function) -> None:
    generator = np.random.default_rng(4)
    truth, told = random_truth(), random_probabilities()
    for _ in range(5):
        rows, labels = generator.permutation(40), generator.permutation(13)
        mixed = function(truth[rows][:, labels], told[rows][:, labels])
        assert mixed == pytest.approx(function(truth, told), rel=1e-14)


def test_the_error_of_tied_pairs_is_the_same_to_the_last_bit_in_any_order() -> None:
    truth, told = random_truth(), random_probabilities() / 3
    backwards = expected_calibration_error(truth[::-1], told[::-1])
    assert backwards == expected_calibration_error(truth, told)


@BOTH
def test_chosen_labels_are_as_if_there_were_no_others(function: Function) -> None:
    truth, told, sets = random_truth(), random_probabilities(), random_sets()
    chosen = [8, 2, 11]
    mask = np.isin(np.arange(13), chosen)
    for given in (told, listed(told, sets)):
        expected = function(truth[:, mask], given[:, mask])
        assert function(truth, given, labels=mask) == pytest.approx(expected)
        assert function(truth, given, labels=chosen) == pytest.approx(expected)


def test_input_is_left_alone() -> None:
    truth, told = random_truth(), random_probabilities()
    given = sparse.csr_matrix(([0.5, 0.25, 0.125], [3, 1, 3], [0, 3] + [3] * 39), shape=(40, 13))
    before = given.copy()
    brier_score(truth, given)
    assert (given.indices == before.indices).all()
    assert (given.data == before.data).all()
    assert brier_score(truth, told) == brier_score(truth, told)


# -- corners ---------------------------------------------------------------------------------------


def test_without_pairs_there_is_no_error_and_all_that_is_true_is_missed() -> None:
    truth = random_truth()
    nothing = sparse.csr_matrix(truth.shape)
    assert np.isnan(expected_calibration_error(truth, nothing))
    assert [len(part) for part in reliability_curve(truth, nothing)] == [0, 0, 0]
    assert brier_score(truth, nothing) == pytest.approx(truth.mean())
    assert np.isnan(brier_score(truth, nothing, labels=[]))


@pytest.mark.parametrize("bins", ["sweep", 1, 15])
def test_one_pair_is_its_own_bin(bins: int | str) -> None:
    assert expected_calibration_error([[1]], [[0.75]], bins=bins) == 0.25


def test_separable_pairs_without_end_stay_within_the_bound_of_the_sweep() -> None:
    told = np.linspace(0, 1, 5000)[None]
    curve = reliability_curve((told > 0.3).astype(int), told)
    assert len(curve.pairs) == 1000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, p: brier_score(y, p + 0.5), "between 0 and 1; found 1"),
        (lambda y, p: brier_score(y, p - 0.5), "between 0 and 1; found -0"),
        (lambda y, p: brier_score(y, p * np.nan), "between 0 and 1; found nan"),
        (lambda y, p: brier_score(y, sparse.csr_matrix(p + 1)), "between 0 and 1"),
        (lambda y, p: brier_score(y, Ranking.from_dense(p + 1)), "between 0 and 1"),
        (lambda y, p: brier_score(y, p[:3]), "probabilities has 3 rows but Y_true has 40"),
        (lambda y, p: brier_score(y, p[:, :3]), "probabilities has 3 labels"),
        (lambda y, p: brier_score(y, p[0]), "probabilities must be 2-d"),
        (lambda y, p: brier_score(y, np.full(p.shape, "x")), "an array of numbers"),
        (lambda y, p: brier_score(y[:0], p[:0]), "Y_true has no rows"),
        (lambda y, p: brier_score(y, p, labels=[13]), "label 13; labels run from 0 to 12"),
        (lambda y, p: brier_score(y, p, labels=[-1]), "names label -1"),
        (lambda y, p: brier_score(y, p, labels=[True]), "a mask of 13 labels"),
        (lambda y, p: brier_score(y, p, labels=[0.5]), "a mask of 13 labels"),
        (lambda y, p: reliability_curve(y, p, bins=0), "bins must be 'sweep' or a whole number"),
        (lambda y, p: reliability_curve(y, p, bins=True), "bins must be"),
        (lambda y, p: reliability_curve(y, p, bins="auto"), "got 'auto'"),
    ],
)
def test_misuse_gives_one_clear_sentence(call: Callable[..., object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        call(random_truth(), random_probabilities())
    assert "\n" not in str(caught.value)


def test_a_ranking_that_names_a_label_twice_is_refused() -> None:
    twice = Ranking(np.array([0, 2]), np.array([1, 1]), np.array([0.5, 0.4]), 3)
    with pytest.raises(InputError, match="names a label twice"):
        brier_score([[0, 1, 0]], twice)


# -- in the report ---------------------------------------------------------------------------------


def test_the_report_has_both_in_total_and_by_group() -> None:
    truth, told, sets = random_truth(), random_probabilities(), random_sets()
    counts = truth.sum(axis=0) ** 3
    given = listed(told, sets)
    report = evaluate(truth, sets, probabilities=given, names="f1", train_counts=counts)
    assert list(report.totals) == ["example_f1", "ece", "brier"]
    assert report.ece == expected_calibration_error(truth, given)
    tail = group_labels(counts) == 2
    assert report["tail"]["ece"] == expected_calibration_error(truth, given, labels=tail)
    assert report["tail"]["brier"] == brier_score(truth, given, labels=tail)


def test_probabilities_alone_are_enough() -> None:
    truth, told = random_truth(), random_probabilities()
    assert set(evaluate(truth, probabilities=told)) == {"ece", "brier"}
    with pytest.raises(InputError, match="computed from Y_pred="):
        evaluate(truth, probabilities=told, names="f1")


def test_a_group_without_pairs_has_no_calibration_error() -> None:
    given = sparse.csr_matrix([[0.5, 0, 0], [0.5, 0, 0]])
    report = evaluate([[1, 0, 0], [0, 0, 1]], probabilities=given, train_counts=[9, 3, 1])
    assert report["head"] == {"ece": 0.0, "brier": 0.25}
    assert set(report["tail"]) == {"brier"}


@BOTH
def test_of_a_ranking_the_probabilities_count_and_not_the_scores(function: Function) -> None:
    truth, chances = random_truth(), random_probabilities()
    by_chance = Ranking.from_dense(chances)
    shifted = Ranking(
        by_chance.indptr,
        by_chance.labels,
        by_chance.scores * 7 - 3,
        by_chance.n_labels,
        probabilities=by_chance.scores,
    )
    assert function(truth, shifted) == function(truth, by_chance)
