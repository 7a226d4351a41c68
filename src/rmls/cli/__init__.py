"""The command line: one file a command, a folder for `rmls train` and for `rmls bench`."""

from rmls.cli.app import main

__all__ = ["main"]
