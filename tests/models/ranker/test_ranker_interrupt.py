"""Ctrl-C in any stage of RMLSRanker keeps the best model there is, or says that there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import rmls
from rmls import RMLSRanker
from rmls.datasets import make_longtail
from rmls.metrics import get_metric
from rmls.models.ranker import ranker as ranker_module
from rmls.models.ranker.scoring import Proposer
from rmls.models.ranker.trainer import ClassifierTrainer, StageTrainer
from rmls.models.rmls.sgd import Training
from rmls.models.shared.progress import TrainingInterrupted

DATA = make_longtail(160, 60, 12, random_state=6)
TRAIN, TEST = DATA.train, DATA.test
# With models of parts of the rows, and with rows held out.
WAYS = {"folds": 3, "held out": 0}


def make(way: str) -> RMLSRanker:
    return RMLSRanker(8, max_iter=3, shortlist_size=6, calibration_folds=WAYS[way])


def interrupt(patch: pytest.MonkeyPatch, owner: object, name: str, call: int = 1) -> None:
    """Press Ctrl-C when something is called for the n-th time, and never again."""
    real, calls = getattr(owner, name), []

    def pressed(*arguments: object, **options: object) -> object:
        calls.append(name)
        if len(calls) == call:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    patch.setattr(owner, name, pressed)


def interrupted_fit(way: str, match: str) -> RMLSRanker:
    model = make(way)
    with pytest.warns(TrainingInterrupted, match=match) as seen:
        model.fit(TRAIN.X, TRAIN.Y)
    assert len(seen) == 1
    return model


def check_usable(model: RMLSRanker, folder: Path) -> None:
    """A kept model ranks better than chance, decides, and is the same from its archive."""
    assert get_metric("precision@1")(TEST.Y, model.rank(TEST.X, 1)) > 0.3
    model.save(folder)
    loaded = rmls.load(folder)
    for each in (model, loaded):
        assert np.isfinite(each.decision_function(TEST.X)).all()
        assert each.predict_proba(TEST.X).min() >= 0
    sets = [each.predict_sets(TEST.X) for each in (model, loaded)]
    assert (sets[0] != sets[1]).nnz == 0
    assert sets[0].nnz


@pytest.mark.parametrize("way", WAYS)
def test_without_a_pass_there_is_no_model(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, Training, "run_pass")
    model = make(way)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TRAIN.X, TRAIN.Y)
    with pytest.raises(NotFittedError):
        model.predict(TEST.X)


@pytest.mark.parametrize("way", WAYS)
def test_vectors_that_have_made_a_pass_rank_alone(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(monkeypatch, Training, "run_pass", call=3)
    model = interrupted_fit(way, "after 2 of 3 passes; the model is kept without classifiers")
    assert model.n_weights_ == 0
    check_usable(model, tmp_path / "m")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stage", ["shortlists", "classifiers"])
def test_vectors_rank_alone_before_there_are_classifiers(
    way: str, stage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    owner, name = {
        "shortlists": (Proposer, "list_all"),
        "classifiers": (ClassifierTrainer, "solve"),
    }[stage]
    interrupt(monkeypatch, owner, name)
    model = interrupted_fit(way, "before the classifiers were trained; .* without classifiers")
    assert model.n_weights_ == 0
    check_usable(model, tmp_path / "m")


def test_classifiers_of_the_first_solution_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(monkeypatch, ClassifierTrainer, "solve", call=2)
    model = interrupted_fit("held out", "before the held-out rows were learned")
    assert model.n_weights_ > 0
    check_usable(model, tmp_path / "m")


@pytest.mark.parametrize("n_done", [0, 1, 2])
def test_the_model_of_all_rows_is_trained_before_those_of_parts(
    n_done: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = make("folds").fit(TRAIN.X, TRAIN.Y)
    interrupt(monkeypatch, StageTrainer, "_train", call=2 + n_done)
    model = interrupted_fit("folds", f"after {n_done} of 3 models for the combination")
    check_usable(model, tmp_path / "m")
    np.testing.assert_array_equal(model._scorer.weights.values, whole._scorer.weights.values)
    np.testing.assert_array_equal(model.representation_.params.L, whole.representation_.params.L)


@pytest.mark.parametrize("way", WAYS)
def test_a_plain_combination_stands_in_for_the_learned_one(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(monkeypatch, ranker_module, "combine")
    model = interrupted_fit(way, "before the combination was learned")
    assert model.tail_ == 0
    check_usable(model, tmp_path / "m")


@pytest.mark.parametrize("way", WAYS)
def test_calibration_is_left_out(way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    interrupt(monkeypatch, RMLSRanker, "_calibrate")
    model = interrupted_fit(way, "before probabilities were calibrated; .* uncalibrated")
    assert model._calibration is None
    check_usable(model, tmp_path / "m")


def test_one_of_several_representations_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(monkeypatch, Training, "run_pass", call=4)
    model = RMLSRanker(8, max_iter=3, shortlist_size=6, n_models=2)
    with pytest.warns(TrainingInterrupted, match="without classifiers"):
        model.fit(TRAIN.X, TRAIN.Y)
    assert model.representation_.params.W.shape[1] == 8
    check_usable(model, tmp_path / "m")


def test_few_rows_are_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    few = sparse.csr_matrix(np.eye(8, dtype=np.float32))
    interrupt(monkeypatch, ClassifierTrainer, "solve")
    with pytest.warns(TrainingInterrupted, match="without classifiers"):
        model = RMLSRanker(4).fit(few, np.eye(8, dtype=int))
    assert model.predict(few).shape == (8, 8)
