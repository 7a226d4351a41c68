"""What is said of the package in several files is the same everywhere."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from places import REPOSITORY

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
META = PROJECT["project"]
RECIPE = (REPOSITORY / "recipe" / "meta.yaml").read_text("utf-8")
WORKFLOW = (REPOSITORY / ".github" / "workflows" / "test.yml").read_text("utf-8")
PAGE = (REPOSITORY / "docs" / "versions.md").read_text("utf-8")
PYTHONS = [
    entry.rpartition(" ")[2]
    for entry in META["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", entry)
]


def plain(wanted: str) -> str:
    """Return a requirement without its marker and blanks."""
    return wanted.partition(";")[0].replace(" ", "")


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    run = RECIPE[RECIPE.index("  run:") : RECIPE.index("test:")]
    asked = {line.replace(" ", "") for line in re.findall(r"^    - (.+)$", run, re.M)}
    assert asked == {f"python{META['requires-python']}", *map(plain, META["dependencies"])}
    (setuptools,) = PROJECT["build-system"]["requires"]
    assert setuptools in RECIPE.replace(" ", "")


def test_every_python_that_is_promised_is_tested() -> None:
    assert META["requires-python"] == f">={PYTHONS[0]}"
    listed = re.findall(r"^        python: \[(.+)\]$", WORKFLOW, re.M)
    assert len(listed) == 2
    for matrix in listed:
        assert re.findall(r'"([0-9.]+)"', matrix) == PYTHONS
    for version in PYTHONS:
        assert re.search(rf"^\|[^|]*\b{re.escape(version)}\b", PAGE, re.M), version


def test_the_lowest_numba_is_the_one_of_the_page() -> None:
    (numba,) = [each for each in META["dependencies"] if each.startswith("numba>=")]
    oldest = re.search(r"^\| 3\.10, [^|]*\| ([0-9.]+) or newer", PAGE, re.M)
    assert oldest is not None
    assert numba == f"numba>={oldest[1]}"


def test_the_citation_names_the_paper_and_this_version() -> None:
    citation = (REPOSITORY / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {META['version']}\n" in citation
    assert f"\nlicense: {META['license']}\n" in citation
    assert "Towards Label Imbalance in Multi-label Classification with Many Labels" in citation
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    assert yaml.safe_load(citation)["preferred-citation"]["type"] == "article"


def test_extras_of_extras_exist() -> None:
    extras = META["optional-dependencies"]
    for wanted in extras.values():
        for inside in re.findall(r"rmls\[([^\]]+)\]", " ".join(wanted)):
            assert set(inside.split(",")) <= set(extras)
    # Whoever runs the tests has what they import; whoever uses the package has none of it.
    assert not any(each.startswith("pytest") for each in META["dependencies"])


def test_addresses_agree() -> None:
    home = META["urls"]["Homepage"]
    assert all(address.startswith(home) for address in META["urls"].values())
    assert f"home: {home}\n" in RECIPE
