"""TextRanker with categories and numbers: what only they tell is learned, saved and asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score
from text_samples import COLUMNS, make_columns

import rmls
from rmls import RMLS, TextRanker
from rmls.archive import Archive, read_archive
from rmls.core.errors import InputError
from rmls.models.text.archive import build_text_ranker

ROWS, LABELS = make_columns(400)
NEW, TRUE = make_columns(200, seed=5)


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return TextRanker(**COLUMNS).fit(ROWS, LABELS)


def share_right(model: TextRanker, rows: Any, part: slice) -> float:
    """Share of rows whose predicted labels of one kind are those that it should have."""
    found = [sorted(set(row) & KINDS[part.start]) for row in model.predict(rows)]
    right = [sorted(set(row) & KINDS[part.start]) for row in TRUE]
    return float(np.mean([a == b for a, b in zip(found, right, strict=True)]))


KINDS = [{"sea", "tax"}, {"painting", "print"}, {"old", "middle", "new"}]
TEXT, CATEGORY, NUMBER = (slice(place, place + 1) for place in range(3))


def test_each_column_decides_what_only_it_tells(model: TextRanker) -> None:
    """By construction: a word, a category and an interval of a number decide a label each."""
    for kind in (TEXT, CATEGORY, NUMBER):
        assert share_right(model, NEW, kind) >= 0.97
    alone = TextRanker().fit(ROWS["title"], LABELS)
    assert share_right(alone, NEW["title"], TEXT) >= 0.97
    for kind in (CATEGORY, NUMBER):
        assert share_right(alone, NEW["title"], kind) < 0.7


def test_numbers_as_text_do_not_tell_what_lies_between(model: TextRanker) -> None:
    """A number that was not in the training rows lies between others; as a word it is unknown."""
    known, unseen = (
        {**rows, "year": [f"{year:.3f}".replace(".", "") for year in rows["year"]]}
        for rows in (ROWS, NEW)
    )
    as_text = TextRanker(categories=["medium"]).fit(known, LABELS)
    assert share_right(as_text, unseen, NUMBER) < 0.6
    assert share_right(model, NEW, NUMBER) >= 0.97


def test_columns_alone_are_enough() -> None:
    rows = {name: ROWS[name] for name in ("medium", "year")}
    model = TextRanker(**COLUMNS).fit(rows, LABELS)
    for kind in (CATEGORY, NUMBER):
        assert share_right(model, {name: NEW[name] for name in rows}, kind) >= 0.97
    with pytest.raises(InputError, match="got texts alone"):
        model.suggest(["a text"])


def test_what_is_missing_or_unknown_has_no_say(model: TextRanker) -> None:
    empty = {"title": NEW["title"], "medium": ["unheard-of"] * 200, "year": [None] * 200}
    expected = model.predict_proba(NEW["title"])
    np.testing.assert_array_equal(model.predict_proba(empty), expected)
    assert share_right(model, empty, TEXT) >= 0.95


def test_frames_and_tuples_are_the_same_rows(model: TextRanker) -> None:
    expected = model.predict_proba(NEW)
    frame = pd.DataFrame(NEW).assign(other=1)[["year", "other", "medium", "title"]]
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    tuples = [list(zip(*rows.values(), strict=True)) for rows in (ROWS, NEW)]
    by_place = TextRanker(categories=[1], numbers=[2]).fit(tuples[0], LABELS)
    np.testing.assert_array_equal(by_place.predict_proba(tuples[1]), expected)


def test_scikit_learn_takes_tables(model: TextRanker) -> None:
    small = TextRanker(RMLS(n_components=8, max_iter=20), column_weight=1, **COLUMNS)
    copy = clone(small)
    assert copy.get_params()["categories"] == ["medium"]
    scores = cross_val_score(copy, pd.DataFrame(ROWS), LABELS, cv=KFold(3))
    assert scores.min() > 0.8


SAVED: dict[str, dict[str, Any]] = {
    "names": COLUMNS,
    "index of a table": {"categories": pd.Index(["medium"]), "numbers": pd.Index(["year"])},
    "positions": {"categories": np.array([1]), "numbers": (2,)},
    "hashed": {**COLUMNS, "hashing": 64},
    "categories alone": {"categories": ["medium", "year"]},
    "weighted": {**COLUMNS, "column_weight": 0.8, "category_separator": "|"},
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_model_is_the_same_model(name: str, tmp_path: Path) -> None:
    rows, new = ROWS, NEW
    if name == "positions":
        rows, new = ([*zip(*each.values(), strict=True)] for each in (ROWS, NEW))
    model = TextRanker(RMLS(n_components=4, max_iter=5), **SAVED[name]).fit(rows, LABELS)
    model.save(tmp_path / "m")
    again = rmls.load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert again.predict(new) == model.predict(new)
    assert list(again.categories) == list(model.categories)


DAMAGE: dict[str, Any] = {
    "no columns": lambda manifest, _: manifest["text"].update(columns=None),
    "other columns": lambda manifest, _: manifest["params"].update(numbers=["year", "price"]),
    "two roles": lambda manifest, _: manifest["params"].update(numbers=["medium"]),
    "no roles": lambda manifest, _: manifest["params"].update(numbers=None, categories=None),
    "knots": lambda _, arrays: arrays.update(text_knots=arrays["text_knots"][::-1].copy()),
    "no knots": lambda _, arrays: arrays.pop("text_knots"),
    "categories": lambda _, arrays: arrays.pop("text_categories_text"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_description_is_refused(name: str, model: TextRanker, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    archive = read_archive(tmp_path / "m", mmap=False)
    manifest, arrays = json.loads(json.dumps(archive.manifest)), dict(archive.arrays)
    DAMAGE[name](manifest, arrays)
    with pytest.raises((InputError, KeyError, TypeError, ValueError)):
        build_text_ranker(Archive(tmp_path / "m", manifest, arrays))


def test_wrong_columns_are_one_sentence(model: TextRanker) -> None:
    for params, message in (
        ({"categories": ["title"], "numbers": ["title"]}, "'title' is named twice"),
        ({"numbers": ["medium", "year"]}, "row 0, column 'medium': a number is needed"),
        ({"categories": ["colour"]}, r"no column \['colour'\]"),
    ):
        with pytest.raises(InputError, match=message) as told:
            TextRanker(**params).fit(ROWS, LABELS)
        assert "\n" not in str(told.value)
    with pytest.raises(InputError, match=r"no column \['medium'\]"):
        model.suggest({"title": ["a boat"], "year": [1900]})
