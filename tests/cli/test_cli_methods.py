"""`rmls methods`: every estimator with its options."""

from __future__ import annotations

import json

import pytest

from rmls import models
from rmls.cli.shared.options import describe


def test_every_estimator_is_listed_with_one_line(run):
    text = run("methods").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    words = text.split()
    assert all(name in words for name in models.__all__)
    listed = json.loads(run("methods", "--json").stdout)
    assert sorted(each["name"] for each in listed) == sorted(models.__all__)
    assert all(each["summary"].endswith(".") and each["family"] for each in listed)


@pytest.mark.parametrize("name", models.__all__)
def test_the_options_of_an_estimator_are_those_it_declares(run, name):
    estimator = getattr(models, name)
    found = json.loads(run("methods", name.lower(), "--json").stdout)
    assert found["name"] == name
    options = {each["name"]: each for each in found["options"]}
    declared = estimator.declared_options()
    assert set(options) == set(declared) == set(estimator().get_params(deep=False))
    for option, value in estimator().get_params(deep=False).items():
        assert options[option]["default"] == value
        assert options[option]["kind"] == declared[option].words
        assert options[option]["choices"] == list(declared[option].choices)
        assert options[option]["text"]


def test_the_table_of_an_estimator_fits_a_terminal(run):
    text = run("methods", "RMLSRanker").stdout
    assert max(map(len, text.splitlines())) <= 80
    lines = [line.split() for line in text.splitlines() if line]
    for each in describe(models.RMLSRanker):
        assert any(line[:2] == [each.name, str(each.default)] for line in lines)
    assert "one of 'auto', 'float32', 'int16', 'int8'" in text
    assert "Weights smaller than this are dropped." in text


def test_the_table_of_rmls_says_what_paper_sets(run):
    assert "With --paper: negatives_per_positive=5, " in run("methods", "RMLS").stdout


def test_a_text_that_refers_to_another_estimator_is_replaced_by_it():
    ridge = {name: describe(getattr(models, name))[1] for name in ("PLST", "CPLST")}
    assert ridge["CPLST"].name == "ridge"
    assert ridge["CPLST"].text == ridge["PLST"].text
    texts = [each.text for name in models.__all__ for each in describe(getattr(models, name))]
    assert not [text for text in texts if text.startswith("As for")]


def test_an_unknown_estimator_is_one_sentence_with_a_suggestion(fails):
    assert fails("methods", "cocao").endswith("; did you mean COCOA?")
    assert fails("methods", "x").startswith("unknown method 'x'; known are ")
