"""Fixtures of the command-line tests: a small data set, a model of it, and ways to run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cli_samples import SMALL_RMLS, invoke
from text_samples import write_csv

from rmls.datasets import Dataset, make_longtail, save


@pytest.fixture(scope="session")
def data() -> Dataset:
    made = make_longtail(300, 120, 30, random_state=1)
    return replace(made, label_names=[f"topic {label}" for label in range(30)])


@pytest.fixture(scope="session")
def data_file(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "small.npz"
    save(data, path)
    return path


@pytest.fixture(scope="session")
def model_dir(data_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    result = invoke("train", data_file, "-o", path, *SMALL_RMLS, "--quiet")
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="session")
def text_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    source = write_csv(folder / "tickets.csv")
    given = ("--method", "RMLSRanker", "--quiet", "--jobs", "1")
    result = invoke("train", source, "-o", folder / "m", *given)
    assert result.exit_code == 0, result.stderr
    return folder / "m"


@pytest.fixture(autouse=True)
def no_data_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's data sets and settings out of the tests."""
    monkeypatch.delenv("RMLS_DATA", raising=False)
    monkeypatch.delenv("RMLS_DEBUG", raising=False)
    monkeypatch.setenv("RMLS_CACHE", str(tmp_path / "no cache"))


@pytest.fixture
def never_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make loading data an error that no test expects: checks must come before it."""
    monkeypatch.setattr("rmls.cli.train.run.load_data", None)


@pytest.fixture
def run() -> Callable[..., object]:
    """Run the command line in this process; the result has exit_code, stdout and stderr."""
    return invoke


@pytest.fixture
def fails() -> Callable[..., str]:
    """Run a command that must fail with one line and code 2; return the sentence."""

    def check(*arguments: object, code: int = 2) -> str:
        result = invoke(*arguments)
        assert result.exit_code == code, result.output
        lines = [line for line in result.stderr.splitlines() if "warning:" not in line]
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("rmls: error: ")
        assert result.stdout == ""
        return lines[0].removeprefix("rmls: error: ")

    return check


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `python -m rmls` as a process of its own, which ends with the test."""
    if os.name == "nt":
        pytest.skip("Windows has no signals that a parent can send")
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rmls", *map(str, arguments)]
        process = subprocess.Popen(
            command,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_hear_ctrl_c,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _hear_ctrl_c() -> None:
    """A shell makes its background jobs deaf to Ctrl-C, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
