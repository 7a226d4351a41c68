"""The program behind docs/research/paper-study.md: pairs of methods, groups of labels, alpha."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from places import REPOSITORY
from record_samples import make_record

from rmls.bench.tables.summary import summarise
from rmls.report.tables import Table

PROGRAM = REPOSITORY / "benchmarks" / "paper_tables.py"


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    return runpy.run_path(str(PROGRAM))


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def folds(label: str, values: list[float], **changes: Any) -> list[Any]:
    return [make_record(label, value, fold=fold, **changes) for fold, value in enumerate(values)]


def test_a_pair_is_compared_on_the_folds_that_both_have(program: dict[str, Any]) -> None:
    records = folds("RMLS", [0.5, 0.6, 0.9]) + folds("LEML", [0.4, 0.4])
    (row,) = texts(program["pair_table"](summarise(records)))
    assert row[:7] == [
        "a",
        "enron",
        "RMLS, k = 25",
        "LEML, k = 25",
        "0.550",
        "0.400",
        "+0.150",
    ]
    # t = 12.706 at one degree of freedom, times .0707, times the root of 1/2 + 20/80.
    assert row[7:9] == ["[-0.628, +0.928]", "2 of 2"]


def test_a_rounded_method_is_named_so_and_has_a_line_of_its_own(program: dict[str, Any]) -> None:
    records = folds("RMLS", [0.5, 0.6])
    for rule, values in (("round", [0.4, 0.4]), ("cardinality", [0.7, 0.7])):
        records += folds("PLST", values, decision=rule)
    rows = texts(program["pair_table"](summarise(records)))
    assert [(row[0], row[3], row[6]) for row in rows] == [
        ("a", "PLST, k = 25, rounded", "+0.150"),
        ("b", "PLST, k = 25", "-0.150"),
    ]


def test_groups_say_how_many_runs_they_rest_on(program: dict[str, Any]) -> None:
    (row,) = texts(program["group_table"](summarise(folds("LEML", [0.4, 0.6]))))
    assert row[:4] == ["enron", "LEML, k = 25", "2", "0.500"]


def test_alpha_has_a_line_for_every_coefficient(program: dict[str, Any]) -> None:
    records = [
        make_record("RMLS", alpha / 10, experiment="alpha", params={program["ALPHA"]: alpha})
        for alpha in (1, 2)
    ]
    rows = texts(program["alpha_table"](summarise(records)))
    assert [(row[2], row[3]) for row in rows] == [("1", "0.100"), ("2", "0.200")]
    assert texts(program["pair_table"](summarise(records))) == []


def test_every_rule_of_a_method_has_a_line_with_its_runs(program: dict[str, Any]) -> None:
    records = folds("PLST", [0.4, 0.6], decision="round") + folds("PLST", [0.7])
    rows = texts(program["figure_table"](summarise(records)))
    assert [row[1:6] for row in rows] == [
        ["PLST", "25", "round", "2", "0.500 ± 0.141"],
        ["PLST", "25", "cardinality", "1", "0.700"],
    ]


def test_studies_are_put_together_without_counting_a_run_twice(
    program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, own = make_record("RMLS"), make_record("RMLS", dataset="delicious")
    studies = {
        "a": ([shared], {"datasets": {"enron": 1}}),
        "b": ([shared, own], {"datasets": {"delicious": 2}, "unfinished": {"FaIE": "2 of 5 runs"}}),
    }
    monkeypatch.setitem(program["read_folders"].__globals__, "read_current", studies.get)
    records, merged = program["read_folders"](["a", "b"])
    assert [record["config"]["dataset"] for record in records] == ["enron", "delicious"]
    assert merged == {
        "datasets": {"enron": 1, "delicious": 2},
        "unfinished": {"FaIE": "2 of 5 runs"},
    }
