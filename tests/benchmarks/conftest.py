"""The scripts of the comparison with other libraries, as modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from places import REPOSITORY

FOLDER = REPOSITORY / "benchmarks" / "peers"


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest) -> Iterator[SimpleNamespace]:
    """The scripts that a test file names in ``PARTS``; they leave no trace in the interpreter."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    parts = request.module.PARTS
    yield SimpleNamespace(**{name.split(".")[-1]: importlib.import_module(name) for name in parts})
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
