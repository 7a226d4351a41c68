"""WARP is what Weston et al. published: the draws, the rank, the weight, the step, the bound."""

import numpy as np
import pytest
from kernel_problem import FEATURES, N_LABELS, RELEVANT, VALUES, K, make_params, make_rows

from rmls.kernels.arrays import LabelledRows, Params, Visits
from rmls.kernels.cpu.sgd import warp as kernel
from rmls.kernels.cpu.sgd.draw import GOLDEN, below, mix
from rmls.kernels.cpu.sgd.visits import make_scratch
from rmls.kernels.cpu.sgd.warp import Warp, rank_weights, run_warp

N_IRRELEVANT = N_LABELS - len(RELEVANT)


def make_warp(**changes):
    values = {
        "rank_weight": rank_weights(N_LABELS),
        "decay": np.float32(0),
        "max_square": np.float32(100),
        "max_tries": 1000,
        "all_negatives": False,
    }
    return Warp(**{**values, **changes})


def run_one_visit(params, warp, key=7, batch_size=1, rate=0.01, weight=1.0):
    params = Params(*(array.copy() for array in params))
    params.b[:] = 0
    visits = Visits(
        np.zeros(1, np.int64),
        np.float32([weight]),
        np.array([key], np.uint64),
        rate,
        rate,
        batch_size,
        1,
    )
    scratch = make_scratch((len(params.W), N_LABELS, K), batch_size, len(FEATURES), N_LABELS)
    loss, _ = run_warp(make_rows(), params, warp, visits, scratch, 0, 1)
    return params, loss


def slow_hidden(W):
    return sum(float(v) * W[f].astype(float) for f, v in zip(FEATURES, VALUES, strict=True))


def only_relevant(label):
    """Rows with one relevant label."""
    rows = make_rows()
    return rows._replace(y_indptr=np.array([0, 1]), y_indices=np.array([label], np.int32))


@pytest.mark.parametrize(
    ("rank", "weight"), [(0, 0), (1, 1), (2, 1.5), (3, 11 / 6), (4, 25 / 12), (100, 5.187377518)]
)
def test_the_weight_of_a_rank_is_the_harmonic_sum(rank, weight):
    assert rank_weights(100)[rank] == pytest.approx(weight)


def test_a_step_is_the_one_computed_by_hand():
    # All scores are 0, so the first draw violates: rank 2, L(2) = 1.5.
    W = np.float32([[1, 0], [0, 2]])
    L = np.zeros((3, 2), np.float32)
    params = Params(W, np.zeros(2, np.float32), L, np.zeros(3, np.float32))
    rows = LabelledRows(
        np.array([0, 2]), np.int32([0, 1]), np.float32([1, 0.5]), np.array([0, 1]), np.int32([1])
    )
    visits = Visits(np.zeros(1, np.int64), np.ones(1, np.float32), np.uint64([3]), 0.1, 0.1, 1, 1)
    warp = make_warp(rank_weight=rank_weights(3))
    scratch = make_scratch((2, 3, 2), 1, 2, 3)
    loss, weight = run_warp(rows, params, warp, visits, scratch, 0, 1)
    assert (loss, weight) == (1.5, 1.0)
    np.testing.assert_allclose(L[1], [0.15, 0.15], rtol=1e-6)
    moved = L[[0, 2]].any(axis=1)
    assert moved.sum() == 1
    np.testing.assert_allclose(L[[0, 2]][moved], [[-0.15, -0.15]], rtol=1e-6)
    # The label vectors were 0, so the gradient in h is 0 and W stays.
    np.testing.assert_array_equal(W, [[1, 0], [0, 2]])
    # Now s_1 = 0.3, the violator -0.3, the other 0; h = (1, 1).
    before = L.copy()
    run_warp(rows, params, warp, visits, scratch, 0, 1)
    violator = int(np.flatnonzero((L[[0, 2]] != before[[0, 2]]).any(axis=1))[0]) * 2
    step = 0.1 * 1.5 * (before[1] - before[violator])
    np.testing.assert_allclose(W, np.array([[1, 0], [0, 2]]) + np.outer([1, 0.5], step), rtol=1e-6)


