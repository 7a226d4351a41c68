"""Sets of the best expected F and Jaccard value, against every subset and every label vector."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.decide import ExpectedF1, ExpectedJaccard, Rule
from rmls.decide import expected as expected_sets
from rmls.kernels.backend import get_backend
from rmls.metrics import get_metric
from rmls.models.shared.score_blocks import list_candidates

RULES: dict[str, Rule] = {"f1": ExpectedF1(), "jaccard": ExpectedJaccard()}
# The bound of docs/decisions.md: probabilities are float32.
WORST = 1e-6
LAWS = [(1.0, 1.0), (0.3, 0.3), (0.5, 4.0), (0.1, 1.0)]
every_rule = pytest.mark.parametrize("name", RULES)

# Multiples of 1/64: sums are exact, and ties are common.
BLOCKS = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 9)),
    elements=st.integers(0, 64).map(lambda value: value / 64),
)


@cache
def measure_all(n_labels: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """All 0/1 vectors, and F and Jaccard value of every one as a set against every one as truth."""
    sets = np.array(list(product([0, 1], repeat=n_labels)), dtype=np.float64)
    both, sizes = sets @ sets.T, sets.sum(axis=1)
    sums = sizes[:, None] + sizes
    f = 2 * both / np.maximum(sums, 1)
    return sets, {"f1": f, "jaccard": both / np.maximum(sums - both, 1)}


def expect_all(chances: np.ndarray, name: str) -> np.ndarray:
    """Expected value of every subset for every row of probabilities of independent labels."""
    vectors, values = measure_all(chances.shape[1])
    factors = np.where(vectors[None] > 0, chances[:, None], 1 - chances[:, None])
    return np.asarray(factors.prod(axis=2) @ values[name].T)


def number_of(sets: sparse.csr_matrix) -> np.ndarray:
    """Which of the vectors of `measure_all` the rows of a 0/1 matrix are."""
    return np.asarray(sets.toarray() @ (2 ** np.arange(sets.shape[1])[::-1]))


def regrets_of(rule: Rule, name: str, chances: np.ndarray) -> np.ndarray:
    expected = expect_all(chances, name)
    chosen = number_of(rule.select(Ranking.from_dense(chances)))
    return np.asarray(expected.max(axis=1) - expected[np.arange(len(chances)), chosen])


def expect_sizes(chances: np.ndarray, name: str) -> np.ndarray:
    """Expected value of the best 1, 2, … labels of one row, from the law of the hits and misses.

    The numbers of relevant labels inside and outside of the first k are independent, so that the
    sum over all truths becomes one over two numbers.
    """
    ordered = np.sort(chances.astype(np.float64))[::-1]
    found = []
    for k in range(1, len(ordered) + 1):
        hits, others = count_law(ordered[:k])[:, None], count_law(ordered[k:])[None, :]
        h, o = np.arange(k + 1)[:, None], np.arange(len(ordered) - k + 1)[None, :]
        value = 2 * h / (k + h + o) if name == "f1" else h / (k + o)
        found.append(float((hits * others * value).sum()))
    return np.array(found)


def count_law(chances: np.ndarray) -> np.ndarray:
    """Probability of 0, 1, … relevant ones among independent labels."""
    law = np.ones(1)
    for p in chances:
        law = np.convolve(law, [1 - p, p])
    return law


# -- against every subset ------------------------------------------------------------------------


def test_the_reference_has_the_conventions_of_the_metrics() -> None:
    sets, values = measure_all(3)
    for row, truth in product(range(8), range(8)):
        f = get_metric("example_f1")(sets[[truth]].astype(int), sets[[row]].astype(int))
        jaccard = get_metric("example_accuracy")(sets[[truth]].astype(int), sets[[row]].astype(int))
        assert (values["f1"][row, truth], values["jaccard"][row, truth]) == (f, jaccard)


@every_rule
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5, 8])
def test_the_set_is_the_best_of_all_subsets(
    name: str, law: tuple[float, float], n_labels: int
) -> None:
    chances = np.random.default_rng(n_labels).beta(*law, (300, n_labels)).astype(np.float32)
    regret = regrets_of(RULES[name], name, chances)
    assert regret.min() >= -1e-6
    assert regret.max() <= WORST


@every_rule
def test_one_label_is_always_decided_as_the_best_subset(name: str) -> None:
    chances = np.linspace(0, 1, 50)[:, None].astype(np.float32)
    assert regrets_of(RULES[name], name, chances).max() == 0


@every_rule
def test_rows_that_mislead_the_ratio_of_expectations_are_decided_right(name: str) -> None:
    # One sure label and two that 2 S / (k + M) takes, at a loss of up to 0.07 (F) and 0.1 (J).
    tails = [(0.0, 0.0), (0.03, 0.01), (0.09, 0.07)]
    chances = np.array([[1, x, x, *tail] for x in np.linspace(0.3, 0.45, 61) for tail in tails])
    assert regrets_of(RULES[name], name, chances.astype(np.float32)).max() <= WORST


@every_rule
def test_the_best_subset_holds_the_most_probable_labels(name: str) -> None:
    chances = np.sort(np.random.default_rng(0).beta(0.5, 1.0, (200, 6)))[:, ::-1]
    expected = expect_all(chances, name)
    first = number_of(sparse.csr_matrix(np.tri(6, dtype=int)))
    np.testing.assert_allclose(expected.max(axis=1), expected[:, first].max(axis=1), rtol=1e-12)


# -- many labels ---------------------------------------------------------------------------------


@every_rule
@pytest.mark.parametrize("law", [(0.1, 2.0), (0.3, 3.0), (2.0, 2.0)], ids=str)
def test_the_size_is_the_best_of_all_sizes_of_many_labels(
    name: str, law: tuple[float, float]
) -> None:
    chances = np.random.default_rng(0).beta(*law, (20, 60)).astype(np.float32)
    sizes = RULES[name].keep(Ranking.from_dense(chances)).lengths
    for row, size in zip(chances, sizes, strict=True):
        values = expect_sizes(row, name)
        assert values[size - 1] == pytest.approx(values.max(), abs=WORST)


def test_jaccard_sets_are_never_larger() -> None:
    chances = np.random.default_rng(0).beta(0.3, 1.0, (300, 12)).astype(np.float32)
    f, jaccard = (rule.keep(Ranking.from_dense(chances)).lengths for rule in RULES.values())
    assert (jaccard <= f).all()
    assert (jaccard < f).any()


def thin(block: np.ndarray) -> np.ndarray:
    """Probabilities of many labels: mostly tiny, a few large."""
    return np.asarray(block**4, dtype=np.float32)


@every_rule
@given(block=BLOCKS, seed=st.integers(0, 100))
def test_the_bound_never_cuts_off_a_label_of_the_best_set(
    name: str, block: np.ndarray, seed: int
) -> None:
    rule = RULES[name]
    more = np.random.default_rng(seed).beta(0.2, 3.0, (len(block), 30)).astype(np.float32)
    for chances in (block, thin(block), np.hstack([thin(block), more])):
        wanted = rule.keep(Ranking.from_dense(chances))
        lowest = np.broadcast_to(rule.lowest(chances), chances.shape)
        assert (chances[wanted.rows, wanted.labels] >= lowest[wanted.rows, wanted.labels]).all()
        found = rule.keep(list_candidates(chances, rule, get_backend("cpu"), 1))
        for row, (size, other) in enumerate(zip(found.lengths, wanted.lengths, strict=True)):
            values = np.append(0.0, expect_sizes(chances[row], name))
            assert values[size] == pytest.approx(values[other], abs=2e-3)


@every_rule
def test_candidates_of_rows_drawn_at_random_are_enough(name: str) -> None:
    chances = np.random.default_rng(0).beta(0.1, 2.0, (500, 60)).astype(np.float32)
    listed = list_candidates(chances, RULES[name], get_backend("cpu"), 1)
    assert len(listed.scores) < chances.size / 3
    sets = RULES[name].keep(Ranking.from_dense(chances)).lengths
    assert np.mean(RULES[name].keep(listed).lengths == sets) > 0.99


def test_mass_that_is_not_listed_makes_sets_larger() -> None:
    listed = Ranking.from_dense([[0.5, 0.2, 0.1]])
    sizes = [
        ExpectedF1().keep(Ranking(listed.indptr, listed.labels, listed.scores, 9, rest)).lengths[0]
        for rest in (None, np.float32([0.0]), np.float32([2.0]), np.float32([9.0]))
    ]
    assert sizes == [1, 1, 2, 3]


# -- odd rows ------------------------------------------------------------------------------------


@every_rule
def test_equal_probabilities_go_to_the_lower_label(name: str) -> None:
    sets = RULES[name].select(Ranking.from_dense([[0.1, 1.0, 0.0, 0.1], [0.2, 0.2, 0.2, 0.2]]))
    assert sets.toarray().tolist() == [[0, 1, 0, 0], [1, 1, 1, 1]]
    listed = list_candidates(
        np.full((1, 4), 0.5, dtype=np.float32), RULES[name], get_backend("cpu"), 1
    )
    assert listed.labels.tolist() == [0, 1, 2, 3]


@every_rule
def test_a_row_of_impossible_labels_gets_none(name: str) -> None:
    sets = RULES[name].select(Ranking.from_dense([[0.0, 0.0, 0.0], [0.0, 1e-30, 0.0]]))
    assert sets.toarray().tolist() == [[0, 0, 0], [0, 1, 0]]


@every_rule
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)], ids=str)
def test_nothing_to_decide_gives_nothing(name: str, shape: tuple[int, int]) -> None:
    sets = RULES[name].select(Ranking.from_dense(np.zeros(shape)))
    assert sets.shape == shape
    assert sets.nnz == 0


@every_rule
def test_only_rows_without_entries_stay_empty(name: str) -> None:
    scores = sparse.csr_matrix([[0.0, 0.0], [0.3, 0.0], [0.0, 0.0], [0.9, 0.8], [0.0, 0.0]])
    sets = RULES[name].select(Ranking.from_csr(scores))
    assert sets.toarray().tolist() == [[0, 0], [1, 0], [0, 0], [1, 1], [0, 0]]


@every_rule
def test_a_row_is_decided_alone(name: str) -> None:
    chances = np.random.default_rng(0).beta(0.3, 1.0, (50, 8)).astype(np.float32)
    together = RULES[name].select(Ranking.from_dense(chances)).toarray()
    alone = [RULES[name].select(Ranking.from_dense(row[None])).toarray()[0] for row in chances]
    np.testing.assert_array_equal(together, alone)


@every_rule
def test_labels_may_be_renumbered(name: str) -> None:
    chances = np.random.default_rng(0).beta(0.3, 1.0, (50, 8)).astype(np.float32)
    order = np.random.default_rng(1).permutation(8)
    found = RULES[name].select(Ranking.from_dense(chances[:, order])).toarray()
    wanted = RULES[name].select(Ranking.from_dense(chances)).toarray()[:, order]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, 7.0])
@every_rule
def test_scores_that_are_no_probabilities_are_refused(name: str, bad: float) -> None:
    with pytest.raises(InputError, match="calibrate the scores"):
        RULES[name].select(Ranking.from_dense([[0.5, bad]]))


# -- the mass that is not listed ------------------------------------------------------------------


@given(block=BLOCKS, cut=st.integers(0, 4), data=st.data())
def test_listed_and_other_mass_add_up_to_the_row(
    block: np.ndarray, cut: int, data: st.DataObject
) -> None:
    rest = np.arange(len(block), dtype=np.float32)
    listed = Ranking.from_dense(block)
    ranking = Ranking(listed.indptr, listed.labels, listed.scores, listed.n_labels, rest)
    keep = data.draw(arrays.arrays(np.bool_, len(ranking.labels)))
    pieces = [ranking.where(keep), ranking.top(cut), ranking.top(99).where(keep)]
    pieces.append(Ranking.stack([ranking.top(cut), ranking.where(keep)]))
    for piece in pieces:
        assert piece.rest is not None
        assert piece.rest.dtype == np.float32
        found = np.bincount(piece.rows, piece.scores, len(piece)) + piece.rest
        wanted = np.tile(block.sum(axis=1, dtype=np.float64) + rest, len(piece) // len(block))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_without_other_mass_none_is_made_up() -> None:
    ranking = Ranking.from_dense([[0.5, 0.25], [0.1, 0.2]])
    assert ranking.rest is None
    assert ranking.top(1).rest is None
    assert Ranking.stack([ranking, ranking]).rest is None


LONG = {
    "falling": np.linspace(0.99, 0.2, 300),
    "likely": np.random.default_rng(0).beta(8, 2, 300),
    "sure": np.full(170, 0.999),
    "unlikely": np.full(400, 0.1),
    "mixed": np.concatenate([np.full(50, 0.9), np.full(250, 0.3)]),
}


@every_rule
@pytest.mark.parametrize("chances", LONG.values(), ids=LONG)
def test_the_size_is_the_best_one_also_among_hundreds_of_likely_labels(
    name: str, chances: np.ndarray
) -> None:
    expected = expect_sizes(chances.astype(np.float32), name)
    row = chances.astype(np.float32)[None, :]
    size = int(RULES[name].select(Ranking.from_dense(row)).sum())
    assert expected.max() - expected[size - 1] < WORST
    assert size == np.argmax(expected > expected.max() - 1e-12) + 1


def test_24_nodes_would_be_too_few_for_hundreds_of_likely_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The figures of docs/decisions.md.
    row = LONG["falling"].astype(np.float32)
    expected, sizes = expect_sizes(row, "f1"), []
    for doublings in (expected_sets.MOST_DOUBLINGS, 0):
        monkeypatch.setattr(expected_sets, "MOST_DOUBLINGS", doublings)
        sizes.append(int(ExpectedF1().select(Ranking.from_dense(row[None, :])).sum()))
    assert sizes == [229, 214]
    assert expected.max() - expected[214 - 1] == pytest.approx(0.0014, abs=5e-5)


def test_rows_of_all_lengths_are_decided_as_each_alone() -> None:
    rng = np.random.default_rng(3)
    block = rng.beta(2, 1, (6, 700)) * (np.arange(700) < [[5], [39], [41], [160], [161], [700]])
    together = ExpectedF1().select(Ranking.from_dense(block)).sum(axis=1).ravel().tolist()
    short = [row[row > 0][None, :] for row in block]
    alone = [int(ExpectedF1().select(Ranking.from_dense(row)).sum()) for row in short]
    assert np.asarray(together).ravel().tolist() == alone
