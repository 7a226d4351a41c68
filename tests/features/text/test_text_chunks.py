"""Texts read some at a time: the same rows as texts read at once, and no text is kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rmls.core.errors import InputError
from rmls.features import TextFeatures


def word_tables() -> list[dict[str, list[str]]]:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in rng.integers(0, 60, 8)) for _ in range(300)]
    bodies = [" ".join(f"v{word}" for word in rng.integers(0, 40, 5)) for _ in range(300)]
    cuts = (0, 7, 7, 120, 300)
    return [{"title": texts[i:j], "body": bodies[i:j]} for i, j in pairwise(cuts)]


def together(tables: list[dict[str, list[str]]], rows: np.ndarray) -> dict[str, list[str]]:
    both = {name: [text for table in tables for text in table[name]] for name in ("title", "body")}
    return {name: [column[row] for row in np.flatnonzero(rows)] for name, column in both.items()}


OPTIONS = ({}, {"pairs": True, "characters": (2, 3)}, {"hashing": 50}, {"min_rows": 3})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_texts_read_in_chunks_are_the_same_rows(options: dict) -> None:
    tables = word_tables()
    whole, chunked = (TextFeatures(field_weights=[2, 1], **options) for _ in range(2))
    expected = whole.fit_transform(together(tables, np.ones(300, bool)))
    scanned = chunked.scan(iter(tables))
    assert len(scanned) == 300
    found = chunked.fit_transform(scanned)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    assert chunked.fields_ == ("title", "body")
    names = [features.get_feature_names_out().tolist() for features in (whole, chunked)]
    assert names[0] == names[1]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_divided_texts_are_as_if_each_part_had_been_read_alone(options: dict) -> None:
    tables = word_tables()
    marked = np.random.default_rng(1).random(300) < 0.3
    whole, chunked = (TextFeatures(**options) for _ in range(2))
    expected = whole.fit_transform(together(tables, ~marked))
    test, train = chunked.scan(iter(tables)).divide(marked)
    found = chunked.fit_transform(train)
    names = [features.get_feature_names_out().tolist() for features in (whole, chunked)]
    assert names[0] == names[1]
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    expected = whole.transform(together(tables, marked))
    np.testing.assert_array_equal(chunked.transform(test).toarray(), expected.toarray())


def test_scanned_texts_are_used_once_and_hold_no_text() -> None:
    features = TextFeatures()
    scanned = features.scan([["word " * 50_000]] * 20)
    held = sum(
        array.nbytes for scan in scanned.use_up() for array in (*scan.rows, scan.text, scan.codes)
    )
    assert held < 2000
    with pytest.raises(InputError, match="used up; scan them again"):
        features.fit_transform(scanned)


@pytest.mark.parametrize("marked", [[True] * 3, [False] * 3, [False, True, True]], ids=str)
def test_a_part_may_be_empty(marked: list[bool]) -> None:
    features = TextFeatures(stem="none")
    parts = features.scan([["a b"], [], ["c", ""]]).divide(np.array(marked))
    assert [len(part) for part in parts] == [sum(marked), 3 - sum(marked)]
    features.fit(["a b c"])
    assert [features.transform(part).shape for part in parts] == [
        (sum(marked), 3),
        (3 - sum(marked), 3),
    ]
