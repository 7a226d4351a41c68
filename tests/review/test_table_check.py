"""A check of a table: every planted fault is found with its rows, a clean table has none."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from review_samples import topic_table

from rmls import check_table
from rmls.core.errors import InputError
from rmls.datasets import read_texts
from rmls.datasets.tables import TextTable
from rmls.review.label_names import similar_names


def test_a_clean_table_has_no_findings() -> None:
    check = check_table(topic_table(300))
    assert check.findings == []
    assert (check.n_rows, check.n_labels) == (300, 12)
    assert "Nothing was found" in check.html()


def test_planted_faults_are_found_with_their_rows() -> None:
    table = topic_table(300)
    assert table.labels is not None
    table.texts[3] = ("",)
    table.labels[5] = []
    table.texts[250], table.labels[250] = table.texts[7], list(table.labels[7])
    table.texts[260], table.labels[260] = table.texts[8], ["label 0"]
    table.labels[8] = ["label 1"]
    table.texts[270] = (table.texts[9][0] + " more",)
    table.labels[11].append("Label-2")
    table.labels[12].append("only once")
    table.texts[13] = ("word",)
    table.texts[14] = ("long " * 10_001,)
    check = check_table(table)
    rows = {found.kind: found.rows for found in check.findings}
    assert rows["no_text"] == (3,)
    assert rows["no_labels"] == (5,)
    assert rows["same_text"] == (7, 8, 250, 260)
    assert rows["torn_text"] == (8, 260)
    assert set(rows["near_text"]) == {9, 270}
    assert rows["short_text"] == (13,)
    assert rows["long_text"] == (14,)
    names, rare = check["similar_names"], check["rare_labels"]
    assert names is not None
    assert set(names.labels) == {"label 2", "Label-2"}
    assert rare is not None
    assert set(rare.labels) == {"Label-2", "only once"}


def test_labels_that_always_come_together_are_found() -> None:
    table = topic_table(200)
    assert table.labels is not None
    table.labels = [[*row, "twin"] if "label 3" in row else row for row in table.labels]
    found = check_table(table)["always_together"]
    assert found is not None
    assert found.labels == ("label 3", "twin")


def test_a_label_of_nearly_all_rows_is_found() -> None:
    table = topic_table(100)
    table.labels = [[*row, "all"] for row in table.labels or []]
    found = check_table(table)["everywhere"]
    assert found is not None
    assert found.labels == ("all",)


def test_labels_that_were_not_split_are_found() -> None:
    labels = [f"label {row % 7};label {row % 5}" for row in range(40)]
    table = TextTable(("text",), topic_table(40).texts, [[label] for label in labels])
    found = check_table(table)["unsplit_names"]
    assert found is not None
    assert "--separator ';'" in found.advice


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["email", "E-mail", "e mail"], [[0, 1, 2]]),
        (["cake", "cakes", "baking"], [[0, 1]]),
        (["berry", "berries"], [[0, 1]]),
        (["café", "Cafe"], [[0, 1]]),
        (["C", "C++", "C#", "c"], [[0, 3]]),
        (["season", "seasonal", "seasoning"], []),
        (["1.12", "11.2", "version 1", "version 2"], []),
        (["lang:c", "lang:c++"], []),
        (["tax", "law"], []),
    ],
)
def test_names_that_are_written_alike(names: list[str], expected: list[list[int]]) -> None:
    assert similar_names(names, "english") == expected


def test_tables_without_labels_are_checked_as_well() -> None:
    check = check_table(TextTable(("text",), [("one text here",), ("one text here",)]))
    assert check.imbalance is None
    assert [found.kind for found in check.findings] == ["same_text"]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match="no rows"):
        check_table(TextTable(("text",), [], []))


def test_no_row_has_a_label() -> None:
    check = check_table(TextTable(("text",), [("a b c",), ("d e f",)], [[], []]))
    assert [found.kind for found in check.findings] == ["no_labels"]


def test_names_and_texts_on_the_page_are_no_markup() -> None:
    table = read_texts({"text": ["<script>x</script> a b"] * 2, "tags": ["<b>", "</table>"]})
    page = check_table(table).html("<i>")
    root = ElementTree.fromstring(page)
    assert len(root.findall(".//script")) == 1
    assert root.find(".//i") is None


def test_the_language_is_found() -> None:
    rows = ["the law of the sea and the land is for all of us", "it is on the table in a house"]
    assert check_table(TextTable(("text",), [(row,) for row in rows] * 5)).language == "english"


def test_everything_can_be_written_as_json() -> None:
    table = topic_table(60)
    table.ids = list(np.arange(60))
    table.texts[5] = table.texts[6]
    found = json.loads(json.dumps(check_table(table).as_dict()))
    assert found["findings"][0]["rows"] == [6, 7]
    assert found["findings"][0]["examples"][0]["rows"] == "6 (5), 7 (6)"
