"""How far scores may differ where no last bit is promised; docs/reference/reproducibility.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from rmls.core.ranking import Ranking

# Scores are sums of float32 products. Another order of a sum moves it by some roundings of 6e-8
# of its largest term, and the terms may be ten times their sum.
RTOL, ATOL = 1e-5, 1e-6


def assert_close(found: Any, wanted: Any, rtol: float = RTOL, atol: float = ATOL) -> None:
    """Assert that scores are equal up to the order in which they were summed."""
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def assert_cut(sets: Any, scores: np.ndarray, threshold: float) -> None:
    """Assert that sets hold the labels whose scores are above the threshold, beyond rounding."""
    clear = np.abs(scores - threshold) > ATOL
    np.testing.assert_array_equal(sets.toarray()[clear] == 1, (scores >= threshold)[clear])


def assert_same_lists(found: np.ndarray, wanted: np.ndarray, scores: np.ndarray) -> None:
    """Assert that rows list the same labels, or others whose scores are as good."""
    assert found.shape == wanted.shape
    listed = (np.take_along_axis(scores, labels.astype(int), axis=1) for labels in (found, wanted))
    assert_close(*(np.sort(values, axis=1) for values in listed))
    assert all(len(set(row)) == len(row) for row in found.tolist())


def assert_same_ranking(found: Ranking, wanted: Ranking, atol: float = ATOL) -> None:
    """Assert that scores are close, and labels equal wherever their scores tell them apart."""
    np.testing.assert_array_equal(found.indptr, wanted.indptr)
    assert_close(found.scores, wanted.scores, atol=atol)
    other = found.labels != wanted.labels
    for row in np.unique(wanted.rows[other]):
        part = slice(wanted.indptr[row], wanted.indptr[row + 1])
        scores = dict(zip(found.labels[part].tolist(), found.scores[part], strict=True))
        for label, score in zip(wanted.labels[part].tolist(), wanted.scores[part], strict=True):
            # A label that is not listed at all was as good as the last one that is.
            assert_close(scores.get(label, found.scores[part][-1]), score, atol=atol)
