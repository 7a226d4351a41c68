"""Small sets would be learned on one shard: here they are cut into as many as there are workers."""

from __future__ import annotations

import pytest

from rmls.models.ranker.large import spread


@pytest.fixture(autouse=True)
def every_worker(monkeypatch):
    monkeypatch.setattr(spread, "paying_shards", lambda touches, n_workers: n_workers)
