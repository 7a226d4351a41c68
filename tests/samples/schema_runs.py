"""Schemathesis, where it is installed: requests made from the OpenAPI document of a service."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from places import REPOSITORY

HOOKS = REPOSITORY / "tests" / "tools" / "schema_hooks.py"
# What is too large is refused with 413, which schemathesis does not expect by itself.
CONFIG = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]
"""


def find_program() -> str | None:
    """Return schemathesis, beside this Python or on the path, or where a variable says it is."""
    beside = str(Path(sys.executable).parent)
    given = os.environ.get("SCHEMATHESIS")
    return given or shutil.which("schemathesis", path=beside) or shutil.which("schemathesis")


def run_schema(
    program: str, port: int, folder: Path, n_examples: int, *more: str
) -> subprocess.CompletedProcess[str]:
    """Ask a service for everything that its document tells of, with all checks."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (folder / "schemathesis.toml").write_text(CONFIG)
    address = f"http://127.0.0.1:{port}/openapi.json"
    options = ["--checks=all", f"--max-examples={n_examples}", "--no-color", *more]
    return subprocess.run(
        [program, "run", address, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**environment, "SCHEMATHESIS_HOOKS": str(HOOKS)},
    )
