"""Ctrl-C keeps the model, --resume continues it, and a killed run leaves nothing behind."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from cli_samples import RESUME
from patience import patience

import rmls
from rmls import RMLS, models
from rmls.datasets import load, make_longtail, save
from rmls.models.ranker.trainer import ClassifierTrainer
from rmls.models.rmls.sampling import count_passes
from rmls.models.rmls.sgd import Validation
from rmls.models.shared.progress import Progress

OPTIONS = ("--method", "RMLS", "--components", "8", "--jobs", "1")
ENDLESS = ("--passes", "100000", *OPTIONS)


def stop_after(passes, monkeypatch):
    """Press Ctrl-C at the end of a pass."""

    def end_pass(self, number, *_):
        if number + 1 == passes:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "end_pass", end_pass)


def test_resumed_training_equals_one_without_a_break(data_file, run, tmp_path, monkeypatch):
    options = ("--passes", "6", *OPTIONS, "--no-validation", "--quiet")
    assert run("train", data_file, "-o", tmp_path / "whole", *options).exit_code == 0
    with monkeypatch.context() as context:
        stop_after(4, context)
        result = run("train", data_file, "-o", tmp_path / "parts", *options)
    assert result.exit_code == 130
    assert result.stderr == "rmls: warning: interrupted after 4 of 6 passes; the model is kept.\n"
    assert rmls.load(tmp_path / "parts").training_record_["interrupted"]

    result = run("train", data_file, "-o", tmp_path / "parts", *RESUME)
    assert result.exit_code == 0, result.stderr
    assert "passes 5 to 6" in result.stderr
    whole, parts = rmls.load(tmp_path / "whole"), rmls.load(tmp_path / "parts")
    np.testing.assert_array_equal(parts.label_vectors_, whole.label_vectors_)
    np.testing.assert_array_equal(parts.feature_vectors_, whole.feature_vectors_)
    assert parts.loss_curve_ == whole.loss_curve_
    assert not parts.warm_start
    assert not parts.training_record_["interrupted"]
    assert parts.training_record_["passes"] == 6


def test_resumed_training_makes_the_passes_that_the_rows_asked_for(
    data_file, run, fails, tmp_path, monkeypatch
):
    total = count_passes("auto", 240)
    with monkeypatch.context() as context:
        stop_after(4, context)
        run("train", data_file, "-o", tmp_path / "m", *OPTIONS)
    result = run("train", data_file, "-o", tmp_path / "m", *RESUME)
    assert result.exit_code == 0, result.stderr
    assert f"passes 5 to {total}," in result.stderr
    model = rmls.load(tmp_path / "m")
    assert (model.max_iter, model.n_iter_) == ("auto", total)
    refused = fails("train", data_file, "-o", tmp_path / "m", *RESUME)
    assert f"has made {total} of {total} passes" in refused


def test_ctrl_c_saves_a_model_that_can_be_resumed(data_file, spawn, run, tmp_path):
    model = tmp_path / "m"
    process = spawn("train", data_file, "-o", model, *ENDLESS)
    for line in process.stderr:
        if line.startswith("pass 3/"):
            break
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=patience(3))
    assert process.returncode == 130
    assert "rmls: warning: interrupted after" in stderr
    assert f"rmls train {data_file} -o {model} --method RMLS --resume" in stderr
    assert "Traceback" not in stderr

    made = rmls.load(model).n_iter_
    assert made >= 3
    result = run("train", data_file, "-o", model, *RESUME, "--passes", made + 2)
    assert result.exit_code == 0, result.stderr
    resumed = rmls.load(model)
    assert resumed.n_iter_ == len(resumed.loss_curve_) == made + 2


@pytest.mark.slow
def test_kill_during_training_leaves_nothing_behind(data_file, spawn, tmp_path):
    process = spawn("train", data_file, "-o", tmp_path / "m", *ENDLESS)
    for line in process.stderr:
        if line.startswith("pass 1/"):
            break
    process.kill()
    process.communicate(timeout=patience(3))
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_before_the_first_pass_writes_nothing(data_file, run, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("rmls.models.rmls.sgd.Training.run_pass", interrupted)
    result = run("train", data_file, "-o", tmp_path / "m", "--passes", "2", *OPTIONS)
    assert result.exit_code == 130
    assert "was not written" in result.stderr
    assert not (tmp_path / "m").exists()


def test_ctrl_c_while_measuring_the_first_pass_keeps_it(data_file, run, tmp_path, monkeypatch):
    end_pass, calls = Validation.end_pass, []

    def interrupted_once(self, params):
        calls.append(params)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return end_pass(self, params)

    monkeypatch.setattr(Validation, "end_pass", interrupted_once)
    given = ("--passes", "2", *OPTIONS, "--early-stopping")
    result = run("train", data_file, "-o", tmp_path / "m", *given)
    assert result.exit_code == 130
    assert "1 of 2 passes" in result.stderr
    model = rmls.load(tmp_path / "m")
    assert model.n_iter_ == len(model.loss_curve_) == len(model.validation_curve_) == 1


def pressed_once(monkeypatch, owner, name):
    """Press Ctrl-C when something is called for the first time."""
    real, calls = getattr(owner, name), []

    def pressed(*arguments, **options):
        calls.append(name)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, pressed)


def test_ctrl_c_in_calibration_keeps_the_model_and_resume_calibrates_it(
    data_file, run, fails, tmp_path, monkeypatch
):
    options = ("--passes", "3", *OPTIONS, "--quiet")
    run("train", data_file, "-o", tmp_path / "whole", *options)
    with monkeypatch.context() as context:
        pressed_once(context, RMLS, "_calibrate")
        result = run("train", data_file, "-o", tmp_path / "m", *options)
    assert result.exit_code == 130
    said = "interrupted before probabilities were calibrated; the model is kept, uncalibrated."
    assert result.stderr == f"rmls: warning: {said}\n"
    assert rmls.load(tmp_path / "m")._calibration is None
    assert run("evaluate", tmp_path / "m", data_file).exit_code == 0

    result = run("train", data_file, "-o", tmp_path / "m", *RESUME)
    assert result.exit_code == 0, result.stderr
    assert "all passes are made; probabilities are calibrated" in result.stderr
    assert "pass 1/3" not in result.stderr
    data = load(data_file)
    found, whole = (rmls.load(tmp_path / name) for name in ("m", "whole"))
    np.testing.assert_array_equal(
        found.predict_proba(data.test.X), whole.predict_proba(data.test.X)
    )
    assert "has made 3 of 3 passes" in fails("train", data_file, "-o", tmp_path / "m", *RESUME)


def test_ctrl_c_in_the_calibration_of_a_resumed_training_changes_nothing(
    data_file, run, tmp_path, monkeypatch
):
    options = ("--passes", "3", *OPTIONS, "--quiet")
    for resumed in ((), RESUME):
        given = resumed or options
        with monkeypatch.context() as context:
            pressed_once(context, RMLS, "_calibrate")
            result = run("train", data_file, "-o", tmp_path / "m", *given)
        assert result.exit_code == 130
        assert ("was not written" in result.stderr) == bool(resumed)
    assert rmls.load(tmp_path / "m").n_iter_ == 3


@pytest.mark.parametrize("method", ["COCOA", "KNN", "RMLSRanker", "LEML", "PLST"])
def test_a_method_without_a_model_says_so(method, data_file, run, tmp_path, monkeypatch):
    pressed_once(monkeypatch, getattr(models, method), "_fit")
    result = run("train", data_file, "-o", tmp_path / "m", "--method", method, "--quiet")
    assert result.exit_code == 130
    said = f"there is no model of {method} before this stage is complete"
    assert result.stderr == f"stopped   {said}; {tmp_path / 'm'} was not written\n"
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_a_ranker_from_the_vectors_on(data_file, run, tmp_path, monkeypatch):
    given = (*OPTIONS, "--method", "RMLSRanker", "--passes", "3")
    pressed_once(monkeypatch, ClassifierTrainer, "solve")
    result = run("train", data_file, "-o", tmp_path / "m", *given)
    assert result.exit_code == 130
    assert "before the classifiers were trained; the model is kept without" in result.stderr
    assert f"rmls evaluate {tmp_path / 'm'} {data_file} --part test\n" in result.stderr
    assert "--resume" not in result.stderr
    assert rmls.load(tmp_path / "m").training_record_["interrupted"]
    assert run("evaluate", tmp_path / "m", data_file).exit_code == 0


def test_ctrl_c_while_the_model_is_written_waits(data_file, run, tmp_path, monkeypatch):
    save_model = RMLS.save

    def pressed(self, path, **options):
        signal.raise_signal(signal.SIGINT)
        save_model(self, path, **options)

    monkeypatch.setattr(RMLS, "save", pressed)
    before = signal.getsignal(signal.SIGINT)
    result = run("train", data_file, "-o", tmp_path / "m", "--passes", "2", *OPTIONS)
    assert result.exit_code == 130
    assert rmls.load(tmp_path / "m").n_iter_ == 2
    assert not rmls.load(tmp_path / "m").training_record_["interrupted"]
    assert signal.getsignal(signal.SIGINT) is before


def test_every_stage_of_a_ranker_is_shown(data_file, run, tmp_path):
    given = (*OPTIONS, "--method", "RMLSRanker", "--passes", "3")
    result = run("train", data_file, "-o", tmp_path / "m", *given)
    lines = [line.split("  ")[0] for line in result.stderr.splitlines()]
    for stage in ("vectors", "shortlists", "classifiers", "cross-fit", "combination"):
        assert lines.count(stage) == 1
    assert lines.count("pass 3/3") == 1
    assert rmls.load(tmp_path / "m").verbose == 0


@pytest.fixture(scope="module")
def other_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("other") / "other.npz"
    save(make_longtail(300, 120, 30, random_state=2), path)
    return path


def test_resume_refuses_what_cannot_be_continued(data_file, other_data, model_dir, fails, tmp_path):
    assert "does not exist" in fails("train", data_file, "-o", tmp_path / "m", *RESUME)
    assert "has made 3 of 3 passes" in fails("train", data_file, "-o", model_dir, *RESUME)
    more = ("-o", model_dir, *RESUME, "--passes", "4")
    assert "n_components cannot change" in fails("train", data_file, *more, "--components", 9)
    assert "is not the data" in fails("train", other_data, *more)
    assert "is not the data" in fails("train", data_file, *more, "--part", "all")
