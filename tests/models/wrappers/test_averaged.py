"""The mean of RMLS models of different samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import make_blocks

import rmls
from rmls import KNN, RMLS, AveragedRMLS, make_longtail
from rmls.core.errors import InputError
from rmls.models.rmls.sampling import plan_visits
from rmls.models.shared.training_set import TrainingSet

PLAIN: dict[str, Any] = {"calibration": None, "decision": "cardinality"}


@pytest.mark.parametrize("options", [{}, {"accumulators": "element"}, {"fit_intercept": False}])
def test_scores_are_the_mean_of_those_of_the_members(options: dict[str, Any]) -> None:
    X, Y = make_blocks()
    one = RMLS(6, max_iter=4, redraw=False, calibration=None, **options)
    members = [RMLS(**{**one.get_params(), "random_state": seed}).fit(X, Y) for seed in (5, 6, 7)]
    model = AveragedRMLS(one, 3, random_state=5, **PLAIN).fit(X, Y)
    mean = np.mean([member.decision_function(X) for member in members], axis=0)
    np.testing.assert_allclose(model.decision_function(X), mean, atol=1e-5)
    assert model.estimator_.n_components == 18
    assert model.score(X, Y) > 0.9


def test_one_member_is_that_model() -> None:
    X, Y = make_blocks()
    one = RMLS(6, max_iter=4, calibration=None)
    alone = AveragedRMLS(one, 1, **PLAIN).fit(X, Y)
    np.testing.assert_allclose(
        alone.decision_function(X), one.fit(X, Y).decision_function(X), atol=1e-6
    )


def test_the_mean_is_better_than_a_member_where_samples_are_small() -> None:
    data = make_longtail(900, 300, 60, labels_per_row=3.0)
    train, test = data.train, data.test
    few = RMLS.paper(16, redraw=False, negatives_per_positive=1, max_iter=5)
    single = [
        RMLS(**{**few.get_params(), "random_state": seed}).fit(train.X, train.Y)
        for seed in range(5)
    ]
    alone = np.mean([model.score(test.X, test.Y) for model in single])
    together = AveragedRMLS(few, 5, **PLAIN).fit(train.X, train.Y).score(test.X, test.Y)
    assert together > alone + 0.02


def test_a_row_keeps_its_sample_in_all_passes_or_draws_anew() -> None:
    X, Y = make_blocks()
    from scipy import sparse

    matrices = sparse.csr_matrix(X, dtype=np.float32), sparse.csr_matrix(Y)
    data = TrainingSet(*matrices, np.arange(len(X)), np.array([1.0, 3.0] * (len(X) // 2)))

    def keys(number: int, redraw: bool) -> dict[int, set[int]]:
        visits = plan_visits(data, 0, number, (0.1, 0.1), 1, redraw=redraw)
        found: dict[int, set[int]] = {}
        for row, key in zip(visits.rows.tolist(), visits.keys.tolist(), strict=True):
            found.setdefault(row, set()).add(key)
        return found

    assert keys(0, False) == keys(1, False)
    assert keys(0, True) != keys(1, True)
    # A row of weight 3 is three rows, each with a sample of its own.
    assert sorted({len(one) for one in keys(0, False).values()}) == [1, 3]


@pytest.mark.parametrize(
    ("estimator", "draws_once"), [(None, True), ("RMLS", False), (RMLS(), False)]
)
def test_only_members_by_default_draw_once(estimator: Any, draws_once: bool) -> None:
    assert AveragedRMLS(estimator)._make_inner().redraw is not draws_once


def test_members_have_the_seeds_from_random_state_on_whatever_that_of_the_estimator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, Y = make_blocks()
    seeds: list[int] = []
    fit = RMLS.fit

    def noting(self: RMLS, *given: Any, **options: Any) -> Any:
        seeds.append(self.random_state)
        return fit(self, *given, **options)

    monkeypatch.setattr(RMLS, "fit", noting)
    AveragedRMLS(RMLS(4, max_iter=1, random_state=40), 3, random_state=5, **PLAIN).fit(X, Y)
    assert seeds == [5, 6, 7]


def test_saved_and_loaded_it_scores_the_same(tmp_path: Path) -> None:
    X, Y = make_blocks()
    model = AveragedRMLS(RMLS(5, max_iter=3), 2, calibration_folds=2).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.n_estimators == 2


@pytest.mark.parametrize("wrong", [KNN(), "LEML"])
def test_members_must_sample(wrong: Any) -> None:
    with pytest.raises(InputError, match="estimator must be an RMLS"):
        AveragedRMLS(wrong).fit([[1.0], [2.0]], [[1], [0]])
