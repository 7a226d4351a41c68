"""`partial_fit`: new rows are learned by the labels they touch, all of them or none."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest
from live_samples import (
    DATA,
    FEATURES,
    NEW,
    OPTIONS,
    answers,
    assert_consistent,
    assert_same,
    fitted,
)
from named_samples import CODES
from scipy import sparse

from rmls import RMLSRanker, make_longtail
from rmls.metrics import evaluate
from rmls.models.ranker.live import learning

every_kind = pytest.mark.parametrize("kind", OPTIONS)
LABELS = NEW.labels


def place_of(name: str) -> int:
    return CODES.index(name)


def classifiers(model: RMLSRanker) -> np.ndarray:
    """Return weights and biases, one row a label."""
    found = []
    for block in model._scorer.blocks:
        weights = block.weights
        shape = (len(weights.indptr) - 1, len(weights.bias))
        values = weights.values * weights.scale[weights.indices]
        table = sparse.csr_matrix((values, weights.indices.astype(np.int32), weights.indptr), shape)
        found.append(np.column_stack([table.toarray().T, weights.bias]))
    return np.vstack(found)


def test_a_model_that_is_not_fitted_is_fitted() -> None:
    live = fitted()
    settings = live.model.get_params()
    one = RMLSRanker(**settings).partial_fit(live.X, LABELS)
    other = RMLSRanker(**settings).fit(live.X, LABELS)
    assert_same(answers(one, live.X), answers(other, live.X))


@every_kind
def test_the_labels_of_a_row_rise_and_everything_fits_together(kind: str) -> None:
    live = fitted(kind)
    model = live.model
    rows, columns = np.arange(60), np.array([place_of(row[0]) for row in LABELS])
    # Labels that the model has not put first.
    wrong = model.decision_function(live.X).argmax(axis=1) != columns
    before = model.predict_proba(live.X)[rows, columns]
    model.partial_fit(live.X, LABELS)
    after = model.predict_proba(live.X)[rows, columns]
    assert after[wrong].mean() > before[wrong].mean()
    assert model.n_samples_ == len(DATA.texts) + 60
    assert model.label_counts_.sum() == sum(map(len, DATA.labels)) + sum(map(len, LABELS))
    assert_consistent(model, live.X)


@every_kind
def test_labels_that_are_new_are_added(kind: str) -> None:
    live = fitted(kind)
    model = live.model.partial_fit(live.own, [["quasar"], ["quasar", CODES[0]], ["quasar"]])
    assert model.classes_.tolist() == [*CODES, "quasar"]
    assert model.label_counts_[-1] == 3
    assert [row[0].label for row in model.rank(live.own, 1)] == ["quasar"] * 3
    assert_consistent(model, live.X)


def test_classifiers_that_the_rows_neither_have_nor_list_stay_bit_for_bit() -> None:
    live = fitted()
    model, row = live.model, live.X[:1]
    before = classifiers(model)
    listed = set(model.rank(row, model.shortlist_size_).labels) | {place_of(LABELS[0][0])}
    model.partial_fit(row, LABELS[:1])
    others = [label for label in range(len(CODES)) if label not in listed]
    assert len(others) >= 15
    np.testing.assert_array_equal(classifiers(model)[others], before[others])
    assert np.abs(classifiers(model) - before).max() > 0


@pytest.mark.parametrize("kind", ["plain", "offset", "names"])
def test_a_weight_of_2_is_the_row_twice(kind: str) -> None:
    one, other = fitted(kind), fitted(kind)
    weights = np.where(np.arange(20) % 2, 2.0, 1.0)
    one.model.partial_fit(one.X[:20], LABELS[:20], sample_weight=weights)
    places = np.repeat(np.arange(20), weights.astype(int))
    other.model.partial_fit(other.X[places], [LABELS[place] for place in places])
    found, wanted = (each.model.decision_function(each.X) for each in (one, other))
    # Both stop where a step would change little.
    assert np.abs(found - wanted).mean() < 0.05
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.999
    np.testing.assert_allclose(one.model._frequencies.positives, other.model._frequencies.positives)
    assert one.model._frequencies.total == other.model._frequencies.total


def test_a_row_of_weight_0_teaches_nothing_of_its_labels() -> None:
    live = fitted()
    before = classifiers(live.model)
    weights = np.zeros(5)
    weights[0] = 1
    live.model.partial_fit(live.X[:5], LABELS[:5], sample_weight=weights)
    alone = fitted()
    alone.model.partial_fit(alone.X[:1], LABELS[:1])
    np.testing.assert_allclose(classifiers(live.model), classifiers(alone.model), atol=1e-5)
    assert np.abs(classifiers(live.model) - before).max() > 0


@every_kind
def test_what_is_rejected_falls_and_what_is_accepted_rises(kind: str) -> None:
    live = fitted(kind)
    model, row = live.model, live.X[3:4]
    best = [each.label for each in model.rank(row, 4)[0]]
    before, old = model.decision_function(row)[0], classifiers(model)
    model.partial_fit(row, [[best[2]]], rejected=[[best[0]]])
    after = model.decision_function(row)[0]
    accepted, refused = place_of(best[2]), place_of(best[0])
    assert after[accepted] > before[accepted]
    assert after[refused] < before[refused]
    # Nothing is known of labels that are neither.
    others = [label for label in range(len(CODES)) if label not in (accepted, refused)]
    if model.precision == "float32":
        np.testing.assert_array_equal(classifiers(model)[others], old[others])
    assert_consistent(model, live.X)


def test_the_correction_of_a_training_row_is_learned() -> None:
    live = fitted()
    model, rows = live.model, FEATURES.transform(DATA.texts[:12])
    # Of the labels on the list: vectors, which make it, stay as they are.
    best = [[each.label for each in row] for row in model.rank(rows, 3)]
    right, wrong = [row[2:] for row in best], [row[:2] for row in best]
    for _ in range(3):
        model.partial_fit(rows, right, rejected=wrong)
    scores = model.decision_function(rows)
    above = [
        scores[row, place_of(right[row][0])] > scores[row, place_of(name)]
        for row in range(12)
        for name in wrong[row]
    ]
    assert np.mean(above) > 0.7


@pytest.mark.parametrize("kind", ["plain", "names"])
def test_rows_may_come_in_parts(kind: str) -> None:
    one, other = fitted(kind), fitted(kind)
    one.model.partial_fit(one.X, LABELS)
    for start in range(0, 60, 6):
        other.model.partial_fit(other.X[start : start + 6], LABELS[start : start + 6])
    found, wanted = (each.model.decision_function(each.X) for each in (one, other))
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.95
    np.testing.assert_array_equal(one.model.label_counts_, other.model.label_counts_)


def test_threads_change_nothing() -> None:
    one, two = fitted(), fitted()
    two.model.set_params(n_jobs=2)
    for live in (one, two):
        live.model.partial_fit(live.X, LABELS)
    found, wanted = (each.model.decision_function(each.X) for each in (one, two))
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("place", ["_look", "pair_rows", "later_block"])
def test_what_fails_on_its_way_leaves_the_model_as_it_was(
    error: type[BaseException], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = fitted("names")
    model = live.model.add_labels(["fjord"], live.words[1])
    rows = sparse.vstack([live.X, live.own], format="csr")
    before, state = answers(model, rows), copy.deepcopy(model.__dict__)

    def stop(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(learning, place, stop)
    with pytest.raises(error):
        model.partial_fit(live.own, [["quasar", "fjord", CODES[0]]] * 3)
    with pytest.raises(error):
        model.add_labels(["quasar"], live.words[0], live.own, [["quasar"]] * 3)
    monkeypatch.undo()
    assert_same(answers(model, rows), before)
    assert model.__dict__.keys() == state.keys()
    assert model.classes_.tolist() == [*CODES, "fjord"]
    np.testing.assert_array_equal(model.label_counts_, state["label_counts_"])
    np.testing.assert_array_equal(model._background.certainty, state["_background"].certainty)


# -- quality ---------------------------------------------------------------------------------------

LONG = make_longtail(1650, 800, 80, labels_per_row=3, random_state=4)


@cache
def quality(way: str) -> dict[str, float]:
    """Return precision and propensity-scored precision of test rows, in points."""
    X, Y = LONG.train.X.tocsr(), sparse.csr_matrix(LONG.train.Y)
    n_old = X.shape[0] - X.shape[0] // 11
    options: dict[str, Any] = {"n_components": 24, "calibration_folds": 0}
    model = RMLSRanker(**options).fit(*((X, Y) if way == "full" else (X[:n_old], Y[:n_old])))
    if way == "learned":
        model.partial_fit(X[n_old:], Y[n_old:])
    counts = np.asarray(Y.sum(axis=0)).ravel()
    totals = evaluate(
        LONG.test.Y,
        ranking=model.rank(LONG.test.X, 5),
        train_counts=counts,
        n_train=X.shape[0],
        by_group=False,
    ).totals
    return {name: 100 * totals[name] for name in ("precision@1", "precision@5", "psp@5")}


def test_a_tenth_more_rows_is_about_as_good_as_a_full_fit() -> None:
    full, base, learned = (quality(way) for way in ("full", "base", "learned"))
    for name in full:
        # A small set is noisy; on real ones half a point holds (docs/live-labels.md).
        assert learned[name] > full[name] - 1.5, name
    assert sum(learned.values()) > sum(base.values()) - 0.5


# -- probabilities ---------------------------------------------------------------------------------


def test_probabilities_that_were_right_stay() -> None:
    rng = np.random.default_rng(0)
    stated = rng.normal(-2, 2, 20_000)
    relevant = rng.random(20_000) < 1 / (1 + np.exp(-stated))
    slope, offset = learning.fit_correction(stated, relevant, np.ones(20_000), 1e9)
    assert slope == pytest.approx(1, abs=0.06)
    assert offset == pytest.approx(0, abs=0.1)


def test_probabilities_that_were_too_high_fall_with_the_number_of_rows() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(-3, 2, 20_000)
    relevant = rng.random(20_000) < 1 / (1 + np.exp(-true))
    offsets = [
        learning.fit_correction(true + 1, relevant, np.ones(20_000), rows)[1]
        for rows in (10, 2_000, 1e9)
    ]
    assert 0 >= offsets[0] > offsets[1] > offsets[2]
    assert offsets[0] > -0.05
    assert offsets[2] == pytest.approx(-1, abs=0.15)


def test_nothing_breaks_where_all_or_none_are_relevant() -> None:
    for relevant in (np.ones(50, dtype=bool), np.zeros(50, dtype=bool)):
        found = learning.fit_correction(np.linspace(-30, 30, 50), relevant, np.ones(50), 1e9)
        assert np.isfinite(found).all()
        assert abs(found[1]) <= learning.MAX_OFFSET
