"""`rmls train`: what it writes, what it refuses before training, what it says."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from cli_samples import SMALL_RMLS

import rmls
from rmls.datasets import save
from rmls.models.rmls.sampling import count_passes

RMLS = ("--method", "RMLS", "--jobs", "1")


def test_model_predicts_with_the_names_of_the_data(model_dir, data):
    model = rmls.load(model_dir)
    assert model.classes_.tolist() == data.label_names
    assert model.n_components == 8
    assert model.n_samples_ == data.train.n_samples
    assert model.score(data.test.X, data.test.Y) > 0.2


def test_equals_the_estimator_with_the_same_parameters(data_file, data, run, tmp_path):
    run("train", data_file, "-o", tmp_path / "m", *SMALL_RMLS, "--no-validation", "--seed", "3")
    expected = rmls.RMLS(8, max_iter=3, random_state=3).fit(data.train.X, data.train.Y)
    found = rmls.load(tmp_path / "m")
    np.testing.assert_array_equal(found.label_vectors_, expected.label_vectors_)


def test_says_sizes_progress_and_what_to_do_next_on_stderr_only(data_file, run, tmp_path):
    result = run("train", data_file, "-o", tmp_path / "m", *SMALL_RMLS)
    assert result.exit_code == 0
    assert result.stdout == ""
    for text in ("240 rows, 120 features, 30 labels", "kB", "all rows, passes 1 to 3", "pass 3/3"):
        assert text in result.stderr
    assert f"rmls evaluate {tmp_path / 'm'} {data_file}" in result.stderr
    assert "\x1b" not in result.stderr


def test_says_what_is_held_out_for_early_stopping(data_file, run, tmp_path):
    result = run("train", data_file, "-o", tmp_path / "m", *SMALL_RMLS, "--early-stopping")
    assert "10% of the rows held out for example_f1" in result.stderr
    assert "  held-out 0." in result.stderr
    record = rmls.load(tmp_path / "m").training_record_
    assert record["passes"] == len(record["held_out"]["curve"])
    assert record["held_out"]["metric"] == "example_f1"


def test_quiet_says_nothing(data_file, run, tmp_path):
    result = run("train", data_file, "-o", tmp_path / "m", *SMALL_RMLS, "--quiet")
    assert result.output == ""


def test_record_is_kept_in_the_model(model_dir):
    record = rmls.load(model_dir).training_record_
    assert record["rows"] == 240
    assert record["passes"] == len(record["loss_curve"]) == 3
    assert record["held_out"] is None
    assert record["seconds"] > 0
    assert not record["interrupted"]
    assert record["versions"]["rmls"] == rmls.__version__


def test_options_reach_the_estimator(data_file, run, tmp_path):
    options = {
        "negatives": "7.5", "learning-rate": 0.05, "l2": 0.01, "loss": "squared",
        "activation": "relu", "normalize": "l2", "batch-size": 4, "decision": "top_2",
        "metric": "p@1", "validation": 0.2,
    }  # fmt: skip
    given = [text for name, value in options.items() for text in (f"--{name}", value)]
    result = run("train", data_file, "-o", tmp_path / "m", *SMALL_RMLS, *given, "--early-stopping")
    assert result.exit_code == 0, result.stderr
    model = rmls.load(tmp_path / "m")
    assert (model.negatives_per_positive, model.learning_rate, model.l2) == (7.5, 0.05, 0.01)
    assert (model.loss, model.activation, model.normalize) == ("squared", "relu", "l2")
    assert (model.batch_size, model.validation_fraction) == (4, 0.2)
    assert (model.validation_metric, model.n_iter_no_change) == ("precision@1", 3)
    assert model.predict_sets(np.ones((5, 120))).sum(axis=1).tolist() == [[2]] * 5


def test_paper_gives_the_published_settings(data_file, run, tmp_path):
    run("train", data_file, "-o", tmp_path / "m", "--paper", *RMLS, "--components", "8")
    model = rmls.load(tmp_path / "m")
    assert (model.max_iter, model.negatives_per_positive, model.accumulators) == (2, 5, "element")


def test_threshold_is_tuned_for_the_metric(data_file, run, tmp_path):
    model = tmp_path / "m"
    run(
        "train",
        data_file,
        "-o",
        model,
        *SMALL_RMLS,
        "--decision",
        "threshold",
        "--metric",
        "micro_f1",
    )
    assert rmls.load(model).decision.metric == "micro_f1"
    for decision in ([], ["--decision", "threshold"], ["--decision", "threshold=0.5"]):
        assert run("evaluate", model, data_file, *decision).exit_code == 0


@pytest.mark.parametrize(("part", "rows"), [(None, 240), ("all", 300), ("test", 60)])
def test_trains_on_the_chosen_part(data_file, run, tmp_path, part, rows):
    chosen = [] if part is None else ["--part", part]
    run("train", data_file, "-o", tmp_path / "m", *SMALL_RMLS, *chosen)
    assert rmls.load(tmp_path / "m").n_samples_ == rows


def test_trains_on_all_rows_without_a_split(data, run, tmp_path):
    save(data.train, tmp_path / "train.xmc")
    result = run("train", tmp_path / "train.xmc", "-o", tmp_path / "m", *SMALL_RMLS)
    assert result.exit_code == 0, result.stderr
    assert rmls.load(tmp_path / "m").classes_[0] == "topic 0"


@pytest.mark.usefixtures("never_loads")
def test_refuses_an_existing_model_before_training(model_dir, data_file, fails):
    assert "--overwrite" in fails("train", data_file, "-o", model_dir, *SMALL_RMLS)


def test_overwrite_replaces_a_model(data_file, run, tmp_path):
    for n_components in (4, 6):
        result = run(
            "train", data_file, "-o", tmp_path / "m", "--overwrite",
            "--components", n_components, "--passes", 1,
        )  # fmt: skip
        assert result.exit_code == 0, result.stderr
    assert rmls.load(tmp_path / "m").n_components == 6


@pytest.mark.usefixtures("never_loads")
def test_never_overwrites_what_is_no_model(data_file, model_dir, fails, tmp_path):
    folder = tmp_path / "holiday"
    folder.mkdir()
    (folder / "photo.jpg").write_bytes(b"x")
    sentence = fails("train", data_file, "-o", folder, "--overwrite")
    assert "something other than an rmls model" in sentence
    assert "is a file" in fails("train", data_file, "-o", folder / "photo.jpg", "--overwrite")
    (folder / "photo.jpg").rename(folder / "model.json")
    fails("train", data_file, "-o", folder, "--overwrite")
    assert (folder / "model.json").read_bytes() == b"x"


@pytest.mark.usefixtures("never_loads")
def test_refuses_a_folder_that_cannot_be_written(data_file, fails, tmp_path, monkeypatch):
    assert "is not a folder" in fails("train", data_file, "-o", tmp_path / "no" / "m")
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "no permission" in fails("train", data_file, "-o", tmp_path / "m")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--metric", "exmaple_f1"], "did you mean example_f1"),
        (["--metric", "psp@5"], "cannot be measured in training"),
        (["--metric", "precision@k"], "cannot be measured in training"),
        (["--loss", "hinge"], "loss must be one of"),
        (["--negatives", "many"], "--negatives: negatives_per_positive must be a non-negative"),
        (["--l2", "-1"], "l2 must be a non-negative number"),
        (["--decision", "best"], "decision must be one of"),
        (["--decision", "cardinality=3"], "decision must be one of"),
        (["--validation", "1.5"], "validation_fraction must lie between 0 and 1"),
        (["--jobs", "0"], "n_jobs must not be 0"),
        (["--no-validation", "--early-stopping"], "excludes"),
        (["--part", "some"], "--part"),
        (["--paper", "--resume"], "drop --paper"),
    ],
)
@pytest.mark.usefixtures("never_loads")
def test_refuses_options_that_make_no_sense_before_training(
    data_file, fails, tmp_path, options, text
):
    assert text in fails("train", data_file, "-o", tmp_path / "m", *RMLS, *options)
    assert not (tmp_path / "m").exists()


def test_few_rows_get_more_passes_and_the_number_is_said(data_file, run, tmp_path):
    few = (*RMLS, "--components", "8")
    result = run("train", data_file, "-o", tmp_path / "m", *few)
    assert result.exit_code == 0, result.stderr
    model = rmls.load(tmp_path / "m")
    total = count_passes("auto", 240)
    assert (model.max_iter, model.n_iter_) == ("auto", total)
    for text in (f"passes 1 to {total},", f"pass {total}/{total}", f"{total} of {total} passes"):
        assert text in result.stderr


def test_two_labels_of_one_name_are_refused_before_training(data, fails, tmp_path):
    twice = replace(data, label_names=["topic 1", *data.label_names[1:]])
    save(twice, tmp_path / "twice.npz")
    sentence = fails("train", tmp_path / "twice.npz", "-o", tmp_path / "m", *SMALL_RMLS, "--quiet")
    assert "'topic 1' (columns 0 and 1) have the same name" in sentence
    assert not (tmp_path / "m").exists()


def test_a_model_that_appears_during_the_training_is_left_alone(
    data_file, model_dir, run, tmp_path, monkeypatch
):
    fit = rmls.MostFrequent.fit

    def fit_and_lose(self, *arguments, **options):
        shutil.copytree(model_dir, tmp_path / "m", dirs_exist_ok=True)
        return fit(self, *arguments, **options)

    monkeypatch.setattr(rmls.MostFrequent, "fit", fit_and_lose)
    command = ("train", data_file, "-o", tmp_path / "m", "--method", "MostFrequent")
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "appeared during the training and is left alone" in result.stderr
    assert f"rmls evaluate {tmp_path / 'm-2'}" in result.stderr
    assert isinstance(rmls.load(tmp_path / "m"), rmls.RMLS)
    assert isinstance(rmls.load(tmp_path / "m-2"), rmls.MostFrequent)
    assert run(*command, "--overwrite").exit_code == 0
    assert isinstance(rmls.load(tmp_path / "m"), rmls.MostFrequent)
