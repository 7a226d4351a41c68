"""The stages of a fit: each has its own time, and together they have all of it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rmls import RMLSRanker, make_longtail
from rmls.models.ranker import combination, scoring, trainer

STAGES = {
    "features": (RMLSRanker, "_normalized"),
    "representation": (trainer, "train_members"),
    "shortlists": (trainer, "build_index"),
    "weights": (trainer.ClassifierTrainer, "solve"),
    "held-out rows": (trainer, "HeldOut"),
    "combination": (combination, "fit_combination"),
    "decisions": (scoring.ListedRows, "count_scores"),
}
DATA = make_longtail(120, 40, 12)


class Clock:
    """A clock that stands still but for the steps that are told to take long."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def slow_down(owner: Any, name: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    original = getattr(owner, name)

    def slow(*args: Any, **options: Any) -> Any:
        clock.now += 100.0
        return original(*args, **options)

    if isinstance(original, type):
        slow.stack = original.stack  # type: ignore[attr-defined]
    monkeypatch.setattr(owner, name, slow)


@pytest.mark.parametrize("folds", [0, 2])
@pytest.mark.parametrize("stage", STAGES)
def test_a_slow_step_is_seen_in_its_stage(
    stage: str, folds: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_down(*STAGES[stage], clock, monkeypatch)
    model = RMLSRanker(4, max_iter=1, calibration_folds=folds).fit(DATA.X, DATA.Y)
    assert clock.now > 0
    assert model.seconds_[stage] == clock.now
    assert sum(model.seconds_.values()) == clock.now


def test_reading_the_input_is_a_stage(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_down(RMLSRanker, "_check_options", clock, monkeypatch)
    model = RMLSRanker(4, max_iter=1).fit(DATA.X, DATA.Y)
    assert model.seconds_["input"] == clock.now == sum(model.seconds_.values())


def test_no_time_is_counted_twice() -> None:
    started = time.perf_counter()
    model = RMLSRanker(4, max_iter=1).fit(DATA.X, DATA.Y)
    total = time.perf_counter() - started
    assert set(model.seconds_) == {"input", *STAGES}
    assert all(seconds >= 0 for seconds in model.seconds_.values())
    assert sum(model.seconds_.values()) <= total


def test_a_second_fit_has_its_own_time() -> None:
    model = RMLSRanker(4, max_iter=1).fit(DATA.X, DATA.Y)
    started = time.perf_counter()
    model.fit(DATA.X, DATA.Y)
    assert sum(model.seconds_.values()) <= time.perf_counter() - started
