"""Equal and similar texts: planted ones are found, others are not, whatever the order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from review_samples import topic_table

from rmls.review.duplicates import find_duplicates, repeated

WORDS = np.array([f"word{number}" for number in range(5000)])


def random_texts(n_rows: int, n_words: int, seed: int = 0) -> list[tuple[str, ...]]:
    generator = np.random.default_rng(seed)
    return [(" ".join(generator.choice(WORDS, n_words)),) for _ in range(n_rows)]


def jaccard(one: str, other: str) -> float:
    """Shared words and word pairs, the slow way."""

    def terms(text: str) -> set[object]:
        words = text.split()
        return {*words, *pairwise(words)}

    a, b = terms(one), terms(other)
    return len(a & b) / len(a | b)


def test_equal_texts_are_found_whatever_case_spaces_and_punctuation() -> None:
    texts = [("Tax on sugar", "1994"), ("Fish",), ("tax  on, SUGAR!", "1994"), ("",), ("?!",)]
    found = find_duplicates(texts)
    assert found.same.tolist() == [0, 1, 0, -1, -1]
    assert found.n_words.tolist() == [4, 1, 4, 0, 0]


def test_planted_near_duplicates_are_found_and_no_others() -> None:
    generator = np.random.default_rng(1)
    texts = random_texts(2000, 80)
    for row in range(100):
        words = texts[row][0].split()
        # Two of 80 words: some 0.92 of all words and pairs are still shared.
        for place in generator.choice(80, 2, replace=False):
            words[place] = "changed"
        texts.append((" ".join(words),))
    found = find_duplicates(texts)
    copies = found.near[2000:]
    assert (copies == found.near[:100]).mean() == 1.0
    assert sum(map(len, repeated(found.near))) == 200
    assert not repeated(found.same)


def test_far_texts_are_not_near() -> None:
    texts = random_texts(300, 40)
    halves = [
        (" ".join(row[0].split()[:20] + other[0].split()[20:]),) for row, other in pairwise(texts)
    ]
    found = find_duplicates(texts + halves)
    assert not repeated(found.near)


@pytest.mark.parametrize("n_changed", [1, 2, 3, 5, 8])
def test_what_is_near_agrees_with_the_jaccard_similarity(n_changed: int) -> None:
    generator = np.random.default_rng(n_changed)
    texts = random_texts(200, 50, seed=n_changed)
    changed = []
    for row in texts:
        words = row[0].split()
        for place in generator.choice(50, n_changed, replace=False):
            words[place] = "new"
        changed.append((" ".join(words),))
    found = find_duplicates(texts + changed)
    near = found.near[:200] == found.near[200:]
    exact = np.array([jaccard(a[0], b[0]) for a, b in zip(texts, changed, strict=True)])
    # The estimate scatters by 0.035: only similarities beyond three times that are decided.
    assert near[exact > 0.9].all()
    assert not near[exact < 0.7].any()


def test_the_order_of_rows_and_threads_do_not_matter() -> None:
    texts = [*topic_table(300).texts, *topic_table(300).texts[:40]]
    found = find_duplicates(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    shuffled = find_duplicates([texts[row] for row in order], n_jobs=2)
    same = found.same[order]
    assert (np.equal.outer(same, same) == np.equal.outer(shuffled.same, shuffled.same)).all()


def test_thousands_of_equal_texts_cost_no_quadratic_time() -> None:
    from rmls.review.duplicates import _candidates, fingerprint_texts

    texts = [("the same words in every row",)] * 3000
    signatures, _, _ = fingerprint_texts(texts)
    left, _ = _candidates(signatures, np.arange(3000))
    assert len(left) <= 2 * 3000
    assert [len(rows) for rows in repeated(find_duplicates(texts).near)] == [3000]


@pytest.mark.parametrize("texts", [[], [("",)], [("one",)]])
def test_tables_without_anything_to_compare(texts: list[tuple[str, ...]]) -> None:
    found = find_duplicates(texts)
    assert len(found.same) == len(found.near) == len(texts)
    assert repeated(found.near) == []
