"""Options: what they accept, how a text is read, how they are put into words."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from rmls.core.documented import read_parameters, read_source_doc
from rmls.core.errors import InputError
from rmls.core.options import (
    anything,
    choice,
    flag,
    integer,
    number,
    positive,
    seed,
    share,
    whole,
)

NAN, INF = float("nan"), float("inf")
KINDS = {
    "whole": (
        whole(1),
        [1, np.int64(5), 2**63 - 1],
        [0, True, 1.0, "1", None, "auto", 2**63, 10**5000],
    ),
    "number": (number(), [0, 0.5, np.float32(2)], [-1, NAN, INF, -INF, True, "1", None]),
    "positive": (positive(), [1e-300, 1e300], [0, -1, NAN, INF, 10**400, 10**5000]),
    "share": (share(), [0.5], [0, 1, -1, NAN, "0.5"]),
    "share with ends": (share(ends=True), [0, 1, 0.5], [-0.1, 1.1, NAN]),
    "choice": (choice("a", "b"), ["a", "b"], ["c", "A", 1, None, ["a"]]),
    "flag": (flag(), [True, False, np.True_], [0, 1, "True", None]),
    "integer": (integer(), [0, -3, True], [0.5, "1", None]),
    "seed": (seed(), [0, 7, None, np.random.RandomState(0), np.random], [-1, 0.5, "x"]),
    "or auto": (whole(1).or_auto(), [1, "auto"], [0, None, "Auto"]),
    "or none": (whole(1).or_none(), [1, None], [0, "auto", "none"]),
    "anything": (anything("a rule"), [1, "x", None], []),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_accepts_its_kind_and_refuses_the_rest_in_a_sentence(kind):
    option, good, bad = KINDS[kind]
    for value in good:
        option.check("x", value)
    for value in bad:
        with pytest.raises(InputError, match=r"^x must (be|lie) .*; got .*\.$"):
            option.check("x", value)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (whole(1).or_auto(), "a whole number of at least 1 or 'auto'"),
        (flag().or_auto(), "True or False, or 'auto'"),
        (choice("a", "b").or_none(), "one of 'a', 'b', or None"),
        (share(), "between 0 and 1"),
    ],
)
def test_words_name_all_that_is_allowed(option, words):
    assert option.words == words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("+3", 3),
        ("-2", -2),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("auto", "auto"),
        ("nan", "nan"),
        ("none", "none"),
        ("", ""),
        ("[1, 2]", [1, 2]),
        ('{"tax": 2}', {"tax": 2}),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_text_is_read_as_what_it_looks_like(text, value):
    found = anything("a value").read(text)
    assert found == value
    assert type(found) is type(value)


def test_names_are_never_numbers_and_none_is_none_where_it_is_allowed():
    assert choice("1", "true").read("1") == "1"
    assert choice("1", "true").read("true") == "true"
    assert whole(1).or_none().read("None") is None
    assert choice("none", "l2").read("none") == "none"


def test_a_long_value_is_cut_in_the_sentence():
    with pytest.raises(InputError) as caught:
        whole(1).check("x", list(range(1000)))
    assert len(str(caught.value)) < 200


DOC = """Fit.

Parameters
----------
loss : {"a", "b"} or None, default="a"
    First sentence; see `rmls`. Second
    line.
low, high : float, default=0.5
    Bounds.
rest
    As for `KNN`.

Notes
-----
other : text
"""


def test_a_docstring_says_kind_default_choices_and_text():
    found = read_parameters(DOC)
    assert list(found) == ["loss", "low", "high", "rest"]
    loss = found["loss"]
    assert (loss.choices, loss.optional, loss.default) == (("a", "b"), True, '"a"')
    assert loss.text == "First sentence; see `rmls`. Second line."
    assert loss.summary == "First sentence."
    assert found["low"] == found["high"] == ("float", "0.5", "Bounds.")
    assert found["rest"] == ("", None, "As for `KNN`.")
    assert read_parameters("No parameters.") == {}


def test_the_docstring_in_the_source_is_that_of_the_class():
    from rmls import RMLS

    source = read_parameters(read_source_doc("rmls.models.rmls.rmls", "RMLS"))
    assert source == read_parameters(inspect.getdoc(RMLS) or "")
    assert read_source_doc("rmls.models.rmls.rmls", "Other") == ""
    assert read_source_doc("rmls.no_such_module", "RMLS") == ""
