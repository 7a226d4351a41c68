"""Small sets would be learned on one shard, in one part: here every worker has its share."""

from __future__ import annotations

import pytest

from rmls.cluster import labels
from rmls.models.ranker.large import spread


@pytest.fixture(autouse=True)
def every_worker(monkeypatch):
    monkeypatch.setattr(spread, "paying_shards", lambda touches, n_workers: n_workers)
    monkeypatch.setattr(spread, "WORTH_ROWS", 1)
    monkeypatch.setattr(labels, "WORTH_PAIRS", 1)
