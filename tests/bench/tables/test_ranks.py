"""Mean ranks: known orders, references, invariances, and what happens to gaps."""

from __future__ import annotations

import random
from inspect import signature

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_samples import make_record
from scipy import stats

import rmls
import rmls.models
from rmls.bench.run.records import Record
from rmls.bench.study.methods import Method
from rmls.bench.tables.ranks import RankReport, critical_difference, indistinct_groups, rank_methods
from rmls.bench.tables.summary import ROUNDING, own_rule, summarise
from rmls.core.errors import InputError

DATASETS = ("enron", "delicious", "eurlex", "wiki")
LABELS = ("first", "second", "third")


def grid(values: np.ndarray, n_folds: int = 1) -> list[Record]:
    """Results of methods (rows) on data sets (columns); folds scatter around the value."""
    return [
        make_record(
            f"method {row}",
            value + 0.001 * (fold - (n_folds - 1) / 2),
            dataset=f"{column}",
            fold=fold,
        )
        for (row, column), value in np.ndenumerate(values)
        for fold in range(n_folds)
    ]


def ranked(records: list[Record], metric: str = "example_f1") -> RankReport:
    report = rank_methods(summarise(records), metric)
    assert report is not None
    return report


def in_order(n_datasets: int = 4) -> list[Record]:
    return [
        make_record(label, 0.9 - 0.1 * place, dataset=dataset)
        for dataset in DATASETS[:n_datasets]
        for place, label in enumerate(LABELS)
    ]


def test_a_method_that_always_wins_has_rank_one() -> None:
    report = ranked(in_order())
    assert report.names == [f"{label} · cardinality" for label in LABELS]
    assert report.ranks == [1, 2, 3]
    assert (report.n_blocks, report.n_datasets) == (4, 4)
    assert report.statistic == pytest.approx(8.0)


@pytest.mark.parametrize("metric", ["hamming_loss", "train_seconds", "empty_rows", "peak_memory"])
def test_the_least_wins_where_less_is_better(metric: str) -> None:
    records = [
        make_record(label, 0.1 * place, dataset=dataset, seconds=1.0 + place)
        for dataset in DATASETS
        for place, label in enumerate(LABELS)
    ]
    for record, place in zip(records, [0, 1, 2] * 4, strict=True):
        assert record["measured"] is not None
        record["measured"]["empty_rows"] = 0.1 * place
        record["measured"]["peak_memory"] = 10 + place
    names = [name.partition(" · ")[0] for name in ranked(records, metric).names]
    assert names == list(LABELS)


@pytest.mark.parametrize("shape", [(3, 2), (4, 6), (7, 10)])
@pytest.mark.parametrize("levels", [3, 1000])
def test_the_statistic_is_that_of_scipy(shape: tuple[int, int], levels: int) -> None:
    values = np.random.default_rng(7).integers(levels, size=shape) / levels
    report = ranked(grid(values))
    expected = stats.friedmanchisquare(*values)
    assert report.statistic == pytest.approx(expected.statistic)
    assert report.p_value == pytest.approx(expected.pvalue)
    ranks = stats.rankdata(-values, axis=0).mean(axis=1)
    assert report.ranks == pytest.approx(sorted(ranks))
    for name, rank in zip(report.names, report.ranks, strict=True):
        row = int(name.partition(" · ")[0].removeprefix("method "))
        assert rank == pytest.approx(ranks[row])


def test_quantiles_are_those_of_the_published_table() -> None:
    published = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for n_methods, quantile in enumerate(published, start=2):
        scale = np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
        assert critical_difference(n_methods, 14) / scale == pytest.approx(quantile, abs=0.0011)


def test_the_published_example_has_its_critical_difference() -> None:
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_equal_methods_share_their_rank() -> None:
    values = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.1]])
    assert ranked(grid(values)).ranks == [1.5, 1.5, 3]


def test_no_difference_at_all_is_no_evidence() -> None:
    report = ranked(grid(np.full((3, 4), 0.5)))
    assert (report.statistic, report.p_value) == (0, 1)
    assert report.groups == [(0, 2)]
    assert report.names == sorted(report.names)


@given(
    st.lists(st.floats(1, 12), min_size=1, max_size=9).map(sorted),
    st.floats(0.1, 5),
)
def test_groups_are_the_maximal_runs(ranks: list[float], difference: float) -> None:
    n = len(ranks)
    runs = {
        (first, last)
        for first in range(n)
        for last in range(first + 1, n)
        if ranks[last] - ranks[first] < difference
    }
    maximal = {
        (a, b) for a, b in runs if not any(c <= a and b <= d and (c, d) != (a, b) for c, d in runs)
    }
    assert set(indistinct_groups(ranks, difference)) == maximal
    assert indistinct_groups(ranks, difference) == sorted(maximal)


def test_folds_are_averaged_and_are_no_blocks() -> None:
    values = np.random.default_rng(0).random((3, 4))
    one, five = ranked(grid(values)), ranked(grid(values, n_folds=5))
    assert one == five
    assert "folds and seeds are averaged" in five.note


def test_numbers_of_components_are_blocks_and_the_baseline_is_in_all_of_them() -> None:
    records = [
        make_record(label, value, dataset=dataset, k=k)
        for dataset, ks in (("enron", (25, 50)), ("wiki", (250, 500)))
        for k in ks
        for label, value in (("RMLS", 0.6), ("PLST", 0.4))
    ]
    records += [
        make_record("Baseline", 0.5, dataset=dataset, k=None, decision="none")
        for dataset in ("enron", "wiki")
    ]
    report = ranked(records)
    assert report.names == ["RMLS · cardinality", "Baseline", "PLST · cardinality"]
    assert report.ranks == [1, 2, 3]
    assert (report.n_blocks, report.n_datasets) == (4, 2)
    assert "not independent" in report.note


