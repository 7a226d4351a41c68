"""A virtual environment of its own for every peer, made once and then reused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from catalogue import Recipe

INTERPRETERS = ("python3.12", "python3.11", "python3.10", "python3.9", "python3.13")
PIP_SECONDS = 1200
RECORD = "installed.json"
# What pip says last, which is not what went wrong.
EMPTY_WORDS = (
    "note:",
    "hint:",
    "WARNING",
    "error: legacy-install-failure",
    "error: metadata-generation-failed",
    "error: subprocess-exited-with-error",
)


@dataclass(frozen=True)
class Environment:
    """The interpreter of an environment, or the reason why there is none."""

    python: str = ""
    failure: str = ""


def last_error_line(text: str) -> str:
    """Return the line of a program's output that says best what went wrong."""
    lines = [line.strip(" \t│╰─>×") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(EMPTY_WORDS)]
    telling = (r"^[\w.]*(Error|Exception)\b", r"^(ERROR|error|fatal error)\b.*:", r".")
    for pattern in telling:
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return found[-1][:300]
    return "no message"


def run_pip(python: str, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Install with the pip of an environment."""
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PIP_SECONDS,
        check=False,
    )


def run_venv(base: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Make an empty environment with an interpreter."""
    command = [base, "-m", "venv", str(home)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def interpreters(given: str | None) -> list[str]:
    """Return the interpreters to try: the given one alone, or this one and others on the path."""
    if given:
        return [given]
    found = [sys.executable]
    for name in INTERPRETERS:
        path = shutil.which(name)
        if path and _runs(path) and not _same_version(path):
            found.append(path)
    return found


def _runs(python: str) -> bool:
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0


def _same_version(python: str) -> bool:
    return Path(python).name == f"python{sys.version_info[0]}.{sys.version_info[1]}"


def prepare(
    name: str, recipes: tuple[Recipe, ...], folder: Path, given: str | None = None
) -> Environment:
    """Return the environment of a peer, made where it is not there yet.

    Every recipe is tried on every interpreter until one works. Where none does, the reason is
    that of the first attempt, the one meant to work; all output stays in ``<name>.log``.
    """
    home = folder / name
    python = str(home / "bin" / "python")
    if _is_ready(home, recipes):
        return Environment(python)
    folder.mkdir(parents=True, exist_ok=True)
    log, reasons = folder / f"{name}.log", []
    log.write_text("")
    for base in interpreters(given):
        for recipe in recipes:
            reason = _make(home, base, recipe, log)
            if not reason:
                (home / RECORD).write_text(json.dumps(asdict(recipe)))
                return Environment(python)
            reasons.append(reason)
            shutil.rmtree(home, ignore_errors=True)
    return Environment(failure=reasons[0])


def _is_ready(home: Path, recipes: tuple[Recipe, ...]) -> bool:
    """Tell whether an environment is complete and made by a recipe that still stands."""
    record = home / RECORD
    if not record.is_file():
        return False
    return record.read_text() in [json.dumps(asdict(recipe)) for recipe in recipes]


def _make(home: Path, base: str, recipe: Recipe, log: Path) -> str:
    """Make an environment; return why that failed, or an empty string."""
    shutil.rmtree(home, ignore_errors=True)
    made = run_venv(base, home)
    if made.returncode:
        return last_error_line(made.stdout + made.stderr)
    for step in recipe.steps:
        try:
            done = run_pip(str(home / "bin" / "python"), step)
        except subprocess.TimeoutExpired:
            return f"pip took longer than {PIP_SECONDS} s for {' '.join(step)}"
        with log.open("a") as file:
            file.write(f"$ {base}: pip install {' '.join(step)}\n{done.stdout}\n")
        if done.returncode:
            return last_error_line(done.stdout)
    return ""
