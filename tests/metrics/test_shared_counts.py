"""`evaluate` shares its counts among the metrics; each value must stay that of the metric alone."""

from __future__ import annotations

import numpy as np
import pytest
from metric_samples import prediction_for, random_scores, random_sets, random_truth

from rmls.core.frequency import GROUP_NAMES, group_labels
from rmls.core.ranking import Ranking
from rmls.metrics import METRICS, EvaluationReport, Metric, evaluate, propensities
from rmls.metrics._counts import count_hits, count_sets

KS = (1, 3, 14)
TRUTH, SETS, SCORES = random_truth(), random_sets(), random_scores()
COUNTS = TRUTH.sum(axis=0) ** 3
AT_EVERY_K = [m.at(k) for m in METRICS.values() if m.takes_k for k in KS]
EVERY_METRIC = [*(m for m in METRICS.values() if not m.takes_k), *AT_EVERY_K]

each_metric = pytest.mark.parametrize("metric", EVERY_METRIC, ids=lambda metric: metric.name)


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    return evaluate(TRUTH, SETS, SCORES, ks=KS, train_counts=COUNTS, n_train=99, empty=0.5)


def options_of(metric: Metric) -> dict[str, object]:
    given = {"empty": 0.5, "propensity": propensities(COUNTS, 99)}
    return {name: value for name, value in given.items() if name in metric.options}


def best_sets(scores: np.ndarray, k: int) -> np.ndarray:
    return Ranking.from_dense(scores, k).to_sets().toarray()


def restricted(metric: Metric, group: np.ndarray) -> float:
    """Cut the matrices down to the group and call the metric as if there were nothing else."""
    options = options_of(metric)
    if metric.name.startswith("macro") and metric.takes_k:
        plain = METRICS[metric.name.partition("@")[0]]
        return plain(TRUTH[:, group], best_sets(SCORES, metric.k or 1)[:, group])
    if metric.needs == "sets":
        truth, predicted = TRUTH[:, group], SETS[:, group]
        rows = (truth | predicted).any(axis=1) | (metric.group_rule != "rows")
        return metric(truth[rows], predicted[rows], **options)
    truth = TRUTH * group
    rows = truth.any(axis=1) | (metric.group_rule not in ("true_rows", "others_out"))
    if metric.group_rule != "others_out":
        return metric(truth[rows], SCORES[rows], **options)
    # Every row has columns of its own: those of its true labels outside the group are cut off.
    columns = [(TRUTH[row] == 0) | group for row in np.flatnonzero(rows)]
    pairs = zip(columns, truth[rows], SCORES[rows], strict=True)
    return float(np.mean([metric([y[keep]], [s[keep]], **options) for keep, y, s in pairs]))


@each_metric
def test_the_total_is_exactly_that_of_the_metric_alone(
    metric: Metric, report: EvaluationReport
) -> None:
    alone = metric(TRUTH, prediction_for(metric, SETS, SCORES), **options_of(metric))
    assert report.totals[metric.name] == alone


@each_metric
@pytest.mark.parametrize("name", GROUP_NAMES)
def test_a_group_is_the_metric_on_matrices_cut_to_the_group(
    metric: Metric, name: str, report: EvaluationReport
) -> None:
    group = group_labels(COUNTS) == GROUP_NAMES.index(name)
    assert group.any()
    assert report.groups[name][metric.name] == pytest.approx(restricted(metric, group), abs=1e-12)


@each_metric
def test_counts_may_stand_for_the_prediction(metric: Metric) -> None:
    counts = count_sets(TRUTH, SETS) if metric.needs == "sets" else count_hits(TRUTH, SCORES, 14)
    alone = metric(TRUTH, prediction_for(metric, SETS, SCORES), **options_of(metric))
    assert metric(TRUTH, counts, **options_of(metric)) == alone


def test_asking_for_one_metric_gives_the_value_of_the_full_report(report: EvaluationReport) -> None:
    for metric in EVERY_METRIC:
        single = evaluate(
            TRUTH, SETS, SCORES, names=metric.name, train_counts=COUNTS, n_train=99, empty=0.5
        )
        assert single.totals == {metric.name: report.totals[metric.name]}
        assert single.groups == {
            name: {metric.name: group[metric.name]} for name, group in report.groups.items()
        }
