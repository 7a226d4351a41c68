"""A study is a grid: every combination once, and anything unknown refused before it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench_samples import BASELINE, SMALL, TOML, TOML_RESULTS, small_study, write_toml

from rmls.bench.run.store import make_key
from rmls.bench.study.config_file import load_study
from rmls.bench.study.grid import DataSource, Experiment, Study
from rmls.bench.study.methods import Method
from rmls.bench.study.paper import DATASETS, paper_study
from rmls.core.errors import InputError


def test_every_combination_is_one_result_with_a_name_of_its_own(tmp_path: Path) -> None:
    study = load_study(write_toml(tmp_path))
    keys = [make_key(config, "x") for fit in study.fits() for config in fit.configs()]
    assert len(keys) == len(set(keys)) == TOML_RESULTS


def test_the_same_question_on_other_data_is_another_result() -> None:
    config = small_study().fits()[0].configs()[0]
    assert make_key(config, "one") != make_key(config, "other")
    assert make_key(config, "one") == make_key(dict(reversed(config.items())), "one")


def test_a_fold_of_all_methods_comes_before_the_next_fold() -> None:
    folds = [fit.fold for fit in small_study(n_folds=3).fits()]
    assert folds == sorted(folds)


def test_only_some_folds_can_be_asked_for() -> None:
    assert {fit.fold for fit in small_study(n_folds=5, only_folds=(1, 4)).fits()} == {1, 4}


def test_the_given_split_is_one_fold() -> None:
    fits = small_study(BASELINE, folds="given").fits()
    assert [fit.fold for fit in fits] == [0]
    assert fits[0].configs()[0]["n_folds"] == 1


METHOD = '[[experiment]]\ndatasets = ["enron"]\n[[experiment.method]]\n'
KNN = "[[experiment.method]]\nmethod = 'KNN'\n"
BAD_FILES = {
    TOML.replace("n_folds = 3", "n_folds = 1"): "n_folds must be a whole number of at least 2",
    'folds = "random"' + TOML: "folds must be one of 'shuffled', 'stratified', 'given'",
    TOML.replace("[0, 1]", "[-1]"): "every seed must be a whole number of at least 0",
    "only_folds = [7]" + TOML: "fold 7 is not one of 0 to 2",
    "threads = 0" + TOML: "threads must be a whole number of at least 1",
    "time_limit = -5" + TOML: "time_limit must be a positive number",
    'memory_limit = "much"' + TOML: "memory_limit is a size such as 8GB",
    "colour = 1" + TOML: "unknown key 'colour'",
    METHOD + 'method = "RMSL"': "unknown method 'RMSL'; known are",
    METHOD + 'method = "KNN"\npreset = "paper"': "only CSSP, LEML, PLST, RMLS, WSABIE, ",
    METHOD + 'method = "RMLS"\nparams.alpha = 5': "RMLS has no parameter 'alpha'",
    METHOD + 'method = "RMLS"\ndecisions = ["best"]': "decision must be one of",
    METHOD + 'label = "nameless"': "needs method",
    METHOD + 'method = "RMLS"\nepochs = 3': "unknown key 'epochs'",
    "name = 5" + TOML: "grid.toml: name must be a text",
    "title = ['a']" + TOML: "grid.toml: title must be a text",
    f"name = '{'a' * 5000}'" + TOML: "name must be a text of at most 1000 letters",
    "time_limit = nan" + TOML: "grid.toml: time_limit must be a positive number",
    f"memory_limit = '1{'0' * 400} GB'" + TOML: "memory_limit is a size such as 8GB",
    "[[experiment]]\nname = 5\ndatasets = ['enron']\n" + KNN: "an experiment: name must be a text",
    METHOD + "method = 5": "a method: method must be a text",
    METHOD + 'method = "KNN"\nlabel = 3': "a method: label must be a text",
    METHOD + 'method = "KNN"\npreset = ["paper"]': "a method: preset must be a text",
    METHOD + 'method = "KNN"\nparams = 3': "method KNN: params must be a table",
    METHOD + 'method = "KNN"\nparams.n_neighbors = nan': "params.n_neighbors must be a number",
    METHOD + 'method = "KNN"\nparams.n_neighbors = 2020-01-01': "must be a number, a text",
    "[[experiment]]\ndatasets = [{ name = 3 }]\n" + KNN: "a data set: name must be a text",
    "[[experiment]]\ndatasets = [{ name = 'a', source = 3 }]\n" + KNN: "source must be a text",
    "[[experiment]]\ndatasets = [{ name = 'a', longtail = 3 }]\n" + KNN: "longtail must be a table",
    "": "needs at least one [[experiment]]",
    "[[experiment]]\n" + KNN: "has no datasets",
    "[[experiment]]\ndatasets = [3]\n" + KNN: "a data set is",
    "[[experiment]\n": "is not valid TOML",
}


# Values and rules that an estimator would refuse, by method and what is given of it.
BAD_VALUES = {
    ("RMLS", 'params.calibration = "nome"'): "calibration must be one of 'auto', 'temperature',",
    ("RMLS", 'params.calibration = "None"'): "or None; got 'None'.",
    ("RMLS", "params.n_components = -20"): "n_components must be a whole number of at least 1",
    ("RMLS", "params.n_components = [5, -20]"): "at least 1; got -20.",
    ("RMLS", 'params.tol = "x"'): "tol must be a non-negative number; got 'x'.",
    ("RMLS", 'params.normalize = "nope"'): "normalize must be one of 'auto', ",
    ("RMLS", 'params.sampler = "in_batch"'): "needs batch_size of at least 2; got 1.",
    ("RMLS", "params.class_weight = 2.0"): "class_weight must be 'balanced', 'propensity', a dict",
    ("RMLS", 'params = { early_stopping = true, validation_metric = "best" }'): "unknown metric",
    ("RMLS", 'params.decision = "best"'): "decision must be one of cardinality",
    ("RMLS", 'params.device = "tpu"'): "device must be 'cpu' or 'cuda' or 'auto'; got 'tpu'.",
    ("Calibrated", 'params.estimator = "PLTS"'): "estimator must be one of 'BMLPL'",
    ("GFM", 'params.estimator = "PLST"'): "PLST gives scores and no probabilities",
    ("PLST", 'decisions = ["round", "f1"]'): "PLST gives scores and no probabilities; calibrate it",
    ("RMLS", 'decisions = ["threshold"]'): "the decision rule 'threshold' was not fitted; fit the",
    ("PLST", 'decisions = ["none"]\nparams.decision = "f1"'): "PLST gives scores and no prob",
    ("RMLS", 'decisions = ["macro_f1"]\nparams.calibration = "none"'): "'macro_f1' was not fitted",
    ("AllIrrelevant", 'decisions = ["top_3"]'): "AllIrrelevant predicts no label by definition",
    ("AllIrrelevant", "params.n_components = 3"): "no parameter 'n_components'; it has none.",
    ("PLST", "params.ridge = []"): "params.ridge is empty; give it a value.",
    ("LEML", "tune.l2 = []"): "tune.l2 is empty; give it a value.",
    ("LEML", "tune.l2 = [-1, 2]"): "l2 must be a positive number; got -1.",
    ("LEML", 'tune.loss = ["squared", "log"]'): "loss must be one of ",
    ("LEML", 'tune.loss = ["logistic", "squared"]\ndecisions = ["f1"]'): "LEML gives scores and no",
}


@pytest.mark.parametrize(("method", "given"), BAD_VALUES)
def test_what_an_estimator_would_refuse_is_refused_before_anything_runs(
    method: str, given: str, tmp_path: Path
) -> None:
    text = METHOD.replace("[[experiment]]\n", "[[experiment]]\nname = 'first'\n")
    text += f'method = "{method}"\nlabel = "mine"\n{given}'
    with pytest.raises(InputError, match=re.escape(BAD_VALUES[method, given])) as refused:
        load_study(write_toml(tmp_path, text))
    # Where it stands comes first: file, experiment and the name of the method in tables.
    place = f"^{re.escape(str(tmp_path))}/grid.toml, experiment 'first': mine: [^\n]*$"
    assert re.match(place, str(refused.value))


@pytest.mark.parametrize("text", BAD_FILES, ids=list(BAD_FILES.values()))
def test_a_file_that_is_no_study_is_one_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(BAD_FILES[text])):
        load_study(write_toml(tmp_path, text))


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load_study(tmp_path / "none.toml")


def test_two_data_sets_of_one_name_are_refused() -> None:
    other = DataSource("small", features="tfidf")
    study = Study("s", (Experiment("e", (SMALL, other), (BASELINE,)),))
    with pytest.raises(InputError, match="two different data sets called 'small'"):
        _ = study.datasets


def test_the_paper_study_has_the_papers_methods_sizes_and_folds() -> None:
    study = paper_study(["enron", "delicious"])
    labels = {fit.method.label for fit in study.fits() if fit.experiment == "methods"}
    assert {"RMLS", "PLST", "FaIE", "ML-CSSP", "WSABIE", "LEML", "Baseline"} <= labels
    sizes = {
        name: {f.params.get("n_components") for f in study.fits() if f.dataset.name == name}
        for name in ("enron", "delicious")
    }
    assert sizes == {"enron": {25, 50, None}, "delicious": {250, 500, None}}
    assert study.n_folds == 5


def test_the_paper_study_varies_the_sampling_coefficient_from_1_to_10() -> None:
    fits = [fit for fit in paper_study().fits() if fit.experiment == "alpha"]
    assert {fit.dataset.name for fit in fits} == {"eurlex57k_4k"}
    assert {fit.params["negatives_per_positive"] for fit in fits} == set(range(1, 11))


def test_stand_ins_say_what_they_stand_in_for() -> None:
    assert "stand-in" in DATASETS["eurlex57k_4k"].note
    assert "stand-in" in DATASETS["debdeps"].note


def test_an_unknown_method_of_the_paper_study_is_one_sentence() -> None:
    with pytest.raises(InputError, match="no method 'SVM'; it has RMLS; PLST"):
        paper_study(["enron"], methods=["SVM"])


def test_one_name_for_two_methods_is_refused() -> None:
    with pytest.raises(InputError, match="two different methods are called 'RMLS'"):
        small_study(Method("RMLS"), Method("RMLS", preset="paper"))


def test_label_and_decision_are_by_default_those_of_the_estimator() -> None:
    assert Method("KNN").label == "KNN"
    assert Method("PLST").decisions == ("round",)
    assert Method("RMLS").decisions == ("f1",)
    assert Method("RMLS", preset="paper").decisions == ("cardinality",)
    assert Method("AllIrrelevant").decisions == ("none",)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("IRUS", {"n_estimators": [5, 10]}),
        ("COCOA", {"n_coupled": [0, 10]}),
        ("MultiWindowKNN", {"window": [50, 200]}),
        ("GFM", {"joint": ["sizes", "independent"]}),
        ("ReverseMultiLabel", {"C": [10.0, 100.0]}),
    ],
)
def test_learners_against_imbalance_can_be_named_in_a_study(method: str, params: dict) -> None:
    assert len(list(Method(method, params=params).grid())) == 2
    with pytest.raises(InputError, match=f"{method} has no parameter 'n_things'"):
        Method(method, params={"n_things": 1})
