"""Tuned methods choose on inner folds of their training rows, and on nothing else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_samples import PLST_METHOD

from rmls.bench.run import tuning
from rmls.bench.run.measure import make_model, measure
from rmls.bench.run.run_study import run_study
from rmls.bench.run.store import read_current, read_study, write_study
from rmls.bench.study.data import Parts, load_source, split_rows, take_parts
from rmls.bench.study.grid import DataSource, Experiment, Study
from rmls.bench.study.methods import Method
from rmls.bench.study.paper import METHODS, TUNED, paper_study
from rmls.bench.tables.summary import summarise
from rmls.bench.tables.tuning_table import tuning_table
from rmls.core.errors import InputError

LEARNABLE = DataSource(
    "learnable", longtail={"n": 300, "d": 400, "m": 40, "labels_per_row": 2.0, "noise": 0.0}
)
RIDGES = Method(
    "PLST",
    "PLST, tuned",
    params={"n_components": 30},
    tune={"ridge": [1e9, 0.1, 1e8]},
    decisions=("cardinality",),
)


def study_of(method: Method) -> Study:
    return Study("tuned", (Experiment("methods", (LEARNABLE,), (method,)),), n_folds=2)


def parts_of(fit: Any) -> Parts:
    data = load_source(LEARNABLE)
    return take_parts(data, split_rows(data, "shuffled", 2, fit.fold, 0), "raw")


def test_the_best_candidate_of_the_inner_folds_is_trained() -> None:
    fit = study_of(RIDGES).fits()[0]
    _, measured = measure(fit)
    found = measured[0]["tuning"]
    # A ridge of 1e9 leaves the means of the labels.
    assert found["chosen"] == {"ridge": 0.1}
    assert len(found["scores"]) == 3
    assert max(score or 0 for score in found["scores"]) == found["scores"][1]
    assert found["cpu_seconds"] > 0
    plain = replace(RIDGES, tune={}, params={"n_components": 30, "ridge": 0.1})
    _, same = measure(study_of(plain).fits()[0])
    assert measured[0]["metrics"] == same[0]["metrics"]
    assert "tuning" not in same[0]


def test_test_rows_have_no_say() -> None:
    fit = study_of(RIDGES).fits()[0]
    parts = parts_of(fit)
    blind = parts._replace(X_test=parts.X_test[:0], Y_test=parts.Y_test[:0])
    both = [tuning.tune(fit, one, make_model) for one in (parts, blind)]
    assert both[0]["scores"] == both[1]["scores"]


def test_a_candidate_that_cannot_be_trained_is_passed_over() -> None:
    # Which labels there are is not known before there are data.
    tune: dict[str, Any] = {"class_weight": [{"nobody": 2.0}, None]}
    method = Method("RMLS", params={"calibration": None, "max_iter": 1}, tune=tune)
    fit = study_of(method).fits()[0]
    found = tuning.tune(fit, parts_of(fit), make_model)
    assert (found["scores"][0], found["chosen"]) == (None, {"class_weight": None})
    tune = {"class_weight": [{"nobody": 2.0}, {"nothing": 2.0}, {"nobody": 3.0}]}
    none = study_of(replace(method, tune=tune)).fits()[0]
    said = "names the label 'nobody', which is not known. class_weight names the label 'nothing'"
    with pytest.raises(InputError, match=f"RMLS: no candidate can be trained: class_weight {said}"):
        tuning.tune(none, parts_of(none), make_model)


def test_the_grid_belongs_to_the_question_and_leaves_other_questions_alone() -> None:
    tuned, plain = study_of(RIDGES).fits()[0], study_of(PLST_METHOD).fits()[0]
    assert tuned.configs()[0]["tune"] == RIDGES.tune
    assert tuned.configs()[0]["inner_folds"] == 3
    assert not {"tune", "inner_folds"} & set(plain.configs()[0])
    with pytest.raises(InputError, match="'ridge' is given and tuned"):
        replace(RIDGES, params={"ridge": 1.0})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_a_study_without_time_names_what_is_left_and_goes_on(tmp_path: Path) -> None:
    study, said = study_of(RIDGES), []
    assert run_study(study, tmp_path, budget=0.0, say=said.append) == []
    assert read_study(tmp_path)["unfinished"] == {"learnable PLST, tuned k=30": "2 of 2 runs"}
    assert said == ["not finished within 0 h: learnable PLST, tuned k=30."]
    assert len(run_study(study, tmp_path)) == 2
    records, facts = read_current(tmp_path)
    assert "unfinished" not in facts
    # A second call has nothing to do: the chosen parameters are part of the result.
    assert len(run_study(study, tmp_path)) == 2
    table = tuning_table(summarise(records))
    assert table is not None
    assert "ridge = 0.1" in table.rows[0][3].text


def test_every_method_of_the_paper_has_a_tuned_arm_of_the_same_chance() -> None:
    labels = {method.label for method in METHODS if method.preset} - {"Baseline"}
    assert {method.label.removesuffix(", tuned") for method in TUNED} == labels
    for method in TUNED:
        assert len(list(method.candidates())) == 4
        assert method.params["normalize"] == "auto"
        assert method.decisions == ("cardinality",)
    names = {fit.method.label for fit in paper_study(["enron"], alphas=[], tuned=False).fits()}
    assert not names & {method.label for method in TUNED}


def test_what_is_left_of_other_data_is_still_named_by_a_later_run(tmp_path: Path) -> None:
    facts = {"schema": 1, "study": "s", "protocol": "p", "title": "t", "command": "c"}
    facts |= {"n_results": 1, "missing": {}}
    laws, mails = ({name: {"checksum": "c"}} for name in ("laws", "mails"))
    write_study(tmp_path, {**facts, "datasets": laws, "unfinished": {"laws PLST k=2": "1 of 5"}})
    write_study(tmp_path, {**facts, "datasets": mails, "unfinished": {"mails PLST k=2": "3 of 5"}})
    kept = {"laws PLST k=2": "1 of 5", "mails PLST k=2": "3 of 5"}
    assert read_study(tmp_path)["unfinished"] == kept
    write_study(tmp_path, {**facts, "datasets": mails})
    assert read_study(tmp_path)["unfinished"] == {"laws PLST k=2": "1 of 5"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_a_size_of_auto_is_none_of_the_tables(tmp_path: Path) -> None:
    method = Method("RMLSRanker", params={"n_components": "auto", "max_iter": 1})
    assert len(run_study(study_of(method), tmp_path)) == 2
    records, _ = read_current(tmp_path)
    assert {one.setting.n_components for one in summarise(records)} == {None}
