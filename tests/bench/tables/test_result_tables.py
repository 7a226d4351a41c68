"""Tables of any study: quality, frequency, probabilities, costs, imbalance, failures."""

from __future__ import annotations

import random
from typing import Any

from record_samples import by_row, folds, make_record

from rmls.bench.study.paper_figures import paper_methods
from rmls.bench.tables.paper_tables import paper_tables
from rmls.bench.tables.result_tables import result_tables, same_rule_table
from rmls.bench.tables.study_tables import failure_table, imbalance_table, missing_text
from rmls.bench.tables.summary import summarise
from rmls.imbalance import describe
from rmls.report.numbers import MISSING, format_number
from rmls.report.tables import TableCell

STAND_IN: dict[str, Any] = {"datasets": {"eurlex57k_4k": {"note": "other documents."}}}


def test_each_data_set_has_quality_frequency_and_costs() -> None:
    records = [*folds("RMLS", 0.5, dataset="b"), *folds("RMLS", 0.5, dataset="a")]
    study = {"datasets": {"a": {"note": ""}, "b": {"note": "stand-in for c."}}}
    titles = [table.title for table in result_tables(summarise(records), study)]
    subjects = ("quality", "labels by frequency", "costs")
    assert titles == [
        *(f"a: {subject}" for subject in subjects),
        *(f"b (stand-in for c): {subject}" for subject in subjects),
    ]


def test_quality_marks_the_best_of_each_column() -> None:
    records = [*folds("RMLS", 0.5), *folds("PLST", 0.4, decision="round")]
    rows = by_row(result_tables(summarise(records), {})[0])
    first, second = rows["RMLS", "25", "cardinality"], rows["PLST", "25", "round"]
    assert first["F"] == TableCell("0.500 ± 0.002", "best")
    assert second["F"] == TableCell("0.400 ± 0.002")
    assert (first["Hamming loss"].mark, second["Hamming loss"].mark) == ("", "best")


def test_groups_of_labels_have_columns_of_their_own() -> None:
    records = folds("RMLS", 0.5)
    for record in records:
        assert record["measured"] is not None
        record["measured"]["metrics"]["tail"]["macro_f1"] = 0.125
    row = by_row(result_tables(summarise(records), {})[1])["RMLS", "25", "cardinality"]
    assert row["macro F, head"].text == "0.500 ± 0.002"
    assert row["macro F, tail"].text == "0.125 ± 0.000"


def test_probabilities_have_a_table_where_some_were_measured() -> None:
    old, new = folds("KNN", 0.5), folds("RMLS", 0.5)
    for tail, record in zip([0.25, None, 0.75, None, None], new, strict=True):
        assert record["measured"] is not None
        record["measured"]["calibration"] = {"ece": 0.125, "ece_tail": tail, "brier": 0.0625}
    without = folds("PLST", 0.5)
    for record in without:
        assert record["measured"] is not None
        record["measured"]["calibration"] = None
    table = result_tables(summarise([*old, *new, *without]), {})[2]
    assert table.title == "enron: probabilities"
    rows = by_row(table)
    texts = {heading: cell.text for heading, cell in rows["RMLS", "25", "cardinality"].items()}
    assert texts["ECE"] == "0.125 ± 0.000"
    assert texts["ECE, tail"] == "0.500 ± 0.354"
    assert texts["Brier"] == "0.062 ± 0.000"
    assert rows["KNN", "25", "cardinality"]["ECE"] == TableCell(MISSING)
    assert rows["PLST", "25", "cardinality"]["Brier"] == TableCell(MISSING)


def test_costs_are_in_the_units_of_their_headings() -> None:
    record = make_record(seconds=4.0)
    assert record["measured"] is not None
    # The clock of the wall is no part of a report.
    record["measured"] |= {"train_seconds": 9.0, "predict_seconds": 9.0}
    records = [record]
    row = by_row(result_tables(summarise(records), {})[2])["RMLS", "25", "cardinality"]
    texts = {heading: cell.text for heading, cell in row.items()}
    assert texts["training CPU s"] == "4.00"
    assert not [heading for heading in texts if "training" in heading and "CPU" not in heading]
    # Half of 4 s over 20 rows.
    assert texts["prediction CPU ms per row"] == "100"
    assert texts["peak memory MB"] == "300"
    assert texts["model MB"] == "2.00"
    assert texts["empty rows %"] == "25.0"


def test_a_metric_nobody_measured_has_no_column() -> None:
    records = folds("RMLS", 0.5)
    for record in records:
        assert record["measured"] is not None
        record["measured"]["metrics"] = {"all": {"example_f1": 0.5}}
    tables = result_tables(summarise(records), {})
    assert [table.title for table in tables] == ["enron: quality", "enron: costs"]
    assert tables[0].columns == ["method", "k", "rule", "F"]


def test_rows_with_failed_runs_are_named_below_the_table() -> None:
    records = [
        *folds("RMLS", 0.5, n_folds=2),
        make_record("RMLS", fold=2, failure="time"),
        make_record("LEML", failure="memory"),
    ]
    table = result_tables(summarise(records), {})[0]
    assert "RMLS · 25 · cardinality: 2 of 3 runs ended well (time)." in table.note
    assert "LEML · 25 · cardinality: 0 of 1 runs ended well (memory)." in table.note
    assert by_row(table)["LEML", "25", "cardinality"]["F"] == TableCell(MISSING)


