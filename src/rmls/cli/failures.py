"""Whatever goes wrong ends as one line on stderr and an exit code, not as a traceback."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from rmls.core.errors import RmlsError, RmlsWarning

EXIT_INTERNAL = 1
EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
DEBUG = "RMLS_DEBUG"


class PlainFailures(TyperGroup):
    """A group of commands whose errors and warnings are single lines."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Parse and run, then exit; the code is 2 for errors and 130 for Ctrl-C."""
        kwargs["standalone_mode"] = False
        with plain_failures():
            code = super().main(*args, **kwargs)
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        # Typer ends a broken pipe and Ctrl-C in its own way further up.
        with plain_failures(), plain_warnings():
            result = super().invoke(ctx)
            sys.stdout.flush()
        return result


@contextmanager
def plain_failures() -> Iterator[None]:
    """Turn an exception into one line and an exit."""
    try:
        yield
    except typer.Exit:
        raise
    except (KeyboardInterrupt, typer.Abort):
        _show_traceback()
        _fail("interrupted.", EXIT_INTERRUPTED)
    except BrokenPipeError:
        _show_traceback()
        # The interpreter flushes stdout once more at its end.
        _discard_stdout()
        raise SystemExit(EXIT_BROKEN_PIPE) from None
    except Exception as error:
        _show_traceback()
        _fail(*describe_failure(error))


@contextmanager
def plain_warnings() -> Iterator[list[Warning]]:
    """Print warnings as single lines, each once; yields the list of those seen so far."""
    seen: list[Warning] = []

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        warning = message if isinstance(message, Warning) else category(message)
        seen.append(warning)
        print(f"rmls: warning: {_one_line(str(warning))}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RmlsWarning)
        warnings.showwarning = show
        yield seen


def describe_failure(error: Exception) -> tuple[str, int]:
    """Return one sentence for an exception, and the exit code.

    Examples
    --------
    >>> describe_failure(FileNotFoundError(2, "No such file or directory", "train.txt"))
    ('train.txt: No such file or directory.', 2)
    >>> describe_failure(KeyError("W"))
    ("KeyError: 'W'; this is a fault of rmls: please report it with the output of RMLS_DEBUG=1.", 1)
    """
    if isinstance(error, RmlsError):
        return str(error), EXIT_ERROR
    if hasattr(error, "format_message"):
        return _describe_usage(error), EXIT_ERROR
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or error}.", EXIT_ERROR
    if isinstance(error, MemoryError):
        return f"not enough memory ({_one_line(str(error)) or 'no more is given'}).", EXIT_ERROR
    advice = f"this is a fault of rmls: please report it with the output of {DEBUG}=1."
    return f"{type(error).__name__}: {error}; {advice}", EXIT_INTERNAL


def _describe_usage(error: Any) -> str:
    """Return the message of the option parser, with the help to look at."""
    message = _one_line(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{message} (see {context.command_path} --help)." if context else f"{message}."


def _fail(message: str, code: int) -> NoReturn:
    print(f"rmls: error: {_one_line(message)}", file=sys.stderr, flush=True)
    raise SystemExit(code)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _show_traceback() -> None:
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exc()


def _discard_stdout() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
