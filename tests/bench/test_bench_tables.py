"""Tables of a study: the paper's, those of any study, and how figures are written."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_samples import make_record

from rmls.bench.formatting import (
    MISSING,
    best_of,
    format_amount,
    format_cell,
    format_difference,
    format_number,
    format_ratio,
)
from rmls.bench.paper_figures import (
    paper_figure,
    paper_methods,
    paper_metrics,
    paper_sizes,
    paper_slots,
    paper_table,
)
from rmls.bench.paper_tables import HEADINGS, judge, paper_tables
from rmls.bench.records import Record
from rmls.bench.result_tables import (
    failure_table,
    imbalance_table,
    missing_text,
    result_tables,
    same_rule_table,
)
from rmls.bench.summary import Cell, summarise
from rmls.bench.tables import Table, TableCell
from rmls.imbalance import describe

REPOSITORY = Path(__file__).resolve().parents[2]
LSDR = ("PLST", "FaIE", "ML-CSSP")
STAND_IN: dict[str, Any] = {"datasets": {"eurlex57k_4k": {"note": "other documents."}}}


def folds(label: str, value: float, n_folds: int = 5, **options: Any) -> list[Record]:
    """Results that scatter by 0.001 around a value."""
    return [
        make_record(label, value + 0.001 * (fold - (n_folds - 1) / 2), fold=fold, **options)
        for fold in range(n_folds)
    ]


def by_row(table: Table) -> dict[tuple[str, ...], dict[str, TableCell]]:
    """Figures by names and heading; names that stand for several lines are repeated."""
    found = {}
    above = [""] * table.n_names
    for row in table.rows:
        assert len(row) == len(table.columns)
        names = [cell.text for cell in row[: table.n_names]]
        if table.n_names == 3 and not names[0]:
            names[:2] = above[:2]
        above = names
        found[tuple(names)] = dict(zip(table.columns, row, strict=True))
    return found


# -- figures as texts ------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_a_written_number_is_read_back_to_its_decimals(value: float, decimals: int) -> None:
    text = format_number(value, decimals)
    assert float(text.replace(",", "")) == pytest.approx(value, abs=0.5000001 * 10**-decimals)
    assert text != f"-{format_number(0, decimals)}"
    assert float(format_difference(value, decimals).replace(",", "")) == float(
        text.replace(",", "")
    )


@given(st.floats(1e-7, 0.99))
def test_small_means_keep_two_digits(mean: float) -> None:
    text = format_cell(Cell(mean, None, 1))
    assert float(text) == pytest.approx(mean, rel=0.06)


@given(st.floats(1e-2, 1e5))
def test_amounts_keep_three_digits(mean: float) -> None:
    text = format_amount(Cell(mean, None, 1)).replace(",", "")
    assert float(text) == pytest.approx(mean, rel=0.006)


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_no_number_is_a_dash(value: float | None) -> None:
    written = (format_number(value), format_difference(value), format_ratio(value))
    assert written == (MISSING,) * 3


def test_the_best_is_marked_in_the_direction_of_the_metric() -> None:
    cells = [Cell(0.1, None, 1), None, Cell(0.3, None, 1), Cell(0.1, None, 1)]
    assert best_of(cells, greater=True) == [False, False, True, False]
    assert best_of(cells, greater=False) == [True, False, False, True]
    assert best_of([cells[0]] * 3, greater=True) == [False] * 3


# -- the figures of the paper ----------------------------------------------------------------------


def test_the_paper_has_all_its_figures() -> None:
    missing = []
    for metric in paper_metrics():
        for method in paper_table(metric).methods:
            for slot in ["-"] if method == "Baseline" else paper_slots():
                for dataset in paper_sizes():
                    figure = paper_figure(metric, method, slot, dataset)
                    if figure is None:
                        missing.append((method, dataset))
                    elif metric != "train_seconds":
                        assert 0 <= figure.mean < 1
    assert set(missing) == {("PLST", "wiki"), ("FaIE", "wiki")}
    assert len(missing) == 2 * 2 * 4


def test_accuracy_never_exceeds_the_f_score() -> None:
    # Of every set of labels, so of their means: a wrong digit would break it.
    for method in paper_methods():
        for slot in ["-", *paper_slots()]:
            for dataset in paper_sizes():
                f_score = paper_figure("example_f1", method, slot, dataset)
                accuracy = paper_figure("example_accuracy", method, slot, dataset)
                assert (f_score is None) == (accuracy is None)
                if f_score and accuracy:
                    assert f_score.mean / 2 - 0.001 <= accuracy.mean <= f_score.mean


def test_the_file_of_figures_belongs_to_the_package() -> None:
    folder = REPOSITORY / "src" / "rmls"
    project = (REPOSITORY / "pyproject.toml").read_text()
    for path in folder.rglob("*.json"):
        assert f'"{path.relative_to(folder).as_posix()}"' in project
        json.loads(path.read_text())


# -- the paper's tables ----------------------------------------------------------------------------


def test_the_five_tables_stand_in_the_order_of_the_paper() -> None:
    tables = paper_tables(summarise(folds("RMLS", 0.5)), {})
    assert [table.title.partition(",")[0] for table in tables] == [
        "Table 1. Data sets",
        "Table 2. Hamming loss",
        "Table 3. F score",
        "Table 4. Accuracy",
        "Table 5. Training time",
    ]
    for table in tables[1:]:
        assert table.columns[3:] == ["Enron"]
        shown = dict.fromkeys(names[0] for names in by_row(table))
        expected = paper_methods() if "time" not in table.title else paper_methods()[:-1]
        assert list(shown) == expected
    assert paper_tables([], {})[1].columns[3:] == list(HEADINGS.values())


def test_without_results_the_paper_is_shown_alone() -> None:
    tables = paper_tables([], {})
    f_scores = by_row(tables[2])
    assert f_scores["RMLS", "50(0)", "ours"]["Enron"] == TableCell(MISSING)
    assert f_scores["RMLS", "50(0)", "paper"]["Enron"] == TableCell("0.587 ± 0.011", "muted")
    assert f_scores["Baseline", MISSING, "paper"]["Wiki"] == TableCell("0.00000", "muted")
    assert not any(names[2] == "difference" for names in f_scores)


@pytest.mark.parametrize(
    ("ours", "mark"), [(0.587, ""), (0.600, ""), (0.63, "better"), (0.54, "worse")]
)
def test_a_difference_is_marked_beyond_two_deviations(ours: float, mark: str) -> None:
    table = paper_tables(summarise(folds("RMLS", ours, k=50)), {})[2]
    cell = by_row(table)["RMLS", "50(0)", "difference"]["Enron"]
    assert cell == TableCell(format_difference(ours - 0.587), mark)


def test_less_hamming_loss_is_better() -> None:
    table = paper_tables(summarise(folds("RMLS", 0.04, k=50)), {})[1]
    cell = by_row(table)["RMLS", "50(0)", "difference"]["Enron"]
    assert cell == TableCell("-0.015", "better")


def test_one_fold_is_judged_by_the_deviation_of_the_paper() -> None:
    figure = paper_figure("example_f1", "RMLS", "50(0)", "enron")
    assert figure is not None
    assert judge(Cell(0.60, None, 1), figure, greater=True) == ""
    assert judge(Cell(0.62, None, 1), figure, greater=True) == "better"
    without = figure._replace(deviation=None)
    assert judge(Cell(0.9, None, 1), without, greater=True) == ""


def test_seconds_are_a_ratio_without_a_mark() -> None:
    records = folds("RMLS", 0.5, k=25, seconds=1.97)
    row = by_row(paper_tables(summarise(records), {})[4])
    assert row["RMLS", "25(0)", "ratio"]["Enron"] == TableCell("×0.20")


def test_a_stand_in_is_named_and_never_compared() -> None:
    records = folds("RMLS", 0.9, dataset="eurlex57k_4k", k=250)
    sizes, _, table, *_ = paper_tables(summarise(records), STAND_IN)
    heading = "Eurlex_desc → stand-in eurlex57k_4k"
    assert heading in table.columns
    rows = by_row(table)
    assert rows["RMLS", "25(0)", "ours"][heading].text == "0.900 ± 0.002"
    assert rows["RMLS", "25(0)", "paper"][heading] == TableCell("0.318 ± 0.005", "muted")
    assert ("RMLS", "25(0)", "difference") not in rows
    assert "other documents" in sizes.note
    assert "orientation only" in table.note


def test_the_data_of_the_paper_come_before_their_stand_in() -> None:
    records = [
        *folds("RMLS", 0.9, dataset="eurlex57k_4k", k=250),
        *folds("RMLS", 0.318, dataset="eurlex_desc", k=250),
    ]
    rows = by_row(paper_tables(summarise(records), STAND_IN)[2])
    assert rows["RMLS", "25(0)", "difference"]["Eurlex_desc"].text == "0.000"


def test_every_method_is_shown_under_the_rule_of_the_paper() -> None:
    records = [
        record
        for label in paper_methods()[:-1]
        for rule, value in (("round", 0.2), ("cardinality", 0.6))
        for record in folds(label, value, decision=rule)
    ]
    rows = by_row(paper_tables(summarise(records), {})[2])
    for label in paper_methods()[:-1]:
        expected = "0.200 ± 0.002" if label in LSDR else "0.600 ± 0.002"
        assert rows[label, "25(0)", "ours"]["Enron"].text == expected


def test_the_baseline_has_one_row_whatever_its_rule() -> None:
    for rule in ("none", "cardinality"):
        records = folds("Baseline", 0.25, k=None, decision=rule)
        rows = by_row(paper_tables(summarise(records), {})[2])
        assert rows["Baseline", MISSING, "ours"]["Enron"].text == "0.250 ± 0.002"


def test_other_components_and_other_methods_have_rows_of_their_own() -> None:
    records = [*folds("RMLS", 0.5, k=100), *folds("RMLS, our defaults", 0.6, k=25)]
    rows = by_row(paper_tables(summarise(records), {})[2])
    names = list(rows)
    assert ("RMLS", "100", "paper") not in rows
    assert rows["RMLS", "100", "ours"]["Enron"].text == "0.500 ± 0.002"
    assert names[-1] == ("RMLS, our defaults", "25(0)", "ours")
    assert rows[names[-1]]["Enron"] == TableCell("0.600 ± 0.002", "best")


def test_a_method_never_run_under_its_own_rule_names_the_other() -> None:
    rows = by_row(paper_tables(summarise(folds("KNN", 0.5, decision="top_3")), {})[2])
    assert rows["KNN · top_3", "25(0)", "ours"]["Enron"].text == "0.500 ± 0.002"


def test_other_experiments_are_not_in_the_tables_of_the_paper() -> None:
    other = folds("RMLS", 0.9, experiment="alpha", params={"negatives_per_positive": 3})
    table = paper_tables(summarise([*other, *folds("RMLS", 0.5)]), {})[2]
    assert by_row(table)["RMLS", "25(0)", "ours"]["Enron"].text == "0.500 ± 0.002"


def test_a_failed_run_says_why() -> None:
    records = [make_record("FaIE", decision="round", failure="memory")]
    rows = by_row(paper_tables(summarise(records), {})[2])
    assert rows["FaIE", "25(0)", "ours"]["Enron"] == TableCell("failed: memory", "muted")


def test_the_data_table_has_both_sizes_and_the_reason_of_a_gap() -> None:
    study = {
        "datasets": {"enron": {"n_samples": 1702, "n_features": 1001, "n_labels": 53}},
        "missing": {"wiki": "the file is not here."},
    }
    table = paper_tables([], study)[0]
    texts = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert texts["Enron"] == ["1,702", "1,001", "53"] * 2
    assert texts["Wiki"] == [MISSING] * 3 + ["28,596", "23,495", "50,341"]
    assert "Wiki has no results: the file is not here." in table.note


def test_the_order_of_lines_changes_no_figure() -> None:
    records = [*folds("RMLS", 0.5), *folds("PLST", 0.4, decision="round"), *folds("LEML", 0.3)]
    expected = paper_tables(summarise(records), {})
    random.Random(0).shuffle(records)
    assert paper_tables(summarise(records), {}) == expected


# -- tables of any study ---------------------------------------------------------------------------


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
    records = [make_record(seconds=4.0)]
    row = by_row(result_tables(summarise(records), {})[2])["RMLS", "25", "cardinality"]
    texts = {heading: cell.text for heading, cell in row.items()}
    assert texts["training s"] == "4.00"
    # Half of 4 s over 20 rows.
    assert texts["prediction ms per row"] == "100"
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
        *folds("RMLS", 0.6),
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
