from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rmls import imbalance
from rmls.core.errors import InputError

STATISTICS = [
    imbalance.mean_imbalance_ratio,
    imbalance.mean_ir,
    imbalance.cvir,
    imbalance.scumble,
    imbalance.cardinality,
    imbalance.density,
    imbalance.count_label_sets,
]

label_matrices = st.lists(
    st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1, max_size=8
)


def random_labels(seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    Y = (generator.random((60, 12)) < 0.8 / np.arange(1, 13)).astype(int)
    Y[[2, 5]] = 0
    Y[:, 7] = 0
    return Y


def slow_irlbl(Y: np.ndarray) -> dict[int, float]:
    counts = {j: int(Y[:, j].sum()) for j in range(Y.shape[1])}
    return {j: max(counts.values()) / c for j, c in counts.items() if c}


def slow_scumble(Y: np.ndarray) -> float:
    ratios = slow_irlbl(Y)
    total = 0.0
    for row in Y:
        own = [ratios[j] for j in np.flatnonzero(row)]
        if own:
            total += 1 - math.prod(own) ** (1 / len(own)) / (sum(own) / len(own))
    return total / len(Y)


@settings(max_examples=60, deadline=None)
@given(label_matrices)
def test_statistics_equal_the_obvious_version(rows: list[list[int]]) -> None:
    Y = np.array(rows)
    ratios = list(slow_irlbl(Y).values())
    assert imbalance.scumble(Y) == pytest.approx(slow_scumble(Y), abs=1e-12)
    assert imbalance.count_label_sets(Y) == len({tuple(row) for row in rows})
    assert imbalance.cardinality(Y) == pytest.approx(Y.sum() / len(Y))
    if len(ratios) > 1:
        mean = sum(ratios) / len(ratios)
        spread = math.sqrt(sum((r - mean) ** 2 for r in ratios) / (len(ratios) - 1))
        assert imbalance.mean_ir(Y) == pytest.approx(mean)
        assert imbalance.cvir(Y) == pytest.approx(spread / mean)


def test_imbalance_ratio_counts_rows_without_over_rows_with() -> None:
    Y = random_labels()
    for j, ratio in enumerate(imbalance.imbalance_ratio(Y)):
        own = Y[:, j].sum()
        assert ratio == (pytest.approx((len(Y) - own) / own) if own else math.inf)


def test_labels_without_a_row_leave_the_means_unchanged() -> None:
    Y = random_labels()
    used = Y[:, Y.sum(axis=0) > 0]
    for statistic in (imbalance.mean_imbalance_ratio, imbalance.mean_ir, imbalance.cvir):
        assert statistic(Y) == statistic(used)
    assert imbalance.scumble(Y) == imbalance.scumble(used)


def test_equally_frequent_labels_are_balanced() -> None:
    Y = np.stack([np.roll([1, 1, 0, 0], shift) for shift in range(4)])
    assert imbalance.mean_ir(Y) == 1
    assert imbalance.cvir(Y) == 0
    assert imbalance.scumble(Y) == pytest.approx(0, abs=1e-15)


def test_scumble_is_0_where_rare_and_frequent_labels_never_meet() -> None:
    Y = np.array([[1, 0]] * 9 + [[0, 1]])
    assert imbalance.scumble(Y) == 0
    assert imbalance.mean_ir(Y) == 5


def test_scumble_of_a_row_is_near_1_where_extremes_meet() -> None:
    Y = np.zeros((10_000, 2), dtype=int)
    Y[:, 0] = 1
    Y[0, 1] = 1
    assert imbalance.scumble_per_row(Y)[0] == pytest.approx(1 - 100 / 5000.5)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_order_and_container_do_not_matter(statistic: object) -> None:
    Y = random_labels()
    generator = np.random.default_rng(1)
    shuffled = Y[generator.permutation(60)][:, generator.permutation(12)]
    wanted = statistic(Y)
    assert statistic(shuffled) == pytest.approx(wanted)
    for container in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, np.ndarray.tolist):
        assert statistic(container(Y)) == wanted


def test_no_label_anywhere_gives_nan_not_an_error() -> None:
    Y = np.zeros((3, 2), dtype=int)
    for statistic in (imbalance.mean_imbalance_ratio, imbalance.mean_ir, imbalance.cvir):
        assert math.isnan(statistic(Y))
    assert imbalance.scumble(Y) == 0
    assert imbalance.count_label_sets(Y) == 1


@pytest.mark.parametrize(("shape", "missing"), [((0, 3), "rows"), ((3, 0), "labels")])
@pytest.mark.parametrize("statistic", [*STATISTICS, imbalance.describe])
def test_nothing_to_describe_is_refused(
    statistic: object, shape: tuple[int, int], missing: str
) -> None:
    with pytest.raises(InputError, match=f"Y has no {missing}"):
        statistic(sparse.csr_matrix(shape, dtype=int))


def test_two_million_labels_never_become_a_dense_matrix() -> None:
    n, m = 500, 2_000_000
    columns = np.random.default_rng(0).choice(m, size=n * 4, replace=False)
    Y = sparse.csr_matrix((np.ones(n * 4, int), columns, np.arange(0, n * 4 + 1, 4)), shape=(n, m))
    tracemalloc.start()
    report = imbalance.describe(Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.cardinality == 4
    assert peak < 12 * 8 * m < n * m