def test_variants_of_one_method_are_told_apart() -> None:
    records = [
        make_record(experiment="alpha", params={"negatives_per_positive": alpha})
        for alpha in (1, 2)
    ]
    names = [names[0] for names in by_row(result_tables(summarise(records), {})[0])]
    assert names == ["RMLS (negatives_per_positive=1)", "RMLS (negatives_per_positive=2)"]


def test_the_same_rule_for_all_shows_what_the_rule_was_worth() -> None:
    records = [
        *folds("RMLS", 0.6, preset="paper"),
        *folds("PLST", 0.4, decision="round"),
        *folds("PLST", 0.65, decision="cardinality"),
        *folds("Baseline", 0.0, k=None, decision="none"),
    ]
    rows = by_row(same_rule_table(summarise(records), {}))
    assert len(rows) == 2
    rounding, keeping = (
        rows["enron", "PLST", "25", "round"],
        rows["enron", "RMLS", "25", "cardinality"],
    )
    common = "F, cardinality"
    assert [rounding[name].text for name in ("F, own rule", common, "gain")] == [
        "0.400 ± 0.002",
        "0.650 ± 0.002",
        "+0.250",
    ]
    assert keeping["gain"].text == MISSING
    assert (keeping["F, own rule"].mark, keeping[common].mark) == ("best", "")
    assert (rounding["F, own rule"].mark, rounding[common].mark) == ("", "best")


def test_the_own_rule_is_named_as_it_is() -> None:
    records = [
        *folds("RMLS", 0.6, decision="f1"),
        *folds("RMLS", 0.5),
        *folds("RMLSRanker", 0.4),
        *folds("LEML", 0.3),
        *folds("KNN", 0.2, params={"decision": "top_3"}),
    ]
    rows = by_row(same_rule_table(summarise(records), {}))
    assert [names[1::2] for names in rows] == [
        ("RMLS", "f1"),
        ("RMLSRanker", "f1, not run"),
        ("LEML", "cardinality"),
        ("KNN", "top_3, not run"),
    ]
    assert rows["enron", "RMLS", "25", "f1"]["gain"].text == "-0.100"
    assert rows["enron", "RMLSRanker", "25", "f1, not run"]["F, own rule"].text == MISSING


def test_the_gain_is_over_the_folds_both_rules_have() -> None:
    records = [
        *folds("PLST", 0.4, decision="round"),
        *folds("PLST", 0.5, decision="cardinality")[:2],
    ]
    row = by_row(same_rule_table(summarise(records), {}))["enron", "PLST", "25", "round"]
    assert row["gain"].text == "+0.100"


def test_imbalance_is_that_of_the_description() -> None:
    report = describe([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    study = {"datasets": {"toy": {"n_features": 9, "imbalance": report.as_dict()}, "bare": {}}}
    rows = by_row(imbalance_table(study))
    toy, bare = rows[("toy",)], rows[("bare",)]
    assert (toy["rows"].text, toy["features"].text, toy["labels"].text) == ("4", "9", "3")
    assert toy["labels per row"].text == "1.250"
    assert toy["MeanIR"].text == format_number(report.mean_ir)
    counts = [int(toy[group].text.split()[0]) for group in ("head", "torso", "tail")]
    assert sum(counts) == 3
    assert {cell.text for heading, cell in bare.items() if heading != "data set"} == {MISSING}


def test_imbalance_without_any_label_is_dashes() -> None:
    report = describe([[0, 0], [0, 0]]).as_dict()
    row = by_row(imbalance_table({"datasets": {"empty": {"imbalance": report}}}))[("empty",)]
    assert row["MeanIR"].text == MISSING


def test_missing_data_are_a_line_each() -> None:
    assert missing_text({}) == ""
    study = {"missing": {"wiki": "not here.", "enron": "nor this."}}
    assert missing_text(study) == "wiki: not here.\nenron: nor this."


def test_a_failed_fit_is_counted_once_for_all_its_rules() -> None:
    assert failure_table(summarise(folds("RMLS", 0.5))) is None
    records = [
        make_record("PLST", decision=rule, fold=fold, failure="time")
        for rule in ("round", "cardinality")
        for fold in range(3)
    ]
    table = failure_table(summarise([*records, make_record("LEML", failure="crash")]))
    assert table is not None
    texts = [[cell.text for cell in row] for row in table.rows]
    assert texts == [
        ["methods", "enron", "PLST", "25", "time", "it went wrong.", "3"],
        ["methods", "enron", "LEML", "25", "crash", "it went wrong.", "1"],
    ]


def test_every_row_of_every_table_fills_its_columns() -> None:
    source = random.Random(4)
    labels = [*paper_methods(), "RMLS, our defaults", "KNN"]
    for _ in range(30):
        records = [
            make_record(
                source.choice(labels),
                source.random(),
                dataset=source.choice(["enron", "eurlex57k_4k", "debdeps", "mine"]),
                k=source.choice([None, 25, 250, 500]),
                fold=source.randrange(3),
                decision=source.choice(["round", "cardinality", "none"]),
                failure=source.choice([None, None, "time"]),
                experiment=source.choice(["methods", "alpha"]),
            )
            for _ in range(source.randrange(25))
        ]
        summaries = summarise(records)
        failures = failure_table(summaries)
        for table in (
            *paper_tables(summaries, STAND_IN),
            *result_tables(summaries, STAND_IN),
            same_rule_table(summaries, STAND_IN),
            *([failures] if failures else []),
        ):
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert all(isinstance(cell, TableCell) for row in table.rows for cell in row)
            assert "nan" not in table.to_markdown()
