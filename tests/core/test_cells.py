"""Cells of tables as numbers and categories: what is missing, what is refused and where."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmls.core.cells import read_category, read_numbers
from rmls.core.errors import InputError


def read_categories(cells: list[Any], separator: str | None = None) -> list[list[str]]:
    return [read_category(cell, "medium", separator=separator) for cell in cells]


MISSING = [None, math.nan, np.float32("nan"), "", "  ", "NA", "n/a", "null", pd.NA, pd.NaT]


def test_numbers_come_in_every_form() -> None:
    cells = [3, 2.5, np.float32(0.5), np.int8(4), Decimal("1.25"), True, " -7e2 ", "12"]
    assert read_numbers(cells, "price") == [3.0, 2.5, 0.5, 4.0, 1.25, 1.0, -700.0, 12.0]


@pytest.mark.parametrize("cell", MISSING, ids=repr)
def test_a_missing_number_is_nan(cell: Any) -> None:
    assert math.isnan(read_numbers([cell], "price")[0])


@pytest.mark.parametrize("cell", ["1,200", "cheap", [1], {"a": 1}, datetime.date(2020, 1, 1)])
def test_what_is_no_number_is_named_by_row_and_column(cell: Any) -> None:
    with pytest.raises(InputError, match="row 8, column 'price': a number is needed; got") as told:
        read_numbers([1, cell], "price", first_row=7)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("cell", [math.inf, "-inf", "1e999", 10**400, np.float32("inf")], ids=str)
def test_infinite_numbers_are_refused(cell: Any) -> None:
    with pytest.raises(InputError, match="row 0, column 2: a finite number is needed"):
        read_numbers([cell], 2)


def test_categories_come_in_every_form() -> None:
    cells = [
        " oil  on\tcanvas ", 3, 3.0, np.int64(3), 2.5, True, Decimal("1.5"),
        datetime.date(2020, 1, 2), ["a", "b", "a", None, ""], ("a",), {"b", "a"}, np.array(["x"]),
    ]  # fmt: skip
    assert read_categories(cells) == [
        ["oil on canvas"], ["3"], ["3"], ["3"], ["2.5"], ["True"], ["1.5"],
        ["2020-01-02"], ["a", "b"], ["a"], ["a", "b"], ["x"],
    ]  # fmt: skip


def test_a_separator_parts_texts_and_nothing_else() -> None:
    cells = ["oil|ink| ", "ink", ["oil|ink"], "", None, math.nan, pd.NA]
    expected = [["oil", "ink"], ["ink"], ["oil|ink"], [], [], [], []]
    assert read_categories(cells, "|") == expected
    assert read_categories(["oil|ink"]) == [["oil|ink"]]


@pytest.mark.parametrize("cell", [{"a": 1}, [["a"]], [{"a": 1}], b"oil", object()])
def test_what_is_no_category_is_named_by_row_and_column(cell: Any) -> None:
    with pytest.raises(InputError, match="row 1, column 'medium': a category is a name"):
        read_category(cell, "medium", row=1)
