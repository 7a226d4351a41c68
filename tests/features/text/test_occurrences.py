"""Where words stand in a text: in characters of the text as it was written."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pytest

from rmls.features import TextFeatures
from rmls.features.text.occurrences import character_places, find_occurrences, name_columns

TEXTS = [
    "Taxes on sugar, a TAX on tobacco",
    "ﬁne ﬁsh in Ｆｕｌｌ width; ﬁne",
    "İstanbul'da ΣΊΣΥΦΟΣ ΟΔΟΣ, straße",
    unicodedata.normalize("NFD", "déjà vu à la carte, Ångström"),
    unicodedata.normalize("NFD", "한국어 문서"),
    "漢字とかな and some words",
    "half \ud800 of a pair",
    "",
    "  ,;  ",
]


def words_at(text: str) -> list[str]:
    features = TextFeatures(stem="none").fit(["any"])
    found = find_occurrences(features, [text])
    return [text[i:j] for i, j in zip(found.starts.tolist(), found.ends.tolist(), strict=True)]


def test_words_are_found_as_they_are_written() -> None:
    assert words_at(TEXTS[0]) == ["Taxes", "on", "sugar", "a", "TAX", "on", "tobacco"]
    assert words_at(TEXTS[1]) == ["ﬁne", "ﬁsh", "in", "Ｆｕｌｌ", "width", "ﬁne"]
    assert words_at(TEXTS[2]) == ["İstanbul", "da", "ΣΊΣΥΦΟΣ", "ΟΔΟΣ", "straße"]
    assert [unicodedata.normalize("NFC", word) for word in words_at(TEXTS[3])] == [
        *("déjà", "vu", "à", "la", "carte", "Ångström"),
    ]
    assert [unicodedata.normalize("NFC", word) for word in words_at(TEXTS[4])] == ["한국어", "문서"]
    assert words_at(TEXTS[5]) == [
        *("漢", "字", "漢字", "と", "字と", "か", "とか", "な", "かな", "and", "some", "words"),
    ]
    assert words_at(TEXTS[6]) == ["half", "of", "a", "pair"]
    assert words_at(TEXTS[7]) == words_at(TEXTS[8]) == []


@pytest.mark.parametrize("text", TEXTS)
def test_every_byte_comes_from_a_character(text: str) -> None:
    begins, ends = character_places(text)
    assert (np.diff(begins) >= 0).all()
    assert (ends > begins).all()
    assert ends[-1:].tolist() in ([], [len(text)])


def test_letters_that_join_in_unknown_ways_fall_back_to_what_stands_between_blanks() -> None:
    # Two signs of Bengali become one in NFKC, although neither has a combining class.
    text = "\u0995\u09c7\u09be next"
    begins, ends = character_places(text)
    assert (begins[0], ends[0]) == (0, 3)
    assert words_at(text) == ["\u0995\u09c7\u09be", "next"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pairs": True},
        {"characters": (2, 4)},
        {"pairs": True, "characters": (3, 5), "hashing": 50},
        {"field_weights": [2.0, 0.5], "pairs": True},
    ],
    ids=str,
)
def test_words_count_in_the_columns_that_their_row_has(options: dict[str, Any]) -> None:
    rows = [(text, other) for text, other in zip(TEXTS, reversed(TEXTS), strict=True)]
    features = TextFeatures(stem="english", **options).fit(rows)
    for row in rows:
        found = find_occurrences(features, row)
        columns = features.transform([row]).indices
        assert sorted(set(found.columns.tolist())) == sorted(columns.tolist())
        parts = np.random.default_rng(0).normal(size=len(columns))
        order = np.argsort(columns)
        shared = found.share(columns[order], parts[order])
        assert shared.sum() == pytest.approx(parts.sum())


def test_a_stem_is_shared_by_its_words_and_a_pair_by_both() -> None:
    features = TextFeatures(stem="english", pairs=True).fit(["taxes on sugar"])
    found = find_occurrences(features, ["a tax, the taxed sugar; on sugar"])
    names = name_columns(features, np.arange(features.n_terms_))
    parts = np.array([{"tax": 6.0, "on sugar": 2.0}.get(name, 0.0) for name in names])
    shared = found.share(np.arange(features.n_terms_), parts)
    assert shared.tolist() == [0.0, 3.0, 0.0, 3.0, 0.0, 1.0, 1.0]


def test_what_counts_twice_in_a_field_gets_twice_the_part() -> None:
    features = TextFeatures(stem="none", field_weights=[2.0, 1.0]).fit([("tax", "tax")])
    found = find_occurrences(features, ["tax", "tax"])
    assert found.share(np.array([0]), np.array([3.0])).tolist() == [2.0, 1.0]
    assert found.fields.tolist() == [0, 1]


def test_columns_are_called_as_in_the_list_of_all_names() -> None:
    rows = {"title": ["oil on wood", "a boat"], "medium": ["Oil", "Ink"], "year": [1900, 1950]}
    vectors = {"encoder": lambda texts: np.ones((len(texts), 2), np.float32)}
    for more in ({}, {"hashing": 20}, vectors):
        features = TextFeatures(
            characters=(3, 3), pairs=True, categories=["medium"], numbers=["year"], **more
        ).fit(rows)
        names = features.get_feature_names_out().tolist()
        assert name_columns(features, np.arange(len(names))) == names
