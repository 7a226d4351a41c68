"""What docs/live-labels.md shows is what happens."""

from __future__ import annotations

import doctest

from places import REPOSITORY


def test_the_examples_of_the_page_run() -> None:
    page = REPOSITORY / "docs" / "live-labels.md"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert found.attempted >= 8
    assert found.failed == 0
