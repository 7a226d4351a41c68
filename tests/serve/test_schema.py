"""Requests made from the OpenAPI document, by schemathesis where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serve_samples import running

OURS = r"^/(v1/(suggest|explain|labels|feedback|models|review)|healthz|readyz|metrics)"
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "columns"])
def test_answers_are_those_of_the_document(
    folder: Path, table_folder: Path, tmp_path: Path, kind: str
) -> None:
    program = find_program()
    if program is None:
        pytest.skip("schemathesis is not installed")
    model = folder if kind == "plain" else table_folder
    n_examples = os.environ.get("RMLS_SCHEMA_EXAMPLES", "50")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    with running(str(model), "--feedback", str(tmp_path / "feedback.jsonl"), "-q") as (_, port):
        found = subprocess.run(
            [
                program,
                "run",
                f"http://127.0.0.1:{port}/openapi.json",
                "--checks=all",
                f"--max-examples={n_examples}",
                f"--include-path-regex={OURS}",
                "--no-color",
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
    assert found.returncode == 0, found.stdout[-5000:]
