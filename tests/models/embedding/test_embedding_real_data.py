"""Quality on real data of the methods that learn vectors of rows and labels."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.model_selection import KFold

from rmls import BMLPL, LEML, WSABIE
from rmls.datasets import load


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("model", "least"),
    [
        # Mean of five folds here, and in the paper: 0.590 ± 0.008, 0.424 ± 0.007.
        (LEML(50), 0.55),
        # 0.573 ± 0.013, 0.498 ± 0.022.
        (WSABIE(50), 0.53),
        # 0.604; fold 0 is the hardest, 0.578.
        (BMLPL(50, n_jobs=2), 0.55),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_first_fold_of_enron_is_learned(model: Any, least: float) -> None:
    data = load("enron")
    train, test = next(KFold(5, shuffle=True, random_state=0).split(data.Y))
    assert model.fit(data.X[train], data.Y[train]).score(data.X[test], data.Y[test]) > least
