"""Partial selection of the best labels."""

import numpy as np
import pytest

from rmls.kernels.cpu.linalg.select import best_of_rows


def best(block, k):
    labels = np.empty((len(block), k), np.int32)
    scores = np.empty((len(block), k), np.float32)
    best_of_rows(block, 0, len(block), labels, scores)
    return labels, scores


@pytest.mark.parametrize("n_labels", [1, 2, 17, 300])
@pytest.mark.parametrize("distinct", [3, 10_000])
def test_the_best_k_agree_with_a_full_sort_and_ties_go_to_the_lower_label(n_labels, distinct):
    rng = np.random.default_rng(n_labels)
    block = rng.integers(0, distinct, (40, n_labels)).astype(np.float32)
    for k in sorted({1, max(1, n_labels - 1), n_labels}):
        labels, scores = best(block, k)
        order = np.argsort(-block, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(labels, order)
        np.testing.assert_array_equal(scores, np.take_along_axis(block, order, axis=1))


def test_only_the_given_rows_are_written():
    block = np.arange(12, dtype=np.float32).reshape(4, 3)
    labels = np.full((4, 1), -1, np.int32)
    scores = np.zeros((4, 1), np.float32)
    best_of_rows(block, 1, 3, labels, scores)
    assert labels.ravel().tolist() == [-1, 2, 2, -1]
