"""Kernels that count words and terms, against a slow obvious reference."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rmls.features.text.characters import encode_pieces
from rmls.kernels.cpu.text.terms import count_terms, count_words
from rmls.kernels.cpu.text.words import gather_words, pad_words, word_parts

ROWS = st.lists(st.lists(st.integers(0, 5), max_size=12), max_size=8)


def as_counts(indptr, indices, counts) -> list[dict[int, float]]:
    return [
        dict(zip(indices[i:j].tolist(), counts[i:j].tolist(), strict=True))
        for i, j in pairwise(indptr)
    ]


def flat(pieces: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    return np.array([word for piece in pieces for word in piece], np.int32), ends


@settings(deadline=None, max_examples=50)
@given(ROWS)
def test_words_are_counted_by_the_weights_of_their_fields(pieces: list[list[int]]) -> None:
    pieces = pieces[: len(pieces) // 2 * 2]
    found = as_counts(*count_words(*flat(pieces), np.float32([1, 2]), 6))
    expected = []
    for title, body in zip(pieces[::2], pieces[1::2], strict=True):
        counts = Counter(title)
        for word in body:
            counts[word] += 2
        expected.append(dict(counts))
    assert found == expected


@settings(deadline=None, max_examples=50)
@given(
    ROWS,
    st.lists(st.lists(st.integers(0, 8), max_size=4), min_size=6, max_size=6),
    st.lists(st.integers(-1, 4), min_size=9, max_size=9),
)
def test_every_word_counts_for_the_columns_of_its_terms(pieces, terms, columns) -> None:
    numbers, starts = flat(terms)
    rows = count_words(*flat(pieces), np.float32([1]), 6)
    indptr, indices, counts = count_terms(rows, starts, numbers, np.array(columns, np.int32))
    expected = []
    for piece in pieces:
        found: Counter[int] = Counter()
        for word in piece:
            found.update(columns[term] for term in terms[word] if columns[term] >= 0)
        expected.append(dict(found))
    assert as_counts(indptr, indices, counts) == expected
    for i, j in pairwise(indptr):
        assert (np.diff(indices[i:j]) > 0).all()


def test_rows_with_more_terms_than_the_first_room() -> None:
    tokens, ends = flat([list(range(3)), list(range(3))])
    rows = count_words(tokens, ends, np.float32([1]), 3)
    starts = np.arange(4) * 1500
    found = count_terms(
        rows, starts, np.arange(4500, dtype=np.int32), np.arange(4500, dtype=np.int32)
    )
    assert found[0].tolist() == [0, 4500, 9000]
    np.testing.assert_array_equal(found[2], 1)


def test_words_are_cut_out_padded_and_taken_apart() -> None:
    text, _ = encode_pieces(["ab cé d"])
    words, bounds = gather_words(text, np.array([[3, 6], [0, 2]]))
    assert words.tobytes().decode() == "céab"
    assert bounds.tolist() == [0, 3, 5]
    padded, wider = pad_words(words, bounds)
    assert padded.tobytes().decode() == " cé  ab "
    _, places, starts = word_parts(padded, wider, 2, 3)
    parts = [padded[i:j].tobytes().decode() for i, j in places]
    assert parts == [" c", " cé", "cé", "cé ", "é ", " a", " ab", "ab", "ab ", "b "]
    assert starts.tolist() == [0, 5, 10]


def test_no_words_at_all() -> None:
    empty = np.zeros(0, np.int32)
    rows = count_words(empty, np.zeros(3, np.int64), np.float32([1]), 0)
    assert [array.tolist() for array in rows] == [[0, 0, 0], [], []]
    found = count_terms(rows, np.zeros(1, np.int64), empty, empty)
    assert [array.tolist() for array in found] == [[0, 0, 0], [], []]
