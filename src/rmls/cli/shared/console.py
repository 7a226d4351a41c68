"""What the user sees: results, notes, failures in one line, files that appear when complete."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
import os
import re
import signal
import stat
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from rmls.core.errors import InputError, RmlsError, RmlsWarning
from rmls.core.files import replacing_text, resolve_target, text_over

NOTE_WIDTH = 10
# A word in a message; longer ones come from damaged input.
LONG = 300
EXIT_INTERNAL = 1
EXIT_ERROR = 2
# As shells do: 128 plus the signal, SIGINT (2) and SIGPIPE (13).
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
DEBUG = "RMLS_DEBUG"
STDOUT = Path("-")
DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/([0-9]{1,4})")


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


def let_letters_pass() -> None:
    """Let a terminal that lacks a letter show a question mark; the command goes on."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def plain_failures() -> Iterator[None]:
    """Turn an exception into one line and an exit."""
    try:
        yield
    except KeyboardInterrupt:
        show_traceback()
        _fail("interrupted.", EXIT_INTERRUPTED)
    except BrokenPipeError:
        show_traceback()
        # The interpreter flushes stdout once more at its end.
        _discard_stdout()
        raise SystemExit(EXIT_BROKEN_PIPE) from None
    except Exception as error:
        # Nobody but the parser of options raises these, and it may not have been imported.
        parser = sys.modules.get("typer")
        if parser is not None and isinstance(error, parser.Exit):
            raise
        show_traceback()
        if parser is not None and isinstance(error, parser.Abort):
            _fail("interrupted.", EXIT_INTERRUPTED)
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
    # Our own sentences begin with "it"; "Value error" is a title of the parser.
    message = re.sub(r"^Invalid value for '([^']+)'[^:]*: it must ", r"\1 must ", message)
    message = message.replace(": Value error, ", ": ", 1)
    context = getattr(error, "ctx", None)
    return f"{message} (see {context.command_path} --help)." if context else f"{message}."


def _fail(message: str, code: int) -> NoReturn:
    print(f"rmls: error: {_one_line(message)}", file=sys.stderr, flush=True)
    raise SystemExit(code)


def _one_line(text: str) -> str:
    """Return a text as one line, in which no word is longer than any path needs to be."""
    return " ".join(
        word if len(word) <= LONG else f"{word[:200]}…{word[-80:]}" for word in text.split()
    )


def show_traceback() -> None:
    """Print where the current exception comes from, if that is asked for."""
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exc()


def _discard_stdout() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class CtrlC:
    """Ctrl-C inside the block: an exception, or once ``waits`` is set something for later.

    Attributes
    ----------
    waits : bool
        Set when there is something that must be written; a second Ctrl-C ends that too.
    held : bool
        Whether Ctrl-C was pressed while it waits.
    """

    def __init__(self) -> None:
        self.waits = self.held = False
        self._before: Any = None

    def __enter__(self) -> CtrlC:
        from rmls.models.shared.progress import hands_over, press_again

        self._hands_over, self._press_again = hands_over, press_again
        # Only the main thread hears signals and may say what becomes of them.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, _: int, frame: FrameType | None) -> None:
        if self.waits and not self.held:
            self.held = True
        elif self._hands_over(frame):
            self._press_again()
        else:
            raise KeyboardInterrupt


def check_file_target(path: Path, overwrite: bool, *, streams: bool = False) -> None:
    """Refuse a file that cannot be written, or that exists already.

    ``streams`` lets stdout, pipes and devices pass, which are written to as they are.
    """
    if streams and is_stream(path):
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file.")
    resolve_target(path)
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
            "or --method RMLS --resume to continue its passes."
        )


def _check_parent(path: Path) -> None:
    parent = path.resolve().parent
    if not parent.is_dir():
        raise InputError(f"{path} cannot be written: {parent} is not a folder.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: no permission to write to {parent}.")


def is_stream(path: Path) -> bool:
    """Tell what must be written to from what is replaced by a rename: stdout, pipes, terminals."""
    if path == STDOUT or _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout stands for."""
    # By its name: behind it may be a file, to which the shell wants the text appended.
    found = DESCRIPTOR.fullmatch(os.path.abspath(path))
    return {"stdout": 1, "stderr": 2}.get(found[1]) or int(found[2]) if found else None


@contextmanager
def open_output(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file that appears under its name at the end; ``-`` is stdout."""
    number = _descriptor(path)
    if path == STDOUT:
        yield from _open_stdout()
    elif number is not None or is_stream(path):
        sys.stdout.flush()
        place = os.dup(number) if number is not None else path
        with open(place, "w", encoding="utf-8", newline="") as stream:
            yield stream
    else:
        with replacing_text(path) as stream:
            yield stream


def _open_stdout() -> Iterator[IO[str]]:
    sys.stdout.flush()
    with text_over(sys.stdout.buffer) as stream:
        yield stream
