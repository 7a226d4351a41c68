"""Reverse multi-label learning: the bound, the definition, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from archive_samples import change_model
from model_samples import make_blocks
from tolerances import assert_close, assert_cut

import rmls
from rmls import ReverseMultiLabel
from rmls.core.errors import ArchiveError, InputError
from rmls.kernels.cpu.methods.f_cuts import most_violated
from rmls.metrics import get_metric

X, Y = make_blocks(90)


def slack(scores: np.ndarray, truth: np.ndarray) -> float:
    chosen = np.zeros(len(truth), dtype=bool)
    loss = most_violated(scores.astype(np.float64), truth, np.ones(len(truth)), chosen)
    return float(loss + (scores[chosen].sum() - scores[truth].sum()) / truth.sum())


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_mean_slack_bounds_one_minus_macro_f(C: float) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 6))
    labels = (features[:, :4] + rng.normal(0, 1, (80, 4)) > 1).astype(int)
    model = ReverseMultiLabel(C, normalize="none").fit(features, labels)
    scores = model.decision_function(features)
    mean = np.mean([slack(scores[:, j], labels[:, j] == 1) for j in range(4)])
    missing = 1 - get_metric("macro_f1")(labels, model.predict(features))
    assert mean >= missing - 1e-6
    if C == 100:
        assert missing < 0.35


def test_two_rows_by_hand() -> None:
    # Rows 1 (relevant) and -1, see the tests of the cuts: w = (C, C) as long as C is small.
    model = ReverseMultiLabel(0.25, tol=1e-6, normalize="none").fit([[1.0], [-1.0]], [[1], [0]])
    np.testing.assert_allclose(model.coef_, [[0.25]], atol=1e-3)
    np.testing.assert_allclose(model.intercept_, [0.25], atol=1e-3)
    np.testing.assert_allclose(model.decision_function([[3.0]]), [[1.0]], atol=1e-2)


def test_the_set_of_a_label_is_that_of_the_positive_scores() -> None:
    model = ReverseMultiLabel().fit(X, Y)
    assert_cut(model.predict_sets(X), model.decision_function(X), 0.0)
    assert model.score(X, Y) > 0.95


def test_threads_change_nothing_and_labels_without_rows_score_minus_one() -> None:
    wide = np.hstack([Y, np.zeros((len(Y), 2), int)])
    one, two = (ReverseMultiLabel(n_jobs=n).fit(X, wide) for n in (1, 2))
    assert_close(one.decision_function(X), two.decision_function(X))
    assert (one.decision_function(X)[:, 6:] == -1).all()
    assert one.coef_.shape == (X.shape[1], 6)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"C": 0}, "C must be"), ({"max_iter": 0}, "max_iter"), ({"tol": 0}, "tol")],
    ids=str,
)
def test_wrong_options_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        ReverseMultiLabel(**options).fit(X, Y)


def test_a_model_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmls.core.resources.available_memory", lambda: 1000)
    with pytest.raises(InputError, match="one model for each of 6 labels needs"):
        ReverseMultiLabel().fit(X, Y)


def test_learned_labels_that_are_not_there_are_refused(tmp_path: Any) -> None:
    model = ReverseMultiLabel().fit(X, Y)
    model.save(tmp_path / "model")
    model.learned_ = model.learned_ + 1
    change_model(tmp_path / "model", arrays={"learned": model.learned_})
    with pytest.raises(ArchiveError, match="learned labels are not there"):
        rmls.load(tmp_path / "model")
    with pytest.raises(ArchiveError, match="learned labels are not there"):
        model.save(tmp_path / "again")
