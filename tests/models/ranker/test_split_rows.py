"""What is trained by the numbers of rows and labels: models that calibrate, and their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rmls import RMLSRanker, make_longtail
from rmls.models.ranker import ranker as module
from rmls.models.ranker.sources import Folds
from rmls.models.ranker.trainer import StageTrainer


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "folds", "count", "scored"),
    [
        (20, 10, "auto", 0, 0),
        (600, 20, "auto", 3, 3),
        (1_500, 20, "auto", 2, 2),
        (2_100, 20, "auto", 2, 1),
        (1_500, 250, "auto", 3, 2),
        (1_500, 200, "auto", 2, 2),
        (3_300, 250, "auto", 3, 1),
        (3_300, 250, 3, 3, 3),
        (1_500, 20, 4, 4, 4),
        (1_500, 20, 0, 0, 0),
        (5_500, 20, "auto", 0, 0),
    ],
)
def test_folds(
    n_rows: int,
    n_labels: int,
    folds: int | str,
    count: int,
    scored: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, found = begin(n_rows, n_labels, monkeypatch, calibration_folds=folds)
    assert found == Folds(count, scored)


@pytest.mark.parametrize(("folds", "n_scored"), [("auto", 1_100), (3, 3_300)])
def test_rows_of_the_folds_that_are_scored_teach_the_combination(
    folds: int | str, n_scored: int
) -> None:
    data = make_longtail(3_300, 300, 250, labels_per_row=3, random_state=0)
    model = RMLSRanker(8, max_iter=1, calibration_folds=folds).fit(data.X, data.Y)
    assert len(model._held_out.rows) == n_scored
    assert len(np.unique(model._held_out.rows)) == n_scored


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "options", "size", "passes", "negatives"),
    [
        (600, 20, {}, 128, 8, 20),
        (1_500, 20, {}, 64, 5, 5),
        (1_500, 200, {}, 64, 5, 5),
        (1_500, 250, {}, 128, 8, 20),
        (2_500, 250, {}, 128, 5, 20),
        (8_500, 20, {}, 128, 4, 10),
        (8_500, 200, {}, 128, 4, 10),
        (1_500, 20, {"n_components": 128, "max_iter": 8}, 128, 8, 5),
    ],
)
def test_vectors(
    n_rows: int,
    n_labels: int,
    options: dict[str, Any],
    size: int,
    passes: int,
    negatives: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainer, _ = begin(n_rows, n_labels, monkeypatch, **options)
    (member,) = trainer.members
    assert (member.n_components, member.max_iter) == (size, passes)
    assert member.negatives_per_positive == negatives


def begin(
    n_rows: int, n_labels: int, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[StageTrainer, Folds]:
    """Return the trainer of a ranker and the folds that calibrate it."""
    seen: list[tuple[StageTrainer, Folds]] = []

    def fit(trainer: StageTrainer, data: object, folds: Folds) -> None:
        seen.append((trainer, folds))
        raise InterruptedError

    monkeypatch.setattr(module.StageTrainer, "fit", fit)
    data = make_longtail(n_rows, 300, n_labels, labels_per_row=3, random_state=0)
    with pytest.raises(InterruptedError):
        RMLSRanker(**options).fit(data.X, data.Y)
    return seen[0]
