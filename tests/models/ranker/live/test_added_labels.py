"""Labels that are added: they work from their names and a few rows, and no other score changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from live_samples import OPTIONS, WITH_NAMES, answers, assert_consistent, assert_same, fitted
from named_samples import CODES
from scipy import sparse

from rmls import RMLSRanker

every_kind = pytest.mark.parametrize("kind", OPTIONS)
GIVEN = ("nothing", "names", "rows", "both")


def given(live: Any, what: str) -> dict[str, Any]:
    """Return what is told of two new labels, of which the first has rows."""
    told: dict[str, Any] = {}
    if what in ("names", "both"):
        told["label_text"] = live.words
    if what in ("rows", "both"):
        told |= {"X": live.own, "y": [["quasar"]] * 3}
    return told


@every_kind
@pytest.mark.parametrize("what", GIVEN)
def test_no_other_score_changes(kind: str, what: str) -> None:
    live = fitted(kind)
    model, rows = live.model, sparse.vstack([live.X, live.own], format="csr")
    before, lists = answers(model, rows), model.rank(rows, 5)
    model.add_labels(["quasar", "fjord"], **given(live, what))
    assert model.classes_.tolist() == [*CODES, "quasar", "fjord"]
    assert_same(answers(model, rows, len(CODES)), before)
    assert_consistent(model, rows)
    # The old labels stand in the order that they had, among the new ones.
    for row, old in zip(model.rank(rows, 7), lists, strict=True):
        others = [each.label for each in row if each.label in CODES]
        assert others[:5] == [each.label for each in old][: len(others)]


@every_kind
def test_a_label_is_first_for_rows_like_those_that_showed_it(kind: str) -> None:
    live = fitted(kind)
    model = live.model.add_labels(["quasar", "fjord"], **given(live, "rows"))
    assert [row[0].label for row in model.rank(live.own, 1)] == ["quasar"] * 3
    others = model.rank(live.X, 1).labels
    assert (others < len(CODES)).mean() > 0.9
    assert model.label_counts_[-2:].tolist() == [3, 0]
    chances = model.predict_proba(live.own)
    assert (chances[:, -2] > chances[:, -1]).all()


@pytest.mark.parametrize("kind", [*WITH_NAMES, "plain", "clusters", "leading"])
def test_a_label_is_suggested_by_its_name_alone(kind: str) -> None:
    live = fitted(kind)
    model = live.model.add_labels(["quasar", "fjord"], **given(live, "names"))
    assert [row[0].label for row in model.rank(live.own, 1)] == ["quasar"] * 3
    assert (model.rank(live.X, 1).labels < len(CODES)).all()


def test_rows_of_a_frequent_new_label_change_no_other_score() -> None:
    # More rows than the most frequent label has: what is rare, and what is not, was learned.
    rng = np.random.default_rng(0)
    X = rng.random((40, 12)) * (rng.random((40, 12)) < 0.4)
    model = RMLSRanker(4).fit(X, [[f"l{row % 20}"] for row in range(40)])
    before = answers(model, X)
    model.add_labels(["many"], X=X[:30], y=[["many"]] * 30)
    assert_same(answers(model, X, 20), before)
    model.add_labels(["more"], X=X, y=[["more"]] * 40)
    assert_same(answers(model, X, 20), before)
    assert model.label_counts_[-2:].tolist() == [30, 40]


@pytest.mark.parametrize("kind", ["plain", "names"])
def test_labels_added_one_after_another_are_those_added_at_once(kind: str) -> None:
    live, other = fitted(kind), fitted(kind)
    rows = sparse.vstack([live.X, live.own], format="csr")
    live.model.add_labels(["quasar", "fjord"], **given(live, "names"))
    for place, name in enumerate(("quasar", "fjord")):
        other.model.add_labels([name], other.words[place])
    assert_same(answers(other.model, rows), answers(live.model, rows))


@pytest.mark.parametrize("kind", ["names", "int8", "int16"])
def test_later_labels_do_not_change_the_added_ones_either(kind: str) -> None:
    live = fitted(kind)
    rows = sparse.vstack([live.X, live.own], format="csr")
    model = live.model
    # All on one list; beyond fifty, later labels compete for the places on it.
    for place in range(40):
        name = f"new {place}"
        model.add_labels([name], live.words[place % 2], rows[place : place + 3], [[name]] * 3)
    before = answers(model, rows)
    model.add_labels(["third"], live.words[1], live.X[:3], [["third"]] * 3)
    assert_same(answers(model, rows, 70), before)


@pytest.mark.parametrize("kind", ["plain", "names", "int8"])
def test_a_thousand_labels_are_added_at_once(kind: str) -> None:
    live = fitted(kind)
    before = answers(live.model, live.X)
    names = [f"new {place}" for place in range(1000)]
    d = live.model.n_features_in_
    words = sparse.random(1000, d, 3 / d, "csr", random_state=0)
    live.model.add_labels(names, words)
    assert len(live.model.classes_) == 1030
    assert_same(answers(live.model, live.X, 30), before)
    assert_consistent(live.model, live.X[:5])


def test_a_retired_label_comes_back_as_a_new_one() -> None:
    live = fitted()
    model = live.model.retire_labels([CODES[3]])
    assert CODES[3] in model.former_labels_
    model.add_labels([CODES[3]], X=live.own, y=[[CODES[3]]] * 3)
    assert model.former_labels_ == {}
    assert model.classes_[-1] == CODES[3]
    assert [row[0].label for row in model.rank(live.own, 1)] == [CODES[3]] * 3
    assert_consistent(model, live.X)


def test_nothing_is_added_by_an_empty_list() -> None:
    live = fitted()
    before = answers(live.model, live.X)
    live.model.add_labels([])
    assert_same(answers(live.model, live.X), before)


def test_labels_of_a_matrix_are_numbers_and_get_further_ones() -> None:
    rng = np.random.default_rng(0)
    Y = np.eye(6, dtype=int)[np.arange(60) % 6]
    X = Y + rng.normal(0, 0.1, Y.shape)
    model = RMLSRanker(4).fit(X, Y).add_labels([6], X=X[:2], y=[[6], [6]])
    assert model.classes_.tolist() == list(range(7))
    assert model.predict(X).shape == (60, 7)
    model.partial_fit(X[:6], np.column_stack([Y[:6], np.ones(6, int)]))
    assert model.label_counts_[6] == 8
