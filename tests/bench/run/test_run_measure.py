"""What the figures of a run count, and what they leave out."""

from __future__ import annotations

from typing import Any

import pytest
from bench_samples import small_study

from rmls.bench.run import measure as measuring
from rmls.bench.study.methods import Method
from rmls.models import KNN

NEIGHBOURS = Method("KNN", decisions=("cardinality",))


class Metered(KNN):
    """A model that says how much memory its steps take."""

    def fit(self, X: Any, y: Any) -> Any:
        self.take("fit")
        return super().fit(X, y)

    def rank_sets(self, *arguments: Any) -> Any:
        self.take("rank_sets")
        return super().rank_sets(*arguments)

    def rank(self, *arguments: Any) -> Any:
        self.take("rank")
        return super().rank(*arguments)

    def predict_proba(self, X: Any) -> Any:
        self.take("predict_proba")
        return super().predict_proba(X)

    def save(self, path: Any) -> None:
        self.take("save")
        super().save(path)


# A class that `load` does not know would not be saved.
Metered.__name__ = "KNN"


@pytest.mark.parametrize(
    ("step", "counts"),
    [
        ("fit", True),
        ("rank_sets", True),
        ("rank", True),
        ("predict_proba", False),
        ("save", False),
    ],
)
def test_peak_memory_is_that_of_training_and_prediction(
    step: str, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = [1]
    monkeypatch.setattr(
        Metered, "take", lambda self, name: taken.append(9 if name == step else 1), raising=False
    )
    monkeypatch.setattr(measuring, "make_model", lambda fit, **overrides: Metered())
    monkeypatch.setattr(measuring, "warm_up", lambda fit: None)
    monkeypatch.setattr(measuring, "peak_memory", lambda: max(taken))
    _, (measured,) = measuring.measure(small_study(NEIGHBOURS).fits()[0])
    assert measured["peak_memory"] == (9 if counts else 1)
    assert max(taken) == 9


def test_training_is_timed_after_its_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    warm_up, timed = measuring.warm_up, measuring.timed
    monkeypatch.setattr(measuring, "warm_up", lambda fit: (steps.append("warm"), warm_up(fit)))
    monkeypatch.setattr(measuring, "timed", lambda work: (steps.append("timed"), timed(work))[1])
    measuring.measure(small_study(NEIGHBOURS).fits()[0])
    assert steps == ["warm", "timed", "timed"]
