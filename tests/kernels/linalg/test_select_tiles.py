"""The best labels of scores that come in tiles, and what becomes of listed labels."""

import numpy as np
import pytest
from scipy import sparse

from rmls.kernels.arrays import ListScores, Mixture, SparseWeights
from rmls.kernels.cpu.linalg.buckets import best_by_bucket, rank_by_bucket, sort_by_label
from rmls.kernels.cpu.linalg.keys import key_of, label_of, score_of
from rmls.kernels.cpu.linalg.select import best_of_rows, offer_scores, room_for, take_best
from rmls.kernels.cpu.ranker.listed import (
    mark_relevant,
    mix_listed,
    pair_rows,
    rank_listed,
    score_listed,
)
from rmls.kernels.cpu.ranker.lookup import NO_TABLES

HUGE = np.finfo(np.float32).max
TINY = np.finfo(np.float32).smallest_subnormal


# -- selection from tiles ------------------------------------------------------------------------


def best_of_tiles(block, k, width):
    memory = room_for(len(block), k)
    rows, numbers = np.arange(len(block)), np.arange(block.shape[1], dtype=np.int32)
    for first in range(0, block.shape[1], width):
        part = slice(first, first + width)
        offer_scores(np.ascontiguousarray(block[:, part]), numbers[part], rows, k, *memory)
    labels = np.full((len(block), k), -1, np.int32)
    scores = np.full((len(block), k), np.nan, np.float32)
    take_best(k, memory[0], memory[1], labels, scores)
    return labels, scores


def best_of_buckets(block, k):
    labels = np.full((len(block), k), -1, np.int32)
    scores = np.full((len(block), k), np.nan, np.float32)
    room = np.empty(block.shape[1], np.uint8), np.empty(block.shape[1] + 1, np.int64)
    best_by_bucket(block, *room, labels, scores)
    return labels, scores


def ranks_of_buckets(block, k):
    labels = np.full((len(block), k), -1, np.int32)
    scores = np.full((len(block), k), np.nan, np.float32)
    room = np.empty(block.shape[1], np.uint8), np.empty(block.shape[1] + 1, np.int64)
    rank_by_bucket(block, *room, labels, scores)
    return labels, scores


def assert_best(block, k, labels, scores):
    columns = np.broadcast_to(np.arange(block.shape[1]), block.shape)
    wanted = np.sort(np.lexsort((columns, -block))[:, :k], axis=1)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_array_equal(scores, np.take_along_axis(block, wanted, axis=1))


def draw_block(kind, rng, n_labels, n_rows=7):
    shape = (n_rows, n_labels)
    if kind == "random":
        return rng.normal(size=shape).astype(np.float32)
    if kind == "tied":
        return rng.integers(-2, 3, shape).astype(np.float32)
    if kind == "equal":
        return np.full(shape, np.float32(-1.5))
    if kind == "negative":
        return -rng.exponential(size=shape).astype(np.float32)
    if kind == "rising":
        return np.sort(rng.normal(size=shape), axis=1).astype(np.float32)
    if kind == "falling":
        return -np.sort(rng.normal(size=shape), axis=1).astype(np.float32)
    values = [0.0, -0.0, TINY, -TINY, HUGE, -HUGE, 1e-30, -1e30, np.inf, -np.inf]
    return rng.choice(np.array(values, np.float32), shape)


