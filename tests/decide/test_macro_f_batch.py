"""Sets of a whole batch for macro-F: exhaustive search, ascent, invariances."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

from rmls.core.ranking import Ranking
from rmls.decide import MacroF1Batch, MacroF1TopK, MicroF1, TopK
from rmls.kernels.backend import get_backend
from rmls.metrics import get_metric
from rmls.models.shared.score_blocks import list_candidates


def expected_macro_f(chances: np.ndarray, sets: np.ndarray) -> float:
    """Plug-in macro-F: expected hits over sizes, label by label."""
    sums = sets.sum(axis=0) + chances.sum(axis=0, dtype=np.float64)
    return float(np.mean(2 * (sets * chances).sum(axis=0) / np.maximum(sums, 1e-12)))


def batches(n: int, shape: tuple[int, int]) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for _ in range(n):
        yield rng.beta(0.4, 2.0, shape).astype(np.float32)


def test_no_round_lowers_the_expected_macro_f() -> None:
    for chances in batches(20, (30, 12)):
        ranking = Ranking.from_dense(chances)
        rounds = [TopK(3).select(ranking).toarray()]
        rounds += [
            MacroF1TopK(3, n_passes=n).select(ranking).toarray() for n in (1, 2, 3, 4, 5, 10, 50)
        ]
        values = [expected_macro_f(chances, sets) for sets in rounds]
        assert (np.diff(values) >= -1e-9).all()
        assert values[-1] > values[0]


@pytest.mark.parametrize("k", [1, 3, 11, 12, 13])
def test_every_row_gets_exactly_k_labels(k: int) -> None:
    for chances in batches(5, (20, 12)):
        sets = MacroF1TopK(k).select(Ranking.from_dense(chances))
        assert (np.diff(sets.indptr) == min(k, 12)).all()


def test_rows_with_fewer_labels_get_all_of_theirs() -> None:
    scores = sparse.csr_matrix([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.2, 0.1]])
    sets = MacroF1TopK(2).select(Ranking.from_csr(scores))
    assert np.diff(sets.indptr).tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)], ids=str)
def test_an_empty_batch_gets_nothing(shape: tuple[int, int]) -> None:
    assert MacroF1TopK(2).select(Ranking.from_dense(np.zeros(shape))).nnz == 0


def test_tiny_batches_are_mostly_decided_as_by_exhaustive_search() -> None:
    n_best, gaps = 0, []
    for chances in batches(100, (4, 4)):
        choices = [np.eye(4, dtype=int)[list(c)].sum(axis=0) for c in combinations(range(4), 2)]
        best = max(expected_macro_f(chances, np.array(s)) for s in product(choices, repeat=4))
        sets = MacroF1TopK(2).select(Ranking.from_dense(chances)).toarray()
        gaps.append(best - expected_macro_f(chances, sets))
        n_best += gaps[-1] < 1e-6
    # Ascent stops at a local maximum: docs/decisions.md states the share.
    assert n_best >= 50
    assert np.mean(gaps) < 0.02
    assert min(gaps) > -1e-9


def test_a_batch_may_have_its_labels_renumbered() -> None:
    for chances in batches(5, (20, 12)):
        order = np.random.default_rng(1).permutation(12)
        plain = MacroF1TopK(3).select(Ranking.from_dense(chances)).toarray()[:, order]
        found = MacroF1TopK(3).select(Ranking.from_dense(chances[:, order])).toarray()
        np.testing.assert_array_equal(found, plain)


def test_only_the_best_of_a_row_are_considered() -> None:
    for chances in batches(3, (10, 12)):
        ranking, rule = Ranking.from_dense(chances), MacroF1TopK(2, depth=4)
        assert (rule.select(ranking) != rule.select(ranking.top(4))).nnz == 0
        assert (
            rule.select(list_candidates(chances, rule, get_backend("cpu"), 1))
            != rule.select(ranking)
        ).nnz == 0


def test_rare_labels_are_found_by_macro_f_of_the_batch() -> None:
    rng = np.random.default_rng(0)
    chances = (rng.beta(0.5, 2.0, (300, 20)) * np.geomspace(1, 0.1, 20)).astype(np.float32)
    truth = sparse.csr_matrix((rng.random(chances.shape) < chances).astype(np.int32))
    metric, ranking = get_metric("macro_f1"), Ranking.from_dense(chances)
    ours = metric(truth, MacroF1TopK(3).select(ranking))
    assert ours > metric(truth, TopK(3).select(ranking)) + 0.02


# -- as many rows of a label as promise it the best F ----------------------------------------------


def exact_f(chances: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Expected F of one label for every set of rows, over all truths of independent rows."""
    truths = all_sets(len(chances))
    odds = np.prod(np.where(truths, chances, 1 - chances), axis=1)
    sizes = sets.sum(axis=1)[:, None] + truths.sum(axis=1)
    return 2 * (sets @ truths.T) / np.maximum(sizes, 1) @ odds


