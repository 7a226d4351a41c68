"""The program itself: help, version, start-up, errors, warnings."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest
from patience import patience, slowness

import rmls
from rmls.core.errors import RmlsWarning

HEAVY = ("numba", "sklearn", "scipy", "numpy", "matplotlib", "pandas")
COMMANDS = (
    *("demo", "stats", "train", "methods", "predict", "evaluate"),
    *("check", "convert", "resample", "bench", "datasets"),
)
PROBE = """
import resource, sys
from rmls.cli import main
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
usage = resource.getrusage(resource.RUSAGE_SELF)
print(*(name for name in {heavy!r} if name in sys.modules), file=sys.stderr)
print(usage.ru_utime + usage.ru_stime, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["train", "--help"], ["methods", "--help"], ["resample", "--help"], ["--version"]],
    ids=" ".join,
)
def test_help_imports_nothing_heavy_and_takes_less_than_a_second(arguments):
    pytest.importorskip("resource")
    command = [sys.executable, "-c", PROBE.format(heavy=HEAVY), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported, seconds = done.stderr.splitlines()
    assert imported == ""
    assert float(seconds) < 1.0 * slowness()


def test_help_names_every_command(run):
    for arguments in (["--help"], ["-h"], []):
        result = run(*arguments)
        assert result.exit_code == 0
        assert all(command in result.stdout for command in COMMANDS)


def test_help_is_a_command_too(run):
    assert run("help").stdout == run("--help").stdout
    assert run("help", "predict").stdout == run("predict", "--help").stdout
    assert run("help", "bench", "run").stdout == run("bench", "run", "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"rmls {rmls.__version__}\n"


def test_wrong_usage_is_one_line_that_points_to_the_help(fails):
    assert "--help" in fails("train", "--no-such-option")
    assert "'trian'" in fails("trian")
    assert "--components" in fails("train", "x.npz", "-o", "m", "--components", "0")
    assert "output" in fails("train", "x.npz")


def test_a_missing_file_is_one_line(fails, tmp_path):
    assert "there is no such file" in fails("stats", tmp_path / "none.npz")
    assert "neither a file nor a known data set" in fails("stats", "none")


def test_debug_adds_the_traceback(run, monkeypatch, tmp_path):
    monkeypatch.setenv("RMLS_DEBUG", "1")
    result = run("stats", tmp_path / "none.npz")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("rmls: error: ")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "x.npz"), 2, "x.npz: Permission denied"),
        (MemoryError("Unable to allocate"), 2, "not enough memory"),
        (ZeroDivisionError("division by zero"), 1, "RMLS_DEBUG=1"),
    ],
)
def test_every_exception_is_one_line(fails, monkeypatch, error, code, text):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("rmls.cli.shared.data.load_data", broken)
    assert text in fails("stats", "x.npz", code=code)


def test_a_warning_is_one_line_on_stderr(run, monkeypatch, data):
    def warn(*_, **__):
        warnings.warn("a strange\nfile.", RmlsWarning, stacklevel=1)
        return data

    monkeypatch.setattr("rmls.cli.shared.data.load_data", warn)
    result = run("stats", "x.npz", "--json")
    assert result.exit_code == 0
    assert result.stderr == "rmls: warning: a strange file.\n"


def test_a_reader_that_ends_early_gives_no_traceback(spawn, data_file):
    process = spawn("stats", data_file, "--json")
    process.stdout.close()
    _, stderr = process.communicate(timeout=patience(3))
    assert process.returncode == 141
    assert stderr == ""


def open_when_read(pipe, process):
    """Open a pipe for writing as soon as the process reads it, unless the process ends."""
    while process.poll() is None:
        # Without a reader there is nothing to open yet.
        with contextlib.suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.01)
    raise AssertionError(process.communicate()[1])


def test_ctrl_c_while_loading_ends_with_130(spawn, tmp_path):
    pipe = tmp_path / "slow.txt"
    os.mkfifo(pipe)
    process = spawn("convert", pipe, tmp_path / "out.npz", "--from", "xmc")
    writing_end = open_when_read(pipe, process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=patience(3))
    os.close(writing_end)
    assert process.returncode == 130
    assert stderr == "rmls: error: interrupted.\n"
