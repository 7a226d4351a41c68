"""Groups of commands: failures in one line, help where no command is named."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from rmls.cli.shared.console import plain_failures, plain_warnings


class PlainFailures(TyperGroup):
    """A group of commands whose errors and warnings are single lines."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Parse and run, then exit; the code is 2 for errors and 130 for Ctrl-C."""
        # In its own mode click prints errors by itself and exits.
        kwargs["standalone_mode"] = False
        with plain_failures():
            code = super().main(*args, **kwargs)
        sys.exit(code or 0)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; ``help COMMAND`` is the help of that command."""
        asks_help = args[:1] == ["help"]
        return super().parse_args(ctx, [*args[1:], "--help"] if asks_help else args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        # Typer ends a broken pipe and Ctrl-C in its own way further up.
        with plain_failures(), plain_warnings():
            result = super().invoke(ctx)
            # Inside the block: that a reader has left shows only when text is flushed.
            sys.stdout.flush()
        return result


def show_help_without_command(context: typer.Context) -> None:
    """Print the help of the group and end, unless one of its commands follows."""
    if context.invoked_subcommand is None:
        # With rich the help is printed while it is made, and the text comes back empty.
        text = context.get_help().strip()
        if text:
            typer.echo(text)
        raise typer.Exit
