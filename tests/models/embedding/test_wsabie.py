"""WSABIE learns to rank, within its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_samples import train_on_threads

from rmls import WSABIE
from rmls.core.errors import InputError


def make_checkerboard(n: int = 40, m: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Row i has the labels of its own parity; its feature is its parity and a private one."""
    parity = np.arange(n) % 2
    X = np.hstack([np.eye(2)[parity], 0.1 * np.eye(n)])
    return X, (parity[:, None] == np.arange(m) % 2).astype(int)


@pytest.mark.parametrize("options", [{}, {"negatives": "all"}, {"n_jobs": 2}, {"max_tries": 2}])
def test_learns_a_checkerboard(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    train_on_threads(monkeypatch)
    X, Y = make_checkerboard()
    model = WSABIE(4, max_iter=30, **options).fit(X, Y)
    best = model.rank(X, 6).to_sets()
    np.testing.assert_array_equal(best.toarray(), Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    assert model.loss_curve_[-1] < model.loss_curve_[0]


@pytest.mark.parametrize("batch_size", [1, 5])
def test_all_vectors_stay_within_the_bound(batch_size: int) -> None:
    X, Y = make_checkerboard()
    model = WSABIE(4, max_norm=0.5, learning_rate=0.5, batch_size=batch_size).fit(X, Y)
    for vectors in (model.feature_vectors_, model.label_vectors_):
        lengths = np.linalg.norm(vectors, axis=1)
        assert lengths.max() <= 0.5 * (1 + 1e-5)
    assert np.isclose(np.linalg.norm(model.label_vectors_, axis=1), 0.5).any()


def test_rows_with_all_labels_or_none_teach_nothing() -> None:
    X, Y = make_checkerboard()
    extreme = np.where(np.arange(len(Y))[:, None] % 2, 1, 0) * np.ones_like(Y)
    model = WSABIE(4).fit(X, extreme)
    assert not model.label_vectors_.any()
    assert model.loss_curve_[-1] == 0


def test_a_label_without_positives_ranks_last() -> None:
    X, Y = make_checkerboard()
    Y[:, 0] = 0
    ranking = WSABIE(4, max_iter=30).fit(X, Y).rank(X[::2], 6)
    assert 0 not in ranking.top(5).labels


def test_the_draws_follow_the_seed() -> None:
    X, Y = make_checkerboard()
    scores = [WSABIE(4, random_state=seed).fit(X, Y).decision_function(X) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_norm", 0),
        ("max_tries", 0),
        ("negatives", "some"),
        ("learning_rate", -1.0),
        ("schedule", "cosine"),
        ("batch_size", 1.5),
        ("n_components", 0),
        ("max_iter", 0),
    ],
)
def test_wrong_options_are_refused_by_name(option: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{option} must be"):
        WSABIE(**{option: value}).fit([[1.0], [2.0]], [[1, 0], [0, 1]])


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_penalty_shortens_all_vectors_that_a_visit_touches(batch_size: int) -> None:
    X, Y = make_checkerboard()
    options: dict[str, Any] = {"max_norm": None, "batch_size": batch_size, "max_iter": 30}
    free, short, none = (WSABIE(4, l2=l2, **options).fit(X, Y) for l2 in (0.0, 0.05, 1e9))
    for name in ("feature_vectors_", "label_vectors_"):
        assert np.linalg.norm(getattr(short, name)) < 0.95 * np.linalg.norm(getattr(free, name))
    np.testing.assert_array_equal(short.predict(X), Y)
    # No step beyond zero: a huge penalty leaves next to nothing, and nothing that is not finite.
    assert np.isfinite(none.decision_function(X)).all()
