"""Rules on probabilities: thresholds, weighted best k, and the names of all rules."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.frequency import propensities
from rmls.core.ranking import Ranking
from rmls.decide import (
    Calibration,
    MacroF1,
    MacroF1TopK,
    MacroRecallTopK,
    MicroF1,
    PropensityTopK,
    Rule,
    ScoreCounts,
    TailTopK,
    Threshold,
    TopK,
    fit_calibration,
    fit_macro_f1,
    fit_micro_f1,
    make_rule,
    shown_names,
    thresholds,
)
from rmls.decide.rules import RULES
from rmls.kernels.backend import get_backend
from rmls.metrics import get_metric
from rmls.models.shared.score_blocks import list_candidates

COUNTS = np.array([500, 80, 20, 5, 1, 0])
BLOCKS = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.just(6)),
    elements=st.integers(0, 16).map(lambda value: value / 16),
)
WEIGHTED = [PropensityTopK, MacroRecallTopK, TailTopK]
every_weighted = pytest.mark.parametrize("kind", WEIGHTED)


# -- thresholds -----------------------------------------------------------------------------------


def count_at_centres(
    seed: int = 0, n: int = 400, rates: tuple[float, ...] = (0.3, 0.1, 0.02, 0.0)
) -> tuple[ScoreCounts, Calibration, np.ndarray, np.ndarray]:
    """Counts of scores that lie in the middle of their bins, so that counting loses nothing."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, len(rates))) < rates).astype(int)
    scores = 1.5 * Y + rng.normal(0, 1, Y.shape)
    counts = ScoreCounts.covering(scores)
    bins = np.clip(((scores - counts.low) / counts.step).astype(int), 0, 255)
    scores = counts.centres[bins].astype(np.float32)
    counts.add(scores, Y)
    calibration = fit_calibration(counts)
    return counts, calibration, calibration.probabilities(scores), Y


def f_of_labels(chances: np.ndarray, Y: np.ndarray, cut: Any) -> np.ndarray:
    predicted = chances >= np.float32(cut)
    both, sums = (predicted & (Y > 0)).sum(axis=0), predicted.sum(axis=0) + Y.sum(axis=0)
    return np.asarray(2 * both / np.maximum(sums, 1))


@pytest.mark.parametrize("seed", range(4))
def test_the_micro_threshold_is_the_best_of_all_cuts(seed: int) -> None:
    counts, calibration, chances, Y = count_at_centres(seed)
    metric, rule = get_metric("micro_f1"), fit_micro_f1(counts, calibration)
    values = [metric(Y, (chances >= np.float32(cut)).astype(int)) for cut in thresholds.CUTS]
    found = metric(Y, rule.select(Ranking.from_dense(chances)))
    assert found == pytest.approx(max(values))
    assert rule.value in thresholds.CUTS
    # The cuts lie close enough for the best of all probabilities.
    every = max(metric(Y, (chances >= cut).astype(int)) for cut in np.unique(chances))
    assert found > every - 0.02


@pytest.mark.parametrize("seed", range(4))
def test_macro_thresholds_are_the_best_of_every_label_without_shrinkage(seed: int) -> None:
    counts, calibration, chances, Y = count_at_centres(seed)
    rule = fit_macro_f1(counts, calibration, shrinkage=0.0)
    assert rule.thresholds is not None
    best = np.max([f_of_labels(chances, Y, cut) for cut in np.unique(chances)], axis=0)
    np.testing.assert_allclose(f_of_labels(chances, Y, rule.thresholds), best, rtol=1e-6)


def common_logits(found: np.ndarray | None, calibration: Calibration) -> np.ndarray:
    """Thresholds in logits of the curve that the labels share."""
    assert found is not None
    chances = found.astype(float)
    return np.asarray(np.log(chances) - np.log1p(-chances) - calibration.bias)


def test_thresholds_of_rare_labels_are_near_those_of_the_others() -> None:
    counts, calibration, _, Y = count_at_centres()

    def fitted(shrinkage: float) -> np.ndarray:
        return common_logits(fit_macro_f1(counts, calibration, shrinkage).thresholds, calibration)

    alone, prior = fitted(0.0), fitted(1e12)
    for shrinkage in (1.0, 30.0, 100.0):
        share = Y.sum(axis=0) / (Y.sum(axis=0) + shrinkage)
        wanted = share * alone + (1 - share) * prior
        np.testing.assert_allclose(fitted(shrinkage), wanted, atol=1e-4)
    assert Y[:, 3].sum() == 0
    assert alone[3] == pytest.approx(prior[3])


