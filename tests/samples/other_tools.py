"""Packages of others that are installed here or in an interpreter of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from places import REPOSITORY

# Interpreters, separated as in PATH.
VARIABLE = "RMLS_TOOLS_PYTHON"


@cache
def find_python(module: str) -> str | None:
    """Return an interpreter that has a module, None where there is none."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    peer = REPOSITORY / "out" / "peers" / "annif" / "bin" / "python"
    for python in (*named, sys.executable, str(peer)):
        if python and Path(python).exists():
            found = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
            if found.returncode == 0:
                return python
    return None


def need_python(module: str, package: str) -> str:
    """Return an interpreter that has a module; skip the test where there is none."""
    python = find_python(module)
    if python is None:
        pytest.skip(f"{package} is not installed; name an interpreter that has it by {VARIABLE}")
    return python
