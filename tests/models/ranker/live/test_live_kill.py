"""A process that is killed while it learns and saves leaves the old model or the new one."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_samples import NEW, answers, assert_same, fitted
from other_processes import kills

import rmls

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL"),
]

KILLS = 20


def learn_next(model: Any, X: Any, n_before: int) -> Any:
    """Learn the row that comes next, and every fourth time a label that is new."""
    number = int(model.n_samples_) - n_before
    row = number % X.shape[0]
    labels = [*NEW.labels[row], *([f"new {number}"] if number % 4 == 3 else [])]
    return model.partial_fit(X[row : row + 1], [labels])


def test_killing_a_learner_at_random_moments_leaves_a_whole_model(tmp_path: Path) -> None:
    path, (model, X, *_) = tmp_path / "model", fitted("names")
    learn = partial(learn_next, X=X, n_before=int(model.n_samples_))
    model.save(path)
    expected = rmls.load(path)
    seen = []
    for _ in kills(lambda: learn(rmls.load(path)).save(path), KILLS, longest=0.08):
        model = rmls.load(path)
        seen.append(int(model.n_samples_))
        # The same rows, learned here without a disk in between.
        while expected.n_samples_ < model.n_samples_:
            learn(expected)
        assert model.classes_.tolist() == expected.classes_.tolist()
        assert_same(answers(model, X), answers(expected, X))
    assert seen == sorted(set(seen))
    assert np.diff([learn.keywords["n_before"], *seen]).min() >= 1
    expected.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