def test_rules_are_methods_of_their_own() -> None:
    records = [
        make_record("PLST", value, dataset=dataset, decision=rule)
        for dataset in DATASETS
        for rule, value in (("round", 0.4), ("cardinality", 0.5))
    ]
    assert ranked(records).names == ["PLST · cardinality", "PLST · round"]


@pytest.mark.parametrize("metric", ["precision@5", "train_seconds"])
def test_what_no_rule_changes_is_ranked_once_per_method(metric: str) -> None:
    records = [
        make_record(label, value, dataset=dataset, decision=rule, seconds=2 - value)
        for dataset in DATASETS
        for label, rule, value in (
            ("PLST", "cardinality", 0.9),
            ("PLST", "round", 0.4),
            ("RMLS", "cardinality", 0.5),
        )
    ]
    assert ranked(records, metric).names == ["RMLS", "PLST"]


def test_only_one_experiment_is_ranked() -> None:
    other = [
        make_record("second", 1.0, dataset=dataset, experiment="alpha", params={"alpha": alpha})
        for dataset in DATASETS
        for alpha in (1, 2)
    ]
    records = in_order()
    assert ranked([*other, *records]) == ranked(records)
    report = rank_methods(summarise([*other, *records]), "f1", experiment="alpha")
    assert report is not None
    assert report.names == ["second (alpha=1) · cardinality", "second (alpha=2) · cardinality"]


def test_the_order_of_lines_changes_nothing() -> None:
    records = grid(np.random.default_rng(3).random((5, 6)), n_folds=3)
    del records[4::17]
    expected = ranked(records)
    for seed in range(5):
        random.Random(seed).shuffle(records)
        assert ranked(records) == expected


def test_other_names_change_no_rank() -> None:
    values = np.random.default_rng(5).random((4, 5))
    report = ranked(grid(values))
    reversed_ = ranked(grid(values[::-1]))
    new = {f"method {row} · cardinality": f"method {3 - row} · cardinality" for row in range(4)}
    renamed = [new[name] for name in reversed_.names]
    # Methods of equal rank are in the order of their names, so compare by name.
    assert dict(zip(renamed, reversed_.ranks, strict=True)) == dict(
        zip(report.names, report.ranks, strict=True)
    )
    assert reversed_.groups == report.groups


def test_a_method_with_gaps_is_dropped_where_that_loses_less() -> None:
    records = in_order()
    records[2] = make_record("third", dataset="enron", failure="time")
    records[5] = make_record("third", dataset="delicious", failure="time")
    report = ranked(records)
    assert report.dropped_methods == ["third · cardinality"]
    assert report.dropped_blocks == []
    assert report.n_blocks == 4
    assert "third · cardinality" in report.note


def test_a_block_with_gaps_is_dropped_where_that_loses_less() -> None:
    records = in_order()
    records[1] = make_record("second", dataset="enron", failure="memory")
    records[2] = make_record("third", dataset="enron", failure="memory")
    report = ranked(records)
    assert report.dropped_methods == []
    assert report.dropped_blocks == ["enron, k = 25"]
    assert report.ranks == [1, 2, 3]
    assert "enron, k = 25" in report.note


def test_a_mean_of_fewer_folds_is_a_gap() -> None:
    records = grid(np.random.default_rng(1).random((3, 6)), n_folds=4)
    removed = records.pop()
    report = ranked(records)
    assert report.dropped_blocks == [f"{removed['config']['dataset']}, k = 25"]


@pytest.mark.parametrize(
    "records",
    [
        [],
        [make_record("alone", dataset=dataset) for dataset in DATASETS],
        [make_record(label) for label in LABELS],
        [make_record(label, dataset=d, failure="crash") for label in LABELS for d in DATASETS],
        [make_record(label, dataset=label) for label in LABELS],
    ],
    ids=["no results", "one method", "one block", "all failed", "no block in common"],
)
def test_too_little_to_rank_is_none(records: list[Record]) -> None:
    assert rank_methods(summarise(records), "example_f1") is None


def test_a_metric_that_was_not_measured_is_none() -> None:
    assert rank_methods(summarise(in_order()), "precision@7") is None


def test_an_unknown_metric_is_one_sentence() -> None:
    with pytest.raises(InputError, match="unknown metric 'presicion'"):
        rank_methods(summarise(in_order()), "presicion")


def test_the_methods_that_round_are_those_whose_default_it_is() -> None:
    defaults = {
        name: signature(getattr(rmls.models, name)).parameters.get("decision")
        for name in rmls.models.__all__
    }
    found = {
        name for name, rule in defaults.items() if rule is not None and rule.default == "round"
    }
    assert found == ROUNDING


@pytest.mark.parametrize("name", sorted(set(rmls.models.__all__) - set(rmls.models.READS_TEXT)))
def test_the_own_rule_is_the_default_of_the_estimator(name: str) -> None:
    rule = Method(name).decisions[0]
    assert own_rule(summarise([make_record(name, method=name, decision=rule)])[0]) == rule


def test_a_preset_and_a_parameter_have_the_last_word() -> None:
    preset = make_record("RMLS", preset="paper", decision="f1")
    assert own_rule(summarise([preset])[0]) == rmls.RMLS.paper().decision
    chosen = make_record("RMLS", params={"decision": "macro_f1"})
    assert own_rule(summarise([chosen])[0]) == "macro_f1"
