"""Samplers bring labels into the loss at the rates that they state."""

import numpy as np
import pytest
from kernel_problem import (
    FEATURES,
    N_FEATURES,
    N_LABELS,
    RELEVANT,
    VALUES,
    K,
    finite_differences,
    kernel_gradient,
    make_accumulators,
    make_objective,
    make_params,
    make_sampler,
    slow_loss,
)
from scipy import stats

from rmls.kernels.arrays import IN_BATCH, UNIFORM, WEIGHTED, LabelledRows, Visits
from rmls.kernels.cpu.sgd import sampler as samplers
from rmls.kernels.cpu.sgd import visits as sgd
from rmls.kernels.cpu.sgd.visits import make_scratch, run_visits
from rmls.models.rmls.sampling import count_tries

SHARES = np.array([0.3, 0.2, 0.02, 0.05, 0.1, 0.05, 0.08, 0.15, 0.05])
IRRELEVANT = np.setdiff1d(np.arange(N_LABELS), RELEVANT)
WANTED = 4
REST = 1 - SHARES[RELEVANT].sum()
TRIES = np.round(count_tries(SHARES)[WANTED] / REST)
# Kernel sampler and its rates in the one row, in which every label asks for two others.
SAMPLERS = {
    "uniform": (make_sampler, {}, np.full(N_LABELS, WANTED / len(IRRELEVANT))),
    "uniform, with replacement": (
        make_sampler,
        {"kind": WEIGHTED},
        np.full(N_LABELS, WANTED / len(IRRELEVANT)),
    ),
    "weighted": (make_sampler, {"kind": WEIGHTED, "shares": SHARES}, WANTED * SHARES / REST),
    "weighted, distinct": (
        make_sampler,
        {"kind": WEIGHTED, "shares": SHARES, "distinct": True},
        1 - (1 - SHARES) ** TRIES,
    ),
    "uniform, union": (
        make_sampler,
        {"kind": WEIGHTED, "union": True},
        np.full(N_LABELS, 1 - (1 - 1 / len(IRRELEVANT)) ** WANTED),
    ),
    "weighted, union": (
        make_sampler,
        {"kind": WEIGHTED, "shares": SHARES, "union": True},
        1 - (1 - np.minimum(SHARES / REST, 1)) ** WANTED,
    ),
}
every_sampler = pytest.mark.parametrize(
    ("make", "options", "rates"), SAMPLERS.values(), ids=SAMPLERS
)


def choose(objective, key):
    """Return the labels of one visit and their shifts."""
    scratch = make_scratch((N_FEATURES, N_LABELS, K), 1, len(FEATURES), N_LABELS)
    rows = LabelledRows(np.array([0, 3]), FEATURES, VALUES, np.array([0, len(RELEVANT)]), RELEVANT)
    one = np.float32(1)
    visit = sgd.Visit(np.uint64(key), 1, one, one, True, True)
    count, _ = samplers.choose_labels(rows, 0, visit, objective, scratch)
    return scratch.labels[:count].copy(), scratch.shift[:count].copy()


@every_sampler
def test_labels_are_drawn_at_the_stated_rates(make, options, rates):
    objective = make_objective(sampler=make(**options))
    tallies = []
    for key in np.random.default_rng(0).integers(0, 2**63, size=6000):
        labels, _ = choose(objective, key)
        assert labels[: len(RELEVANT)].tolist() == RELEVANT.tolist()
        tallies.append(np.bincount(labels[len(RELEVANT) :], minlength=N_LABELS))
    tallies = np.array(tallies)
    assert tallies[:, RELEVANT].sum() == 0
    error = tallies.std(axis=0)[IRRELEVANT] / np.sqrt(len(tallies))
    distance = np.abs(tallies.mean(axis=0) - rates)[IRRELEVANT]
    assert (distance < 4.5 * error + 1e-9).all()


def test_draws_by_shares_pass_a_chi_square_test_against_the_shares():
    objective = make_objective(sampler=make_sampler(WEIGHTED, SHARES))
    keys = np.random.default_rng(3).integers(0, 2**63, size=4000)
    drawn = np.concatenate([choose(objective, key)[0][len(RELEVANT) :] for key in keys])
    tallies = np.bincount(drawn, minlength=N_LABELS)[IRRELEVANT]
    expected = SHARES[IRRELEVANT] / REST * len(drawn)
    assert 1e-4 < stats.chisquare(tallies, expected).pvalue < 1 - 1e-4


@every_sampler
def test_mean_sampled_gradient_is_that_of_the_loss_weighted_by_the_rates(make, options, rates):
    params = make_params()
    objective = make_objective(sampler=make(**options))
    keys = np.random.default_rng(1).integers(0, 2**63, size=3000)
    draws = [kernel_gradient(params, objective, key)[0] for key in keys]
    weights = rates.copy()
    weights[RELEVANT] = 1.0
    full = finite_differences(params, np.arange(N_LABELS), weights, 0, 0)
    for name in ("W", "b", "L", "c"):
        sampled = np.stack([getattr(draw, name) for draw in draws])
        error = sampled.std(axis=0) / np.sqrt(len(keys))
        assert (np.abs(sampled.mean(axis=0) - getattr(full, name)) <= 4.5 * error + 1e-5).all()


