"""A service with known answers, and a browser in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser import start_browser, watched_page
from fake_api import Behaviour, make_fake, serving


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with start_browser() as found:
        yield found


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour()


@pytest.fixture
def address(behaviour: Behaviour) -> Iterator[str]:
    with serving(make_fake(behaviour)) as found:
        yield found


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    with watched_page(browser, address, viewport={"width": 1200, "height": 900}) as found:
        yield found
