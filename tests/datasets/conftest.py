"""Fixtures of the data-set tests: the real data folder, and a registry without the user's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    default = REPOSITORY.parent / "shared" / "data"
    folder = Path(os.environ.get("RMLS_DATA") or default)
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there; set RMLS_DATA")
    return folder


@pytest.fixture
def folders(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """Point RMLS_DATA and RMLS_CACHE at empty folders; return both."""
    mine, cache = tmp_path / "mine", tmp_path / "cache"
    mine.mkdir()
    monkeypatch.setenv("RMLS_DATA", str(mine))
    monkeypatch.setenv("RMLS_CACHE", str(cache))
    return mine, cache
