"""Stores on the command line: written, trained on, measured and labelled like any data set."""

from __future__ import annotations

import json

import numpy as np
import pytest
from cli_samples import SMALL_RMLS
from text_samples import write_csv

from rmls.datasets import load
from rmls.datasets.store import open_store


@pytest.fixture
def store(run, data_file, tmp_path):
    result = run("convert", data_file, tmp_path / "store", "--store", "--shard-rows", 70)
    assert result.exit_code == 0, result.stderr
    assert "300 rows, 120 features, 30 labels in 5 shards" in result.stderr
    return tmp_path / "store"


def arrays_of(folder) -> bytes:
    return (folder / "arrays.safetensors").read_bytes()


@pytest.mark.parametrize("given", [SMALL_RMLS, ("--method", "RMLSRanker")], ids=["RMLS", "ranker"])
def test_a_store_trains_the_same_model_as_its_file(run, data_file, store, tmp_path, given):
    for data, model in ((data_file, "a"), (store, "b")):
        result = run("train", data, "-o", tmp_path / model, *given, "--quiet")
        assert result.exit_code == 0, result.stderr
    assert arrays_of(tmp_path / "a") == arrays_of(tmp_path / "b")


def test_commands_read_a_store_like_its_file(run, data_file, store, model_dir, tmp_path):
    for command in (["stats"], ["evaluate", model_dir]):
        found, wanted = (run(*command, data, "--json") for data in (store, data_file))
        assert found.exit_code == 0, found.stderr
        assert json.loads(found.stdout) == json.loads(wanted.stdout)
    for data, name in ((store, "a.jsonl"), (data_file, "b.jsonl")):
        assert run("predict", model_dir, data, "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
    assert run("convert", store, tmp_path / "back.npz").exit_code == 0
    assert (load(tmp_path / "back.npz").X != load(data_file).X).nnz == 0


def test_texts_in_a_store_train_the_same_model(run, fails, tmp_path):
    source, store = write_csv(tmp_path / "tickets.csv"), tmp_path / "store"
    result = run("convert", source, store, "--store", "--shard-rows", 25, "--id", "id")
    assert result.exit_code == 0, result.stderr
    given = ("--quiet", "--jobs", "1")
    assert run("train", source, "-o", tmp_path / "a", "--no-report", *given).exit_code == 0
    assert run("train", store, "-o", tmp_path / "b", *given).exit_code == 0
    assert arrays_of(tmp_path / "a") == arrays_of(tmp_path / "b")
    made = ("convert", source, tmp_path / "rows", "--store", "--features-of", tmp_path / "b")
    assert run(*made, "--id", "id", "--quiet").exit_code == 0
    found, wanted = (
        json.loads(run("evaluate", tmp_path / "b", data, "--json").stdout)["all"]
        for data in (tmp_path / "rows", source)
    )
    assert found == wanted
    asked = ("suggest", tmp_path / "b", "--format", "jsonl", "--input")
    lines = run(*asked, tmp_path / "rows").stdout
    assert lines == run(*asked, source, "--id", "id").stdout
    assert lines.count("\n") == 60
    assert (
        run("predict", tmp_path / "b", tmp_path / "rows", "-o", tmp_path / "o.csv").exit_code == 0
    )
    message = fails("suggest", tmp_path / "b", "--input", tmp_path / "rows", "--add-column", "x")
    assert "a store has none" in message


def test_rows_of_other_words_are_refused(run, fails, text_model, tmp_path):
    write_csv(tmp_path / "other.csv", n=20)
    assert run("convert", tmp_path / "other.csv", tmp_path / "s", "--store").exit_code == 0
    message = fails("evaluate", text_model, tmp_path / "s")
    assert "made with other text features than the model" in message


def test_what_cannot_be_stored_is_told(fails, data_file, store, tmp_path):
    assert "--overwrite" in fails("convert", data_file, store, "--store")
    assert "add --store" in fails("convert", data_file, tmp_path / "d.npz", "--shard-rows", 3)
    target = (tmp_path / "t", "--store")
    assert "exclude each other" in fails("convert", data_file, *target, "--to", "npz")
    assert "holds numbers" in fails("convert", data_file, *target, "--set", "stem=none")
    write_csv(tmp_path / "t.csv")
    assert "no parameter" in fails("convert", tmp_path / "t.csv", *target, "--set", "stemm=none")
    assert "another name" in fails("convert", tmp_path / "t.csv", store, "--store")
    (store / "shard-00002" / "X.data.bin").unlink()
    assert "X.data.bin" in fails("train", store, "-o", tmp_path / "m")


def test_settings_reach_the_text_features(run, tmp_path):
    source = write_csv(tmp_path / "t.csv")
    given = ("--set", "hashing=32", "--set", "stem=none", "--quiet")
    assert run("convert", source, tmp_path / "s", "--store", *given).exit_code == 0
    assert open_store(tmp_path / "s").n_features == 32
    lengths = np.sqrt(open_store(tmp_path / "s").X.power(2).sum(axis=1))
    assert np.allclose(lengths, 1, atol=1e-5)
