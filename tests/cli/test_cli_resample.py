"""`rmls resample`: the file holds what the resampler returns, and the table says what changed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rmls import imbalance
from rmls.cli.resample import Method
from rmls.datasets import Dataset, load, save

METHODS = [name.lower() for name in imbalance.RESAMPLERS]


def test_every_resampler_is_a_method():
    assert sorted(method.value for method in Method) == METHODS


@pytest.mark.parametrize("method", METHODS)
def test_training_rows_are_resampled_and_test_rows_kept(run, data, data_file, tmp_path, method):
    result = run("resample", data_file, "-o", tmp_path / "out.npz", "--method", method)
    assert result.exit_code == 0, result.output
    X, Y = getattr(imbalance, method.upper())().fit_resample(data.train.X, data.train.Y)
    found = load(tmp_path / "out.npz")
    assert found.n_train == X.shape[0] != data.n_train
    assert (found.train.X != X).nnz == (found.train.Y != Y).nnz == 0
    assert (found.test.X != data.test.X).nnz == (found.test.Y != data.test.Y).nnz == 0
    assert found.label_names == data.label_names
    assert f"{found.n_samples} rows, 120 features, 30 labels" in result.stderr


def test_the_table_shows_both_sides(run, data, data_file, tmp_path):
    result = run("resample", data_file, "-o", tmp_path / "out.npz", "--method", "mlros")
    assert max(map(len, result.stdout.splitlines())) <= 80
    for text in (
        "before",
        "after",
        "rows",
        "labels per row",
        "rarest",
        "MeanIR",
        "CVIR",
        "SCUMBLE",
    ):
        assert text in result.stdout
    again = run("resample", data_file, "-o", tmp_path / "o2.npz", "--method", "mlros", "--json")
    found = json.loads(again.stdout)
    assert found["method"] == "mlros"
    before = imbalance.describe(data.train.Y)
    after = imbalance.describe(load(tmp_path / "out.npz").train.Y)
    for side, report in (("before", before), ("after", after)):
        assert found[side]["mean_ir"] == report.mean_ir
        assert found[side]["n_samples"] == report.n_samples
        assert found[side]["min_count"] == report.label_counts[report.label_counts > 0].min()
    assert f"{before.n_samples:,}" in result.stdout


def test_options_reach_the_method(run, data, data_file, tmp_path):
    options = ("--method", "mlsmote", "--neighbors", 2, "--labels", "union", "--share", 0.5)
    done = run("resample", data_file, "-o", tmp_path / "o.npz", *options, "--seed", 3)
    assert done.exit_code == 0, done.output
    sampler = imbalance.MLSMOTE(2, labels="union", sampling_strategy=0.5, random_state=3)
    X, Y = sampler.fit_resample(data.train.X, data.train.Y)
    found = load(tmp_path / "o.npz").train
    assert (found.X != X).nnz == (found.Y != Y).nnz == 0
    options = ("--method", "remedial", "--threshold", 0.3)
    assert run("resample", data_file, "-o", tmp_path / "r.npz", *options).exit_code == 0
    _, Y = imbalance.REMEDIAL(0.3).fit_resample(data.train.X, data.train.Y)
    assert (load(tmp_path / "r.npz").train.Y != Y).nnz == 0
    options = ("--method", "mlrus", "--draw", "labels")
    assert run("resample", data_file, "-o", tmp_path / "m.npz", *options).exit_code == 0
    _, Y = imbalance.MLRUS(draw="labels").fit_resample(data.train.X, data.train.Y)
    assert (load(tmp_path / "m.npz").train.Y != Y).nnz == 0


def test_parts_and_formats(run, data, data_file, tmp_path):
    for part, rows in (("train", data.train), ("test", data.test), ("all", data)):
        out = tmp_path / f"{part}.svm.gz"
        done = run("resample", data_file, "-o", out, "--part", part, "--method", "lpros")
        assert done.exit_code == 0, done.output
        found = load(out, n_features=120, n_labels=30)
        assert found.n_train is None
        X, Y = imbalance.LPROS().fit_resample(rows.X, rows.Y)
        assert (found.X != X).nnz == (found.Y != Y).nnz == 0
    done = run("resample", data_file, "-o", tmp_path / "d", "--to", "xmc", "--part", "train")
    assert done.exit_code == 0
    again = run("resample", tmp_path / "d", "-o", tmp_path / "d.arff", "--from", "xmc")
    assert again.exit_code == 0, again.output
    assert load(tmp_path / "d.arff").n_samples > load(tmp_path / "d", format="xmc").n_samples


def test_refuses_in_a_line_and_writes_nothing(run, fails, data, data_file, tmp_path):
    out = tmp_path / "out.npz"
    command = ("resample", data_file, "-o", out)
    assert fails(*command, "--share", -1) == "--share must be a positive number; got -1.0."
    assert "--share must lie between 0 and 1" in fails(*command, "--share", 1, "--method", "mlrus")
    assert "--neighbors must be" in fails(*command, "--neighbors", 0, "--method", "mlsmote")
    assert fails(*command, "--draw", "rows") == "--draw is no option of the method mlros."
    assert "--neighbors is no option" in fails(*command, "--neighbors", 1, "--method", "remedial")
    assert "--method" in fails(*command, "--method", "smote")
    assert "--seed" in fails(*command, "--seed", -1)
    assert "output" in fails("resample", data_file)
    assert "there is no such file" in fails("resample", tmp_path / "none.npz", "-o", out)
    assert "is not a folder" in fails("resample", data_file, "-o", tmp_path / "no" / "d.npz")
    assert "is a folder" in fails("resample", data_file, "-o", tmp_path)
    assert "names no format" in fails("resample", data_file, "-o", tmp_path / "d.what")
    save(replace(data, Y=data.Y[:, :1], label_names=None), tmp_path / "one.npz")
    assert "Y has 1 label" in fails("resample", tmp_path / "one.npz", "-o", out)
    save(Dataset(np.ones((3, 2)), np.zeros((3, 2))), tmp_path / "bare.npz")
    assert "no row of Y has a label" in fails("resample", tmp_path / "bare.npz", "-o", out)
    assert not out.exists()
    out.write_text("mine")
    assert "--overwrite" in fails(*command)
    assert out.read_text() == "mine"
    assert run(*command, "--overwrite").exit_code == 0
    assert load(out).n_samples > data.n_samples
    left = {"one.npz", "bare.npz", "out.npz", "out.labels.txt", "no cache"}
    assert {path.name for path in tmp_path.iterdir()} <= left


def test_a_failed_write_keeps_what_stood_there(run, data_file, tmp_path, monkeypatch):
    out = tmp_path / "out.npz"
    out.write_text("mine")

    def broken(*_, **__):
        raise OSError(28, "No space left on device", str(out))

    monkeypatch.setattr("numpy.savez_compressed", broken)
    result = run("resample", data_file, "-o", out, "--overwrite")
    assert result.exit_code == 2
    assert out.read_text() == "mine"
    assert result.stdout == ""
    assert "No space left" in result.stderr
