from __future__ import annotations

import json

import numpy as np
import pytest

from rmls.core.errors import InputError
from rmls.core.frequency import GROUP_NAMES
from rmls.imbalance import ImbalanceReport, describe


@pytest.fixture
def report() -> ImbalanceReport:
    Y = np.zeros((100, 8), dtype=int)
    for label, count in enumerate([80, 40, 15, 6, 4, 2, 1, 0]):
        Y[:count, label] = 1
    return describe(Y, [f"name{j}" for j in range(8)])


def test_counts_and_shares_add_up(report: ImbalanceReport) -> None:
    assert sum(group.n_labels for group in report.groups) == report.n_labels == 8
    assert sum(group.label_share for group in report.groups) == pytest.approx(1)
    assert sum(group.positive_share for group in report.groups) == pytest.approx(1)
    assert report.n_positives == report.label_counts.sum() == report.row_sizes.sum() == 148
    assert (report.n_unused_labels, report.n_empty_rows, report.n_label_sets) == (1, 20, 8)


def test_groups_are_ranges_of_counts_from_frequent_to_rare(report: ImbalanceReport) -> None:
    assert [group.name for group in report.groups] == list(GROUP_NAMES)
    head, torso, tail = report.groups
    assert (head.min_count, head.max_count) == (80, 80)
    assert (torso.min_count, torso.max_count) == (40, 40)
    assert (tail.min_count, tail.max_count) == (0, 15)


def test_named_labels_come_most_and_least_frequent_first(report: ImbalanceReport) -> None:
    assert report.most_frequent[:2] == (("name0", 80), ("name1", 40))
    assert report.least_frequent[:2] == (("name6", 1), ("name5", 2))


def test_dictionary_is_strict_json_even_where_values_are_undefined(report: ImbalanceReport) -> None:
    nothing = describe(np.zeros((2, 2), dtype=int))
    for each in (report, nothing):
        assert json.loads(json.dumps(each.as_dict(), allow_nan=False)) == each.as_dict()
    assert nothing.as_dict()["mean_imbalance_ratio"] is None
    assert report.as_dict()["groups"]["tail"]["n_labels"] == 6


def test_text_names_the_statistics_and_the_groups(report: ImbalanceReport) -> None:
    text = str(report)
    for word in ("SCUMBLE", "MeanIR", "labels per row", "head", "torso", "tail", "name0 (80)"):
        assert word in text
    assert "20 without a label" in text
    assert max(map(len, text.splitlines())) <= 100


def test_labels_without_names_are_numbered() -> None:
    assert describe([[1, 0], [1, 1]]).most_frequent == (("label 0", 2), ("label 1", 1))


def test_wrong_number_of_names_is_refused() -> None:
    with pytest.raises(InputError, match="label_names has 1 entries but Y has 2 labels"):
        describe([[1, 0]], ["only"])
