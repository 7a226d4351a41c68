"""All estimators read what they are given in one place, so that one can speak for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from model_samples import ESTIMATORS, make, make_blocks

import rmls.models
from rmls.models.shared.estimator import MultiLabelEstimator

ASKING = ("predict", "predict_sets", "rank", "decision_function", "score", "save")
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def test_only_one_file_reads_what_users_pass_in() -> None:
    readers = ("validate_data", "_check_sample_weight", "read_labels")
    folder = Path(rmls.models.__file__).parent
    found = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if any(name in path.read_text() for name in readers)
    }
    assert found == {str(Path("shared", "training_set.py"))}


@every_estimator
def test_no_estimator_reads_its_input_in_its_own_way(name: str) -> None:
    own = [
        method
        for method in ASKING
        if getattr(ESTIMATORS[name], method) is not getattr(MultiLabelEstimator, method)
    ]
    assert own == []


@every_estimator
def test_fit_hands_on_what_it_is_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Reached(Exception):
        pass

    def record(self: Any, *arguments: Any, **named: Any) -> None:
        raise Reached(arguments, named)

    monkeypatch.setattr(MultiLabelEstimator, "_read_set", record)
    X, Y = make_blocks()
    weights, names = [1.0] * len(X), list("abcdef")
    with pytest.raises(Reached) as caught:
        make(name).fit(X, Y, weights, names)
    arguments, named = caught.value.args
    handed_on = (*arguments, *named.values())
    assert len(handed_on) == 4
    for found, given in zip(handed_on, (X, Y, weights, names), strict=True):
        assert found is given
