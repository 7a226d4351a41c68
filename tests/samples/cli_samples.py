"""Options of the command line that several tests train with, and a runner of commands."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from typer.main import get_command
from typer.testing import CliRunner

from rmls.cli.app import app

SMALL = ("--components", "8", "--passes", "3", "--jobs", "1")
# The method whose passes can be watched, interrupted and resumed.
SMALL_RMLS = ("--method", "RMLS", *SMALL)
RESUME = ("--method", "RMLS", "--resume")
# As in the program, built once in a process: typer's runner does so for every use, which takes
# longer than most commands.
COMMAND: Any = get_command(app)


class Result(NamedTuple):
    """What a command left: like the result of typer's runner."""

    exit_code: int
    stdout: str
    stderr: str
    exception: BaseException | None

    @property
    def output(self) -> str:
        """All that was said."""
        return self.stdout + self.stderr


def invoke(*arguments: object, given: bytes | None = None) -> Result:
    """Run a command in this process, with ``given`` as its standard input."""
    code, caught = 0, None
    with make_runner().isolation(input=given) as (stdout, stderr, *_):
        try:
            COMMAND.main([*map(str, arguments)], prog_name="rmls")
        except SystemExit as end:
            code, caught = int(end.code or 0), end if end.code else None
        except Exception as error:
            code, caught = 1, error
        sys.stdout.flush()
        sys.stderr.flush()
        said = [stream.getvalue().decode().replace("\r\n", "\n") for stream in (stdout, stderr)]
    return Result(code, *said, caught)


def make_runner() -> Any:
    """Return a runner that keeps stdout and stderr apart, as click does by itself from 8.2 on."""
    try:
        return CliRunner(mix_stderr=False)  # type: ignore[call-arg]
    except TypeError:
        return CliRunner()
