"""`rmls train --method`: any estimator is trained, saved and evaluated as the default is."""

from __future__ import annotations

import numpy as np
import pytest
from cli_samples import SMALL

import rmls


@pytest.mark.parametrize("method", ["COCOA", "irus", "ReverseMultiLabel", "MultiWindowKNN", "KNN"])
def test_another_method_is_trained_and_evaluated(method, data_file, data, run, tmp_path):
    result = run("train", data_file, "-o", tmp_path / "m", "--method", method, "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "240 rows, 120 features, 30 labels" in result.stderr
    model = rmls.load(tmp_path / "m")
    assert type(model).__name__.lower() == method.lower()
    assert model.classes_.tolist() == data.label_names
    assert model.training_record_["rows"] == 240
    assert run("evaluate", tmp_path / "m", data_file).exit_code == 0


def test_the_default_is_a_ranker(data_file, data, run, tmp_path):
    result = run("train", data_file, "-o", tmp_path / "m", *SMALL)
    assert result.exit_code == 0, result.stderr
    found = rmls.load(tmp_path / "m")
    assert type(found) is rmls.RMLSRanker
    expected = rmls.RMLSRanker(8, max_iter=3, n_jobs=1).fit(data.train.X, data.train.Y)
    scores = [model.decision_function(data.test.X) for model in (found, expected)]
    np.testing.assert_array_equal(*scores)


def test_a_ranker_takes_options_and_settings(data_file, run, tmp_path):
    settings = ("--set", "shortlist_size=12", "--set", "tail=0", "--set", "precision=int8")
    given = ("--method", "RMLSRanker", *SMALL, "--loss", "logistic", *settings)
    result = run("train", data_file, "-o", tmp_path / "m", *given)
    assert result.exit_code == 0, result.stderr
    model = rmls.load(tmp_path / "m")
    assert (model.n_components, model.max_iter, model.loss) == (8, 3, "logistic")
    assert (model.shortlist_size, model.tail, model.precision) == (12, 0, "int8")
    assert run("evaluate", tmp_path / "m", data_file).exit_code == 0


@pytest.mark.parametrize(
    "given",
    [("--calibration", "none"), ("--set", "calibration=null"), ("--set", "calibration=none")],
)
def test_another_method_is_trained_without_calibration(given, data_file, run, tmp_path):
    method = ("--method", "RMLSRanker", *SMALL)
    result = run("train", data_file, "-o", tmp_path / "m", *method, *given)
    assert result.exit_code == 0, result.stderr
    assert rmls.load(tmp_path / "m").calibration is None


def test_parameters_of_another_method_are_set_by_name(data_file, run, tmp_path):
    options = ("--method", "COCOA", "--set", "n_coupled=2", "--set", "C=0.5", "--seed", "3")
    run("train", data_file, "-o", tmp_path / "m", *options)
    model = rmls.load(tmp_path / "m")
    assert (model.n_coupled, model.C, model.random_state) == (2, 0.5, 3)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--method", "best"), "unknown method 'best'; known are"),
        (("--method", "COCOA", "--passes", "3", "--components", "9"), "COCOA has no parameter"),
        (("--method", "COCOA", "--set", "n_coupled"), "--set takes name=value"),
        (("--method", "COCOA", "--set", "n_coupled=-1"), "n_coupled must be a whole number"),
        (("--method", "TextRanker"), "TextRanker takes texts"),
        (("--method", "COCOA", "--resume"), "--resume and --paper are for RMLS"),
        (("--method", "COCOA", "--paper"), "--resume and --paper are for RMLS"),
    ],
    ids=str,
)
def test_what_another_method_cannot_take_is_refused(options, named, data_file, run, tmp_path):
    result = run("train", data_file, "-o", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert named in result.stderr.replace("\n", " ")
    assert not (tmp_path / "m").exists()