@every_sampler
def test_the_shift_of_an_irrelevant_label_is_its_log_rate(make, options, rates):
    objective = make_objective(sampler=make(**options, log_q=True))
    for key in range(20):
        labels, shift = choose(objective, key)
        drawn = labels[len(RELEVANT) :]
        np.testing.assert_allclose(shift[len(RELEVANT) :], np.log(rates[drawn]), atol=1e-5)


def test_the_shift_of_a_relevant_label_is_its_log_rate_were_it_irrelevant():
    # One of two relevant labels less: two draws are wanted instead of four.
    objective = make_objective(sampler=make_sampler(WEIGHTED, SHARES, log_q=True))
    _, shift = choose(objective, 1)
    rates = 2 * SHARES[RELEVANT] / (REST + SHARES[RELEVANT])
    np.testing.assert_allclose(shift[: len(RELEVANT)], np.log(rates), atol=1e-5)
    single = make_sampler(WEIGHTED, SHARES, log_q=True, leave_out=0)
    _, shift = choose(make_objective(sampler=single), 1)
    np.testing.assert_allclose(
        shift[: len(RELEVANT)], np.log(WANTED * SHARES[RELEVANT] / REST), atol=1e-5
    )


@pytest.mark.parametrize(
    ("kind", "all_negatives"), [(UNIFORM, False), (UNIFORM, True), (WEIGHTED, False)]
)
def test_the_corrected_gradient_agrees_with_finite_differences(kind, all_negatives):
    params = make_params()
    sampler = make_sampler(kind, log_q=True)
    objective = make_objective(sampler=sampler, all_negatives=all_negatives)
    gradient, value = kernel_gradient(params, objective, key=5)
    labels, _ = choose(objective, 5)
    rate = WANTED / len(IRRELEVANT)
    weights = np.where(np.isin(labels, RELEVANT), 1.0, rate if all_negatives else 1.0)
    shift = np.full(N_LABELS, np.log(rate))
    shift[RELEVANT] = np.log(2 / (len(IRRELEVANT) + 1))
    assert value == pytest.approx(slow_loss(params, labels, weights, 0, 0, shift), rel=1e-5)
    expected = finite_differences(params, labels, weights, 0, 0, shift)
    for got, wanted in zip(gradient, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


# -- the labels of the other rows ----------------------------------------------------------------

BATCH_LABELS = [[0, 1], [1, 2, 3], [], [2, 0], [5]]


def gather(row, batch, distinct):
    indptr = np.cumsum([0, *map(len, BATCH_LABELS)])
    indices = np.concatenate(BATCH_LABELS).astype(np.int32)
    rows = LabelledRows(np.zeros(6, np.int64), FEATURES, VALUES, indptr, indices)
    out, seen = np.zeros(20, np.int32), np.zeros(N_LABELS, np.int64)
    named = np.array([len(batch), *batch], np.int64)
    count = samplers.gather_batch(rows, named, row, distinct, seen, 1, out)
    return sorted(out[:count].tolist())


@pytest.mark.parametrize(
    ("row", "batch", "repeated", "once"),
    [
        (0, [0, 1, 2, 3, 4], [2, 2, 3, 5], [2, 3, 5]),
        (2, [0, 1, 2], [0, 1, 1, 2, 3], [0, 1, 2, 3]),
        (4, [4], [], []),
        (1, [1, 1], [], []),
        (3, [3, 4], [5], [5]),
    ],
)
def test_a_batch_gives_the_labels_of_its_other_rows(row, batch, repeated, once):
    assert gather(row, batch, distinct=False) == repeated
    assert gather(row, batch, distinct=True) == once


@pytest.mark.parametrize("log_q", [False, True])
def test_a_row_alone_in_its_batch_keeps_its_labels_only_without_correction(log_q):
    shares = np.full(N_LABELS, 0.2)
    objective = make_objective(sampler=make_sampler(IN_BATCH, shares, log_q=log_q))
    scratch = make_scratch((N_FEATURES, N_LABELS, K), 4, len(FEATURES), N_LABELS)
    visits = Visits(
        np.zeros(1, np.int64), np.ones(1, np.float32), np.ones(1, np.uint64), 0.1, 0.1, 4, 1
    )
    rows = LabelledRows(np.array([0, 3]), FEATURES, VALUES, np.array([0, len(RELEVANT)]), RELEVANT)
    params = make_params()
    run_visits(rows, params, make_accumulators(), objective, visits, scratch, 0, 1)
    moved = np.flatnonzero(np.abs(params.L - make_params().L).sum(axis=1))
    assert moved.tolist() == ([] if log_q else RELEVANT.tolist())


def test_the_table_of_tries_finds_the_wanted_number_of_labels():
    tries = count_tries(SHARES)
    found = np.array([(1 - (1 - SHARES) ** t).sum() for t in tries])
    assert tries[0] == 0
    assert (np.diff(tries) > 0).all()
    np.testing.assert_array_less(np.arange(N_LABELS) - 1e-9, found[:-1])
    assert (found[:-1] < np.arange(N_LABELS) + 1).all()