def all_sets(n_rows: int) -> np.ndarray:
    return np.array([*product((0, 1), repeat=n_rows)])


def test_the_rows_of_a_label_are_nearly_the_best_of_all_sets_of_rows() -> None:
    gaps = []
    for chances in batches(20, (7, 3)):
        sets = MacroF1Batch().select(Ranking.from_dense(chances)).toarray()
        for label in range(3):
            p = chances[:, label].astype(float)
            found = exact_f(p, sets[:, label][None])
            gaps.append((exact_f(p, all_sets(7)).max() - found).item())
    # The size of the truth enters by its mean alone.
    assert np.mean(gaps) < 0.003
    assert max(gaps) < 0.04


def test_a_label_gets_its_best_row_however_improbable() -> None:
    chances = np.float32([[0.9, 0.01, 0.001], [0.8, 0.02, 0.002], [0.1, 0.0, 0.0]])
    sets = MacroF1Batch().select(Ranking.from_dense(chances)).toarray()
    assert sets[:, 1].any()
    assert sets[1, 1] == 1
    # Below ``least`` nothing is considered.
    assert not sets[:, 2].any()
    assert MacroF1Batch(0.0005).select(Ranking.from_dense(chances)).toarray()[1, 2] == 1


def test_rows_and_labels_of_a_batch_may_be_reordered() -> None:
    rule = MacroF1Batch()
    for chances in batches(5, (20, 12)):
        rng = np.random.default_rng(1)
        rows, labels = rng.permutation(20), rng.permutation(12)
        plain = rule.select(Ranking.from_dense(chances)).toarray()[rows][:, labels]
        found = rule.select(Ranking.from_dense(chances[rows][:, labels])).toarray()
        np.testing.assert_array_equal(found, plain)


def test_candidates_of_a_block_are_enough_for_a_batch() -> None:
    rule = MacroF1Batch()
    for chances in batches(3, (20, 12)):
        listed = list_candidates(chances, rule, get_backend("cpu"), 1)
        assert (rule.select(listed) != rule.select(Ranking.from_dense(chances))).nnz == 0


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 3)], ids=str)
def test_a_batch_without_probable_labels_gets_nothing(shape: tuple[int, int]) -> None:
    assert MacroF1Batch().select(Ranking.from_dense(np.zeros(shape))).nnz == 0


def test_a_batch_beats_the_best_common_threshold_on_drawn_truths() -> None:
    rng = np.random.default_rng(0)
    chances = (rng.beta(0.2, 3.0, (500, 60)) * np.geomspace(1, 0.02, 60)).astype(np.float32)
    truth = sparse.csr_matrix((rng.random(chances.shape) < chances).astype(np.int32))
    metric, ranking = get_metric("macro_f1"), Ranking.from_dense(chances)
    cuts = np.geomspace(0.003, 0.9, 30)
    common = max(metric(truth, MicroF1(cut).select(ranking)) for cut in cuts)
    assert metric(truth, MacroF1Batch().select(ranking)) > common + 0.02
