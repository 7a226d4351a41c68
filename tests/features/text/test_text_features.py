"""Texts to rows: against scikit-learn, across scripts, fields and threads, and with bad input."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer

from rmls.core.errors import InputError
from rmls.features import TextFeatures
from rmls.features.text import scanning
from rmls.features.text.stems import stem_words
from rmls.features.text.vocabulary import Vocabulary

TEXTS = [
    "The taxes on tobacco, and the law of the land.",
    "A tax on sugar? Sugar is taxed; sugar is sweet",
    "Fishing in the North Sea: quotas for 1994",
    "Naïve café owners don't tax the sea",
    "",
]
WORD = r"(?u)[^\W_]+"


def reference(texts: list[str], **options: Any) -> tuple[sparse.csr_matrix, list[str]]:
    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=WORD, dtype=np.float32, **options)
    return vectorizer.fit_transform(texts), vectorizer.get_feature_names_out().tolist()


def as_dense(rows: sparse.csr_matrix, names: Any, order: list[str]) -> np.ndarray:
    place = {name: number for number, name in enumerate(names)}
    return rows.toarray()[:, [place[name] for name in order]]


def test_words_weigh_as_in_scikit_learn() -> None:
    features = TextFeatures(stem="none")
    rows = features.fit_transform(TEXTS)
    expected, names = reference(TEXTS)
    assert sorted(features.get_feature_names_out()) == sorted(names)
    np.testing.assert_allclose(
        as_dense(rows, features.get_feature_names_out(), names), expected.toarray(), atol=1e-6
    )


# Letters of many scripts; scikit-learn's small letters are made before and not after the
# Unicode form, so the texts come in that form.
@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.text(st.characters(max_codepoint=0x0DFF, exclude_categories=["Cs"]), max_size=60),
        min_size=1,
        max_size=6,
    )
)
def test_any_text_is_cut_as_by_the_definition(texts: list[str]) -> None:
    texts = [*texts, "word"]
    features = TextFeatures(stem="none").fit(texts)
    found: set[str] = set()
    for text in texts:
        small = unicodedata.normalize("NFKC", text).lower()
        kinds = [unicodedata.category(letter)[0] in "LNM" for letter in small]
        cut = "".join(
            letter if kind else " " for letter, kind in zip(small, kinds, strict=True)
        ).split(" ")
        found |= {word for word in cut if word and len(word.encode()) <= 64}
    assert set(features.get_feature_names_out()) == found


def test_min_rows_and_max_terms_keep_the_most_frequent() -> None:
    names = TextFeatures(stem="none", min_rows=2).fit(TEXTS).get_feature_names_out()
    expected = reference(TEXTS, min_df=2)[1]
    assert sorted(names) == sorted(expected)
    few = TextFeatures(stem="none", max_terms=3).fit(TEXTS).get_feature_names_out()
    assert set(few) == {"the", "on", "tax"}


def test_pairs_are_those_of_scikit_learn() -> None:
    features = TextFeatures(stem="none", pairs=True).fit(TEXTS)
    expected = reference(TEXTS, ngram_range=(1, 2))[1]
    assert sorted(features.get_feature_names_out()) == sorted(expected)


def test_pairs_that_are_not_kept_are_never_spelled() -> None:
    asked: list[int] = []

    def spell(places: np.ndarray) -> list[str]:
        asked.extend(places.tolist())
        return [f"name {place}" for place in places.tolist()]

    kept = Vocabulary.spelled_late(np.arange(1, 101, dtype=np.uint64), spell).keep(np.array([7, 3]))
    assert kept.names == ["name 7", "name 3"]
    assert asked == [7, 3]
    texts = [f"tax {number} law" for number in range(50)]
    features = TextFeatures(stem="none", pairs=True, min_rows=2).fit([*texts, "tax law", "tax law"])
    assert features.get_feature_names_out().tolist() == ["tax", "law", "tax law"]


def test_blocks_of_any_size_give_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"pairs": True, "characters": (2, 3), "field_weights": [2, 1]}
    rows = [(text, f"body {number}") for number, text in enumerate(TEXTS * 3)]
    whole, cut = TextFeatures(**options), TextFeatures(**options)
    expected = whole.fit_transform(rows)
    monkeypatch.setattr(scanning, "BLOCK_CHARACTERS", 60)
    found = cut.fit_transform(rows)
    assert whole.get_feature_names_out().tolist() == cut.get_feature_names_out().tolist()
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-6)


def test_character_sequences_are_those_of_scikit_learn() -> None:
    texts = ["taxes on the sea", "über naïve"]
    names = TextFeatures(stem="none", characters=(2, 3)).fit(texts).get_feature_names_out()
    found = {name[1:-1] for name in names if name.startswith("|")}
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)).fit(texts)
    assert found == set(vectorizer.get_feature_names_out())


@pytest.mark.parametrize(
    "options",
    [{}, {"stem": "none"}, {"pairs": True}, {"characters": (3, 4)}, {"hashing": 97}],
    ids=str,
)
def test_training_rows_are_those_of_transform(options: dict[str, Any]) -> None:
    texts = [f"{text} number {number}" for number, text in enumerate(TEXTS * 30)]
    features = TextFeatures(**options)
    rows = features.fit_transform(texts)
    np.testing.assert_allclose(rows.toarray(), features.transform(texts).toarray(), atol=1e-7)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths, 1, atol=1e-5)
    assert rows.has_sorted_indices


def test_threads_change_nothing() -> None:
    texts = [f"{text} {number % 700}" for number, text in enumerate(TEXTS * 500)]
    one, two = TextFeatures(pairs=True), TextFeatures(pairs=True, n_jobs=3)
    np.testing.assert_array_equal(one.fit_transform(texts).data, two.fit_transform(texts).data)
    assert one.get_feature_names_out().tolist() == two.get_feature_names_out().tolist()


def test_stems_join_the_forms_of_a_word() -> None:
    features = TextFeatures()
    rows = features.fit_transform(TEXTS)
    assert features.language_ == "english"
    names = features.get_feature_names_out().tolist()
    assert "tax" in names
    assert "taxes" not in names
    # A form that no training text has.
    new = features.transform(["taxing"])
    assert names[new.indices[0]] == "tax"
    assert rows.shape[1] == len(names)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("german", "Der Rat und die Kommission haben sich auf eine Steuer für den Zucker geeinigt"),
        ("french", "Le Conseil et la Commission sont d'accord pour une taxe sur les sucres"),
        ("spanish", "El Consejo y la Comisión acuerdan un impuesto para los azúcares en la mar"),
        (None, "Zucker Tabak Fisch 1994"),
    ],
)
def test_the_language_is_found(language: str | None, text: str) -> None:
    assert TextFeatures().fit([text]).language_ == language


def test_scripts_without_spaces_are_cut_into_characters_and_pairs() -> None:
    features = TextFeatures().fit(["東京都に行く", "ภาษา"])
    names = set(features.get_feature_names_out())
    assert {"東", "東京", "京都", "行く", "ภา"} <= names
    assert features.transform(["京都"]).nnz == 3


def test_one_form_of_unicode() -> None:
    features = TextFeatures(stem="none").fit(["ﬁne Ｔａｘ café"])
    assert features.transform(["FINE tax cafe\u0301"]).nnz == 3


def test_words_longer_than_any_word_are_left_out() -> None:
    assert TextFeatures().fit(["x" * 65 + " tax"]).get_feature_names_out().tolist() == ["tax"]


FIELDS: list[Callable[[list[str], list[str]], Any]] = [
    lambda title, body: {"title": title, "body": body},
    lambda title, body: list(zip(title, body, strict=True)),
]


@pytest.mark.parametrize("container", FIELDS)
def test_fields_count_by_their_weights(container: Any) -> None:
    title, body = ["tax", "sea"], ["sugar", "tax"]
    features = TextFeatures(stem="none", field_weights=[3, 1])
    rows = features.fit_transform(container(title, body)).toarray()
    names = features.get_feature_names_out().tolist()
    first = dict(zip(names, rows[0], strict=True))
    # tax is in both rows, sugar in one: 1 + log 3 against the weight of the rarer word.
    ratio = (1 + np.log(3)) * (np.log(3 / 3) + 1) / (np.log(3 / 2) + 1)
    assert first["tax"] / first["sugar"] == pytest.approx(ratio, rel=1e-5)


def test_columns_of_a_table_are_found_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"title": ["tax", None], "body": ["sugar", "sea"]})
    features = TextFeatures(stem="none").fit(table)
    assert features.fields_ == ("title", "body")
    swapped = table[["body", "title"]].assign(other=1)
    np.testing.assert_array_equal(
        features.transform(swapped).toarray(), features.transform(table).toarray()
    )
    with pytest.raises(InputError, match="no column"):
        features.transform(table[["title"]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stem": "klingon"}, "cannot be stemmed in 'klingon'"),
        ({"characters": (5, 3)}, "shortest and the longest"),
        ({"characters": 3}, "shortest and the longest"),
        ({"min_rows": 0}, "min_rows must be"),
        ({"hashing": 0}, "hashing must be"),
        ({"field_weights": [1, 2]}, "one for every field"),
        ({"field_weights": [-1]}, "one for every field"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
    ids=str,
)
def test_options_that_have_no_meaning_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TextFeatures(**options).fit(TEXTS)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "put it in a list"),
        (["tax", 3], "row 1: texts must be strings; got 3"),
        ([("a", "b"), ("a",)], "row 1 has other fields"),
        (3, "sequence of strings; got int"),
    ],
    ids=str,
)
def test_what_is_no_text_is_refused(texts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TextFeatures().fit(texts)


def test_other_numbers_of_fields_are_refused() -> None:
    features = TextFeatures().fit([("a", "b")])
    with pytest.raises(InputError, match=r"3 field\(s\) but 2 were learned from"):
        features.transform([("a", "b", "c")])
    with pytest.raises(InputError, match=r"2 field\(s\) but those before had 1"):
        features.scan([["a"], [("a", "b")]])


def test_a_text_of_its_own_is_the_first_field() -> None:
    features = TextFeatures(stem="none", field_weights=[3, 1]).fit([("a", "b"), ("c", "a")])
    found, expected = features.transform(["a c"]), features.transform([("a c", "")])
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_unfitted_and_empty() -> None:
    with pytest.raises(NotFittedError):
        clone(TextFeatures().fit(TEXTS)).transform(TEXTS)
    features = TextFeatures().fit(TEXTS)
    assert features.transform([]).shape == (0, features.n_terms_)
    assert TextFeatures().fit_transform(["", "!"]).shape == (2, 0)


def test_threads_do_not_share_a_stemmer() -> None:
    # The stemmer is pure Python: threads change in the middle of a word.
    endings = ("", "s", "ing", "ization", "fulness", "ational")
    words = [f"w{first}{ending}" for first in range(2000) for ending in endings]
    expected = stem_words("english")(words)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(stem_words("english"), [words] * 4))
    finally:
        sys.setswitchinterval(interval)
    assert all(each == expected for each in found)


def test_words_of_names_are_known_without_being_counted() -> None:
    texts = ["taxes on sugar", "a tax on tobacco", "the sea"]
    plain, named = TextFeatures(stem="english"), TextFeatures(stem="english", min_rows=2)
    rows = plain.fit_transform(texts)
    with_names = TextFeatures(stem="english")
    # "yacht" is new, "sea" is not: neither changes how rare a word of the texts is.
    more = with_names.fit_transform(texts, names=["yachts at sea", "tax"])
    assert (abs(more[:, : rows.shape[1]] - rows) > 1e-6).nnz == 0
    assert with_names.get_feature_names_out().tolist()[rows.shape[1] :] == ["yacht", "at"]
    assert with_names.transform(["a yacht"]).nnz == 2
    named.fit_transform(texts, names=["yacht at sea"])
    assert {"yacht", "sea", "tax"} <= set(named.get_feature_names_out())
    assert "sugar" not in named.get_feature_names_out()
