"""`rmls stats`, `convert`, `datasets` and `demo`."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import rmls
from rmls.datasets import Dataset, load, save
from rmls.imbalance import describe


def test_stats_json_is_the_report(run, data_file, data):
    found = json.loads(run("stats", data_file, "--json").stdout)
    assert (
        found.items()
        >= json.loads(json.dumps(describe(data.Y, data.label_names).as_dict())).items()
    )
    assert found["n_features"] == 120


def test_stats_of_a_part(run, data_file):
    for part, rows in (("all", 300), ("train", 240), ("test", 60)):
        found = json.loads(run("stats", data_file, "--json", "--part", part).stdout)
        assert found["n_samples"] == rows


def test_stats_table_fits_a_terminal(run, data_file):
    result = run("stats", data_file)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    for text in ("rows", "300", "labels per row", "head", "torso", "tail", "most frequent"):
        assert text in result.stdout


def test_stats_of_data_without_positives(run, tmp_path):
    save(Dataset(np.ones((2, 2)), np.zeros((2, 3))), tmp_path / "none.npz")
    assert run("stats", tmp_path / "none.npz").exit_code == 0
    found = json.loads(run("stats", tmp_path / "none.npz", "--json").stdout)
    assert found["mean_imbalance_ratio"] is None


def test_stats_draws(run, fails, data_file, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("stats", data_file, "--plot", tmp_path / "p.svg", "--json")
    assert json.loads(result.stdout)["n_samples"] == 300
    assert (tmp_path / "p.svg").stat().st_size > 1000
    assert ".png" in fails("stats", data_file, "--plot", tmp_path / "p.txt")


def test_convert_keeps_the_data(run, data, data_file, tmp_path):
    assert run("convert", data_file, tmp_path / "d.svm.gz").exit_code == 0
    assert run("convert", tmp_path / "d.svm.gz", tmp_path / "d", "--to", "arff").exit_code == 0
    result = run("convert", tmp_path / "d", tmp_path / "d.npz", "--from", "arff")
    assert result.stdout == ""
    assert "300 rows, 120 features, 30 labels" in result.stderr
    found = load(tmp_path / "d.npz")
    assert found.n_train == data.n_train
    assert (found.X != data.X).nnz == (found.Y != data.Y).nnz == 0


def test_convert_warns_when_the_split_is_lost(run, data_file, tmp_path):
    result = run("convert", data_file, tmp_path / "d.xmc")
    assert result.exit_code == 0
    assert result.stderr.count("rmls: warning: ") == 1
    assert "the first 240 rows" in result.stderr


def test_convert_refuses(fails, data_file, tmp_path):
    (tmp_path / "there.npz").write_text("mine")
    assert "--overwrite" in fails("convert", data_file, tmp_path / "there.npz")
    assert "is not a folder" in fails("convert", data_file, tmp_path / "no" / "d.npz")
    assert "names no format" in fails("convert", data_file, tmp_path / "d.what")
    assert "unknown format" in fails("convert", data_file, tmp_path / "d", "--to", "x")
    assert "unknown format" in fails("convert", data_file, tmp_path / "d.npz", "--from", "x")
    (tmp_path / "bad.xmc").write_text("2 3 4\n0 0:x\n")
    assert "bad.xmc, line" in fails("convert", tmp_path / "bad.xmc", tmp_path / "d.npz")
    assert not (tmp_path / "d.npz").exists()


def test_a_data_set_without_rows_is_refused(fails, data, tmp_path):
    save(replace(data.take([]), n_train=None), tmp_path / "empty.npz")
    assert "has no rows" in fails("stats", tmp_path / "empty.npz")


def test_datasets_list_names_the_registry_and_own_files(run, data, tmp_path, monkeypatch):
    monkeypatch.setenv("RMLS_DATA", str(tmp_path))
    save(data, tmp_path / "mine.npz")
    text = run("datasets", "list").stdout
    assert "delicious" in text
    assert "mine" in text
    found = {item["name"]: item for item in json.loads(run("datasets", "list", "--json").stdout)}
    assert found["mine"]["path"] == str(tmp_path / "mine.npz")
    assert found["enron"]["path"] is None
    assert found["enron"]["n_labels"] == 53
    assert json.loads(run("stats", "mine", "--json").stdout)["n_samples"] == 300


def test_datasets_download_prints_the_path(run, monkeypatch, tmp_path):
    calls = []

    def fetch(name, force=False):
        calls.append((name, force))
        return tmp_path / "enron.arff"

    monkeypatch.setattr("rmls.datasets.download", fetch)
    assert run("datasets", "download", "enron").stdout == f"{tmp_path / 'enron.arff'}\n"
    run("datasets", "download", "enron", "--force")
    assert calls == [("enron", False), ("enron", True)]


def test_datasets_without_a_command_shows_help_and_unknown_names_fail(run):
    assert "download" in run("datasets").stdout
    result = run("datasets", "download", "enrom")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith("did you mean enron?")


def test_demo_shows_the_whole_path(run, fails, tmp_path):
    small = ("--rows", 200, "--labels", 30, "--components", 8, "--passes", 2, "--jobs", 1)
    result = run("demo", *small, "--save", tmp_path / "kept")
    assert result.exit_code == 0, result.stderr
    assert "pass 2/2" in result.stderr
    assert "\x1b" not in result.output
    tables = [line for line in result.stdout.splitlines() if "kept" not in line]
    assert max(map(len, tables)) <= 80
    for text in ("Hamming loss", "example F1", "accuracy", "P@1", "PSP@5", "baseline", "torso"):
        assert text in result.stdout
    commands = [line.split()[1:] for line in result.stdout.splitlines() if "kept" in line]
    assert len(commands) == 3
    assert run(*commands[1]).exit_code == 0
    assert rmls.load(tmp_path / "kept" / "model").n_iter_ == 2
    assert "exists" in fails("demo", "--save", tmp_path / "kept")
