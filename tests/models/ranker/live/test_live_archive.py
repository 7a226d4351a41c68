"""A ranker whose labels changed is on disk what it was in memory; damage is one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_samples import MISSING, assert_refused, change_model
from live_samples import DATA, OPTIONS, Live, answers, assert_consistent, assert_same, fitted
from named_samples import CODES

import rmls
from rmls import RMLSRanker, TextRanker
from rmls.archive import read_archive

SAVED = Path(__file__).parents[3] / "archive" / "saved_0_1"
CHANGES: dict[str, Callable[[Live], Any]] = {
    "add": lambda live: live.model.add_labels(["quasar", "fjord"]),
    "add by name": lambda live: live.model.add_labels(["quasar", "fjord"], live.words),
    "add by rows": lambda live: live.model.add_labels(["q"], None, live.own, [["q"]] * 3),
    "retire": lambda live: live.model.retire_labels(CODES[3:6]),
    "rename": lambda live: live.model.rename_labels({CODES[0]: "first"}, live.words[0]),
    "merge": lambda live: live.model.merge_labels({CODES[0]: CODES[1]}),
    "split": lambda live: live.model.split_label(CODES[0], ["left", "right"]),
    "learn": lambda live: live.model.partial_fit(live.X[:9], [[CODES[2]]] * 9),
    "learn new labels": lambda live: live.model.partial_fit(live.own, [["q", CODES[1]]] * 3),
}


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_loaded_model_is_the_changed_one(change: str, kind: str, tmp_path: Path) -> None:
    live = fitted(kind)
    CHANGES[change](live)
    live.model.save(tmp_path / "m")
    again = rmls.load(tmp_path / "m")
    assert_same(answers(again, live.X), answers(live.model, live.X))
    assert again.former_labels_ == live.model.former_labels_
    assert again.classes_.tolist() == live.model.classes_.tolist()
    for name in ("certainty", "mean", "hidden"):
        found, wanted = (getattr(each._background, name) for each in (again, live.model))
        np.testing.assert_array_equal(found, wanted)
    # What is read goes on, too.
    assert_consistent(again.partial_fit(live.own, [["more"]] * 3), live.X)
    again.save(tmp_path / "m")
    assert_same(answers(rmls.load(tmp_path / "m"), live.X), answers(again, live.X))


def test_what_is_learned_from_disk_is_what_is_learned_in_memory(tmp_path: Path) -> None:
    live = fitted("names")
    model = other = live.model.add_labels(["quasar", "fjord"], live.words)
    for start in range(0, 20, 4):
        other.save(tmp_path / "m")
        other = rmls.load(tmp_path / "m")
        for each in (model, other):
            each.partial_fit(live.X[start : start + 4], [[CODES[start], "quasar"]] * 4)
    assert_same(answers(other, live.X), answers(model, live.X))


def test_a_model_without_later_labels_says_nothing_of_them(tmp_path: Path) -> None:
    live = fitted("names")
    live.model.partial_fit(live.X[:5], [[CODES[0]]] * 5)
    live.model.save(tmp_path / "m")
    archive = read_archive(tmp_path / "m")
    assert not any(name.startswith("added_") for name in archive.arrays)
    assert not {"n_added", "former_labels"} & set(archive.manifest["fitted"])
    live.model.add_labels(["quasar"]).retire_labels(["quasar"])
    live.model.save(tmp_path / "m")
    assert not any(name.startswith("added_") for name in read_archive(tmp_path / "m").arrays)


@pytest.mark.parametrize("name", sorted(path.name for path in SAVED.glob("RMLSRanker*")))
def test_a_model_of_version_0_1_goes_on(name: str, tmp_path: Path) -> None:
    model = rmls.load(SAVED / name)
    assert isinstance(model, RMLSRanker)
    X = np.random.default_rng(0).random((6, model.n_features_in_))
    n_labels, before = len(model.classes_), answers(model, X)
    if model._space.is_single:
        pytest.skip("classes of a 1-d y")
    model.add_labels(["later"], X=X[:3], y=[["later"]] * 3)
    assert_same(answers(model, X, n_labels), before)
    model.partial_fit(X, [["later"]] * 6)
    model.save(tmp_path / "m")
    assert_same(answers(rmls.load(tmp_path / "m"), X), answers(model, X))


def test_a_text_ranker_is_saved_with_its_later_words(tmp_path: Path) -> None:
    model = TextRanker(RMLSRanker(8, max_iter=2)).fit(DATA.texts, DATA.labels)
    model.add_labels(["quasar nebula"]).partial_fit(["a glacier"], [["ice"]])
    model.save(tmp_path / "m")
    again = rmls.load(tmp_path / "m")
    texts = ["quasar", "the glacier", *DATA.texts[:5]]
    assert_same(answers(again, texts), answers(model, texts))
    assert again.add_labels(["third kind"]).suggest(["the third kind"], 1)[0][0].name


# -- damage ----------------------------------------------------------------------------------------

DAMAGE: dict[str, tuple[dict[str, Any], dict[str, Callable[[np.ndarray], Any]]]] = {
    "more labels": ({"fitted.n_added": 3}, {}),
    "fewer labels": ({"fitted.n_added": 1}, {}),
    "all labels": ({"fitted.n_added": 32}, {}),
    "labels below zero": ({"fitted.n_added": -2}, {}),
    "no whole number": ({"fitted.n_added": 2.5}, {}),
    "a text": ({"fitted.n_added": "two"}, {}),
    "not said": ({"fitted.n_added": MISSING}, {}),
    "former labels": ({"fitted.former_labels": "none"}, {}),
    "former numbers": ({"fitted.former_labels": [[1]]}, {}),
    "former lists": ({"fitted.former_labels": [[["a"], "was retired"]]}, {}),
    "former nothing": ({"fitted.former_labels": [["a", None]]}, {}),
    "no vectors": ({}, {"added_labels": lambda _: MISSING}),
    "short vectors": ({}, {"added_labels": lambda array: array[:-1]}),
    "narrow vectors": ({}, {"added_labels": lambda array: array[:, :-1]}),
    "no number": ({}, {"added_labels": lambda array: array * np.nan}),
    "short bias": ({}, {"added_label_bias": lambda array: array[:-1]}),
    "no bias": ({}, {"added_label_bias": lambda _: MISSING}),
    "endless bias": ({}, {"added_label_bias": lambda array: array + np.inf}),
    "no weights": ({}, {"added_weights_values": lambda _: MISSING}),
    "weights of others": ({}, {"added_weights_indices": lambda array: array + 2}),
    "a pointer that falls": ({}, {"added_weights_indptr": lambda array: array[::-1].copy()}),
    "short pointers": ({}, {"added_weights_indptr": lambda array: array[:-1]}),
    "no scale": ({}, {"added_weights_scale": lambda _: MISSING}),
    "name of nobody": ({}, {"added_name_owners": lambda array: array + 2}),
    "name below zero": ({}, {"added_name_owners": lambda array: array - 1}),
    "short names": ({}, {"added_name_indptr": lambda array: array[:-1]}),
    "certainty of fewer": ({}, {"background_certainty": lambda array: array[:-1]}),
    "certainty below one": ({}, {"background_certainty": lambda array: array * 0}),
    "negative squares": ({}, {"background_squares": lambda array: array - 1}),
    "counts of fewer": ({}, {"positives": lambda array: array[:-1]}),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_of_later_labels_is_one_sentence(case: str, tmp_path: Path) -> None:
    live = fitted("names")
    model = live.model.add_labels(["quasar", "fjord"], live.words, live.own, [["quasar"]] * 3)
    model.retire_labels([CODES[0]]).save(tmp_path / "m")
    values, change = DAMAGE[case]
    stored = read_archive(tmp_path / "m", mmap=False).arrays
    arrays = {name: make(stored[name]) for name, make in change.items()}
    change_model(tmp_path / "m", values, arrays)
    assert_refused(tmp_path / "m")
