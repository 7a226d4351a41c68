"""A threshold is a decision rule like any other, wherever a rule is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_samples import ESTIMATORS, assert_same_sets, make, make_blocks

import rmls
from rmls.bench.study.methods import Method
from rmls.decide import Threshold

X, Y = make_blocks()
DECIDING = [name for name in ESTIMATORS if "decision" in ESTIMATORS[name]().get_params()]


@pytest.mark.parametrize("name", DECIDING)
def test_a_number_and_its_name_are_the_threshold(name: str) -> None:
    wanted = make(name, decision=Threshold(0.25)).fit(X, Y).predict(X)
    model = make(name).fit(X, Y)
    for spec in (0.25, "threshold=0.25", "0.25"):
        assert_same_sets(model.predict(X, decision=spec), wanted)
        assert_same_sets(make(name, decision=spec).fit(X, Y).predict(X), wanted)


def test_a_threshold_survives_the_archive(tmp_path: Path) -> None:
    model = make("RMLS", decision=0.25).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert loaded.decision == 0.25
    assert_same_sets(loaded.predict(X), model.predict(X))


def test_a_study_names_thresholds_as_python_does() -> None:
    assert Method("RMLS", decisions=("0.5", "threshold=0.5")).decisions == ("0.5", "threshold=0.5")
