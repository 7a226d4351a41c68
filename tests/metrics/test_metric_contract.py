"""What every metric promises; a new one is tested because it is in METRICS."""

from __future__ import annotations

import numpy as np
import pytest
from metric_samples import (
    prediction_for,
    random_scores,
    random_sets,
    random_truth,
    with_propensity,
)
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.metrics import METRICS, Metric

CONTAINERS = {
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr_array": sparse.csr_array,
    "list": lambda array: array.tolist(),
    "bool": lambda array: array.astype(bool),
    "float32": lambda array: array.astype(np.float32),
}

WEIGHTED = pytest.mark.parametrize(
    "metric",
    [name for name, found in METRICS.items() if "sample_weight" in found.options],
    indirect=True,
)


def measure(metric: Metric, truth: np.ndarray, prediction: object, **options: object) -> float:
    return metric(truth, prediction, **{**with_propensity(metric, truth), **options})


@pytest.fixture
def prediction(metric: Metric) -> np.ndarray:
    return prediction_for(metric, random_sets(), random_scores())


def largest(metric: Metric, n_labels: int) -> float:
    """The largest value that a metric can have: all, or all labels."""
    return 1.0 if metric.unit == "share" else float(n_labels)


def test_value_is_a_python_float_between_0_and_1(metric: Metric, prediction: np.ndarray) -> None:
    value = measure(metric, random_truth(), prediction)
    assert type(value) is float
    assert 0 <= value <= largest(metric, random_truth().shape[1])


def test_row_order_does_not_matter(metric: Metric, prediction: np.ndarray) -> None:
    truth = random_truth()
    order = np.random.default_rng(9).permutation(len(truth))
    shuffled = measure(metric, truth[order], prediction[order])
    assert shuffled == pytest.approx(measure(metric, truth, prediction), abs=1e-12)


def test_label_order_does_not_matter(metric: Metric, prediction: np.ndarray) -> None:
    truth = random_truth()
    order = np.random.default_rng(9).permutation(truth.shape[1])
    shuffled = measure(metric, truth[:, order], prediction[:, order])
    assert shuffled == pytest.approx(measure(metric, truth, prediction), abs=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_container_of_the_truth_does_not_matter(
    metric: Metric, prediction: np.ndarray, container: str
) -> None:
    truth = random_truth()
    options = with_propensity(metric, truth)
    wrapped = metric(CONTAINERS[container](truth), prediction, **options)
    assert wrapped == metric(truth, prediction, **options)


def test_container_of_the_prediction_does_not_matter(
    metric: Metric, prediction: np.ndarray
) -> None:
    truth = random_truth()
    wanted = measure(metric, truth, prediction)
    same = [sparse.csr_matrix(prediction), sparse.csc_matrix(prediction), prediction.tolist()]
    if metric.needs == "ranking":
        same += [Ranking.from_dense(prediction), Ranking.from_dense(prediction, k=metric.k)]
    assert [measure(metric, truth, other) for other in same] == [wanted] * len(same)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_perfect_prediction_gives_the_best_value(metric: Metric, k: int) -> None:
    truth = np.stack([np.roll([1] * k + [0] * (6 - k), shift) for shift in range(6)])
    at_k = metric.at(k) if metric.takes_k else metric
    best = 1.0 if metric.greater_is_better else 0.0
    if metric.name == "coverage_error":
        # All true labels must be taken, however well they are ranked.
        best = float(k)
    assert measure(at_k, truth, prediction_for(metric, truth, truth)) == pytest.approx(best)


def test_inverted_prediction_gives_the_worst_value(metric: Metric) -> None:
    truth = np.stack([np.roll([1, 1, 1, 0, 0, 0], shift) for shift in range(6)])
    worst = 0.0 if metric.greater_is_better else largest(metric, 6)
    if metric.name == "label_ranking_average_precision":
        # Three true labels that share the sixth rank.
        worst = 0.5
    assert measure(metric, truth, 1 - truth) == worst


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (3, 2)])
@pytest.mark.parametrize("beyond", ["1", "m-1", "m", "m+1"])
def test_works_on_one_row_one_label_and_any_k(
    metric: Metric, shape: tuple[int, int], beyond: str
) -> None:
    generator = np.random.default_rng(4)
    truth = generator.integers(0, 2, size=shape)
    m = shape[1]
    k = max(1, {"1": 1, "m-1": m - 1, "m": m, "m+1": m + 1}[beyond])
    at_k = metric.at(k) if metric.takes_k else metric
    prediction = prediction_for(metric, generator.integers(0, 2, shape), generator.random(shape))
    assert 0 <= measure(at_k, truth, prediction) <= largest(metric, m)


def test_nothing_true_and_nothing_predicted_has_a_value(metric: Metric) -> None:
    nothing = np.zeros((4, 6), dtype=int)
    value = measure(metric, nothing, sparse.csr_matrix(nothing))
    assert value == (1.0 if metric.name == "subset_accuracy" else 0.0)


def test_inputs_are_left_untouched(metric: Metric, prediction: np.ndarray) -> None:
    truth, given = sparse.csc_matrix(random_truth()), sparse.csc_matrix(prediction)
    before = truth.copy(), given.copy()
    measure(metric, truth.toarray(), given)
    metric(truth, given, **with_propensity(metric, truth.toarray()))
    assert (truth != before[0]).nnz == 0
    assert (given != before[1]).nnz == 0


@WEIGHTED
def test_equal_weights_change_nothing(metric: Metric, prediction: np.ndarray) -> None:
    truth = random_truth()
    weighted = measure(metric, truth, prediction, sample_weight=np.full(len(truth), 2.5))
    assert weighted == pytest.approx(measure(metric, truth, prediction))


@WEIGHTED
def test_weights_act_like_repeated_rows(metric: Metric, prediction: np.ndarray) -> None:
    truth = random_truth()
    repeats = np.random.default_rng(5).integers(0, 4, size=len(truth))
    repeated = measure(metric, np.repeat(truth, repeats, 0), np.repeat(prediction, repeats, 0))
    assert measure(metric, truth, prediction, sample_weight=repeats) == pytest.approx(repeated)


def test_row_count_mismatch_is_named(metric: Metric, prediction: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"has 39 rows but Y_true has 40; both need one row"):
        measure(metric, random_truth(), prediction[:-1])


def test_label_count_mismatch_is_named(metric: Metric, prediction: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"has 12 labels but Y_true has 13; both need one"):
        measure(metric, random_truth(), prediction[:, :-1])


def test_no_rows_is_refused(metric: Metric) -> None:
    with pytest.raises(InputError, match="Y_true has no rows"):
        metric(np.zeros((0, 3)), np.zeros((0, 3)), **with_propensity(metric, np.zeros((1, 3))))
