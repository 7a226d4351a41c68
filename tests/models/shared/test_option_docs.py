"""Every constructor parameter is declared once, and the docstring says the same."""

from __future__ import annotations

import ast
import inspect

import pytest

from rmls import models
from rmls.core.documented import read_parameters
from rmls.core.options import describe_options


def parameters(name):
    return inspect.signature(getattr(models, name)).parameters


def documented(name):
    return read_parameters(inspect.getdoc(getattr(models, name)))


@pytest.mark.parametrize("name", models.__all__)
def test_every_parameter_is_declared_and_described(name):
    estimator = getattr(models, name)
    assert set(estimator.declared_options()) == set(parameters(name))
    described = describe_options(estimator, estimator.declared_options())
    assert [each.name for each in described] == list(parameters(name))
    assert [each.name for each in described if not each.text] == []
    assert set(documented(name)) == set(parameters(name))


@pytest.mark.parametrize("name", models.__all__)
def test_every_default_is_of_the_declared_kind(name):
    options = getattr(models, name).declared_options()
    for parameter in parameters(name).values():
        options[parameter.name].check(parameter.name, parameter.default)


@pytest.mark.parametrize("name", models.__all__)
def test_choices_in_braces_are_the_declared_ones(name):
    options = getattr(models, name).declared_options()
    for parameter, entry in documented(name).items():
        option = options[parameter]
        if entry.choices and option.choices:
            assert set(entry.choices) == set(option.choices), parameter
        if entry.kind and option.choices:
            assert entry.choices, parameter


@pytest.mark.parametrize("name", models.__all__)
def test_auto_and_none_are_documented_where_they_are_declared(name):
    options = getattr(models, name).declared_options()
    for parameter, entry in documented(name).items():
        if entry.kind:
            assert ("None" in entry.kind) == options[parameter].optional, parameter
            taken = options[parameter].auto or "auto" in options[parameter].choices
            assert ('"auto"' in entry.kind) == taken, parameter


@pytest.mark.parametrize("name", models.__all__)
def test_defaults_are_those_of_the_signature(name):
    for parameter, entry in documented(name).items():
        if entry.kind:
            assert entry.default is not None, parameter
        if entry.default is not None:
            stated = ast.literal_eval(entry.default)
            assert stated == parameters(name)[parameter].default, parameter
