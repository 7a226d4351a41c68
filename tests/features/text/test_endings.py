"""Forms of a word are found by endings that words take by turns, without a language."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import product

import pytest

from rmls import TextRanker
from rmls.core.errors import InputError
from rmls.features import TextFeatures
from rmls.features.text.endings import Endings

# A language of our own: five cases, by three letters at the most.
CASES = ["", "a", "om", "ej", "ami"]
SYLLABLES = ["".join(part) for part in product("bdgklmnprstvz", "aeiou", "lnrs")]


def make_beginnings(count: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return sorted({"".join(draw.sample(SYLLABLES, 2)) for _ in range(2 * count)})[:count]


def inflect(beginnings: list[str], seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [word + case for word in beginnings for case in draw.sample(CASES, 3)]


def test_the_forms_of_an_invented_language_share_a_stem_and_other_words_do_not() -> None:
    beginnings = make_beginnings(400)
    words = inflect(beginnings)
    stems = dict(zip(words, Endings.learn(words).stems(words), strict=True))
    groups = defaultdict(set)
    for word in words:
        groups[stems[word]].add(word[: len(beginnings[0])])
    alike = sum(len(set(map(stems.get, words[at : at + 3]))) == 1 for at in range(0, 1200, 3))
    assert alike >= 380
    assert sum(len(owners) > 1 for owners in groups.values()) <= 4


def test_stems_depend_on_the_words_alone_and_not_on_their_order() -> None:
    words = inflect(make_beginnings(200))
    endings = Endings.learn(words)
    turned = words[::-1]
    assert Endings.learn(turned) == endings
    assert dict(zip(words, endings.stems(words), strict=True)) == dict(
        zip(turned, endings.stems(turned), strict=True)
    )


def test_rare_words_join_the_forms_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    beginnings = make_beginnings(100)
    words = inflect(beginnings)
    monkeypatch.setattr("rmls.features.text.endings.MOST_WORDS", len(words))
    endings = Endings.learn(words)
    rare = [f"{word}{case}" for word in beginnings for case in CASES]
    rare = [word for word in rare if word not in words]
    stems = dict(zip([*words, *rare], endings.stems([*words, *rare]), strict=True))
    joined = sum(stems[word] in words for word in rare)
    assert joined >= 0.95 * len(rare)


def test_words_that_share_nothing_and_what_is_no_word_stay_as_they_are() -> None:
    words = ["one", "two2", "x1", "三", "wholly", "different", "things", "1994", "1995", ""]
    endings = Endings.learn(words)
    assert endings.pairs == {}
    assert endings.stems(words) == words
    assert Endings.learn([]).stems([]) == []


def test_a_label_without_rows_is_found_by_another_form_of_its_name() -> None:
    beginnings = make_beginnings(60)
    draw = random.Random(1)
    texts, labels = [], []
    for _ in range(600):
        some = draw.sample(beginnings, 6)
        texts.append(" ".join(word + draw.choice(CASES[1:]) for word in some))
        labels.append([word for word in some if word in beginnings[:30]] or [some[0]])
    names = {word: word for word in beginnings}
    new = beginnings[-1]
    kept = [(text, own) for text, own in zip(texts, labels, strict=True) if new not in own]
    texts, labels = map(list, zip(*kept, strict=True))
    question = [f"{beginnings[0]}om {new}ami"]

    def suggested(stem: str) -> list[str]:
        model = TextRanker(stem=stem).fit(texts, labels, label_text=names)
        return [name for name, _ in model.suggest(question, 3)[0]]

    assert new in suggested("endings")
    assert new not in suggested("none")


def test_auto_takes_a_language_where_one_stands_out_and_endings_where_none_does() -> None:
    assert TextFeatures().fit(["the lamps of the house and a lamp in it"]).language_ == "english"
    words = inflect(make_beginnings(400))
    features = TextFeatures().fit([" ".join(words)])
    assert features.language_ is None
    assert features.n_words_ < 0.6 * len(words)
    assert TextFeatures(stem="none").fit([" ".join(words)]).n_words_ == len(words)


def test_auto_learns_no_endings_from_few_words_and_endings_do() -> None:
    few = inflect(make_beginnings(50))
    assert TextFeatures().fit([" ".join(few)]).n_words_ == len(few)
    assert TextFeatures(stem="endings").fit([" ".join(few)]).n_words_ < 0.6 * len(few)


def test_endings_and_hashing_do_not_go_together() -> None:
    with pytest.raises(InputError, match="needs a vocabulary"):
        TextFeatures(stem="endings", hashing=100).fit(["a tax"])
    words = [" ".join(inflect(make_beginnings(400)))]
    hashed, plain = (TextFeatures(stem=stem, hashing=5000) for stem in ("auto", "none"))
    assert (hashed.fit_transform(words) != plain.fit_transform(words)).nnz == 0
