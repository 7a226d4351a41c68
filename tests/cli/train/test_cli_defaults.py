"""One set of defaults: what is not given on the command line is what Python takes."""

from __future__ import annotations

import numpy as np
import pytest

import rmls
from rmls import models
from rmls.datasets import make_longtail, save

DATA = make_longtail(60, 20, 6, random_state=3)


@pytest.fixture(scope="module")
def few_rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("defaults") / "few.npz"
    save(DATA, path)
    return path


@pytest.mark.parametrize("method", sorted(set(models.__all__) - set(models.READS_TEXT)))
def test_a_model_of_the_command_line_is_the_model_of_python(method, few_rows, run, tmp_path):
    result = run("train", few_rows, "-o", tmp_path / "m", "--method", method, "--quiet")
    assert result.exit_code == 0, result.stderr
    found, expected = rmls.load(tmp_path / "m"), getattr(models, method)()
    assert found.get_params() == expected.get_params()
    expected.fit(DATA.train.X, DATA.train.Y)
    scores = [model.decision_function(DATA.test.X) for model in (found, expected)]
    np.testing.assert_array_equal(*scores)
    sets = [model.predict_sets(DATA.test.X).toarray() for model in (found, expected)]
    np.testing.assert_array_equal(*sets)


def test_threads_that_are_not_used_are_pointed_out(few_rows, run, tmp_path, monkeypatch):
    monkeypatch.setattr("rmls.cli.train.run.count_threads", lambda n: 6 if n == -1 else (n or 1))
    one = run("train", few_rows, "-o", tmp_path / "one", "--method", "KNN")
    assert "1 of 6 cores; --jobs -1 uses all" in one.stderr
    all_of_them = run("train", few_rows, "-o", tmp_path / "all", "--method", "KNN", "--jobs", "6")
    assert "cores" not in all_of_them.stderr


def test_a_metric_that_nothing_measures_is_pointed_out(few_rows, run, tmp_path):
    small = ("--method", "RMLS", "--components", "4", "--passes", "1", "--quiet")
    result = run("train", few_rows, "-o", tmp_path / "a", *small, "--metric", "p@1")
    assert "validation_metric has no effect without --early-stopping" in result.stderr
    measured = ("--metric", "micro_f1", "--decision", "threshold")
    assert run("train", few_rows, "-o", tmp_path / "b", *small, *measured).stderr == ""
    measured = ("--metric", "p@1", "--early-stopping")
    assert run("train", few_rows, "-o", tmp_path / "c", *small, *measured).stderr == ""
