from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_samples import prediction_for, random_scores, random_sets, random_truth, with_propensity

from rmls.core.errors import InputError
from rmls.core.frequency import GROUP_NAMES, HEAD, TAIL, TORSO, group_labels
from rmls.core.ranking import Ranking
from rmls.core.sparse import as_label_csr
from rmls.metrics import Metric, evaluate, example_f1, get_metric
from rmls.metrics.groups import measure_group

counts_of_labels = st.lists(st.integers(0, 60), min_size=3, max_size=20)


def test_zipf_counts_split_at_half_and_nine_tenths() -> None:
    counts = (10_000 / np.arange(1, 1001)).astype(int)
    groups = group_labels(counts)
    share = [counts[groups == g].sum() / counts.sum() for g in (HEAD, TORSO, TAIL)]
    assert share[HEAD] <= 0.5 < share[HEAD] + counts[groups == TORSO].max() / counts.sum()
    assert share[HEAD] + share[TORSO] <= 0.9


@settings(max_examples=60, deadline=None)
@given(counts_of_labels)
def test_the_tail_is_never_empty_and_holds_labels_without_positives(counts: list[int]) -> None:
    groups = group_labels(counts)
    assert (groups == TAIL).any()
    assert (groups[np.array(counts) == 0] == TAIL).all()


@settings(max_examples=60, deadline=None)
@given(counts_of_labels, st.integers(2, 9))
def test_groups_ignore_scale_and_order_and_never_split_ties(counts: list[int], factor: int) -> None:
    groups = group_labels(counts)
    array = np.array(counts)
    assert (group_labels(array * factor) == groups).all()
    assert (group_labels(array[::-1])[::-1] == groups).all()
    ranks = groups[np.argsort(-array, kind="stable")]
    assert (np.diff(ranks) >= 0).all()
    assert all(len(set(groups[array == count])) == 1 for count in set(counts))


def test_a_label_that_dominates_is_head() -> None:
    assert group_labels([1000, 3, 2, 1]).tolist() == [HEAD, TAIL, TAIL, TAIL]


def test_edge_cases_of_grouping() -> None:
    assert group_labels([]).tolist() == []
    assert group_labels([4]).tolist() == [TAIL]
    assert group_labels([0, 0, 0]).tolist() == [TAIL] * 3


@pytest.mark.parametrize("wrong", [[-1, 2], [[1, 2]], [np.nan, 1.0], ["a", "b"]])
def test_counts_that_are_none_are_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="counts must be"):
        group_labels(wrong)


@pytest.fixture
def group() -> np.ndarray:
    return np.arange(13) % 3 == 1


def measured(metric: Metric, group: np.ndarray) -> float | None:
    truth = random_truth()
    prediction = prediction_for(metric, as_label_csr(random_sets()), random_scores())
    if metric.needs == "ranking":
        prediction = Ranking.from_dense(prediction)
    options = with_propensity(metric, truth)
    if metric.group_rule in ("labels", "rows"):
        options = {name: value[group] for name, value in options.items()}
    return measure_group(metric, as_label_csr(truth), prediction, group, **options)


def test_a_group_of_all_labels_is_the_total_over_rows_that_count(metric: Metric) -> None:
    truth, everything = random_truth(), np.ones(13, dtype=bool)
    prediction = prediction_for(metric, random_sets(), random_scores())
    rows = np.ones(len(truth), dtype=bool)
    if metric.group_rule == "rows":
        rows = (truth.sum(axis=1) > 0) | (prediction.sum(axis=1) > 0)
    if metric.group_rule in ("true_rows", "others_out"):
        rows = truth.sum(axis=1) > 0
    total = metric(truth[rows], prediction[rows], **with_propensity(metric, truth))
    assert measured(metric, everything) == pytest.approx(total)


def test_an_empty_group_has_no_value(metric: Metric) -> None:
    assert measured(metric, np.zeros(13, dtype=bool)) is None


@pytest.mark.parametrize("k", [1, 3, 5])
def test_precision_of_the_groups_sums_to_the_total(k: int) -> None:
    truth = random_truth()
    report = evaluate(truth, ranking=random_scores(), ks=[k], train_counts=truth.sum(axis=0) ** 3)
    name = f"precision@{k}"
    parts = [report[group][name] for group in GROUP_NAMES]
    assert min(parts) > 0
    assert sum(parts) == pytest.approx(report[name])


def test_recall_of_a_group_counts_only_its_true_labels(group: np.ndarray) -> None:
    truth, scores = random_truth(), random_scores()
    lists = np.argsort(-scores, axis=1)[:, :3]
    values = []
    for y, row in zip(truth, lists, strict=True):
        wanted = set(np.flatnonzero(y * group))
        if wanted:
            values.append(len(wanted & set(row)) / len(wanted))
    assert measured(get_metric("recall@3"), group) == pytest.approx(np.mean(values))


def test_example_f1_of_a_group_leaves_out_rows_the_group_does_not_touch(group: np.ndarray) -> None:
    truth, predicted = random_truth()[:, group], random_sets()[:, group]
    touched = (truth.sum(axis=1) + predicted.sum(axis=1)) > 0
    assert not touched.all()
    expected = example_f1(truth[touched], predicted[touched])
    assert measured(get_metric("f1"), group) == pytest.approx(expected)


def test_macro_f1_at_k_of_a_group_is_the_mean_over_its_labels(group: np.ndarray) -> None:
    metric = get_metric("macro_f1@3")
    sizes = group.sum(), (~group).sum()
    parts = measured(metric, group), measured(metric, ~group)
    total = metric(random_truth(), random_scores())
    assert np.average(parts, weights=sizes) == pytest.approx(total)


def test_hamming_loss_of_the_groups_averages_to_the_total(group: np.ndarray) -> None:
    metric = get_metric("hamming_loss")
    parts = measured(metric, group), measured(metric, ~group)
    total = metric(random_truth(), random_sets())
    assert np.average(parts, weights=[group.sum(), (~group).sum()]) == pytest.approx(total)
