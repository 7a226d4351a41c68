"""Ctrl-C after the last pass: the trained model is kept, uncalibrated, and that is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import rmls
from rmls import COCOA, PLST, RMLS, Calibrated
from rmls.core.errors import InputError
from rmls.datasets import make_longtail
from rmls.models.rmls.sgd import Training
from rmls.models.shared import evidence
from rmls.models.shared.progress import TrainingInterrupted

DATA = make_longtail(120, 40, 8, random_state=7)
TRAIN, TEST = DATA.train, DATA.test
SAID = "interrupted before probabilities were calibrated; the model is kept, uncalibrated."


def interrupted_fit(model: object) -> str:
    """Fit and return the one warning."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(TRAIN.X, TRAIN.Y)
    assert [warning.category for warning in seen] == [TrainingInterrupted]
    return str(seen[0].message)


def interrupt_pass(number: int, patch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C in the n-th pass of all trainings together."""
    real, made = Training.run_pass, []

    def run_pass(self: Training, *arguments: object) -> float:
        made.append(1)
        if len(made) == number:
            raise KeyboardInterrupt
        return real(self, *arguments)

    patch.setattr(Training, "run_pass", run_pass)


@pytest.mark.parametrize("in_fold", [1, 2, 3])
def test_a_model_is_kept_when_calibration_is_interrupted(
    in_fold: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt_pass(3 * in_fold + 2, monkeypatch)
    model = RMLS(8, max_iter=3)
    assert interrupted_fit(model) == SAID
    assert (model.n_iter_, model._calibration) == (3, None)
    plain = RMLS(8, max_iter=3, calibration=None).fit(TRAIN.X, TRAIN.Y)
    np.testing.assert_array_equal(model.label_vectors_, plain.label_vectors_)
    np.testing.assert_array_equal(model.predict_proba(TEST.X), plain.predict_proba(TEST.X))
    assert (model.predict_sets(TEST.X) != plain.predict_sets(TEST.X)).nnz == 0
    model.save(tmp_path / "m")
    loaded = rmls.load(tmp_path / "m")
    assert (loaded.predict_sets(TEST.X) != model.predict_sets(TEST.X)).nnz == 0


def test_rules_that_were_interrupted_are_fitted_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, calls = evidence.ScoredRows.cardinality_threshold, []

    def threshold(self: evidence.ScoredRows) -> float:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(evidence.ScoredRows, "cardinality_threshold", threshold)
    model = RMLS(8, max_iter=3, decision="cardinality")
    assert interrupted_fit(model) == SAID
    assert model.predict(TEST.X).shape == TEST.Y.shape


def test_a_second_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def threshold(_: evidence.ScoredRows) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(evidence.ScoredRows, "cardinality_threshold", threshold)
    with pytest.raises(KeyboardInterrupt):
        RMLS(8, max_iter=1).fit(TRAIN.X, TRAIN.Y)


def test_a_wrapper_keeps_what_it_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_pass(5, monkeypatch)
    model = Calibrated(RMLS(8, max_iter=3))
    assert interrupted_fit(model) == SAID
    plain = RMLS(8, max_iter=3, calibration=None).fit(TRAIN.X, TRAIN.Y)
    np.testing.assert_array_equal(model.predict_proba(TEST.X), plain.predict_proba(TEST.X))


def test_a_wrapper_of_a_training_that_was_interrupted_is_not_calibrated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupt_pass(2, monkeypatch)
    model = Calibrated(RMLS(8, max_iter=3))
    assert "after 1 of 3 passes" in interrupted_fit(model)
    assert model._calibration is None
    assert model.predict(TEST.X).shape == TEST.Y.shape


def test_scores_without_probabilities_are_kept_and_the_way_out_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def calibrate(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Calibrated, "_calibrate", calibrate)
    model = Calibrated(PLST(4))
    assert interrupted_fit(model) == SAID
    with pytest.raises(InputError, match="interrupted before it was calibrated; fit it again"):
        model.predict(TEST.X)
    assert model.predict(TEST.X, decision="cardinality").shape == TEST.Y.shape
    assert model.rank(TEST.X, 2).n_samples == TEST.n_samples


def test_a_method_that_has_no_model_yet_is_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(COCOA, "_learn", learn)
    model = COCOA()
    with pytest.raises(KeyboardInterrupt):
        model.fit(TRAIN.X, TRAIN.Y)
    assert not model.__sklearn_is_fitted__()
