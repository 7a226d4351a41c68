"""What the user sees: results, notes, failures in one line, files that appear when complete."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
import os
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn

import typer
from typer.core import TyperGroup

from rmls.core.errors import InputError, RmlsError, RmlsWarning
from rmls.core.files import replacing_text, text_over

NOTE_WIDTH = 10
EXIT_INTERNAL = 1
EXIT_ERROR = 2
# As shells do: 128 plus the signal, SIGINT (2) and SIGPIPE (13).
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
DEBUG = "RMLS_DEBUG"
STDOUT = Path("-")


def results() -> Console:
    """Return the console for results."""
    # Inside the functions, here and in the commands: each pays only for what it uses.
    from rich.console import Console

    # Names of labels may hold brackets, which are no markup.
    return Console(highlight=False, markup=False)


def notes(quiet: bool = False) -> Console:
    """Return the console for progress and notes, silent if ``quiet``."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, quiet=quiet)


def note(console: Console, title: str, text: str) -> None:
    """Print one line with a dim title in front; ``text`` is shown as it is."""
    from rich.text import Text

    line = Text.assemble((f"{title:<{NOTE_WIDTH}}", "dim"), text)
    console.print(line, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value as JSON to stdout, in ASCII, so that any reader of a pipe can take it."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


class PlainFailures(TyperGroup):
    """A group of commands whose errors and warnings are single lines."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Parse and run, then exit; the code is 2 for errors and 130 for Ctrl-C."""
        # In its own mode click prints errors by itself and exits.
        kwargs["standalone_mode"] = False
        with plain_failures():
            code = super().main(*args, **kwargs)
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        # Typer ends a broken pipe and Ctrl-C in its own way further up.
        with plain_failures(), plain_warnings():
            result = super().invoke(ctx)
            # Inside the block: that a reader has left shows only when text is flushed.
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
    # What the option parser raises, known by its method: click need not be imported.
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


def show_help_without_command(context: typer.Context) -> None:
    """Print the help of the group and end, unless one of its commands follows."""
    if context.invoked_subcommand is None:
        # With rich the help is printed while it is made, and the text comes back empty.
        text = context.get_help().strip()
        if text:
            typer.echo(text)
        raise typer.Exit


def check_file_target(path: Path, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that exists already."""
    if path == STDOUT:
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file.")
    _check_parent(path)
    if path.is_file() and not overwrite:
        raise InputError(f"{path} exists; choose another name or give --overwrite.")


def check_model_target(path: Path, overwrite: bool) -> None:
    """Refuse, before training, a folder that the model could not be written to."""
    from rmls.archive import check_target

    check_target(path)
    if path.is_dir() and any(path.iterdir()) and not overwrite:
        raise InputError(
            f"{path} exists; choose another name, or give --overwrite to replace the model "
            "or --resume to continue its training."
        )


def _check_parent(path: Path) -> None:
    parent = path.resolve().parent
    if not parent.is_dir():
        raise InputError(f"{path} cannot be written: {parent} is not a folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: no permission to write to {parent}.")


@contextmanager
def open_output(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file that appears under its name at the end; ``-`` is stdout."""
    if path == STDOUT:
        yield from _open_stdout()
    elif path.exists() and not path.is_file():
        # A device or a pipe must be written to; a rename would replace it.
        with open(path, "w", encoding="utf-8", newline="") as stream:
            yield stream
    else:
        with replacing_text(path.resolve()) as stream:
            yield stream


def _open_stdout() -> Iterator[IO[str]]:
    sys.stdout.flush()
    with text_over(sys.stdout.buffer) as stream:
        yield stream
