"""The pages of the Python interface list all that is public, with a description and an example."""

from __future__ import annotations

import importlib
import re

import pytest
from places import REPOSITORY

PAGES = sorted((REPOSITORY / "docs" / "reference").glob("api*.md"))
PACKAGES = ("datasets", "decide", "features", "imbalance", "metrics", "models", "review", "serve")
# Lists of names, and helpers of the program: their users read the source.
UNLISTED = {"MODES", "RESAMPLERS", "METHODS", "METRICS", "GROUP_NAMES", "Format", "shown_names"}
# What other functions return, take or set: the examples are theirs.
WITHOUT_EXAMPLE = {
    "Cardinality",
    "Finding",
    "LabelReport",
    "ModelComparison",
    "Normalizer",
    "ReliabilityCurve",
    "Review",
    "Rule",
    "Scorer",
    "Settings",
    "TableCheck",
    "choose_f_sets",
    "fit_macro_f1",
    "fit_micro_f1",
    "load_once",
    "make_app",
}


def read_page() -> list[tuple[str, str]]:
    """Return the modules and names that the pages list."""
    listed, module = [], ""
    for line in (line for page in PAGES for line in page.read_text("utf-8").splitlines()):
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            listed.append((module, line.strip()))
    return listed


def test_every_public_name_is_listed_once() -> None:
    names = [name for _, name in read_page()]
    public = {*importlib.import_module("rmls").__all__}
    for package in PACKAGES:
        public |= {*importlib.import_module(f"rmls.{package}").__all__}
    assert public - UNLISTED <= set(names)
    assert len(set(read_page())) == len(names)


def test_what_a_page_lists_it_describes() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        described = re.findall(r"^\.\. auto(?:class|function):: (\w+)$", text, re.M)
        listed = re.findall(r"^   (\w+)$", text, re.M)
        assert described == listed or ":toctree: api" in text, page.name


@pytest.mark.parametrize(("module", "name"), read_page())
def test_what_is_listed_has_a_description_and_an_example(module: str, name: str) -> None:
    found = getattr(importlib.import_module(module), name)
    assert found.__doc__
    assert found.__doc__.strip()
    if name not in WITHOUT_EXAMPLE:
        assert ">>>" in found.__doc__
