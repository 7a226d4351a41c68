"""`rmls datasets`: what is available, and what can be fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes, print_json, results
from rmls.cli.shared.options import show_help_without_command

if TYPE_CHECKING:
    from rmls.datasets.registry import Available

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A name that `rmls datasets list` shows.")
]
Force = Annotated[bool, typer.Option("--force", help="Fetch again what is there already.")]

datasets_app = typer.Typer(help="List the known data sets, or fetch one.")


@datasets_app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    show_help_without_command(context)


@datasets_app.command("list")
def list_datasets(json: options.Json = False) -> None:
    """List the data sets that commands take by name."""
    from rmls.datasets import available

    found = available()
    if json:
        print_json([_as_dict(item) for item in found])
        return
    from rmls.cli.shared.tables import plain_table

    sizes = ("rows", "features", "labels")
    table = plain_table(("name", *sizes, "here", "description"), numbers=sizes)
    absent = {True: "download", False: "by hand"}
    for item in found:
        shown = ("-" if size is None else f"{size:,}" for size in item[1:4])
        here = "yes" if item.path else absent[item.can_download]
        table.add_row(item.name, *shown, here, item.description)
    results().print(table)


@datasets_app.command()
def download(name: Name, force: Force = False) -> None:
    """Fetch a data set from its public address and print the path of its file."""
    from rmls.datasets import download as fetch
    from rmls.datasets.registry import downloadable

    downloadable(name)
    note(notes(), "fetching", name)
    typer.echo(fetch(name, force=force))


def _as_dict(item: Available) -> dict[str, Any]:
    return {**item._asdict(), "path": str(item.path) if item.path else None}
