"""Help for groups of commands that are called without a command."""

from __future__ import annotations

import typer


def show_help_without_command(context: typer.Context) -> None:
    """Print the help of the group and end, unless one of its commands follows."""
    if context.invoked_subcommand is None:
        # With rich the help is printed while it is made, and the text comes back empty.
        text = context.get_help().strip()
        if text:
            typer.echo(text)
        raise typer.Exit
