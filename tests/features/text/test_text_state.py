"""Fitted text features come back from plain values and arrays, and damaged ones do not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rmls.core.errors import InputError
from rmls.features import TextFeatures
from rmls.features.text import stems
from rmls.features.text.state import restore_text, text_state

TEXTS = ["The taxes of the land", "A tax on the sea and on sugars", "東京都 café"]
NEW = [*TEXTS, "taxing unseen sugar", ""]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"stem": "none"},
    {"pairs": True, "characters": (2, 3)},
    {"hashing": 50, "pairs": True},
    {"min_rows": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_restored_features_give_the_same_rows(options: dict[str, Any]) -> None:
    features = TextFeatures(**options).fit(TEXTS)
    fitted, arrays = text_state(features)
    again = restore_text(features.get_params(), json.loads(json.dumps(fitted)), arrays)
    np.testing.assert_array_equal(features.transform(NEW).toarray(), again.transform(NEW).toarray())
    assert features.get_feature_names_out().tolist() == again.get_feature_names_out().tolist()


def test_known_words_keep_their_stems_under_another_stemmer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = TextFeatures(stem="english").fit(TEXTS)
    before = features.transform(TEXTS).toarray()
    monkeypatch.setattr(stems, "stem_words", lambda _: lambda words: ["?"] * len(words))
    monkeypatch.setattr(
        "rmls.features.text.stem_table.stem_words", lambda _: lambda words: ["?"] * len(words)
    )
    again = restore_text(features.get_params(), *text_state(features))
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), before)


def damage(name: str, change: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    features = TextFeatures(pairs=True).fit(TEXTS)
    fitted, arrays = text_state(features)
    if name in fitted:
        fitted[name] = change
    else:
        arrays[name] = change(arrays[name])
    return features.get_params(), fitted, arrays


def with_endings() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    beginnings = ["lamp", "book", "door", "wall", "tree", "ship", "roof", "song", "bird", "hand"]
    texts = [f"{word} {word}s {word}ing" for word in beginnings]
    features = TextFeatures(stem="endings").fit(texts)
    return features.get_params(), *text_state(features)


def test_endings_come_back_and_find_the_forms_of_new_words() -> None:
    params, fitted, arrays = with_endings()
    again = restore_text(params, json.loads(json.dumps(fitted)), arrays)
    assert again.get_feature_names_out().tolist()[:3] == ["lamp", "book", "door"]
    assert len(again.get_feature_names_out()) == 10
    assert again.transform(["treeing lamps"]).indices.tolist() == [0, 4]


@pytest.mark.parametrize("endings", ["s", [["", "s"]], [["", "s", 5.0]], [["", 1, 5]], {"s": 5}])
def test_damaged_endings_are_refused(endings: Any) -> None:
    params, fitted, arrays = with_endings()
    with pytest.raises(InputError, match="endings of words are damaged"):
        restore_text(params, {**fitted, "endings": endings}, arrays)
    with pytest.raises(InputError, match="do not fit"):
        restore_text(params, {**fitted, "language": "english"}, arrays)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("n_fields", 0),
        ("n_fields", True),
        ("n_fields", "2"),
        ("fields", ["a", "b"]),
        ("fields", "a"),
        ("language", "klingon"),
        ("language", 3),
        ("kinds", ["words"]),
        ("words_bounds", lambda bounds: bounds[::-1].copy()),
        ("words_bounds", lambda bounds: bounds + 1),
        ("words_bounds", lambda bounds: bounds.astype(np.float64)),
        ("words_bounds", lambda bounds: bounds[:-1]),
        ("words_text", lambda text: text | 0x80),
        ("words_idf", lambda idf: idf * np.nan),
        ("words_idf", lambda idf: idf[:-1]),
        ("pairs_text", lambda text: np.where(text == 32, 97, text).astype(np.uint8)),
        ("lexicon_stem", lambda stem: stem - 5),
        ("lexicon_stem", lambda stem: stem[:-1]),
    ],
)
def test_damaged_features_are_refused(name: str, change: Any) -> None:
    with pytest.raises(InputError):
        restore_text(*damage(name, change))
