"""Labels without rows: how many of them are new, what their names are worth, how far they move."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from named_samples import code, make_named

import rmls
from rmls import RMLSRanker, TextRanker
from rmls.models.ranker.combination import Frequencies
from rmls.models.ranker.unseen import LIFT_COST, choose_lift, odds_of_unused

DATA = make_named(400)
HIDDEN = {code(3), code(17)}
TRAIN = DATA.without(HIDDEN)


def draw_counts(rates: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows of labels that can expect so many."""
    return np.random.default_rng(seed).poisson(rates).astype(float)


EVEN = np.repeat([1.0, 40.0], 1500)
LONG_TAIL = 2000 / np.arange(1, 3001) ** 1.2


def odds_by_rates(rates: np.ndarray) -> tuple[float, float]:
    """Return the odds that are found, and those by the rates of the labels that were missed.

    The logit of a match grows by 1 with the logarithm of the rows here, and is 2 for new labels.
    """
    found, true = [], []
    for seed in range(20):
        first, again = draw_counts(rates, seed), draw_counts(rates, seed + 100)
        found.append(odds_of_unused(first, 1.0, 2.0))
        true.append(again[first == 0].mean())
    return float(np.mean(found)), float(np.log(np.mean(true)) - 2.0)


def test_labels_that_the_rows_have_missed_are_taken_for_unused() -> None:
    found, true = odds_by_rates(EVEN)
    assert found == pytest.approx(true, abs=0.35)


def test_of_a_long_tail_a_part_is_taken_for_unused_and_never_too_much() -> None:
    found, true = odds_by_rates(LONG_TAIL)
    assert true < found < -0.1


def test_labels_that_were_added_to_a_long_tail_are_taken_for_new() -> None:
    counts = draw_counts(LONG_TAIL[:300], 0)
    many = np.append(counts, np.zeros(3000))
    assert odds_of_unused(many, 1.0, 2.0) > np.log(0.8)
    assert odds_of_unused(counts[counts > 0], 1.0, 2.0) == 0.0
    assert odds_of_unused(np.repeat([0.0, 50.0], 10), 1.0, 2.0) == 0.0


def test_a_match_that_is_worth_the_same_for_all_labels_is_worth_it_without_rows() -> None:
    counts = draw_counts(EVEN, 0)
    assert odds_of_unused(counts, 0.0, 2.0) == pytest.approx(0.0)
    # Never a bonus.
    assert odds_of_unused(counts, -1.0, 2.0) == 0.0


@pytest.fixture(scope="module")
def model() -> TextRanker:
    ranker = RMLSRanker(16, max_iter=4, shortlist_size=20, keep_rows=False)
    return TextRanker(ranker).fit(TRAIN.texts, TRAIN.labels, label_text=DATA.names)


def test_the_lift_costs_what_is_accepted_and_no_more(model: TextRanker) -> None:
    ranker = model.estimator_
    held, frequencies = ranker._held_out, ranker._frequencies
    combination = replace(ranker.combination_, lift=0.0)
    lift = choose_lift(held, combination, frequencies, ranker.tail_)
    assert lift == ranker.combination_.lift > 0

    def expected(lift: float) -> float:
        ranks = replace(combination, lift=lift).mixture(frequencies, ranker.tail_)
        listed = held.ranking(ranks)
        chances = 1 / (1 + np.exp(-held.combined(combination.mixture(frequencies))))
        rows = np.repeat(np.arange(len(held.labels)), np.diff(listed.indptr))
        by_label = np.zeros((len(held.labels), len(frequencies.positives)))
        np.put_along_axis(by_label, held.labels.astype(np.int64), chances, 1)
        best = by_label[rows, listed.labels].reshape(len(held.labels), -1)
        return float(np.mean([best[:, :k].mean() for k in (1, 3, 5)]))

    assert expected(0.0) - expected(lift) <= LIFT_COST + 1e-6


def test_nothing_is_lifted_where_all_labels_have_rows() -> None:
    ranker = RMLSRanker(16, max_iter=4, shortlist_size=20)
    full = TextRanker(ranker).fit(DATA.texts, DATA.labels, label_text=DATA.names)
    assert full.estimator_.combination_.lift == 0.0


def test_a_tail_that_was_given_lifts_nothing() -> None:
    ranker = RMLSRanker(16, max_iter=4, shortlist_size=20, tail=0.0)
    plain = TextRanker(ranker).fit(TRAIN.texts, TRAIN.labels, label_text=DATA.names)
    assert plain.estimator_.combination_.lift == 0.0


def test_probabilities_know_no_lift_and_both_come_back(model: TextRanker, tmp_path: Path) -> None:
    ranker = model.estimator_
    ranks, logits = ranker._scorer.mixture, ranker._scorer.logits
    added = ranks.coefficients[:, 0] - logits.coefficients[:, 0]
    boost = ranker.tail_ * ranker._frequencies.rarity(ranker.combination_.top)
    without = ranker._frequencies.positives == 0
    np.testing.assert_allclose(
        added, boost + ranker.combination_.lift * without, rtol=1e-5, atol=1e-5
    )
    model.save(tmp_path / "model")
    again = rmls.load(tmp_path / "model").estimator_.combination_
    assert (again.lift, again.top) == (ranker.combination_.lift, ranker.combination_.top)


def test_a_label_that_grows_past_all_others_moves_none_of_them(model: TextRanker) -> None:
    ranker = model.estimator_
    before = ranker.combination_.mixture(ranker._frequencies, ranker.tail_).coefficients
    grown = ranker._frequencies.positives.copy()
    grown[0] = 100 * grown.max()
    frequencies = Frequencies(grown, ranker._frequencies.total, ranker._frequencies.trusted)
    after = ranker.combination_.mixture(frequencies, ranker.tail_).coefficients
    np.testing.assert_array_equal(after[1:], before[1:])
