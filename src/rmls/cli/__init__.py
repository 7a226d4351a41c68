"""The command line: `rmls demo · stats · train · predict · evaluate · convert · datasets`."""

from rmls.cli.app import main

__all__ = ["main"]
