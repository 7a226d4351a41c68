"""Where the tests marked `data` find the real data sets, and how long examples may take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]

# Several files named conftest cannot all be imported to look for doctests.
collect_ignore_glob = ["*conftest.py"]

# A busy machine is no reason to fail.
settings.register_profile("rmls", deadline=None)
settings.load_profile("rmls")


def real_data_folder() -> Path:
    return Path(os.environ.get("RMLS_DATA") or REPOSITORY.parent / "shared" / "data")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = real_data_folder()
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there; set RMLS_DATA")
    return folder


@pytest.fixture(autouse=True)
def real_data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `rmls.datasets.load` find the folder in tests marked `data`; skip them without it."""
    if request.node.get_closest_marker("data"):
        monkeypatch.setenv("RMLS_DATA", str(request.getfixturevalue("data_dir")))
