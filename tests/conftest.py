"""Where the tests marked `data` find the real data sets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


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
