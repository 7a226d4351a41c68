"""The errors and warnings a user can meet, one class per kind of way out."""

from __future__ import annotations

from os import PathLike


class RmlsError(Exception):
    """Base of every error raised on purpose; the command line prints it as one line."""


class InputError(RmlsError, ValueError):
    """An argument or an array is not what the function can work with."""


class FileFormatError(InputError):
    """A data file breaks its format.

    Examples
    --------
    >>> str(FileFormatError("value is not a number: 'x'", "train.txt", line=3))
    "train.txt, line 3: value is not a number: 'x'"
    """

    def __init__(self, message: str, path: str | PathLike[str], line: int | None = None) -> None:
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {message}")
        self.path = path
        self.line = line


class ArchiveError(RmlsError, ValueError):
    """A model folder is damaged, of another version, or not a model at all."""


class MissingExtraError(RmlsError, ImportError):
    """An optional dependency is needed and not installed."""


class RmlsWarning(UserWarning):
    """Something works, but probably not as the user expects."""