def test_the_common_line_has_the_best_macro_f_of_all_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thresholds, "PROMISE_SHARE", 0.0)
    counts, calibration, chances, Y = count_at_centres(rates=(0.3, 0.1, 0.05, 0.02, 0.01))
    frequency = np.array([600, 200, 100, 40, 20])
    rule = fit_macro_f1(counts, calibration, 1e12, frequency)
    logits = np.log(chances) - np.log1p(-chances) - calibration.bias
    rarity = np.log(601 / (frequency + 1))
    values = [
        f_of_labels(logits, Y, level - slope * rarity).mean()
        for level in thresholds.LEVELS
        for slope in thresholds.SLOPES
    ]
    assert rule.thresholds is not None
    # A line may pass through the middle of a bin, which is counted as a whole.
    assert f_of_labels(chances, Y, rule.thresholds).mean() > max(values) - 0.01
    found = common_logits(rule.thresholds, calibration)
    slopes = np.diff(found) / np.diff(rarity)
    np.testing.assert_allclose(slopes, slopes[0], atol=1e-3)
    assert min(np.abs(thresholds.SLOPES + slopes[0])) < 1e-3


def test_what_a_label_promises_is_its_best_expected_f(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "PROMISE_SHARE", 1.0)
    counts, calibration, chances, _ = count_at_centres()
    found = common_logits(fit_macro_f1(counts, calibration, 1e12).thresholds, calibration)
    plain = chances / (chances + (1 - chances) * np.exp(calibration.bias))
    for label, values in enumerate(plain.T):
        taken = values[:, None] >= np.unique(values)
        expected = 2 * (taken * values[:, None]).sum(axis=0) / (taken.sum(axis=0) + values.sum())
        half = expected.max() / 2
        assert found[label] == pytest.approx(np.log(half / (1 - half)), abs=1e-3)


def test_rare_labels_gain_by_thresholds_that_follow_the_frequency() -> None:
    rng = np.random.default_rng(0)
    rates = np.geomspace(0.2, 0.002, 150)
    # The rarer a label, the less its score tells: so it is with few rows to learn from.
    known = np.geomspace(3.0, 0.8, 150)
    Y = (rng.random((4000, 150)) < rates).astype(int)
    evidence = known * (Y * known + rng.normal(0, 1, Y.shape)) - known**2 / 2
    logits = (evidence + np.log(rates / (1 - rates))).astype(np.float32)
    counts = ScoreCounts.covering(logits[:1500])
    counts.add(logits[:1500], Y[:1500])
    calibration = fit_calibration(counts)
    rule = fit_macro_f1(counts, calibration, label_counts=3 * Y[:1500].sum(axis=0))
    chances = calibration.probabilities(logits[1500:])
    assert rule.thresholds is not None
    found = f_of_labels(chances, Y[1500:], rule.thresholds).mean()
    common = max(f_of_labels(chances, Y[1500:], cut).mean() for cut in thresholds.CUTS)
    assert found > common + 0.02
    assert np.median(rule.thresholds[-30:]) < np.median(rule.thresholds[:30]) / 2


def test_label_counts_of_other_labels_are_refused() -> None:
    counts, calibration, *_ = count_at_centres()
    with pytest.raises(InputError, match="label_counts must be 4 numbers"):
        fit_macro_f1(counts, calibration, label_counts=[3, 2])


def test_thresholds_do_not_depend_on_how_many_labels_are_done_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts, calibration, *_ = count_at_centres()
    micro, macro = fit_micro_f1(counts, calibration), fit_macro_f1(counts, calibration)
    monkeypatch.setattr(thresholds, "LABELS_AT_ONCE", 3)
    assert fit_micro_f1(counts, calibration) == micro
    again = fit_macro_f1(counts, calibration).thresholds
    np.testing.assert_array_equal(again, macro.thresholds)


def test_a_threshold_for_every_label_cuts_there() -> None:
    rule = MacroF1([0.5, 0.25, 0.75])
    chances = np.float32([[0.5, 0.24, 0.75], [0.4, 0.25, 0.7]])
    assert rule.select(Ranking.from_dense(chances)).toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    listed = list_candidates(chances, rule, get_backend("cpu"), 1)
    assert (rule.select(listed) != rule.select(Ranking.from_dense(chances))).nnz == 0


@pytest.mark.parametrize("bad", ["high", [[0.5]], [np.nan], [None], ["a"]], ids=str)
def test_thresholds_that_are_no_numbers_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="thresholds must be 1-d"):
        MacroF1(bad)


