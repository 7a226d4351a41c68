"""`rmls datasets`: what is known, what is available, what is fetched."""

from __future__ import annotations

import json

from rmls.datasets import save


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


def test_downloading_a_file_of_ones_own_says_what_can_be_downloaded(
    fails, data, tmp_path, monkeypatch
):
    monkeypatch.setenv("RMLS_DATA", str(tmp_path))
    save(data, tmp_path / "mine.npz")
    sentence = fails("datasets", "download", "mine")
    assert "mine is a file of your own" in sentence
    assert str(tmp_path / "mine.npz") in sentence
    assert "can be downloaded: emotions, enron" in sentence
    assert "medical" not in sentence
    assert "did you mean" not in fails("datasets", "download", "minee")
    assert "see https://mulan" in fails("datasets", "download", "medical")


def test_the_list_says_what_can_be_downloaded(run):
    found = {item["name"]: item for item in json.loads(run("datasets", "list", "--json").stdout)}
    assert found["enron"]["can_download"]
    assert not found["medical"]["can_download"]
    assert "by hand" in run("datasets", "list").stdout


def test_datasets_without_a_command_shows_help_and_unknown_names_fail(run):
    assert "download" in run("datasets").stdout
    result = run("datasets", "download", "enrom")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith("did you mean enron?")
