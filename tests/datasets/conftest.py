"""A registry without the user's files, for the data-set tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folders(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """Point RMLS_DATA and RMLS_CACHE at empty folders; return both."""
    mine, cache = tmp_path / "mine", tmp_path / "cache"
    mine.mkdir()
    monkeypatch.setenv("RMLS_DATA", str(mine))
    monkeypatch.setenv("RMLS_CACHE", str(cache))
    return mine, cache
