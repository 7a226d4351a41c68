"""Quality floors on real data; the figures are of the default settings unless said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import KFold

from rmls import RMLS
from rmls.datasets import Dataset, load
from rmls.features import unit_rows
from rmls.metrics import get_metric

pytestmark = [pytest.mark.slow, pytest.mark.data]


def fold_scores(data: Dataset, X: Any, model: RMLS, n_folds: int) -> list[float]:
    """Example-F1 of the first folds of five."""
    folds = list(KFold(5, shuffle=True, random_state=0).split(data.Y))
    return [
        model.fit(X[train], data.Y[train]).score(X[test], data.Y[test])
        for train, test in folds[:n_folds]
    ]


def test_enron_reaches_the_floor() -> None:
    data = load("enron")
    # Mean of the five folds: 0.616; fold 0 is the hardest.
    assert fold_scores(data, data.X, RMLS(50), 1)[0] >= 0.59


def test_the_settings_of_the_paper_reach_the_paper_on_enron() -> None:
    data = load("enron")
    # The paper's table has 0.587.
    assert 0.55 <= fold_scores(data, data.X, RMLS.paper(50), 1)[0] <= 0.63


def test_yeast_reaches_the_floor_on_the_given_split() -> None:
    data = load("yeast")
    model = RMLS(50).fit(data.train.X, data.train.Y)
    predicted = model.predict_sets(data.test.X)
    assert get_metric("example_f1")(data.test.Y, predicted) >= 0.63
    assert get_metric("example_accuracy")(data.test.Y, predicted) >= 0.52


def test_raw_counts_of_enron_learn_as_well_as_unit_rows() -> None:
    data = load("enron")
    raw = fold_scores(data, data.X, RMLS(50), 3)
    unit = fold_scores(data, unit_rows(data.X), RMLS(50), 3)
    assert np.mean(raw) == pytest.approx(np.mean(unit), abs=0.01)
