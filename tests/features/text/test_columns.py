"""Categories and numbers beside texts: the features they become, in any container."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmls.core.errors import InputError
from rmls.features import TextFeatures
from rmls.features.text.column_block import choose_knots, place_numbers
from rmls.features.text.state import restore_text, text_state

ROWS = {
    "title": ["a boat", "a tax", "boats", ""],
    "artist": ["Turner", "turner ", "Moore, H.", None],
    "year": [1800, 1900.0, "1850", ""],
}
ROLES: dict[str, Any] = {"categories": ["artist"], "numbers": ["year"]}


def fitted(**options: Any) -> TextFeatures:
    return TextFeatures(stem="none", **{**ROLES, **options}).fit(ROWS)


def test_a_category_is_a_feature_and_a_number_lies_between_two() -> None:
    features = fitted()
    names = features.get_feature_names_out().tolist()
    columns = ["artist=turner", "artist=moore, h.", "year~1800", "year~1850", "year~1900"]
    assert names == ["a", "boat", "tax", "boats", *columns]
    rows = features.transform({"title": [""] * 2, "artist": ["TURNER", "x"], "year": [None, 1875]})
    found = rows.toarray()[:, 4:]
    np.testing.assert_allclose(found, [[1, 0, 0, 0, 0], [0, 0, 0, 0.5**0.5, 0.5**0.5]], atol=1e-6)


def test_words_are_those_of_the_texts_alone() -> None:
    alone = TextFeatures(stem="none").fit(ROWS["title"])
    words = fitted().transform(ROWS).toarray()[:, :4]
    lengths = np.linalg.norm(words, axis=1, keepdims=True)
    expected = alone.transform(ROWS["title"]).toarray()
    np.testing.assert_allclose(words, expected * lengths, atol=1e-6)


@pytest.mark.parametrize("weight", [0.25, 0.5, 2.0])
def test_every_column_has_its_weight_against_the_words(weight: float) -> None:
    rows = fitted(column_weight=weight).transform(ROWS).toarray()
    squares = np.add.reduceat(rows.astype(float) ** 2, [0, 4, 6], axis=1)
    np.testing.assert_allclose(squares[:3].sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(squares[:3, 1] / squares[:3, 0], weight**2, rtol=1e-5)
    np.testing.assert_allclose(squares[:3, 2] / squares[:3, 0], weight**2, rtol=1e-5)
    # Nothing is known of the last row.
    assert squares[3].sum() == 0


def test_several_categories_of_a_cell_share_its_weight() -> None:
    rows = {"tags": ["oil; ink", "ink", ""]}
    features = TextFeatures(categories=["tags"], category_separator=";", column_weight=1)
    found = features.fit_transform({"text": ["x", "x", "x"], **rows}).toarray()
    assert features.get_feature_names_out().tolist() == ["x", "tags=oil", "tags=ink"]
    np.testing.assert_allclose(found[0] ** 2, [0.5, 0.25, 0.25], atol=1e-6)
    np.testing.assert_allclose(found[1] ** 2, [0.5, 0, 0.5], atol=1e-6)
    np.testing.assert_allclose(found[2] ** 2, [1, 0, 0], atol=1e-6)
    lists = {"text": ["x", "x", "x"], "tags": [["oil", "ink"], ["ink"], []]}
    listed = TextFeatures(categories=["tags"], column_weight=1).fit_transform(lists)
    np.testing.assert_array_equal(listed.toarray(), found)


def test_every_container_gives_the_same_rows() -> None:
    expected = fitted().transform(ROWS).toarray()
    frame = pd.DataFrame(ROWS)
    moved = frame.assign(other=1)[["year", "other", "artist", "title"]]
    for X in (frame, moved):
        np.testing.assert_array_equal(fitted().transform(X).toarray(), expected)
    tuples = list(zip(*ROWS.values(), strict=True))
    by_place = TextFeatures(stem="none", categories=[1], numbers=[2])
    for rows in (tuples, [list(row) for row in tuples], np.array(tuples, dtype=object)):
        np.testing.assert_array_equal(by_place.fit_transform(rows).toarray(), expected)
    names = by_place.get_feature_names_out().tolist()
    assert names[4:7] == ["1=turner", "1=moore, h.", "2~1800"]
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({**ROWS, "year": ["1800", "1900", "1850", None]})
    np.testing.assert_array_equal(fitted().transform(table).toarray(), expected)


def test_a_text_alone_has_no_category_and_no_number() -> None:
    features = fitted()
    expected = TextFeatures(stem="none").fit(ROWS["title"]).transform(["a boat"]).toarray()
    found = features.transform(["a boat"]).toarray()
    np.testing.assert_array_equal(found[:, :4], expected)
    assert not found[:, 4:].any()
    assert features.transform([]).shape == (0, 9)


def test_columns_without_a_text_are_enough() -> None:
    rows = {name: ROWS[name] for name in ("artist", "year")}
    for given, roles in (
        (rows, ROLES),
        (list(zip(*rows.values(), strict=True)), {"categories": [0], "numbers": [1]}),
    ):
        features = TextFeatures(**roles).fit(given)
        assert features.transform(given).shape == (4, 5)
        assert features.fields_ == ()
        np.testing.assert_allclose(features.transform(given)[0].power(2).sum(), 1, atol=1e-6)
        with pytest.raises(InputError, match="got texts alone"):
            features.transform(["a boat"])


# -- numbers -------------------------------------------------------------------------------------


def test_the_encoding_of_a_number_is_continuous() -> None:
    rng = np.random.default_rng(0)
    knots = choose_knots(rng.lognormal(size=500))
    assert len(knots) == 16
    values = np.linspace(knots[0] - 1, knots[-1] + 1, 20_000)
    found = place_numbers(values, knots).toarray()
    np.testing.assert_allclose((found**2).sum(axis=1), 1, atol=1e-6)
    smallest = np.diff(knots).min()
    step = values[1] - values[0]
    # The slope of a share is at most one over its gap, that of the unit length twice as much.
    assert np.abs(np.diff(found, axis=0)).max() <= 2 * step / smallest + 1e-6
    # Outside of the knots the nearest one stands for all.
    assert (found[values <= knots[0], 0] == 1).all()
    assert (found[values >= knots[-1], -1] == 1).all()


def test_knots_divide_the_rows_alike() -> None:
    values = np.random.default_rng(1).lognormal(sigma=3, size=16_000)
    parts = np.searchsorted(choose_knots(values), values)
    assert np.bincount(parts).max() <= 1001


def test_few_values_are_knots_themselves_and_a_frequent_one_leaves_room() -> None:
    assert choose_knots(np.array([5.0, 1, 1, 3])).tolist() == [1, 3, 5]
    assert choose_knots(np.array([7.0])).tolist() == [7]
    mostly_zero = np.concatenate([np.zeros(9000), np.arange(1.0, 1001)])
    knots = choose_knots(mostly_zero)
    assert knots[0] == 0
    assert len(knots) >= 8
    assert (np.diff(knots) > 0).all()


@pytest.mark.parametrize("values", [[1e308, -1e308, 0], [0, 5e-324, 1e-323], [-0.0, 0.0, 1]])
def test_extreme_numbers_stay_finite(values: list[float]) -> None:
    knots = choose_knots(np.array(values))
    found = place_numbers(np.array([*values, 1e300, -1e300]), knots).toarray()
    np.testing.assert_allclose((found**2).sum(axis=1), 1, atol=1e-6)


def test_one_value_is_one_feature() -> None:
    features = TextFeatures(numbers=["n"]).fit({"t": ["a"] * 3, "n": [4, 4, None]})
    found = features.transform({"t": [""] * 3, "n": [4, 9, None]}).toarray()
    assert found[:, 1].tolist() == [1, 1, 0]


# -- many categories, chunks, archive ------------------------------------------------------------


@pytest.mark.parametrize("n", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_categories_are_bounded(n: int) -> None:
    rows = {"code": [f"c{row}" for row in range(n - 1000)] + ["often"] * 1000}
    features = TextFeatures(categories=["code"], max_terms=1000).fit(rows)
    assert features.n_terms_ == 1000
    assert "code=often" in features.get_feature_names_out()
    once = TextFeatures(categories=["code"], min_rows=2).fit(rows)
    assert once.get_feature_names_out().tolist() == ["code=often"]
    assert TextFeatures(categories=["code"], hashing=64).fit(rows).n_terms_ == 128


def tables(n: int = 200) -> list[dict[str, list[Any]]]:
    rng = np.random.default_rng(0)
    rows = {
        "title": [f"w{rng.integers(30)} w{rng.integers(30)}" for _ in range(n)],
        "artist": [None if rng.random() < 0.1 else f"a{rng.integers(20)}" for _ in range(n)],
        "year": [math.nan if rng.random() < 0.1 else rng.normal() for _ in range(n)],
    }
    return [
        {name: cells[i:j] for name, cells in rows.items()} for i, j in pairwise((0, 3, 3, 90, n))
    ]


def together(parts: list[dict[str, list[Any]]], rows: np.ndarray) -> dict[str, list[Any]]:
    whole = {name: [cell for part in parts for cell in part[name]] for name in parts[0]}
    return {name: [cells[row] for row in np.flatnonzero(rows)] for name, cells in whole.items()}


@pytest.mark.parametrize("options", [{}, {"hashing": 40}, {"min_rows": 8, "pairs": True}], ids=str)
def test_chunks_and_parts_are_the_same_rows(options: dict[str, Any]) -> None:
    parts, marked = tables(), np.random.default_rng(1).random(200) < 0.3
    whole, chunked = (TextFeatures(**ROLES, **options) for _ in range(2))
    expected = whole.fit_transform(together(parts, ~marked)).toarray()
    test, train = chunked.scan(iter(parts)).divide(marked)
    assert (len(test), len(train)) == (marked.sum(), 200 - marked.sum())
    np.testing.assert_array_equal(chunked.fit_transform(train).toarray(), expected)
    names = [each.get_feature_names_out().tolist() for each in (whole, chunked)]
    assert names[0] == names[1]
    expected = whole.transform(together(parts, marked)).toarray()
    np.testing.assert_array_equal(chunked.transform(test).toarray(), expected)


def test_a_bad_cell_is_named_by_its_row_in_all_chunks() -> None:
    parts = tables()
    parts[-1]["year"][5] = "long ago"
    with pytest.raises(InputError, match="row 95, column 'year': a number is needed; got 'long"):
        TextFeatures(**ROLES).scan(iter(parts))


@pytest.mark.parametrize(
    "options",
    [{}, {"hashing": 16}, {"numbers": None}, {"categories": None}, {"category_separator": ","}],
    ids=str,
)
@pytest.mark.parametrize("with_text", [True, False])
def test_restored_columns_give_the_same_rows(options: dict[str, Any], with_text: bool) -> None:
    chosen = {**ROLES, **options}
    used = [*(chosen["categories"] or []), *(chosen["numbers"] or [])]
    rows = {name: ROWS[name] for name in ([*["title"] * with_text, *used])}
    features = TextFeatures(**chosen).fit(rows)
    state, arrays = text_state(features)
    again = restore_text(features.get_params(), json.loads(json.dumps(state)), arrays)
    expected = features.transform(rows).toarray()
    np.testing.assert_array_equal(again.transform(rows).toarray(), expected)
    assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("columns", None),
        ("columns", {"n_categories": 3, "n_knots": [3]}),
        ("columns", {"n_categories": 2, "n_knots": [2]}),
        ("columns", {"n_categories": 2, "n_knots": [3, 0]}),
        ("columns", {"n_categories": 2, "n_knots": [True]}),
        ("columns", {"n_categories": 2, "n_knots": 3}),
        ("fields", []),
        ("knots", lambda knots: knots[::-1].copy()),
        ("knots", lambda knots: knots * np.inf),
        ("knots", lambda knots: knots.astype(np.float32)),
        ("knots", lambda knots: knots[:-1]),
        ("categories_text", lambda text: text | 0x80),
        ("categories_bounds", lambda bounds: bounds[:-1]),
    ],
)
def test_damaged_columns_are_refused(name: str, change: Any) -> None:
    features = TextFeatures(**ROLES).fit({**ROWS, "more": ["x"] * 4})
    state, arrays = text_state(features)
    if name in state:
        state[name] = change
    else:
        arrays[name] = change(arrays[name])
    with pytest.raises((InputError, TypeError)):
        restore_text(features.get_params(), state, arrays)


# -- wrong use -----------------------------------------------------------------------------------

TUPLES = list(zip(*ROWS.values(), strict=True))
WRONG: list[tuple[dict[str, Any], Any, str]] = [
    ({"categories": ["colour"]}, ROWS, r"no column \['colour'\]; its columns are: title, artist"),
    ({"categories": ["artist"], "numbers": ["artist"]}, ROWS, "'artist' is named twice"),
    ({"categories": ["artist", "artist"]}, ROWS, "'artist' is named twice"),
    ({"categories": "artist"}, ROWS, "categories must be a list of the names of columns"),
    ({"numbers": []}, ROWS, "numbers must be a list of the names of columns"),
    ({"numbers": [1.5]}, ROWS, "numbers must be a list"),
    ({"numbers": [-1]}, TUPLES, "numbers must be a list"),
    ({"categories": ["artist"], "numbers": [2]}, ROWS, "got some of both"),
    ({"categories": ["artist"]}, TUPLES, "'artist' has a name, but rows are tuples"),
    ({"categories": [1]}, ROWS, r"no column \[1\]"),
    ({"categories": [3]}, TUPLES, "rows have 3 fields; there is none at position 3"),
    ({"categories": ["artist"]}, ["a", "b"], "got texts alone"),
    (
        {"numbers": ["artist"]},
        {"artist": ["Turner"]},
        "row 0, column 'artist': a number is needed; got 'Turner'",
    ),
    ({"numbers": ["year"]}, {**ROWS, "year": [1, 2, math.inf, 3]}, "row 2.*finite number"),
    ({"numbers": ["year"]}, {**ROWS, "year": [None] * 4}, "'year' of numbers holds no number"),
    ({"numbers": ["year"]}, {**ROWS, "year": [1, 2]}, "columns of the table differ in length"),
    ({"categories": ["year"]}, {**ROWS, "year": [{}] * 4}, "row 0, column 'year': a category is"),
    ({"categories": ["artist"], "category_separator": ""}, ROWS, "category_separator must be"),
    ({"column_weight": 0}, ROWS, "column_weight must be a positive number"),
]


@pytest.mark.parametrize(("options", "rows", "message"), WRONG, ids=lambda each: str(each)[:30])
def test_wrong_columns_are_one_sentence(options: Any, rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as told:
        TextFeatures(**options).fit(rows)
    assert "\n" not in str(told.value)


def test_columns_that_are_missing_later_are_one_sentence() -> None:
    features = fitted()
    for rows, message in (
        ({"title": ["a"], "year": [1]}, r"no column \['artist'\]"),
        ([("a", "b", 1)], "'artist' has a name, but rows are tuples"),
        ({"title": ["a"], "artist": ["b"], "year": ["?"]}, "row 0, column 'year'"),
    ):
        with pytest.raises(InputError, match=message):
            features.transform(rows)
    scanned = TextFeatures().scan([["a", "b"]])
    with pytest.raises(InputError, match="scanned without the columns"):
        features.transform(scanned)


def test_options_changed_after_fit_change_nothing() -> None:
    features = fitted()
    expected = features.transform(ROWS).toarray()
    features.set_params(categories=None, numbers=None)
    np.testing.assert_array_equal(features.transform(ROWS).toarray(), expected)
