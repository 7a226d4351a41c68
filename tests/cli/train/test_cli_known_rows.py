"""Nobody is told to test a model on the rows it was trained on; who does it is warned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cli_samples import RESUME, SMALL_RMLS

import rmls
from rmls.core import sparse as rows
from rmls.datasets import load, save

WARNING = "rmls: warning: "


@pytest.fixture(scope="module")
def unsplit(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("unsplit") / "unsplit.npz"
    save(replace(data, n_train=None), path)
    return path


def train(run, source, folder, *options):
    result = run("train", source, "-o", folder, *SMALL_RMLS, *options)
    assert result.exit_code == 0, result.stderr
    return result


def test_the_record_says_what_was_trained_on(data_file, run, tmp_path):
    train(run, data_file, tmp_path / "m", "--seed", "7")
    record = rmls.load(tmp_path / "m").training_record_
    assert (record["data"], record["format"], record["part"]) == ("small/train", "npz", "train")
    assert (record["rows"], record["seed"], record["zero_based"]) == (240, 7, None)
    assert (record["test_share"], record["test_seed"]) == (None, None)
    assert record["versions"]["rmls"] == rmls.__version__
    assert len(record["row_hashes"]) <= 16 * rows.SKETCH_ROWS


def test_rows_that_were_trained_on_are_told(data_file, unsplit, run, tmp_path):
    train(run, data_file, tmp_path / "m")
    for source, options, told in (
        (data_file, (), None),
        (data_file, ("--part", "train"), "all 240 rows of small/train were trained on"),
        (data_file, ("--part", "all"), "240 of the 300 rows of small were trained on"),
        (unsplit, (), "240 of the 300 rows of unsplit were trained on"),
    ):
        result = run("evaluate", tmp_path / "m", source, *options)
        assert result.exit_code == 0
        if told is None:
            assert result.stderr == ""
        else:
            assert result.stderr.startswith(WARNING + told)
            assert "not how well it does on new rows" in result.stderr


def test_rows_are_known_again_in_another_format_and_order(data, data_file, run, tmp_path):
    train(run, data_file, tmp_path / "m")
    order = np.random.default_rng(0).permutation(240)[:100]
    labels = np.random.default_rng(1).permutation(data.n_labels)
    moved = replace(
        data.take(order), Y=data.Y[order][:, labels],
        label_names=[data.label_names[label] for label in labels],
    )  # fmt: skip
    save(moved, tmp_path / "moved.arff")
    stderr = run("evaluate", tmp_path / "m", tmp_path / "moved.arff").stderr
    assert "all 100 rows of moved were trained on" in stderr


def test_of_many_rows_the_share_is_estimated(data_file, run, tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "SKETCH_ROWS", 64)
    train(run, data_file, tmp_path / "m")
    stderr = run("evaluate", tmp_path / "m", data_file, "--part", "all").stderr
    assert stderr.startswith(f"{WARNING}about ")
    share = int(stderr.split("about ")[1].split("%")[0])
    assert 65 <= share <= 95


@pytest.mark.parametrize("record", [None, {}, {"row_hashes": "xyz"}, {"row_hashes": [1]}])
def test_a_model_without_a_record_is_measured_as_before(record, data_file, data, run, tmp_path):
    model = rmls.KNN(3).fit(data.train.X, data.train.Y, label_names=data.label_names)
    model.training_record_ = record
    model.save(tmp_path / "m")
    result = run("evaluate", tmp_path / "m", data_file, "--part", "train")
    assert (result.exit_code, result.stderr) == (0, "")


def test_another_fit_forgets_the_record(data_file, data, run, tmp_path):
    train(run, data_file, tmp_path / "m")
    model = rmls.load(tmp_path / "m").fit(data.test.X, data.test.Y)
    assert not hasattr(model, "training_record_")


# -- what is recommended ---------------------------------------------------------------------------


def test_rows_that_were_trained_on_are_never_recommended(data_file, unsplit, run, tmp_path):
    model = tmp_path / "m"
    told = {
        (data_file, ()): f"rmls evaluate {model} {data_file} --part test\n",
        (data_file, ("--part", "test")): f"rmls evaluate {model} {data_file} --part train\n",
        (unsplit, ()): f"rmls evaluate {model} TEST-DATA\n",
        (data_file, ("--part", "all")): f"rmls evaluate {model} TEST-DATA\n",
    }
    for (source, options), line in told.items():
        stderr = train(run, source, model, "--overwrite", *options).stderr
        assert f"next      {line}" in stderr
        assert ("every row of" in stderr) == ("TEST-DATA" in line)


def test_the_test_file_beside_a_training_file_is_recommended(data, run, tmp_path):
    for part in ("train", "test"):
        save(getattr(data, part), tmp_path / f"toy-{part}.npz")
    stderr = train(run, tmp_path / "toy-train.npz", tmp_path / "m").stderr
    assert f"rmls evaluate {tmp_path / 'm'} {tmp_path / 'toy-test.npz'}\n" in stderr
    assert run("evaluate", tmp_path / "m", tmp_path / "toy-test.npz").stderr == ""


# -- --test-share ----------------------------------------------------------------------------------


def test_a_share_is_kept_for_testing_and_measured(unsplit, run, tmp_path):
    result = train(run, unsplit, tmp_path / "m", "--test-share", "0.2")
    assert "60 rows (20%) kept for testing, stratified, seed 0" in result.stderr
    assert result.stdout.startswith("unsplit/test, not trained on: 60 rows, 30 labels\n")
    assert "example_f1" in result.stdout
    assert WARNING not in result.stderr
    model = rmls.load(tmp_path / "m")
    assert model.n_samples_ == 240
    assert (model.training_record_["test_share"], model.training_record_["test_seed"]) == (0.2, 0)
    stderr = run("evaluate", tmp_path / "m", unsplit).stderr
    assert "240 of the 300 rows of unsplit were trained on" in stderr


def test_the_share_is_the_one_that_split_writes(unsplit, run, tmp_path):
    share = ("--test-share", "0.3", "--seed", "4")
    shown = train(run, unsplit, tmp_path / "m", *share).stdout
    assert run("split", unsplit, "-o", tmp_path / "x.npz", *share).exit_code == 0
    result = run("evaluate", tmp_path / "m", tmp_path / "x-test.npz")
    assert result.stderr == ""
    assert result.stdout.splitlines()[1:] == shown.splitlines()[1:]
    assert load(tmp_path / "x-test.npz").n_samples == 90


def test_a_share_of_a_split_data_set_must_be_asked_for(data_file, run, fails, tmp_path):
    share = ("--test-share", "0.5")
    sentence = fails("train", data_file, "-o", tmp_path / "m", *share)
    assert "240 training and 60 test rows already; give --part all" in sentence
    train(run, data_file, tmp_path / "m", *share, "--part", "train", "--quiet")
    assert rmls.load(tmp_path / "m").n_samples_ == 120


@pytest.mark.usefixtures("never_loads")
@pytest.mark.parametrize("share", ["0", "1", "-0.2", "nan"])
def test_a_share_that_makes_no_sense_is_refused(share, data_file, fails, tmp_path):
    sentence = fails("train", data_file, "-o", tmp_path / "m", "--test-share", share)
    assert "--test-share must lie between 0 and 1" in sentence


def test_a_resumed_training_keeps_the_same_rows_for_testing(data_file, run, fails, tmp_path):
    given = ("--test-share", "0.25", "--part", "all", "--seed", "3")
    train(run, data_file, tmp_path / "m", *given)
    more = ("train", data_file, "-o", tmp_path / "m", *RESUME, "--passes", "4")
    assert "drop --test-share" in fails(*more, "--test-share", "0.25")
    result = run(*more)
    assert result.exit_code == 0, result.stderr
    assert "75 rows, 30 labels" in result.stdout
    assert WARNING not in result.stderr
    assert rmls.load(tmp_path / "m").training_record_["test_share"] == 0.25
