from __future__ import annotations

import pytest

from rmls.metrics import METRICS, Metric


@pytest.fixture(params=list(METRICS))
def metric(request: pytest.FixtureRequest) -> Metric:
    """Every metric, at 3 where it takes a k."""
    found = METRICS[request.param]
    return found.at(3) if found.takes_k else found