def test_thresholds_of_other_labels_are_refused() -> None:
    with pytest.raises(InputError, match="2 thresholds for 3 labels"):
        MacroF1([0.5, 0.5]).select(Ranking.from_dense([[0.1, 0.2, 0.3]]))


@pytest.mark.parametrize("rule", [MicroF1(), MacroF1()], ids=str)
def test_thresholds_not_yet_found_decide_nothing(rule: Rule) -> None:
    assert not rule.is_fitted
    with pytest.raises(InputError, match="fit it first"):
        rule.select(Ranking.from_dense([[0.5]]))


# -- weighted best k ------------------------------------------------------------------------------


def best_by_hand(chances: np.ndarray, weights: np.ndarray, k: int) -> np.ndarray:
    """The best k of every row by weight * probability; ties to the lower label."""
    sets = np.zeros(chances.shape, dtype=int)
    for row, values in enumerate(chances * weights.astype(np.float32)):
        sets[row, sorted(range(len(values)), key=lambda label: (-values[label], label))[:k]] = 1
    return sets


@pytest.mark.parametrize("k", [1, 5, 6, 7])
@given(block=BLOCKS)
def test_without_a_tail_the_most_probable_labels_are_taken(k: int, block: np.ndarray) -> None:
    ranking = Ranking.from_dense(block)
    rule = TailTopK(k, tail=0.0).bind(COUNTS, 1000)
    assert (rule.select(ranking) != TopK(k).select(ranking)).nnz == 0


@given(block=BLOCKS)
def test_a_full_tail_is_macro_recall(block: np.ndarray) -> None:
    ranking = Ranking.from_dense(block)
    tail, recall = TailTopK(2, tail=1.0), MacroRecallTopK(2)
    found = [rule.bind(COUNTS, 1000).select(ranking).toarray() for rule in (tail, recall)]
    np.testing.assert_array_equal(*found)
    weights = 501 / (COUNTS + 1)
    np.testing.assert_array_equal(found[0], best_by_hand(block, weights, 2))


def test_the_dial_goes_from_frequent_to_rare_labels() -> None:
    chances = np.random.default_rng(0).beta(0.5, 2.0, (300, 6)).astype(np.float32)
    rarity = []
    for tail in np.linspace(0, 1, 6):
        sets = TailTopK(2, tail=tail).bind(COUNTS, 1000).select(Ranking.from_dense(chances))
        rarity.append(np.log(COUNTS + 1)[sets.indices].mean())
    assert (np.diff(rarity) < 0).all()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_psp_rule_has_the_best_expected_psp_of_all_sets(k: int) -> None:
    rng = np.random.default_rng(k)
    chances = rng.random((20, 5)).astype(np.float32)
    p = propensities([400, 50, 9, 2, 0], 1000)
    rule = PropensityTopK(k).bind([400, 50, 9, 2, 0], 1000)
    found = rule.select(Ranking.from_dense(chances)).toarray()
    for row, chosen in zip(chances, found, strict=True):
        best = max(sum(row[list(labels)] / p[list(labels)]) for labels in combinations(range(5), k))
        assert (row * chosen / p).sum() == pytest.approx(best, rel=1e-6)


def test_psp_rule_beats_the_most_probable_labels_on_drawn_truths() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([600, 300, 100, 40, 10, 4])
    chances = rng.beta(0.5, 2.0, (400, 6)).astype(np.float32)
    truth = sparse.csr_matrix((rng.random(chances.shape) < chances).astype(np.int32))
    metric = get_metric("psp@2")
    ranking = Ranking.from_dense(chances)
    values = []
    for rule in (TopK(2), PropensityTopK(2).bind(counts, 1000)):
        kept = rule.keep(ranking)
        values.append(metric(truth, kept, propensity=propensities(counts, 1000)))
    assert values[1] > values[0]


@every_weighted
@pytest.mark.parametrize("k", [1, 2, 6, 9])
@given(block=BLOCKS)
def test_candidates_of_a_block_are_the_choice_from_all_labels(
    kind: type[TailTopK], k: int, block: np.ndarray
) -> None:
    rule = kind(k).bind(COUNTS, 1000)
    listed = list_candidates(block, rule, get_backend("cpu"), 1)
    assert (np.diff(listed.scores)[np.diff(listed.rows) == 0] <= 0).all()
    found, wanted = rule.select(listed), rule.select(Ranking.from_dense(block))
    assert (found != wanted).nnz == 0
    assert (np.diff(wanted.indptr) == min(k, 6)).all()


