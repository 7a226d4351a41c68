"""docs/reference/options.md: the page of all options is what the estimators declare now."""

from __future__ import annotations

import runpy

from places import REPOSITORY

from rmls import models


def test_the_page_of_options_is_current():
    page = runpy.run_path(str(REPOSITORY / "docs" / "make_options.py"))
    written = page["PAGE"].read_text("utf-8")
    assert written == page["make_page"](), "run python docs/make_options.py"
    assert all(f"### {name}\n" in written for name in models.__all__)
