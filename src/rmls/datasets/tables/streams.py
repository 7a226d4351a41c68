"""Text files opened: compressed or not, in any encoding, from standard input."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rmls.core.errors import FileFormatError, InputError

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
STDIN = Path("-")
# How the decoder marks bytes that are no text.
_MARKED = re.compile("[\udc80-\udcff]")


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed; ``-`` is standard input."""
    try:
        if path == STDIN:
            yield sys.stdin.buffer
            return
        if path.is_dir():
            raise FileFormatError("this is a folder; give a file", path)
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as stream:
            yield stream
    except FileNotFoundError:
        raise FileFormatError("there is no such file", path) from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise FileFormatError(f"the compressed file is damaged ({error})", path) from None
    except OSError as error:
        reason = error.strerror or f"damaged: {error}"
        raise FileFormatError(f"the file cannot be read ({reason})", path) from None


@contextmanager
def open_text(path: Path, encoding: str | None = None) -> Iterator[io.TextIOWrapper]:
    """Open a text file; without an encoding its byte order mark decides, else it is UTF-8."""
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except (LookupError, ValueError):
            raise InputError(f"there is no encoding called {encoding!r}.") from None
    with open_bytes(path) as raw:
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
        head = buffered.peek(4)
        found = next((name for mark, name in MARKS if head.startswith(mark)), "utf-8")
        # Bytes that do not belong are marked, not refused: `text_lines` can say where they are.
        text = io.TextIOWrapper(buffered, encoding or found, "surrogateescape", newline="")
        try:
            yield text
        except UnicodeError as error:
            raise FileFormatError(f"this is no text ({error})", path) from None
        finally:
            # Standard input stays open for those who come after.
            text.detach()


def text_lines(lines: Iterable[str], path: Path, longest: int) -> Iterator[str]:
    """Yield the lines of a text file, refusing those that are none, by number."""
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            check_text(line, path, number, longest)
            yield line
    except UnicodeError as error:
        raise FileFormatError(f"this is no text ({error})", path, number + 1) from None


def check_text(text: str, path: Path, line: int | None, longest: int) -> None:
    """Raise a sentence for text that is too long, binary, or not in the encoding."""
    if len(text) > longest:
        raise FileFormatError(f"a line of more than {longest:,} characters", path, line)
    if "\0" in text:
        raise FileFormatError("the file is binary, not text", path, line)
    if not text.isascii() and (found := _MARKED.search(text)):
        column = found.start() + 1
        raise FileFormatError(
            f"character {column} is not in the encoding of the file; say which one it has",
            path,
            line,
        )
