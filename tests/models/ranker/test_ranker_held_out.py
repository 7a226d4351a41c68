"""The rows that a ranker has tried its combination on: which of the given rows they are."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import rmls
from rmls import RMLSRanker
from rmls.models.ranker.sources import Rows

N_LABELS = 12


def numbered_rows(n_rows: int, seed: int = 0) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return rows in which every third one is given a second time; labels tell rows apart."""
    generator = np.random.default_rng(seed)
    X = np.zeros((n_rows, 40), np.float32)
    Y = np.zeros((n_rows, N_LABELS), np.int32)
    for row in range(n_rows):
        label = generator.integers(N_LABELS)
        Y[row, [label, (label + row) % N_LABELS]] = 1
        X[row, 2 * label : 2 * label + 3] = 1
        X[row, 28 + generator.integers(12)] = 0.1 + row
    again = np.arange(0, n_rows, 3)
    order = generator.permutation(n_rows + len(again))
    return tuple(sparse.csr_matrix(np.vstack([each, each[again]])[order]) for each in (X, Y))


def fit(X: Any, Y: Any, **options: Any) -> RMLSRanker:
    return RMLSRanker(8, max_iter=2, **options).fit(X, Y)


@pytest.mark.parametrize("folds", [0, 3])
def test_held_out_rows_are_told_by_the_numbers_they_were_given_by(folds: int) -> None:
    X, Y = numbered_rows(120)
    held = fit(X, Y, calibration_folds=folds)._held_out
    assert held is not None
    np.testing.assert_array_equal(Y[held.rows].toarray(), held.truth.toarray())
    # Equal rows are one: it counts twice and has the number of one of them.
    different = {row.tobytes() for row in X[held.rows].toarray()}
    assert len(different) == len(held.rows) == (120 if folds else 12)
    dense = X.toarray()
    copies = [int((dense == dense[row]).all(axis=1).sum()) for row in held.rows]
    np.testing.assert_array_equal(copies, held.weights)
    assert held.part_rows == ((40, 40, 40) if folds else (12,))


def test_the_scores_are_those_of_the_rows_with_these_numbers() -> None:
    X, Y = numbered_rows(120)
    model = fit(X, Y, calibration_folds=0, normalize="none")
    held = model._held_out
    assert held is not None
    # The vectors do not learn from the held-out rows in the end: they propose the same again.
    again = model._scorer.proposer.propose(Rows(X[held.rows]))
    np.testing.assert_array_equal(again.labels, held.labels)
    np.testing.assert_allclose(again.scores, held.other, rtol=1e-4, atol=1e-5)


def test_rows_that_were_trained_on_are_not_taken_for_held_out_ones() -> None:
    X, Y = numbered_rows(20)
    assert fit(X, Y)._held_out is None


def test_held_out_rows_stay_out_of_copies_and_archives(tmp_path: Any) -> None:
    X, Y = numbered_rows(120)
    model = fit(X, Y)
    assert model._held_out is not None
    assert pickle.loads(pickle.dumps(model))._held_out is None
    assert model._held_out is not None
    model.save(tmp_path / "m")
    loaded = rmls.load(tmp_path / "m")
    assert loaded._held_out is None
    # A second fit forgets those of the first.
    assert model.fit(X[:20], Y[:20])._held_out is None
