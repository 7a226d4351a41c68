"""How many models score the rows that the combination of a ranker is learned from."""

from __future__ import annotations

import pytest

from rmls import RMLSRanker, make_longtail
from rmls.models.ranker import ranker as module
from rmls.models.ranker.trainer import StageTrainer


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "folds", "n_models"),
    [
        (20, 10, "auto", 0),
        (600, 20, "auto", 3),
        (1_500, 20, "auto", 2),
        (1_500, 200, "auto", 3),
        (1_500, 20, 4, 4),
        (1_500, 20, 0, 0),
        (5_500, 20, "auto", 0),
    ],
)
def test_folds(
    n_rows: int, n_labels: int, folds: int | str, n_models: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def fit(trainer: StageTrainer, data: object, n_folds: int) -> None:
        seen.append(n_folds)
        raise InterruptedError

    monkeypatch.setattr(module.StageTrainer, "fit", fit)
    data = make_longtail(n_rows, 300, n_labels, labels_per_row=3, random_state=0)
    with pytest.raises(InterruptedError):
        RMLSRanker(calibration_folds=folds).fit(data.X, data.Y)
    assert seen == [n_models]
