"""svmlight text does not say where its indices begin: the model remembers it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from cli_samples import RESUME, SMALL_RMLS

import rmls
from rmls.datasets import Dataset, load, make_longtail, save

DATA = make_longtail(80, 30, 8, random_state=4)


def write(path, X, Y, base):
    """Write rows as another program does: without our comment."""
    lines = []
    for x, y in zip(X, Y, strict=True):
        labels = ",".join(str(label + base) for label in y.indices)
        pairs = " ".join(f"{i + base}:{v:.9g}" for i, v in zip(x.indices, x.data, strict=True))
        lines.append(f"{labels} {pairs}\n")
    path.write_text("".join(lines))
    return path


def without_first(column_of):
    """Return the rows that happen not to use the first column."""
    return np.flatnonzero(column_of[:, 0].toarray().ravel() == 0)


@pytest.fixture(params=[0, 1])
def trained(request, run, tmp_path):
    """Return a model of svmlight text, and where its indices begin."""
    base = request.param
    source = write(tmp_path / "train.svm", DATA.X, DATA.Y, base)
    given = () if (DATA.X[:, 0].nnz and DATA.Y[:, 0].nnz) or base else ("--index-base", base)
    result = run("train", source, "-o", tmp_path / "m", *SMALL_RMLS, "--quiet", *given)
    assert result.exit_code == 0, result.stderr
    return tmp_path / "m", base


def predicted(run, model, source, *options):
    out = source.with_suffix(".jsonl")
    result = run("predict", model, source, "-o", out, "--overwrite", "--quiet", *options)
    assert result.exit_code == 0, result.stderr
    return [json.loads(line)["labels"] for line in out.read_text().splitlines()], result.stderr


def test_rows_without_the_first_feature_are_not_moved(trained, run, tmp_path):
    model, base = trained
    rows = without_first(DATA.X)[:20]
    some = write(tmp_path / "some.svm", DATA.X[rows], DATA.Y[rows], base)
    save(DATA.take(rows), tmp_path / "same.npz")
    found, _ = predicted(run, model, some)
    assert found == predicted(run, model, tmp_path / "same.npz")[0]


def test_labels_without_the_first_one_are_not_moved(trained, run, tmp_path):
    model, base = trained
    rows = without_first(DATA.Y)[:20]
    some = write(tmp_path / "some.svm", DATA.X[rows], DATA.Y[rows], base)
    save(DATA.take(rows), tmp_path / "same.npz")
    figures = [
        json.loads(run("evaluate", model, path, "--json").stdout)["all"]
        for path in (some, tmp_path / "same.npz")
    ]
    assert figures[0] == figures[1]


def test_a_file_that_contradicts_the_model_is_refused(run, fails, tmp_path):
    source = write(tmp_path / "train.svm", DATA.X, DATA.Y, 1)
    run("train", source, "-o", tmp_path / "m", *SMALL_RMLS, "--quiet")
    other = write(tmp_path / "other.svm", DATA.X, DATA.Y, 0)
    for command in (("predict", tmp_path / "m", other, "-o", tmp_path / "out.jsonl"),
                    ("evaluate", tmp_path / "m", other)):  # fmt: skip
        sentence = fails(*command)
        assert "a feature has the index 0, though indices should begin with 1 as in" in sentence
        assert "--index-base 0" in sentence
    assert (
        predicted(run, tmp_path / "m", other, "--index-base", "0")[0]
        == (predicted(run, tmp_path / "m", source)[0])
    )


def test_the_first_index_can_be_told(run, tmp_path):
    rows = without_first(DATA.X)
    source = write(tmp_path / "train.svm", DATA.X[rows], DATA.Y[rows], 0)
    run("train", source, "-o", tmp_path / "m", *SMALL_RMLS, "--quiet", "--index-base", "0")
    model = rmls.load(tmp_path / "m")
    assert model.training_record_["zero_based"] == [True, True]
    assert model.training_record_["format"] == "svmlight"
    run("convert", source, tmp_path / "out.npz", "--index-base", "0")
    np.testing.assert_array_equal(load(tmp_path / "out.npz").X.indices, DATA.X[rows].indices)


def test_a_guess_for_a_model_of_another_format_is_told(run, tmp_path):
    save(DATA, tmp_path / "train.npz")
    run("train", tmp_path / "train.npz", "-o", tmp_path / "m", *SMALL_RMLS, "--quiet")
    assert rmls.load(tmp_path / "m").training_record_["zero_based"] is None
    rows = without_first(DATA.X)[:20]
    some = write(tmp_path / "some.svm", DATA.X[rows], DATA.Y[rows], 0)
    assert "give --index-base 0 if they begin with 0" in predicted(run, tmp_path / "m", some)[1]
    told = predicted(run, tmp_path / "m", some, "--index-base", "0")
    assert "index-base" not in told[1]
    save(DATA.take(rows), tmp_path / "same.npz")
    assert told[0] == predicted(run, tmp_path / "m", tmp_path / "same.npz")[0]


def test_a_resumed_training_reads_indices_as_the_first_one(run, tmp_path):
    rows = without_first(DATA.X)
    source = write(tmp_path / "train.svm", DATA.X[rows], DATA.Y[rows], 0)
    given = ("--method", "RMLS", "--passes", "2", "--components", "4", "--quiet")
    run("train", source, "-o", tmp_path / "m", *given, "--index-base", "0")
    result = run("train", source, "-o", tmp_path / "m", *RESUME, "--passes", "3", "--quiet")
    assert result.exit_code == 0, result.stderr
    assert rmls.load(tmp_path / "m").training_record_["zero_based"] == [True, True]


def test_our_own_files_settle_where_they_begin(run, tmp_path):
    source = write(tmp_path / "train.svm", DATA.X, DATA.Y, 1)
    run("train", source, "-o", tmp_path / "m", *SMALL_RMLS, "--quiet")
    save(DATA, tmp_path / "ours.svm")
    assert load(tmp_path / "ours.svm").zero_based is None
    found = predicted(run, tmp_path / "m", tmp_path / "ours.svm")
    assert found == predicted(run, tmp_path / "m", source)


def test_a_data_set_knows_where_its_indices_began(tmp_path):
    first = load(write(tmp_path / "first.svm", DATA.X, DATA.Y, 0))
    assert first.zero_based == (True, True)
    assert first.format == "svmlight"
    rows = without_first(DATA.X)[:10]
    more = write(tmp_path / "more.svm", DATA.X[rows], DATA.Y[rows], 0)
    assert load(more).zero_based[0] is False
    again = load(more, zero_based=first.zero_based)
    np.testing.assert_array_equal(again.X.indices, DATA.X[rows].indices)
    assert Dataset([[1]], [[1]]).zero_based is None
