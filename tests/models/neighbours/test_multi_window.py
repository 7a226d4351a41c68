"""Multiple-window kNN against plain kNN, brute force inside the windows, and as a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_samples import NAMES, as_names, make_blocks, make_noise

import rmls
from rmls import KNN, MultiWindowKNN
from rmls.core.errors import InputError

EVERYTHING = {"window": 10**6, "ratio": 1e-9}


X, Y = make_noise(share=0.2)


def raw(model: MultiWindowKNN, X: np.ndarray) -> np.ndarray:
    return model.decision_function(X) + model.thresholds_


def slow_scores(
    X: np.ndarray, Y: np.ndarray, queries: np.ndarray, k: int, window: int, ratio: float
) -> np.ndarray:
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    similarity = queries @ unit.T / np.linalg.norm(queries, axis=1, keepdims=True)
    scores = np.zeros((len(queries), Y.shape[1]))
    for label in range(Y.shape[1]):
        own = np.flatnonzero(Y[:, label])[-window:]
        others = np.flatnonzero(Y[:, label] == 0)
        members = np.concatenate([own, others[len(others) - int(len(own) / ratio + 1e-9) :]])
        share = Y[:, label].mean()
        for query in range(len(queries)):
            near = members[np.argsort(-similarity[query, members])[:k]]
            votes = similarity[query, near]
            mean = votes @ Y[near, label] / votes.sum() if votes.sum() > 0 else share
            scores[query, label] = (k * mean + share) / (k + 1)
    return scores


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("k", [1, 4, 60])
def test_windows_larger_than_the_data_are_plain_knn(k: int, n_jobs: int) -> None:
    model = MultiWindowKNN(k, normalize="l2", n_jobs=n_jobs, **EVERYTHING).fit(X[:60], Y[:60])
    wanted = KNN(k, normalize="l2").fit(X[:60], Y[:60]).decision_function(X[60:])
    np.testing.assert_allclose(raw(model, X[60:]), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("window", "ratio"), [(3, 0.5), (5, 1.0), (8, 0.25), (1, 2.0)])
def test_neighbours_are_those_inside_the_windows(window: int, ratio: float) -> None:
    model = MultiWindowKNN(3, window=window, ratio=ratio, recent=True, normalize="l2")
    model.fit(X[:60], Y[:60])
    wanted = slow_scores(X[:60], Y[:60], X[60:], 3, window, ratio)
    if ratio <= 1:
        np.testing.assert_allclose(raw(model, X[60:]), wanted, rtol=1e-4, atol=1e-5)
    else:
        # No negative fits into half a place: all votes are positive.
        wanted = (3 + Y[:60].mean(axis=0)) / 4
        np.testing.assert_allclose(raw(model, X[60:]), np.tile(wanted, (20, 1)), rtol=1e-5)


def test_one_label_by_hand() -> None:
    # Positives e1 (old) and e2, negative e2 + e1. With a window of one the old positive is gone:
    # the neighbours of e1 are the negative, of cosine 0.7, and e2, of cosine 0.
    rows, labels = np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([[1], [1], [0]])
    model = MultiWindowKNN(1, window=1, ratio=1.0, recent=True, normalize="l2").fit(rows, labels)
    assert model._windows.first_positive.tolist() == [0]
    assert len(model._weights) == 2
    np.testing.assert_allclose(raw(model, rows[:1]), [[(0 + 2 / 3) / 2]], rtol=1e-5)
    both = MultiWindowKNN(1, window=2, ratio=1.0, recent=True, normalize="l2").fit(rows, labels)
    np.testing.assert_allclose(raw(both, rows[:1]), [[(1 + 2 / 3) / 2]], rtol=1e-5)


def test_the_order_matters_only_where_it_is_asked_for() -> None:
    options: dict[str, Any] = {"window": 3, "normalize": "l2"}
    turned = slice(None, None, -1)
    for recent in (False, True):
        model = MultiWindowKNN(3, recent=recent, **options)
        one = model.fit(X, Y).decision_function(X)
        other = model.fit(X[turned], Y[turned]).decision_function(X)
        assert np.array_equal(one, other) != recent


def test_a_stream_keeps_what_one_fit_keeps() -> None:
    options: dict[str, Any] = {"window": 4, "recent": True, "normalize": "l2"}
    whole = MultiWindowKNN(3, **options).fit(X, Y)
    stream = MultiWindowKNN(3, **options)
    for start in range(0, len(X), 16):
        stream.partial_fit(X[start : start + 16], Y[start : start + 16])
    np.testing.assert_allclose(raw(stream, X), raw(whole, X), atol=1e-5)
    assert stream.n_samples_ == whole.n_samples_
    assert stream.label_counts_.tolist() == whole.label_counts_.tolist()


def test_old_rows_are_forgotten() -> None:
    stream = MultiWindowKNN(1, window=5, ratio=1.0, normalize="l2")
    sizes = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows = rng.random((50, 4)) + 0.1
        sizes.append(len(stream.partial_fit(rows, rows[:, :2] > 0.8)._weights))
    assert max(sizes) < 60


def test_a_concept_that_drifts_is_followed() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((400, 6))
    before, after = (rows[:, :2] > 0.6).astype(int), (rows[:, 2:4] > 0.6).astype(int)
    stream = MultiWindowKNN(5, window=40).partial_fit(rows[:200], before[:200])
    assert stream.score(rows[300:], before[300:]) > stream.score(rows[300:], after[300:])
    stream.partial_fit(rows[200:300], after[200:300])
    assert stream.score(rows[300:], after[300:]) > stream.score(rows[300:], before[300:])


def test_thresholds_give_a_batch_as_many_labels_as_it_has() -> None:
    stream = MultiWindowKNN(5, normalize="l2").partial_fit(X[:40], Y[:40])
    # Scores of the new rows are taken before they are learned.
    scores = raw(stream, X[40:])
    stream.partial_fit(X[40:], Y[40:])
    predicted = (scores >= stream.thresholds_).sum(axis=0)
    assert np.abs(predicted - Y[40:].sum(axis=0)).max() <= 1


def test_labels_that_do_not_occur_keep_their_threshold() -> None:
    stream = MultiWindowKNN(5).partial_fit(X, Y)
    before = stream.thresholds_.copy()
    stream.partial_fit(X[:5], 0 * Y[:5])
    np.testing.assert_array_equal(stream.thresholds_, before)


def test_a_loaded_model_goes_on_as_the_saved_one(tmp_path: Any) -> None:
    model = MultiWindowKNN(3, window=4).fit(X[:60], Y[:60])
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[60:], Y[60:])
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_names_and_unknown_names_in_a_stream() -> None:
    X, Y = make_blocks()
    stream = MultiWindowKNN(3).partial_fit(X, as_names(Y, NAMES))
    assert sorted(stream.predict(X[:1])[0]) == sorted(as_names(Y[:1], NAMES)[0])
    with pytest.raises(InputError, match="'fraud', which is not known"):
        stream.partial_fit(X[:1], [["fraud"]])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"window": 0}, "window"),
        ({"window": 2.5}, "window"),
        ({"ratio": 0}, "ratio"),
        ({"recent": "yes"}, "recent must be True or False"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    for use in ("fit", "partial_fit"):
        with pytest.raises(InputError, match=named):
            getattr(MultiWindowKNN(**options), use)(X, Y)
