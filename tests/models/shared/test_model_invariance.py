"""What must not change a model, and the corners every model must stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_samples import DRAWS_PER_LABEL, ESTIMATORS, NAMES, make, make_blocks
from scipy import sparse
from tolerances import assert_close, assert_same_ranking

from rmls.core.ranking import Ranking

X, Y = make_blocks()
N_LABELS = Y.shape[1]
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


@every_estimator
def test_the_order_of_the_rows_does_not_matter(name: str) -> None:
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = make(name).fit(X[order], Y[order])
    straight = make(name).fit(X, Y)
    np.testing.assert_array_equal(shuffled.decision_function(X), straight.decision_function(X))
    np.testing.assert_array_equal(shuffled.predict(X), straight.predict(X))


@every_estimator
def test_permuted_labels_have_permuted_scores(name: str) -> None:
    # One step per pass on the full loss: what is left does not know the numbers of the labels.
    options = {"negatives": "all", "gradient_floor": 0.0, "batch_size": len(X)}
    order = np.random.default_rng(1).permutation(N_LABELS)
    straight = make(name, **options).fit(X, Y)
    permuted = make(name, **options).fit(X, Y[:, order])
    assert permuted.score(X, Y[:, order]) == pytest.approx(straight.score(X, Y), abs=0.1)
    if name not in DRAWS_PER_LABEL:
        np.testing.assert_allclose(
            permuted.decision_function(X), straight.decision_function(X)[:, order], atol=1e-4
        )


@every_estimator
def test_an_integer_weight_is_the_same_as_repeating_the_row(name: str) -> None:
    weights = np.random.default_rng(2).integers(0, 4, len(X))
    repeated = make(name).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    weighted = make(name).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_balanced_classes_see_weights_as_repeated_rows() -> None:
    weights = np.where(Y[:, 0] == 1, 3, 1)
    model = make("RMLS", class_weight="balanced")
    weighted = model.fit(X, Y, sample_weight=weights).decision_function(X)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    np.testing.assert_array_equal(weighted, repeated.decision_function(X))


def test_a_row_of_weight_zero_is_as_if_it_were_not_there() -> None:
    weights = np.ones(len(X) + 1)
    weights[-1] = 0
    X_more, Y_more = np.vstack([X, -X[:1]]), np.vstack([Y, Y[:1]])
    weighted = make("RMLS").fit(X_more, Y_more, sample_weight=weights).decision_function(X)
    np.testing.assert_array_equal(weighted, make("RMLS").fit(X, Y).decision_function(X))


@every_estimator
def test_two_fits_are_equal_to_the_last_bit(name: str) -> None:
    first, second = (make(name).fit(X, Y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@every_estimator
def test_a_second_fit_forgets_the_first(name: str) -> None:
    model = make(name).fit(X[:, ::-1], 1 - Y).fit(X, Y)
    np.testing.assert_array_equal(
        model.decision_function(X), make(name).fit(X, Y).decision_function(X)
    )


@every_estimator
def test_rows_are_scored_one_by_one_as_together(name: str) -> None:
    model = make(name).fit(X, Y)
    alone = np.vstack([model.decision_function(row[None]) for row in X[:10]])
    assert_close(alone, model.decision_function(X[:10]))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("k", [1, N_LABELS - 1, N_LABELS, N_LABELS + 1])
@every_estimator
def test_rank_orders_labels_as_the_scores_do(name: str, k: int, n_jobs: int) -> None:
    model = make(name, n_jobs=n_jobs).fit(X, Y)
    found = model.rank(X, k)
    wanted = Ranking.from_dense(model.decision_function(X), k)
    assert found.n_labels == N_LABELS
    assert_same_ranking(found, wanted)


@every_estimator
def test_ties_go_to_the_lower_label(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "RMLSRanker":
        pytest.skip("ranks shortlists and not blocks of scores; its ties have tests of their own")
    model = make(name).fit(X, Y)
    tied = np.float32([0.5, 0.9, 0.5, 0.9, 0.5, 0.1])
    monkeypatch.setattr(type(model), "_score_block", lambda self, X: np.tile(tied, (X.shape[0], 1)))
    order = [1, 3, 0, 2, 4, 5]
    for k in range(1, N_LABELS + 1):
        assert model.rank(X[:2], k).labels.tolist() == order[:k] * 2


@every_estimator
def test_blocks_of_rows_do_not_change_a_prediction(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make(name).fit(X, Y)
    whole = model.predict(X), model.rank(X, 3)
    monkeypatch.setattr("rmls.models.shared.answers.BLOCK_BYTES", 4 * N_LABELS * 7)
    np.testing.assert_array_equal(model.predict(X), whole[0])
    assert_same_ranking(model.rank(X, 3), whole[1])


def assert_usable(model: Any, X: Any, n_labels: int) -> None:
    scores = model.decision_function(X)
    assert scores.shape == (X.shape[0], n_labels)
    assert np.isfinite(scores).all()
    assert model.predict_sets(X).shape == scores.shape
    ranking = model.rank(X, n_labels + 1)
    assert sorted(ranking.labels[: ranking.indptr[1]].tolist()) == list(range(n_labels))


CORNERS = {
    "rows without labels": (X, Y * (np.arange(len(X)) % 2)[:, None]),
    "labels without rows": (X, np.hstack([Y, np.zeros((len(Y), 2), int)])),
    "no label at all": (X, 0 * Y),
    "every label everywhere": (X, 0 * Y + 1),
    "one row": (X[:1], Y[:1]),
    "one row without labels": (X[:1], 0 * Y[:1]),
    "one label": (X, Y[:, :1]),
    "one feature": (X[:, :1], Y),
    "one of each": (X[:1, :1], Y[:1, :1]),
    "duplicated rows": (np.repeat(X[:2], 9, axis=0), np.repeat(Y[:2], 9, axis=0)),
    "equal rows with other labels": (np.repeat(X[:1], 6, axis=0), np.eye(6, dtype=int)),
    "features of zero": (0 * X, Y),
    "constant features": (0 * X + 7, Y),
    "empty sparse rows": (sparse.csr_matrix(X * (np.arange(len(X)) % 2)[:, None]), Y),
}


@pytest.mark.parametrize("corner", CORNERS)
@every_estimator
def test_corner_cases_are_learned(name: str, corner: str) -> None:
    X, Y = CORNERS[corner]
    assert_usable(make(name).fit(X, Y), X, Y.shape[1])


@pytest.mark.parametrize("corner", CORNERS)
def test_corner_cases_are_learned_in_batches(corner: str) -> None:
    X, Y = CORNERS[corner]
    assert_usable(make("RMLS", batch_size=4).fit(X, Y), X, Y.shape[1])


@every_estimator
def test_nothing_is_predicted_where_no_row_has_a_label(name: str) -> None:
    assert make(name).fit(X, 0 * Y).predict(X).sum() == 0


def test_a_label_without_rows_is_not_predicted() -> None:
    wide = np.hstack([Y, np.zeros((len(Y), 2), int)])
    assert make("RMLS").fit(X, wide).predict(X)[:, N_LABELS:].sum() == 0


@every_estimator
def test_one_class_is_always_predicted(name: str) -> None:
    model = make(name).fit(X, ["only"] * len(X))
    assert set(model.predict(X)) == {"only"}


@every_estimator
def test_the_counts_of_the_labels_are_those_of_the_training_rows(name: str) -> None:
    model = make(name).fit(X, Y, label_names=NAMES)
    assert model.label_counts_.tolist() == Y.sum(axis=0).tolist()
