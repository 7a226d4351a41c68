"""Probabilities by the frequency of labels: made-up scores whose truth depends on it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from rmls.core import numeric
from rmls.core.numeric import (
    N_BANDS,
    N_CURVE_BANDS,
    bands,
    bend_curve,
    curve_bands,
    estimate_deviation,
    fit_biases,
    half_octaves,
)
from rmls.decide import ScoreCounts, fit_calibration
from rmls.decide.calibration import BIAS_DEVIATION
from rmls.models.ranker.combination import Frequencies, HeldOut

GROUPS = (1, 4, 10, 30, 100, 300, 3000)
ROWS = np.repeat([2, 6, 17, 55, 170, 1000], [300, 150, 80, 40, 20, 10])


def sigmoid(logits: Any) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-np.asarray(logits, dtype=np.float64))))


def draw(n_rows: int, seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels; a score says something else of a rare label than of a frequent one."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-5, 2.5, (n_rows, len(ROWS))).astype(np.float32)
    rare = 1 - np.log(ROWS) / np.log(1000)
    logits = {
        "too sure": scores - 3 * rare,
        "not sure enough": (1 + 0.5 * rare) * scores + 2 * rare,
        "flat above": np.minimum(scores, (1 - 0.8 * rare) * scores),
    }[kind]
    return scores, rng.random(scores.shape) < sigmoid(logits)


def group_errors(chances: np.ndarray, Y: np.ndarray) -> dict[int, float]:
    """Mean probability less precision of the labels above 0.3, where a group has 500 of them."""
    errors = {}
    for first, stop in pairwise(GROUPS):
        inside = (chances > 0.3) & ((first <= ROWS) & (stop > ROWS))
        if inside.sum() >= 500:
            errors[first] = float(chances[inside].mean() - Y[inside].mean())
    return errors


@pytest.mark.parametrize("kind", ["too sure", "not sure enough", "flat above"])
def test_probabilities_are_the_precision_in_every_group(kind: str) -> None:
    scores, Y = draw(2000, 0, kind)
    counts = ScoreCounts.covering(scores)
    counts.add(scores, Y)
    new, truth = draw(4000, 1, kind)
    found = fit_calibration(counts, "auto", ROWS).probabilities(new)
    errors = group_errors(found, truth)
    assert len(errors) == 6
    assert max(map(abs, errors.values())) < 0.03
    # The claim has teeth: one curve for all labels misses.
    common = group_errors(fit_calibration(counts, "auto").probabilities(new), truth)
    assert max(map(abs, common.values())) > 0.04


def test_rare_labels_come_less_often_than_they_did_in_the_training() -> None:
    rng = np.random.default_rng(0)
    # Most labels are rare: many of those with two rows had luck, and will come less often.
    rates = 0.03 * (1 + rng.pareto(1.2, 20_000))
    kept, held, new = (rng.poisson(times * rates) for times in (9, 1, 1))
    rows = kept + held
    # Scores say nothing: a label is listed for ten rows that have it not, and for those that do.
    scores = np.zeros((2, len(rows)), np.float32)
    counts = ScoreCounts.covering(scores)
    part = counts.empty()
    part.add(scores[:1], np.zeros((1, len(rows)), int), [10.0])
    part.total += (part.total > 0) * held[:, None]
    part.positive += (part.total > 0) * held[:, None]
    counts.join(part, kept * 10 / 9)
    rare = (rows >= 1) & (rows < 4)
    share = new[rare].sum() / (10 + new[rare]).sum()
    joined, plain = (
        fit_calibration(each, "auto", rows).probabilities(scores[:1])[0, rare].mean()
        for each in (counts, part)
    )
    assert joined == pytest.approx(share, rel=0.15)
    # By all rows, those held out among them, rare labels seem to come as often as they did.
    assert plain > 1.3 * share


@pytest.mark.parametrize("true", [0.05, 0.2, 0.3])
def test_the_deviation_of_the_biases_is_found(true: float) -> None:
    rng = np.random.default_rng(1)
    variance = rng.uniform(1, 400, 3000)
    extra = rng.normal(0, np.sqrt(variance)) + variance * rng.normal(0, true, 3000)
    assert estimate_deviation(extra, variance, BIAS_DEVIATION) == pytest.approx(true, abs=0.025)


def test_labels_of_one_model_that_do_not_differ_have_no_biases() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(-2, 2, (3000, 60)).astype(np.float32)
    Y = rng.random(scores.shape) < sigmoid(scores)
    counts = ScoreCounts.covering(scores)
    part = counts.empty()
    part.add(scores, Y)
    counts.join(part, Y.sum(axis=0))
    bias = fit_calibration(counts, "auto", Y.sum(axis=0)).bias
    alone = fit_calibration(part, "auto", Y.sum(axis=0)).bias
    assert np.abs(bias).max() < 0.5 * np.abs(alone).max()


def test_joined_counts_are_the_sum_and_their_groups_follow_the_rows_of_each_part() -> None:
    scores, Y = draw(50, 0, "too sure")
    counts = ScoreCounts.covering(scores)
    parts = [counts.empty(), counts.empty()]
    for part, rows in zip(parts, (slice(0, 20), slice(20, 50)), strict=True):
        part.add(scores[rows], Y[rows])
    counts.join(parts[0], np.where(ROWS == 2, 0, ROWS))
    counts.join(parts[1], np.full(len(ROWS), 8))
    assert counts.n_models == 2
    np.testing.assert_array_equal(counts.positive.sum(axis=1), Y.sum(axis=0))
    assert counts.groups is not None
    # What is not known of a model is not learned from it; 8 rows are the 6th half octave.
    assert counts.groups[0].sum() == 20 * (ROWS > 2).sum() + 30 * len(ROWS)
    assert counts.groups[1, 6].sum() >= Y[20:].sum()


@pytest.mark.parametrize("seed", range(3))
def test_bent_curves_rise_whatever_the_counts_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    curve = np.sort(rng.normal(-2, 3, 40))
    total = rng.integers(0, 50, (3, 40)).astype(float)
    near = bands(np.array([1.0, 30.0, 900.0]), 900.0)
    # Upside down: the lowest scores are relevant.
    counts = np.stack([total, total * (np.arange(40) < 10)])
    found = bend_curve(curve, counts, near, np.eye(N_BANDS))
    assert (np.diff(found, axis=1) > 0).all()


def test_frequencies_without_pairs_lie_between_their_neighbours() -> None:
    curve = np.linspace(-6, 2, 30)
    total = np.full((2, 30), 500.0)
    counts = np.stack([total, total * sigmoid([curve + 0.5, curve - 1])])
    near = np.eye(N_CURVE_BANDS)[[0, -1]]
    found = bend_curve(curve, counts, near, np.eye(N_CURVE_BANDS)) - curve
    np.testing.assert_allclose(found[[0, -1]], [[0.5] * 30, [-1] * 30], atol=0.2)
    # From band to band it falls, and the middle one is moved by the mean.
    assert (np.diff(found, axis=0) < 0).all()
    np.testing.assert_allclose(found[N_CURVE_BANDS // 2], -0.25, atol=0.2)


def test_a_frequency_that_differs_from_those_around_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    curve, places = np.linspace(-6, 3, 60), half_octaves(2.0 ** np.arange(13))
    # Labels of about 21 rows are moved most; of five frequencies up to 4,096 rows none is near.
    moved = 1.2 * np.exp(-((places / 2 - 4.4) ** 2) / 2)[:, None]
    total = np.full((len(places), 60), 2000.0)
    counts = np.stack([total, total * sigmoid(curve + moved)])

    def misfit() -> float:
        near = curve_bands(places, 4096.0)
        return float(np.abs(bend_curve(curve, counts, near, near) - curve - moved).max())

    nine = misfit()
    monkeypatch.setattr(numeric, "N_CURVE_BANDS", N_BANDS)
    assert nine < 0.25
    assert misfit() > 1.5 * nine


def test_frequencies_share_what_few_positives_say(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    curve, near = np.linspace(-6, 2, 40), curve_bands(np.arange(0, 24), 4096.0)
    total = np.full((24, 40), 4.0)

    def misfit() -> float:
        errors = []
        for _ in range(10):
            positive = rng.binomial(4, np.tile(sigmoid(curve + 0.7), (24, 1)))
            found = bend_curve(curve, np.stack([total, positive]), near, near)
            errors.append(np.abs(found - curve - 0.7).mean())
        return float(np.mean(errors))

    shared = misfit()
    # Bands that know nothing of one another follow the noise.
    monkeypatch.setattr(numeric, "STEP_DEVIATION", 3.0)
    assert misfit() > 1.5 * shared


def test_biases_do_not_depend_on_how_many_labels_are_fitted_together() -> None:
    rng = np.random.default_rng(0)
    curve = np.linspace(-3, 3, 256)
    total = rng.integers(0, 9, (700, 256)).astype(np.float32)
    positive = rng.binomial(total.astype(int), sigmoid(curve)).astype(np.float32)
    alone = np.concatenate(
        [
            fit_biases(curve, *each, 0.35)
            for each in zip(np.array_split(total, 7), np.array_split(positive, 7), strict=True)
        ]
    )
    np.testing.assert_allclose(fit_biases(curve, total, positive, 0.35), alone, atol=1e-3)


def test_parts_of_held_out_rows_know_what_their_model_learned_from() -> None:
    labels = np.array([[0, 1], [1, 2], [0, 2]], np.int32)
    scores = np.zeros((3, 2), np.float32)
    learned = np.float32([[3, 5], [5, 0], [4, 1]])
    truth = sparse.csr_matrix(np.eye(3, dtype=np.int32))
    frequencies = Frequencies(np.array([4.0, 6.0, 1.0]), 10.0)
    held = HeldOut(labels, scores, scores, truth, np.ones(3), part_rows=(2, 1), counts=learned)
    parts = [(rows, found.tolist()) for rows, found in held.parts(frequencies)]
    assert parts == [(slice(0, 2), [3, 5, 0]), (slice(2, 3), [4, 6, 1])]
