"""Decision rules: what they take, how they are tuned and named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.decide import Cardinality, Rule, Threshold, TopK, make_rule
from rmls.decide.rules import RULES
from rmls.metrics import get_metric

SCORES = np.random.default_rng(0).integers(0, 5, (20, 6)).astype(np.float32) / 4
RANKING = Ranking.from_dense(SCORES)


@pytest.mark.parametrize("k", [1, 5, 6, 7])
def test_top_k_takes_the_best_k(k: int) -> None:
    found = TopK(k).select(RANKING).toarray()
    wanted = np.zeros_like(SCORES)
    for row, scores in enumerate(SCORES):
        best = sorted(range(6), key=lambda label: (-scores[label], label))[:k]
        wanted[row, best] = 1
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("value", [-1.0, 0.25, 0.5, 0.6, 1.0, 1.1])
@pytest.mark.parametrize("rule", [Threshold, Cardinality])
def test_a_threshold_takes_what_scores_at_least_as_much(rule: type[Rule], value: float) -> None:
    found = rule(value).select(RANKING).toarray()
    np.testing.assert_array_equal(found, value <= SCORES)


@pytest.mark.parametrize("rule", [TopK(3), Threshold(0.5), Cardinality(0.5)])
def test_what_a_rule_asks_to_see_is_enough_for_it(rule: Rule) -> None:
    seen = RANKING if rule.top is None else RANKING.top(rule.top)
    if rule.above is not None:
        seen = seen.where(seen.scores >= rule.above)
    assert (rule.select(seen) != rule.select(RANKING)).nnz == 0


def test_kept_labels_have_their_scores() -> None:
    kept = Threshold(0.5).keep(RANKING)
    np.testing.assert_array_equal(kept.scores, SCORES[kept.rows, kept.labels])


@pytest.mark.parametrize("rule", [Threshold(), Cardinality()])
def test_a_rule_without_its_threshold_does_not_decide(rule: Rule) -> None:
    assert not rule.is_fitted
    with pytest.raises(InputError, match="no threshold yet"):
        rule.select(RANKING)


def test_fitted_rules_fulfil_the_wish_for_them() -> None:
    assert Threshold(0.3).fulfils(Threshold())
    assert Threshold(0.3, metric="micro_f1").fulfils(Threshold(metric="micro_f1"))
    assert not Threshold(0.3, metric="micro_f1").fulfils(Threshold())
    assert not Threshold(0.3).fulfils(Cardinality())
    assert not Threshold(0.3).fulfils(TopK(3))
    assert TopK(3).fulfils(TopK(3))
    assert not TopK(3).fulfils(TopK(2))


# -- tuning --------------------------------------------------------------------------------------


def make_truth(seed: int, shape: tuple[int, int] = (24, 6)) -> tuple[np.ndarray, np.ndarray]:
    """Scores that say something about the labels, but not all."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(shape) < 0.25).astype(int)
    scores = truth + rng.normal(0, 0.7, shape)
    return truth, scores.astype(np.float32)


@pytest.mark.parametrize("name", ["example_f1", "micro_f1", "macro_f1", "hamming_loss"])
@pytest.mark.parametrize("seed", range(3))
def test_the_tuned_threshold_is_nearly_the_best_of_all(name: str, seed: int) -> None:
    metric = get_metric(name)
    truth, scores = make_truth(seed)

    def measure(value: float) -> float:
        return metric(truth, (scores >= np.float32(value)).astype(int))

    ranking = Ranking.from_dense(scores)
    rule = Threshold(metric=name).fit(
        ranking, lambda sets: metric(truth, sets), metric.greater_is_better
    )
    assert rule.metric == name
    every = [measure(value) for value in np.unique(scores)]
    assert rule.value is not None
    gap = (
        max(every) - measure(rule.value)
        if metric.greater_is_better
        else measure(rule.value) - min(every)
    )
    assert 0 <= gap <= 0.02