KINDS = ("random", "tied", "equal", "negative", "rising", "falling", "extreme")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [1, 2, 15, 16, 17, 33, 200])
def test_tiles_of_any_width_give_the_best_of_the_whole(kind, n_labels):
    rng = np.random.default_rng(n_labels)
    block = draw_block(kind, rng, n_labels)
    for k in sorted({1, min(3, n_labels), max(1, n_labels // 2), max(1, n_labels - 1), n_labels}):
        for width in (1, 5, 16, 64, n_labels):
            assert_best(block, k, *best_of_tiles(block, k, width))
        assert_best(block, k, *best_of_buckets(block, k))


def test_buckets_keep_the_order_of_scores_that_are_next_to_each_other():
    # One large score leaves all others in one bucket; floats that differ by the last bit only.
    close = np.nextafter(np.float32(1), np.float32(2), dtype=np.float32) - np.float32(1)
    block = (1 + close * np.random.default_rng(0).permutation(500)).astype(np.float32)[None]
    block[0, 77] = 1e6
    assert_best(block, 100, *best_of_buckets(block, 100))


@pytest.mark.parametrize("kind", [*KINDS, "crowded"])
@pytest.mark.parametrize("n_labels", [1, 2, 33, 150, 700])
def test_ranks_by_bucket_are_those_of_a_full_sort_and_ties_go_to_the_lower_label(kind, n_labels):
    block = draw_block(kind.replace("crowded", "random"), np.random.default_rng(3), n_labels)
    if kind == "crowded":
        # One score far off: all others share a bucket.
        block[:, n_labels // 2] = 1e4
    for k in sorted({1, max(1, n_labels // 3), max(1, n_labels - 1), n_labels}):
        labels, scores = ranks_of_buckets(block, k)
        order = np.argsort(-block, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(labels, order)
        np.testing.assert_array_equal(scores, np.take_along_axis(block, order, axis=1))


@pytest.mark.parametrize("n_missing", [1, 40, 200])
def test_ranks_by_bucket_name_every_label_once_where_scores_are_not_numbers(n_missing):
    block = draw_block("random", np.random.default_rng(1), 200, n_rows=5)
    block[:, np.random.default_rng(2).permutation(200)[:n_missing]] = np.nan
    labels, scores = ranks_of_buckets(block, 200)
    assert (np.sort(labels, axis=1) == np.arange(200)).all()
    assert np.isnan(scores).sum() == 5 * n_missing


@pytest.mark.parametrize("n_missing", [1, 40, 200])
def test_buckets_fill_lists_of_scores_that_are_not_numbers(n_missing):
    block = draw_block("random", np.random.default_rng(1), 200, n_rows=5)
    block[:, np.random.default_rng(2).permutation(200)[:n_missing]] = np.nan
    labels, _ = best_of_buckets(block, 150)
    assert (np.diff(labels, axis=1) > 0).all()
    assert labels.min() >= 0
    assert labels.max() < 200


@pytest.mark.parametrize("seed", range(3))
def test_tiles_agree_with_the_selection_from_whole_rows(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n_labels = int(rng.integers(1, 120))
        k, width = (int(number) for number in rng.integers(1, n_labels + 1, 2))
        block = draw_block(str(rng.choice(KINDS)), rng, n_labels, n_rows=3)
        labels, scores = best_of_tiles(block, k, width)
        wanted, ranked = np.empty((3, k), np.int32), np.empty((3, k), np.float32)
        best_of_rows(block, 0, 3, wanted, ranked)
        np.testing.assert_array_equal(labels, np.sort(wanted, axis=1))
        np.testing.assert_array_equal(np.sort(scores, axis=1), np.sort(ranked, axis=1))


def test_labels_may_come_in_any_order_and_to_some_rows_only():
    rng = np.random.default_rng(0)
    block = rng.integers(-3, 4, (9, 70)).astype(np.float32)
    memory = room_for(9, 6)
    for part in np.array_split(rng.permutation(70).astype(np.int32), 8):
        for rows in (np.array([4, 0, 8]), np.array([1, 7, 2, 6])):
            offer_scores(block[np.ix_(rows, part)], part, rows, 6, *memory)
    assert memory[1][[3, 5]].tolist() == [0, 0]
    served = np.array([0, 1, 2, 4, 6, 7, 8])
    labels, scores = np.empty((7, 6), np.int32), np.empty((7, 6), np.float32)
    take_best(6, memory[0][served], memory[1][served], labels, scores)
    wanted, exact = best_of_tiles(block[served], 6, 70)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_array_equal(scores, exact)


def test_labels_with_large_numbers_are_told_apart():
    memory = room_for(1, 2)
    numbers = np.int32([2**31 - 20, 2**31 - 19, 2**31 - 2])
    offer_scores(np.float32([[5.0, 1.0, 5.0]]), numbers, np.zeros(1, np.int64), 2, *memory)
    labels, scores = np.empty((1, 2), np.int32), np.empty((1, 2), np.float32)
    take_best(2, memory[0], memory[1], labels, scores)
    assert labels.tolist() == [[2**31 - 20, 2**31 - 2]]
    assert scores.tolist() == [[5.0, 5.0]]


@pytest.mark.parametrize("value", [np.nan, -np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("width", [4, 40])
def test_what_is_no_number_never_names_labels_that_are_not_there(value, width):
    rng = np.random.default_rng(0)
    block = rng.normal(size=(6, 40)).astype(np.float32)
    block[:2] = value
    block[2:4, rng.random(40) < 0.5] = value
    block[4, :30] = value
    labels, _ = best_of_tiles(block, 7, width)
    assert (np.diff(labels, axis=1) > 0).all()
    assert labels.min() >= 0
    assert labels.max() < 40


# -- lists of labels by row, and of rows by label ------------------------------------------------


def draw_lists(rng):
    n_rows, n_labels = int(rng.integers(1, 12)), int(rng.integers(1, 9))
    Y = rng.random((n_rows, n_labels)) < rng.choice([0.0, 0.3, 1.0])
    size = int(rng.integers(1, n_labels + 1))
    listed = np.array([rng.permutation(n_labels)[:size] for _ in range(n_rows)], np.int32)
    pattern = sparse.csr_matrix(Y)
    return Y, pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32), listed


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_label_are_those_that_have_it_and_then_those_that_list_it(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        Y, indptr, indices, listed = draw_lists(rng)
        listed[rng.random(listed.shape) < 0.2] = -1
        pairs = pair_rows(indptr, indices, listed, Y.shape[1])
        assert pairs.indptr[0] == 0
        assert pairs.indptr[-1] == len(pairs.rows)
        for label in range(Y.shape[1]):
            has = np.flatnonzero(Y[:, label])
            lists = np.flatnonzero((listed == label).any(axis=1) & ~Y[:, label])
            rows = pairs.rows[pairs.indptr[label] : pairs.indptr[label + 1]]
            assert rows.tolist() == [*has, *lists]
            assert pairs.n_relevant[label] == len(has)


@pytest.mark.parametrize("seed", range(4))
def test_listed_labels_are_marked_where_the_row_has_them(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        Y, indptr, indices, listed = draw_lists(rng)
        out = rng.random(listed.shape) < 0.5
        mark_relevant(indptr, indices, listed, Y.shape[1], out)
        np.testing.assert_array_equal(out, np.take_along_axis(Y, listed.astype(int), axis=1))


# -- scores of listed labels ---------------------------------------------------------------------

N_ROWS, N_FEATURES, N_LABELS = 13, 30, 9


def draw_weights(rng, values, indices):
    """Sparse weights, some labels without any, and the dense matrix they stand for."""
    held = rng.random((N_LABELS, N_FEATURES)) < 0.4
    held[rng.integers(0, N_LABELS, 2)] = False
    held[:, -1] |= held.any(axis=1)
    numbers = rng.normal(size=held.shape) if values is np.float32 else rng.integers(-99, 99, 270)
    stored = np.where(held, numbers.reshape(held.shape), 0).astype(values)
    scale = rng.uniform(0.01, 2.0, N_LABELS).astype(np.float32)
    bias = rng.normal(size=N_LABELS).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(held.sum(axis=0))]).astype(np.int64)
    labels = np.nonzero(held.T)[1].astype(indices)
    weights = SparseWeights(indptr, labels, stored.T[held.T], scale, bias)
    return weights, stored.astype(np.float64) * scale[:, None]


@pytest.mark.parametrize("indices", [np.uint16, np.uint32])
@pytest.mark.parametrize("values", [np.float32, np.int16, np.int8])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.3])
def test_listed_labels_are_scored_by_their_weights(values, indices, density):
    rng = np.random.default_rng(0)
    weights, dense = draw_weights(rng, values, indices)
    X = sparse.random(N_ROWS, N_FEATURES, density, "csr", np.float32, random_state=rng)
    X.data -= np.float32(0.5)
    listed = np.array([rng.permutation(N_LABELS)[:4] for _ in range(N_ROWS)], np.int32)
    wanted = X.toarray() @ dense.T + weights.bias
    memory = np.zeros(N_LABELS, np.float32)
    for first, start, stop in ((0, 0, N_ROWS), (0, 3, 8), (5, 5, 9), (2, 4, 4)):
        out = np.full((N_ROWS - first, 4), np.nan, np.float32)
        arrays = (X.indptr, X.indices, X.data, weights, NO_TABLES, listed[first:])
        score_listed(*arrays, first, start, stop, memory, out)
        rows = np.arange(start, stop)
        expected = np.take_along_axis(wanted[rows], listed[rows].astype(int), axis=1)
        np.testing.assert_allclose(
            out[start - first : stop - first], expected, rtol=1e-4, atol=1e-3
        )
        assert np.isnan(np.delete(out, rows - first, axis=0)).all()
        assert not memory.any()


def test_two_scores_are_mixed_by_the_lines_of_the_label():
    rng = np.random.default_rng(0)
    listed = np.array([rng.permutation(N_LABELS)[:4] for _ in range(N_ROWS)], np.int32)
    own, other = rng.normal(size=(2, N_ROWS, 4)).astype(np.float32)
    coefficients = rng.normal(size=(N_LABELS, 6)).astype(np.float32)
    knots = np.float32([-0.3, 0.4, 0.1])
    terms = [
        np.ones_like(own),
        own,
        np.maximum(own - knots[0], 0),
        np.maximum(own - knots[1], 0),
        other,
        np.maximum(other - knots[2], 0),
    ]
    wanted = np.einsum("ijt,ijt->ij", np.stack(terms, axis=2), coefficients[listed])
    out = np.full_like(own, np.nan)
    scores = ListScores(own, other, np.zeros((*own.shape, 0), np.float32))
    mix_listed(listed, scores, Mixture(coefficients, knots), out)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)
    mix_listed(listed, scores, Mixture(coefficients, knots), own)
    np.testing.assert_array_equal(own, out)


@pytest.mark.parametrize("distinct", [2, 1000])
@pytest.mark.parametrize("k", [1, 5, 6])
def test_listed_labels_are_ranked_and_ties_go_to_the_lower_label(distinct, k):
    rng = np.random.default_rng(k)
    listed = np.sort([rng.permutation(50)[:6] for _ in range(40)], axis=1).astype(np.int32)
    scores = rng.integers(-distinct, distinct, listed.shape).astype(np.float32)
    labels_out, scores_out = np.empty((40, k), np.int32), np.empty((40, k), np.float32)
    room = np.empty(listed.shape[1], np.uint8), np.empty(listed.shape[1] + 1, np.int64)
    rank_listed(listed, scores, *room, labels_out, scores_out)
    order = np.lexsort((listed, -scores))[:, :k]
    np.testing.assert_array_equal(labels_out, np.take_along_axis(listed, order, axis=1))
    np.testing.assert_array_equal(scores_out, np.take_along_axis(scores, order, axis=1))


@pytest.mark.parametrize("spread", ["even", "crowded", "few", "all in one bucket"])
def test_keys_are_sorted_by_label_however_labels_are_spread(spread):
    rng = np.random.default_rng(0)
    labels = {
        "even": rng.permutation(30_000)[:150],
        "crowded": np.append(rng.permutation(400)[:149], 2**30),
        "few": rng.permutation(40),
        "all in one bucket": rng.permutation(200) + 2**30,
    }[spread]
    scores = rng.normal(size=len(labels)).astype(np.float32)
    keys = np.array([key_of(score, label) for score, label in zip(scores, labels, strict=True)])
    sort_by_label(keys, np.empty_like(keys))
    order = np.argsort(labels)
    assert [label_of(key) for key in keys] == labels[order].tolist()
    np.testing.assert_array_equal(np.float32([score_of(key) for key in keys]), scores[order])
