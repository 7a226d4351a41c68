"""Without a browser's driver and without schemathesis, tests are skipped with a reason."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import REPOSITORY

MISSING = """
import sys

sys.modules.update(dict.fromkeys(("playwright", "playwright.sync_api", "schemathesis")))
import schema_runs

schema_runs.find_program = lambda: None
"""
PLACES = ("tests/tools", "tests/serve/page", "tests/serve/test_schema.py")


@pytest.mark.slow
def test_what_needs_missing_tools_is_skipped_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "missing_tools.py").write_text(MISSING)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = [sys.executable, "-m", "pytest", "-p", "missing_tools", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-rs", "-k", "page or document", *PLACES],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([f"{REPOSITORY}/tests/samples", path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    for name, reason in (
        ("test_page.py", "playwright is not installed"),
        ("test_page_access.py", "playwright is not installed"),
        ("test_page_views.py", "playwright is not installed"),
        ("test_schema.py", "schemathesis is not installed"),
    ):
        assert any(name in line and line.endswith(reason) for line in skipped), done.stdout