def test_a_step_is_the_gradient_of_the_weighted_hinge_of_its_violator():
    params, rate, label = make_params(), 1e-3, int(RELEVANT[0])
    warp, rows = make_warp(), only_relevant(label)
    moved = Params(*(array.copy() for array in params))
    moved.b[:] = 0
    one = np.ones(1, np.float32)
    visits = Visits(np.zeros(1, np.int64), one, np.uint64([11]), rate, rate, 1, 1)
    scratch = make_scratch((len(params.W), N_LABELS, K), 1, len(FEATURES), N_LABELS)
    loss, _ = run_warp(rows, moved, warp, visits, scratch, 0, 1)
    changed = np.flatnonzero((moved.L != params.L).any(axis=1))
    (violator,) = changed[changed != label]
    gap = slow_hidden(params.W) @ (params.L[label] - params.L[violator])
    weight = loss / (1 - gap)
    assert np.abs(rank_weights(N_LABELS) - weight).min() < 1e-5

    def slow_loss(W, L):
        h = slow_hidden(W)
        return weight * max(0.0, 1 - h @ L[label] + h @ L[violator])

    for index, got in ((0, moved.W), (2, moved.L)):
        wide = [params.W.astype(float), params.L.astype(float)]
        array = wide[index // 2]
        start = array.copy()
        for place in np.ndindex(array.shape):
            values = []
            for sign in (1, -1):
                array[place] = start[place] + sign * 1e-5
                values.append(slow_loss(*wide))
            array[place] = start[place]
            slope = (values[0] - values[1]) / 2e-5
            assert (start[place] - got[place]) / rate == pytest.approx(slope, rel=2e-3, abs=2e-3)


def test_all_negatives_is_the_mean_hinge_of_all_violators_times_the_weight_of_their_number():
    params = make_params()
    _, loss = run_one_visit(params, make_warp(all_negatives=True), batch_size=2)
    scores = params.L.astype(float) @ slow_hidden(params.W)
    irrelevant = np.setdiff1d(np.arange(N_LABELS), RELEVANT)
    expected = 0.0
    for label in RELEVANT:
        hinges = np.maximum(0, 1 - scores[label] + scores[irrelevant])
        violators = int((hinges > 0).sum())
        expected += rank_weights(N_LABELS)[violators] * hinges.sum() / max(violators, 1)
    assert expected > 0
    assert loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("all_negatives", [False, True])
def test_a_batch_of_one_row_moves_features_as_an_online_step(all_negatives):
    params = make_params()
    warp = make_warp(all_negatives=all_negatives)
    online, batch = (run_one_visit(params, warp, batch_size=size, rate=1e-4)[0] for size in (1, 2))
    np.testing.assert_allclose(online.W - params.W, batch.W - params.W, rtol=0.01, atol=1e-6)
    np.testing.assert_allclose(online.L - params.L, batch.L - params.L, rtol=0.01, atol=1e-6)


def find(L, h, bound, key, relevant=(), limit=1000):
    seen = np.zeros(len(L), np.int64)
    seen[list(relevant)] = 1
    return kernel.find_violator(L, h, np.float32(bound), np.uint64(key), seen, 1, limit)


def test_draws_stop_at_the_first_violator():
    h = np.ones(1, np.float32)
    L = np.zeros((50, 1), np.float32)
    L[[3, 30]] = 1.0
    for key in range(20):
        label, score, tries, _ = find(L, h, 0.5, key)
        state, drawn = np.uint64(key), []
        with np.errstate(over="ignore"):
            while not drawn or drawn[-1] not in (3, 30):
                state += GOLDEN
                drawn.append(int(below(np.uint64(mix(state)), 50)))
        assert (label, score, tries) == (drawn[-1], 1.0, len(drawn))


def test_the_estimated_rank_is_near_the_number_of_violators():
    h = np.ones(1, np.float32)
    L = np.zeros((400, 1), np.float32)
    L[:40] = 1.0
    tries = [find(L, h, 0.5, key * 7919)[2] for key in range(2000)]
    assert np.mean(tries) == pytest.approx(400 / 40, rel=0.08)


def test_a_relevant_label_is_never_drawn():
    h = np.ones(1, np.float32)
    L = np.zeros((12, 1), np.float32)
    relevant = list(range(10))
    L[relevant] = 9.0
    for key in range(200):
        assert find(L, h, 1.0, key, relevant, limit=5)[0] == -1
        assert find(L, h, -1.0, key, relevant)[0] in (10, 11)


def test_nothing_moves_where_the_margin_holds():
    params = make_params()
    h = slow_hidden(params.W)
    params.L[:] = 0
    params.L[RELEVANT] = 2 * h / (h @ h)
    moved, loss = run_one_visit(params, make_warp())
    assert loss == 0
    np.testing.assert_array_equal(moved.L, params.L)
    np.testing.assert_array_equal(moved.W, params.W)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_moved_vectors_stay_within_the_bound(batch_size):
    params = make_params()
    moved, _ = run_one_visit(
        params, make_warp(max_square=np.float32(0.25)), batch_size=batch_size, rate=1.0
    )
    for name in ("W", "L"):
        start, end = getattr(params, name), getattr(moved, name)
        changed = (start != end).any(axis=1)
        assert changed.any()
        assert ((end[changed] ** 2).sum(axis=1) <= 0.25 * (1 + 1e-5)).all()


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_row_that_is_ranked_right_pays_the_penalty_all_the_same(batch_size):
    params = make_params()
    # Far ahead of every other label: no violator, no step of the loss.
    params.L[RELEVANT] = 100 * slow_hidden(params.W)
    after, loss = run_one_visit(
        params,
        make_warp(decay=np.float32(0.5), max_square=np.float32(1e9)),
        batch_size=batch_size,
        rate=0.1,
    )
    assert loss == 0
    for name, touched in (("W", FEATURES), ("L", RELEVANT)):
        before, now = getattr(params, name), getattr(after, name)
        np.testing.assert_allclose(now[touched], 0.95 * before[touched], rtol=1e-5)
        others = np.setdiff1d(np.arange(len(before)), touched)
        np.testing.assert_array_equal(now[others], before[others])