def test_a_small_problem_is_tuned_exactly() -> None:
    # All thresholds are tried where there are fewer scores than candidates.
    truth, scores = make_truth(0, (6, 4))
    metric = get_metric("micro_f1")
    rule = Threshold().fit(Ranking.from_dense(scores), lambda sets: metric(truth, sets))
    every = [metric(truth, (scores >= value).astype(int)) for value in np.unique(scores)]
    assert metric(truth, rule.select(Ranking.from_dense(scores))) == max(every)


def test_a_threshold_is_not_tuned_on_nothing() -> None:
    with pytest.raises(InputError, match="rows without scores"):
        Threshold().fit(Ranking.from_dense(np.zeros((3, 0))), lambda sets: 0.0)


def test_equal_scores_can_be_tuned() -> None:
    ranking = Ranking.from_dense(np.full((3, 2), 0.5))
    assert Threshold().fit(ranking, lambda sets: sets.nnz).value == 0.5


# -- names ---------------------------------------------------------------------------------------


@given(
    st.one_of(
        st.integers(1, 10**6).map(TopK),
        st.floats(allow_nan=False).map(Threshold),
        st.floats(allow_nan=False).map(Cardinality),
        st.just(Threshold(metric="micro_f1")),
        st.just(Cardinality()),
    )
)
def test_a_rule_is_made_again_from_its_plain_values(rule: Rule) -> None:
    values = rule.as_dict()
    assert make_rule(values) == rule
    assert type(make_rule(values)) is type(rule)
    assert values["name"] in RULES


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ("cardinality", Cardinality()),
        ("threshold", Threshold()),
        ("round", Threshold(0.0)),
        (0.5, Threshold(0.5)),
        (np.float32(0.25), Threshold(0.25)),
        (-1.5, Threshold(-1.5)),
        ("0.5", Threshold(0.5)),
        ("-1e-3", Threshold(-0.001)),
        ("threshold=0.5", Threshold(0.5)),
        ("threshold=2", Threshold(2.0)),
        ("top_k", TopK(5)),
        ("top_1", TopK(1)),
        ("top_30", TopK(30)),
        (TopK(2), TopK(2)),
        ({"name": "top_k", "k": 2}, TopK(2)),
    ],
    ids=str,
)
def test_rules_are_made_from_their_names(spec: Any, rule: Rule) -> None:
    assert make_rule(spec) == rule


def test_making_a_rule_leaves_the_dictionary_as_it_was() -> None:
    values = {"name": "top_k", "k": 2}
    make_rule(values)
    assert values == {"name": "top_k", "k": 2}


@pytest.mark.parametrize(
    "spec",
    [
        *("best", "top_", "top_0", "top_-1", "top_2.5", "", None, 5, [], {}, {"k": 3}),
        *("5", True, float("nan"), "nan", "threshold=", "threshold=high", "threshold=inf", "1.2.3"),
        {"name": "top_k", "k": 0},
        {"name": "top_k", "n": 3},
        {"name": "cardinality", "k": 3},
        {"name": ["top_k"]},
        {"name": "os.system"},
    ],
    ids=str,
)
def test_what_names_no_rule_is_refused(spec: Any) -> None:
    with pytest.raises(InputError) as caught:
        make_rule(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", [3, "3", np.int64(3)], ids=repr)
def test_a_whole_number_is_asked_what_it_means(spec: Any) -> None:
    with pytest.raises(InputError, match="write 'threshold=3' or 'top_3'"):
        make_rule(spec)


@pytest.mark.parametrize("k", [0, -1, 2.0, "3", None, float("nan")])
def test_top_k_needs_a_whole_number(k: Any) -> None:
    with pytest.raises(InputError, match="k must be a whole number"):
        TopK(k)


@pytest.mark.parametrize("value", ["high", [0.5], float("nan")], ids=str)
@pytest.mark.parametrize("name", ["threshold", "cardinality"])
def test_a_threshold_needs_a_number(name: str, value: Any) -> None:
    with pytest.raises(InputError):
        make_rule({"name": name, "value": value})