@every_weighted
def test_kept_labels_have_their_own_probabilities(kind: type[TailTopK]) -> None:
    chances = np.random.default_rng(0).random((20, 6)).astype(np.float32)
    kept = kind(3).bind(COUNTS, 1000).keep(Ranking.from_dense(chances))
    np.testing.assert_array_equal(kept.scores, chances[kept.rows, kept.labels])


@every_weighted
def test_weighted_rules_need_label_counts(kind: type[TailTopK]) -> None:
    assert not kind(2).is_fitted
    with pytest.raises(InputError, match="needs label counts; bind it to them first"):
        kind(2).select(Ranking.from_dense([[0.5, 0.2]]))
    bound = kind(2).bind(COUNTS, 1000)
    assert bound.is_fitted
    with pytest.raises(InputError, match="bound to 6 labels, but the ranking is of 2"):
        bound.select(Ranking.from_dense([[0.5, 0.2]]))
    for bad in ([[1, 2]], [-1, 2], [np.nan, 1]):
        with pytest.raises(InputError, match="label_counts must be 1-d"):
            kind(2).bind(bad, 1000)


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shown_names())
def test_a_shown_name_makes_a_rule_that_is_made_again_from_its_values(name: str) -> None:
    rule = make_rule(name)
    assert make_rule(rule.as_dict()) == rule
    assert type(make_rule(rule.as_dict())) is type(rule)
    assert RULES[rule.name] is type(rule)


def test_every_rule_is_shown_once() -> None:
    made = [type(make_rule(name)) for name in shown_names() if name != "round"]
    assert made == list(RULES.values())


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("psp@1", PropensityTopK(1)),
        ("macro_recall@10", MacroRecallTopK(10)),
        ("macro_f1@3", MacroF1TopK(3)),
        ("tail@5=0.3", TailTopK(5, tail=0.3)),
        ("tail@5=1", TailTopK(5, tail=1.0)),
        ("tail@5=0", TailTopK(5, tail=0.0)),
        ("tail@7", TailTopK(7, tail=0.5)),
        ("macro_f1", MacroF1()),
        ("micro_f1", MicroF1()),
    ],
    ids=str,
)
def test_numbers_in_a_name_are_read(name: str, rule: Rule) -> None:
    assert make_rule(name) == rule


def test_a_bound_rule_is_written_without_its_weights() -> None:
    bound = PropensityTopK(3).bind(COUNTS, 1000)
    assert bound.as_dict() == {"name": "psp@k", "k": 3}
    assert make_rule(bound.as_dict()) == PropensityTopK(3)


@pytest.mark.parametrize("kind", [*WEIGHTED, MacroF1TopK, TopK])
def test_numpy_numbers_become_plain_ones(kind: type[TopK]) -> None:
    assert type(kind(np.int64(3)).as_dict()["k"]) is int
    assert type(TailTopK(3, tail=np.float32(0.5)).as_dict()["tail"]) is float


@pytest.mark.parametrize(
    "name",
    [
        *("tail@5=2", "tail@5=x", "tail@5=", "tail@5=1.2.3", "tail@5=-1", "tail@5=.", "tail@0"),
        *("f1@5", "jaccard@3", "micro_f1@5", "top_0", "top@5", "psp@0", "psp@", "psp@-1", "psp"),
        *("psp@5=0.3", "macro_f1@5=0.3", "macro_f1@0", "macro_recall@x", "PSP@5", " f1", "f1 "),
        *({"name": "tail@k", "tail": "much"}, {"name": "tail@k", "tail": None}),
        *({"name": "psp@k", "k": 2.5}, {"name": "f1", "k": 5}, {"name": "macro_f1@k", "depth": 0}),
        *({"name": "macro_f1", "thresholds": "x"}, {"name": "micro_f1", "value": "x"}),
        {"name": "tail@k", "tail": float("nan")},
    ],
    ids=str,
)
def test_what_names_no_rule_is_refused_in_one_sentence(name: Any) -> None:
    with pytest.raises(InputError) as caught:
        make_rule(name)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in shown_names() if make_rule(name).is_fitted])
def test_fitted_rules_take_a_ranking_without_rows(name: str) -> None:
    empty = Ranking.from_csr(sparse.csr_matrix((0, 4), dtype=np.float32))
    assert make_rule(name).select(empty).shape == (0, 4)


def test_rules_that_need_no_probabilities_take_any_scores() -> None:
    assert Threshold(-3.0).select(Ranking.from_dense([[-2.0, 7.0]])).nnz == 2
    assert TopK(1).select(Ranking.from_dense([[-2.0, 7.0]])).nnz == 1
