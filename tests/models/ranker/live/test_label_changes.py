"""Labels that are retired, renamed, merged and split: what is kept, and what becomes of others."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_samples import (
    DATA,
    FEATURES,
    OPTIONS,
    answers,
    assert_consistent,
    assert_same,
    fitted,
)
from named_samples import CODES
from scipy import sparse

import rmls
from rmls.core.errors import InputError
from rmls.features.text.names import name_rows

every_kind = pytest.mark.parametrize("kind", OPTIONS)


def rare_first(model: Any) -> list[str]:
    """Return the labels by their frequency, the most frequent one last."""
    return [model.classes_[place] for place in np.argsort(model.label_counts_, kind="stable")]


# -- retire ----------------------------------------------------------------------------------------


@every_kind
def test_a_retired_label_is_gone_and_the_others_keep_their_order(kind: str) -> None:
    live = fitted(kind)
    model, gone = live.model, rare_first(live.model)[:4]
    before = model.decision_function(live.X)
    model.retire_labels(gone)
    assert not set(gone) & set(model.classes_)
    assert set(model.former_labels_) == set(gone)
    assert_consistent(model, live.X)
    kept = [place for place, name in enumerate(CODES) if name not in gone]
    assert model.classes_.tolist() == [CODES[place] for place in kept]
    # Lists have the same length, so that other labels take the places: what is first stays first.
    best = before[:, kept].argmax(axis=1)
    assert (model.decision_function(live.X).argmax(axis=1) == best).mean() > 0.9


def test_retiring_an_added_label_leaves_what_was_there_before() -> None:
    live = fitted("names")
    before = answers(live.model, live.X)
    model = live.model.add_labels(["quasar", "fjord"], live.words)
    model.retire_labels(["quasar"])
    assert_same(answers(model, live.X, 30), before)
    model.retire_labels(["fjord"])
    assert_same(answers(model, live.X), before)
    assert_consistent(model, live.X)


def test_retiring_nothing_changes_nothing() -> None:
    live = fitted()
    before = answers(live.model, live.X)
    live.model.retire_labels([])
    assert_same(answers(live.model, live.X), before)


def test_one_label_of_the_training_has_to_stay() -> None:
    live = fitted()
    model = live.model.add_labels(["quasar"], live.words[0]).retire_labels(CODES[:-1])
    with pytest.raises(InputError, match="needs at least one of the labels that it was trained"):
        model.retire_labels(CODES[-1:])
    assert model.classes_.tolist() == [CODES[-1], "quasar"]
    assert_consistent(model, live.X)


# -- rename ----------------------------------------------------------------------------------------


@every_kind
def test_a_renamed_label_scores_as_before(kind: str) -> None:
    live = fitted(kind)
    before = answers(live.model, live.X)
    model = live.model.rename_labels({CODES[2]: "third", CODES[5]: "sixth"})
    assert_same(answers(model, live.X), before)
    assert model.classes_[[2, 5]].tolist() == ["third", "sixth"]
    assert set(model.former_labels_) == {CODES[2], CODES[5]}
    with pytest.raises(InputError, match=r"^the label 'c_002' is called 'third' now\.$"):
        model.retire_labels([CODES[2]])
    model.rename_labels({"third": CODES[2]})
    assert CODES[2] not in model.former_labels_
    assert "third" in model.former_labels_


def test_two_labels_swap_their_names() -> None:
    live = fitted()
    model = live.model.rename_labels({CODES[0]: CODES[1], CODES[1]: CODES[0]})
    assert model.classes_[:3].tolist() == [CODES[1], CODES[0], CODES[2]]
    assert model.former_labels_ == {}


@pytest.mark.parametrize("kind", ["names", "names and dense"])
def test_the_new_name_is_evidence_and_the_old_one_is_not(kind: str) -> None:
    live = fitted(kind)
    model, place = live.model, 4
    old = name_rows(FEATURES, [DATA.names[CODES[place]]])
    rows = sparse.vstack([live.own[:1, : old.shape[1]], old], format="csr")
    if model.dense_columns:
        rows = sparse.hstack([rows, sparse.csr_matrix((2, model.dense_columns))], format="csr")
    before = model.decision_function(rows)
    model.rename_labels({CODES[place]: "quasar"}, live.words[0])
    after = model.decision_function(rows)
    assert after[0, place] > before[0, place]
    assert after[1, place] < before[1, place]
    others = np.arange(len(CODES)) != place
    assert (after[:, others].argmax(axis=1) == before[:, others].argmax(axis=1)).all()
    assert_consistent(model, live.X)


# -- merge -----------------------------------------------------------------------------------------


@every_kind
def test_a_merged_label_is_found_where_either_was(kind: str) -> None:
    live = fitted(kind)
    model, (one, other) = live.model, rare_first(live.model)[-2:]
    counts = dict(zip(model.classes_, model.label_counts_, strict=True))
    has = np.array([one in row or other in row for row in DATA.labels])
    X = FEATURES.transform(DATA.texts)
    if model.dense_columns:
        X = sparse.hstack([X, sparse.csr_matrix((X.shape[0], model.dense_columns))], format="csr")
    model.merge_labels({one: other})
    assert one not in model.classes_
    assert model.former_labels_ == {one: f"was merged into {str(other)!r}"}
    place = model.classes_.tolist().index(other)
    assert model.label_counts_[place] == counts[one] + counts[other]
    assert_consistent(model, live.X)
    scores = model.decision_function(X)[:, place]
    assert (scores[has][:, None] > scores[~has][None, :]).mean() > 0.9


def test_labels_of_both_blocks_are_merged_into_each_other() -> None:
    for into in ({CODES[1]: "quasar"}, {"quasar": CODES[1]}, {"fjord": "quasar"}):
        live = fitted("names")
        model = live.model.add_labels(["quasar", "fjord"], live.words)
        model.merge_labels(into)
        assert len(model.classes_) == 31
        assert_consistent(model, live.X)
    assert model.rank(live.own, 1)[0][0].label == "quasar"


def test_several_labels_become_part_of_one() -> None:
    live = fitted()
    total = live.model.label_counts_[:3].sum()
    model = live.model.merge_labels({CODES[1]: CODES[0], CODES[2]: CODES[0]})
    assert model.label_counts_[0] == total
    assert len(model.classes_) == 28
    assert_consistent(model, live.X)


# -- split -----------------------------------------------------------------------------------------


@every_kind
def test_the_parts_of_a_label_are_found_where_it_was(kind: str) -> None:
    live = fitted(kind)
    model, label = live.model, rare_first(live.model)[-1]
    before = model.rank(live.X, 1)
    was = np.array([row[0].label == label for row in before])
    model.split_label(label, ["left", "right"])
    assert model.classes_[-2:].tolist() == ["left", "right"]
    assert label not in model.classes_
    assert model.former_labels_ == {label: "was split into 'left' and 'right'"}
    assert_consistent(model, live.X)
    first = np.array([row[0].label in ("left", "right") for row in model.rank(live.X, 1)])
    assert was.any()
    assert first[was].mean() > 0.6


def test_rows_and_names_tell_the_parts_apart() -> None:
    live = fitted("names")
    model, label = live.model, CODES[0]
    own = [row for row, labels in enumerate(DATA.labels) if label in labels]
    X = FEATURES.transform([DATA.texts[row] for row in own])
    # Half of them with a word of their own.
    words = live.words[0]
    left, right = X[: len(own) // 2] + 0.5 * words[[0] * (len(own) // 2)], X[len(own) // 2 :]
    shown = sparse.vstack([left, right], format="csr")
    y = [["left"]] * left.shape[0] + [["right"]] * right.shape[0]
    model.split_label(label, ["left", "right"], live.words, shown, y)
    scores = model.decision_function(shown)[:, -2:]
    assert (scores[: left.shape[0]].argmax(axis=1) == 0).all()
    assert (scores[left.shape[0] :].argmax(axis=1) == 1).mean() > 0.5
    assert_consistent(model, live.X)


# -- anything after anything -----------------------------------------------------------------------


def change_at_random(model: Any, live: Any, rng: np.random.Generator, step: int) -> str:
    """Make one change that is possible; return what it was."""
    labels = model.classes_.tolist()
    first = model._scorer.proposer.vectors.n_labels
    one, other = (labels[place] for place in rng.choice(len(labels), 2, replace=False))
    rows = live.X[rng.choice(live.X.shape[0], 4, replace=False)]
    kind = str(rng.choice(["add", "show", "retire", "rename", "merge", "split", "learn"]))
    if kind in ("retire", "merge", "split") and first < 8:
        kind = "add"
    if kind == "add":
        words = live.words if rng.random() < 0.7 else None
        model.add_labels([f"a{step}", f"b{step}"], words)
    elif kind == "show":
        model.add_labels([f"s{step}"], None, rows, [[f"s{step}"], [], [f"s{step}", one], [one]])
    elif kind == "retire":
        model.retire_labels([one, other])
    elif kind == "rename":
        model.rename_labels({one: f"r{step}"}, live.words[0] if rng.random() < 0.5 else None)
    elif kind == "merge":
        model.merge_labels({one: other})
    elif kind == "split":
        model.split_label(one, [f"x{step}", f"y{step}", f"z{step}"])
    else:
        model.partial_fit(rows, [[one], [other], [one, f"n{step}"], []])
    return kind


@pytest.mark.parametrize(
    "kind", ["plain", "names", "dense", "clusters", "leading", "int16", "not calibrated"]
)
def test_everything_fits_together_after_any_sequence_of_changes(kind: str, tmp_path: Path) -> None:
    live = fitted(kind)
    model, rng, done = live.model, np.random.default_rng(len(kind)), []
    for step in range(30):
        done.append(change_at_random(model, live, rng, step))
        assert_consistent(model, live.X[:8])
        if step % 7 == 3:
            model.save(tmp_path / "model")
            again = rmls.load(tmp_path / "model")
            assert_same(answers(again, live.X), answers(model, live.X))
            assert again.former_labels_ == model.former_labels_
            model = again
    assert len(set(done)) >= 6


def test_a_copy_goes_its_own_way() -> None:
    live = fitted("names")
    before = answers(live.model, live.X)
    other = copy.deepcopy(live.model)
    other.merge_labels({CODES[0]: CODES[1]}).add_labels(["quasar"], live.words[0])
    other.partial_fit(live.X[:5], [["quasar"]] * 5)
    assert_same(answers(live.model, live.X), before)
    assert live.model.former_labels_ == {}
