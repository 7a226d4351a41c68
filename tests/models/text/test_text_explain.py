"""Explanations of texts: every word where it stands, with its part of the score."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from text_samples import COLUMNS, TOPICS, make_columns, make_texts

import rmls
from rmls import RMLSRanker, TextRanker
from rmls.core.errors import InputError
from rmls.features import TextFeatures
from rmls.models import KNN
from rmls.models.text.why import TextExplanation

EXACT = 1e-5


@cache
def fitted(**options: Any) -> TextRanker:
    texts, labels = make_texts(120)
    return TextRanker(RMLSRanker(16, keep_rows=True), **options).fit(texts, labels)


def sum_of_parts(found: TextExplanation) -> float:
    """Words and columns in the place of classifier, vectors and names."""
    beside = [found.prior, found.boost, found.dense, found.remainder]
    return sum([*beside, *(w.part for w in found.words), *(c.part for c in found.columns)])


def assert_adds_up(model: TextRanker, x: Any) -> None:
    ranked = model.rank(x if isinstance(x, dict) else [x], 3)[0]
    for found, entry in zip(model.explain(x, k=3), ranked, strict=True):
        assert found.label == entry.label
        assert found.total == pytest.approx(entry.score, abs=EXACT)
        assert sum_of_parts(found) == pytest.approx(entry.score, abs=EXACT)
        assert found.probability == pytest.approx(entry.probability, abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pairs": True},
        {"characters": (3, 4)},
        {"hashing": 64, "pairs": True, "characters": (2, 3)},
        {"use_names": False, "stem": "none"},
    ],
    ids=str,
)
def test_words_add_up_to_the_score_that_ranks(options: dict[str, Any]) -> None:
    model = fitted(**options)
    for text in make_texts(10, seed=5)[0]:
        assert_adds_up(model, text)


def test_words_stand_where_they_are_said_to() -> None:
    text = "The COURT appealed; boats, and a court."
    found = fitted().explain(text, "law")
    assert found.texts == (text,)
    assert [word.word for word in found.words] == [
        *("The", "COURT", "appealed", "boats", "and", "a", "court"),
    ]
    assert all(text[word.start : word.end] == word.word for word in found.words)
    first, second = (word.part for word in found.words if word.word.lower() == "court")
    assert first == second > 0
    assert found.top_words[0] == ("court", pytest.approx(first + second))
    assert dict(found.top_words)["boats"] < 0


def test_words_of_its_topic_speak_for_a_label() -> None:
    model, (texts, labels) = fitted(), make_texts(40, seed=9)
    stems = {
        name: set(TextFeatures(stem="english").fit([" ".join(words)]).get_feature_names_out())
        for name, words in TOPICS.items()
    }
    for text, names in zip(texts, labels, strict=True):
        found = model.explain(text, names[0])
        best = max(found.features, key=lambda part: part.total)
        assert best.feature in stems[names[0]]


def test_several_fields_and_a_table_of_one_row() -> None:
    texts, labels = make_texts(120)
    rows = [tuple(text.split(" ", 1)) for text in texts]
    model = TextRanker(RMLSRanker(8), field_weights=[2.0, 1.0]).fit(rows, labels)
    assert_adds_up(model, rows[3])
    found = model.explain(rows[3])[0]
    assert {word.field for word in found.words} == {0, 1}
    for word in found.words:
        assert found.texts[word.field][word.start : word.end] == word.word
    # A text of its own is the first field.
    assert {word.field for word in model.explain("the court appeals")[0].words} == {0}


def test_categories_and_numbers_come_by_their_names() -> None:
    rows, labels = make_columns(200)
    model = TextRanker(RMLSRanker(8), **COLUMNS).fit(rows, labels)
    one = {name: column[0] for name, column in rows.items()}
    assert_adds_up(model, {name: [cell] for name, cell in one.items()})
    era = next(name for name in labels[0] if name in ("old", "middle", "new"))
    kind = next(name for name in labels[0] if name in ("painting", "print"))
    by_year, by_medium = model.explain(one, era), model.explain(one, kind)
    year, medium = one["year"], str(one["medium"]).lower()
    assert max(by_year.columns, key=lambda part: part.part)[:2] == ("year", float(year))
    assert max(by_medium.columns, key=lambda part: part.part)[:2] == ("medium", medium)
    assert sum_of_parts(by_year) == pytest.approx(by_year.score, abs=EXACT)


def test_vectors_of_an_encoder_are_a_part_of_their_own() -> None:
    def encode(texts: list[str]) -> np.ndarray:
        return np.array([[text.count(word[0]) for word in TOPICS] for text in texts], np.float32)

    texts, labels = make_texts(120)
    model = TextRanker(RMLSRanker(8), encoder=encode).fit(texts, labels)
    assert_adds_up(model, texts[2])


def test_features_of_a_label_are_words() -> None:
    found = fitted().top_features("sea", k=3)
    assert {entry.feature for entry in found if entry.weight > 0} <= {
        *("fish", "quota", "harbour", "boat"),
    }
    assert {entry.label for entry in fitted().similar_labels("sea")} == {"tax", "farm", "law"}


def test_similar_texts_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    model, (texts, labels) = fitted(), make_texts(120)
    found = model.similar_rows(texts[7], labels[7][0], k=3)
    assert found[0].similarity == pytest.approx(1, abs=1e-6)
    for each in found:
        assert labels[7][0] in each.labels == sorted(labels[each.row])
        assert each.text == texts[each.row][:200]
    model.save(tmp_path / "model")
    assert rmls.load(tmp_path / "model").similar_rows(texts[7], labels[7][0], k=3) == found


def test_of_long_texts_the_beginning_is_kept_and_nothing_more(tmp_path: Path) -> None:
    texts, labels = make_texts(30)
    long = [f"{text} {'filler ' * 60} SECRET" for text in texts]
    model = TextRanker(RMLSRanker(4, keep_rows=True)).fit(iter(long), labels)
    assert all(len(each.text or "") == 200 for each in model.similar_rows(long[0], labels[0][0]))
    model.save(tmp_path / "model")
    content = b"".join(file.read_bytes() for file in (tmp_path / "model").iterdir())
    assert b"SECRET" not in content
    assert texts[0].encode() in content


def test_bad_questions_get_a_sentence() -> None:
    model = fitted()
    for text in ("", "  \n"):
        with pytest.raises(InputError, match="the text is empty; give one with words in it"):
            model.explain(text)
    with pytest.raises(InputError, match="no label 'laws'; did you mean 'law'"):
        model.explain("a court", "laws")
    with pytest.raises(InputError, match="one text can be explained at a time; got 2"):
        model.explain(["one", "two"])
    texts, labels = make_texts(30)
    other = TextRanker(KNN()).fit(texts, labels)
    with pytest.raises(InputError, match="scores of KNN cannot be explained"):
        other.explain("a court")


def test_words_that_nobody_knows_have_no_part() -> None:
    found = fitted().explain("zxcvb qwerty", "law")
    assert [word.part for word in found.words] == [0.0, 0.0]
    assert found.score == pytest.approx(found.prior + found.boost, abs=EXACT)
