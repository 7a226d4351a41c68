"""Two runs of a study: pairs, intervals, directions, and what cannot be compared."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest
from record_samples import make_record
from scipy import stats

from rmls.bench.run.records import Record
from rmls.bench.tables.compare import Change, Comparison, SettingChange, compare
from rmls.bench.tables.comparison_tables import comparison_tables
from rmls.core.errors import InputError
from rmls.report.intervals import resampled_estimate
from rmls.report.tables import Table


def study(*labels: str, value: float = 0.5, n_folds: int = 5, **options: Any) -> list[Record]:
    """Results whose folds scatter by 0.01."""
    return [
        make_record(label, value + 0.01 * fold, fold=fold, **options)
        for label in labels or ("RMLS",)
        for fold in range(n_folds)
    ]


def moved(records: list[Record], by: float | list[float], speed: float = 1.0) -> list[Record]:
    """The same results with all metrics moved and all times multiplied."""
    steps = by if isinstance(by, list) else [by] * len(records)
    result = copy.deepcopy(records)
    for record, step in zip(result, steps, strict=True):
        measured: Any = record["measured"]
        for group in measured["metrics"].values():
            for name in group:
                group[name] += step
        for name in ("train_seconds", "predict_seconds"):
            measured[name] *= speed
    return result


def only(comparison: Comparison) -> SettingChange:
    assert len(comparison.settings) == 1
    return comparison.settings[0]


def table_of(comparison: Comparison, start: str) -> Table:
    return next(table for table in comparison_tables(comparison) if table.title.startswith(start))


def column(table: Table, heading: str) -> list[tuple[str, str]]:
    place = table.columns.index(heading)
    assert all(len(row) == len(table.columns) for row in table.rows)
    return [(row[place].text, row[place].mark) for row in table.rows]


def test_a_study_compared_with_itself_shows_no_difference() -> None:
    records = study("RMLS", "LEML")
    comparison = compare(records, records)
    for row in comparison.settings:
        assert row.n_pairs == 5
        for change in row.changes.values():
            assert (change.difference, change.ratio) == (0, 1)
            assert not change.excludes_zero
    assert comparison.notes == []
    assert comparison.origins == {}
    assert comparison.times_compare


@pytest.mark.parametrize("n_folds", [2, 3, 10])
def test_the_interval_is_that_of_the_paired_t_test(n_folds: int) -> None:
    steps = list(np.random.default_rng(n_folds).normal(0.02, 0.02, n_folds))
    before = study(n_folds=n_folds)
    after = moved(before, steps)
    change = only(compare(before, after)).changes["example_f1"]
    values = [
        [record["measured"]["metrics"]["all"]["example_f1"] for record in side]
        for side in (after, before)
    ]  # type: ignore[index]
    test = stats.ttest_rel(*values)
    # Of runs that share no rows; those of a study share them, and the interval is wider.
    alone = Change.of(values[1], values[0])
    assert alone is not None
    assert alone.interval == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert alone.p_value == pytest.approx(test.pvalue)
    assert change.difference == pytest.approx(np.mean(steps))
    assert alone.excludes_zero == (test.pvalue < 0.05)
    low, high = test.confidence_interval(0.95)
    # 80 training and 20 test rows: 1/J + 20/80 in the place of 1/J.
    factor = np.sqrt((1 / n_folds + 0.25) * n_folds)
    assert change.interval is not None
    assert np.diff(change.interval)[0] == pytest.approx((high - low) * factor)
    assert sum(change.interval) == pytest.approx(low + high)
    assert change.excludes_zero == (change.p_value is not None and change.p_value < 0.05)


def test_pairs_see_what_means_would_hide() -> None:
    before = study(n_folds=5)
    steps = [0.002, 0.003, 0.002, 0.003, 0.002]
    change = only(compare(before, moved(before, steps))).changes["example_f1"]
    assert change.before.deviation is not None
    assert change.difference < change.before.deviation
    assert change.excludes_zero


def test_one_pair_has_no_interval() -> None:
    before = study(n_folds=1)
    comparison = compare(before, moved(before, 0.3))
    change = only(comparison).changes["example_f1"]
    assert change.interval is None
    assert not change.excludes_zero
    assert column(table_of(comparison, "example_f1"), "95 % interval") == [("–", "")]


@pytest.mark.parametrize(
    ("step", "f_score", "hamming_loss"), [(0.1, "better", "worse"), (-0.1, "worse", "better")]
)
def test_marks_follow_the_direction_of_the_metric(
    step: float, f_score: str, hamming_loss: str
) -> None:
    before = study()
    comparison = compare(before, moved(before, step), ["f1", "hamming_loss"])
    text = f"{step:+.3f}"
    assert column(table_of(comparison, "example_f1"), "difference") == [(text, f_score)]
    assert column(table_of(comparison, "hamming_loss"), "difference") == [(text, hamming_loss)]


def test_noise_of_summation_is_no_difference() -> None:
    change = Change.of([0.1, 0.2], [0.1 + 1e-16, 0.2 + 1e-16])
    assert change is not None
    assert not change.excludes_zero


def test_the_ratio_of_times_is_the_median_of_the_pairs() -> None:
    before = study(n_folds=3, seconds=2.0)
    after = copy.deepcopy(before)
    for record, factor in zip(after, [0.5, 0.6, 40.0], strict=True):
        record["measured"]["train_seconds"] *= factor  # type: ignore[index]
    comparison = compare(before, after)
    change = only(comparison).changes["train_seconds"]
    assert change.ratio == pytest.approx(0.6)
    assert column(table_of(comparison, "Times"), "training ratio") == [("×0.60", "")]


def test_a_time_of_nothing_has_no_ratio() -> None:
    before = study(seconds=0.0)
    comparison = compare(before, before)
    assert only(comparison).changes["train_seconds"].ratio is None
    assert column(table_of(comparison, "Times"), "training ratio") == [("–", "")]


def test_before_and_after_exchanged_turn_the_sign_and_the_ratio() -> None:
    before = study("RMLS", "LEML")
    steps = list(np.random.default_rng(0).normal(size=10) / 50)
    after = moved(before, steps, speed=0.25)
    there, back = compare(before, after), compare(after, before)
    for first, second in zip(there.settings, back.settings, strict=True):
        forth, back_again = first.changes["macro_f1"], second.changes["macro_f1"]
        assert back_again.difference == pytest.approx(-forth.difference)
        assert forth.interval is not None
        assert back_again.interval == pytest.approx((-forth.interval[1], -forth.interval[0]))
        assert first.changes["train_seconds"].ratio == pytest.approx(0.25)
        assert second.changes["train_seconds"].ratio == pytest.approx(4)


def test_the_order_of_lines_changes_nothing() -> None:
    before = study("RMLS", "LEML", "PLST")
    after = moved(before, list(np.random.default_rng(1).normal(size=15)))
    expected = {row.setting: row for row in compare(before, after).settings}
    for seed in range(4):
        random.Random(seed).shuffle(before)
        random.Random(seed + 9).shuffle(after)
        assert {row.setting: row for row in compare(before, after).settings} == expected


def test_results_of_one_side_are_counted_and_left_out() -> None:
    before, after = study("RMLS", "PLST"), study("RMLS", n_folds=4)
    comparison = compare(before, [*after, *study("LEML", n_folds=2)])
    assert only(comparison).n_pairs == 4
    assert comparison.counts["results"] == (10, 6)
    assert comparison.counts["in both"] == (4, 4)
    assert comparison.counts["only here"] == (6, 2)


def test_failed_runs_are_counted_and_left_out() -> None:
    before = study()
    after = [*before[:3], make_record(value=0.0, fold=3, failure="time"), before[4]]
    comparison = compare(before, after)
    assert only(comparison).n_pairs == 4
    assert comparison.counts["failed, of those in both"] == (0, 1)


def test_a_result_written_twice_counts_once() -> None:
    before = study()
    comparison = compare([*before, *moved(before, 0.5)], before)
    assert comparison.counts["results"] == (5, 5)
    assert only(comparison).changes["example_f1"].difference == 0


def test_other_threads_are_paired_but_times_do_not_compare() -> None:
    before, after = study(), study(threads=4)
    assert before[0]["key"] != after[0]["key"]
    comparison = compare(before, after)
    assert only(comparison).n_pairs == 5
    assert comparison.origins == {"threads": ("1", "4")}
    assert not comparison.times_compare
    assert column(table_of(comparison, "Times"), "training ratio") == [("×1.00", "muted")]
    assert "times do not compare" in comparison.notes[0]


def test_the_same_threads_are_paired_first() -> None:
    before = [*study(value=0.1), *study(value=0.2, threads=4)]
    after = [*study(value=0.2, threads=4), *study(value=0.1)]
    assert only(compare(before, after)).changes["example_f1"].difference == 0


@pytest.mark.parametrize(
    ("part", "name", "comparable"),
    [("machine", "cpu", False), ("machine", "jobs", False), ("versions", "numpy", True)],
)
def test_other_machines_and_versions_are_said(part: str, name: str, comparable: bool) -> None:
    before, after = study(), study()
    for record in after:
        record[part][name] = "another"  # type: ignore[literal-required]
    comparison = compare(before, after)
    assert comparison.origins[name][1] == "another"
    assert name in comparison.notes[0]
    assert comparison.times_compare is comparable
    texts = [cell.text for row in table_of(comparison, "What").rows for cell in row]
    assert "another" in texts


def test_another_commit_is_shown_and_needs_no_warning() -> None:
    before, after = study(), study()
    for record in after:
        record["commit"] = None
    comparison = compare(before, after)
    assert comparison.origins == {"commit": ("abc", "None")}
    assert comparison.notes == []


def test_other_data_under_the_same_name_are_said() -> None:
    before, after = study(), study()
    for record in after:
        record["key"] += "x"
        assert record["data"] is not None
        record["data"]["checksum"] = "sha256:other"
    comparison = compare(before, after)
    assert "Other data under the same name: enron" in comparison.notes[0]
    assert not comparison.times_compare


def test_a_metric_measured_on_one_side_only_has_no_table() -> None:
    before, after = study(), study()
    for record in after:
        del record["measured"]["metrics"]["all"]["macro_f1"]  # type: ignore[index]
    comparison = compare(before, after, ["macro_f1", "f1"])
    titles = [table.title for table in comparison_tables(comparison)]
    assert titles == ["What is compared", "example_f1, greater is better", "Times and memory"]


def test_costs_can_be_asked_for_as_metrics() -> None:
    before = study(seconds=2.0)
    comparison = compare(before, moved(before, 0.0, speed=0.5), ["train_seconds"])
    table = table_of(comparison, "training s")
    assert column(table, "difference") == [("-1.00", "better")]


def test_experiments_are_named_where_there_are_several() -> None:
    alone = study()
    several = [*alone, *study(experiment="alpha")]
    assert table_of(compare(alone, alone), "Times").columns[0] == "data set"
    assert table_of(compare(several, several), "Times").columns[0] == "experiment"


def test_nothing_in_common_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"no configuration in common \(5 before, 5 after\)"):
        compare(study("RMLS"), study("LEML"))


def test_nothing_that_ended_well_is_one_sentence() -> None:
    failed = [make_record(failure="memory")]
    with pytest.raises(InputError, match="none ended well on both"):
        compare(failed, study(n_folds=1))


def test_an_unknown_metric_is_one_sentence() -> None:
    with pytest.raises(InputError, match="unknown metric 'f_core'"):
        compare(study(), study(), ["f_core"])


def test_an_interval_needs_two_values() -> None:
    assert resampled_estimate([]) is None
    assert resampled_estimate([1.0]) is None
    same = resampled_estimate([1.0, 1.0], 0.25)
    assert same is not None
    assert (same.interval, same.p_value, same.excludes_zero) == ((1, 1), 0, True)
    nothing = resampled_estimate([0.0, 0.0])
    assert nothing is not None
    assert (nothing.p_value, nothing.excludes_zero) == (1, False)


def test_corrected_intervals_cover_the_truth_where_folds_share_rows() -> None:
    # The error of a mean as predictor: its expectation is 1 + 1/n, known for every training size.
    rng = np.random.default_rng(0)
    covered = {0.0: 0, 0.25: 0}
    for _ in range(400):
        values = rng.normal(size=50)
        figures = []
        for fold in range(5):
            test = np.arange(50) % 5 == fold
            figures.append(float(np.mean((values[test] - values[~test].mean()) ** 2)))
        for ratio in covered:
            found = resampled_estimate(figures, ratio)
            assert found is not None
            covered[ratio] += found.low <= 1 + 1 / 40 <= found.high
    assert covered[0.25] / 400 > 0.95
    assert covered[0.0] < covered[0.25]
