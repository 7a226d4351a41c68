"""The program `rmls`: its commands, their order, and the options before them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import rmls
from rmls.cli.bench.commands import bench_app
from rmls.cli.check import check
from rmls.cli.compare import compare
from rmls.cli.convert import convert
from rmls.cli.datasets import datasets_app
from rmls.cli.demo.command import demo
from rmls.cli.evaluate import TakesFile, evaluate
from rmls.cli.exchange.commands import card, pull, push
from rmls.cli.explain import explain
from rmls.cli.live.labels import labels_app
from rmls.cli.live.learn import learn
from rmls.cli.methods import methods
from rmls.cli.predict import predict
from rmls.cli.resample import resample
from rmls.cli.serve import serve
from rmls.cli.shared.console import let_letters_pass
from rmls.cli.shared.options import PlainFailures, show_help_without_command
from rmls.cli.split import split
from rmls.cli.stats import stats
from rmls.cli.suggest import suggest
from rmls.cli.train.command import ExplainsShortcuts, train
from rmls.cli.tune import tune
from rmls.core.lean import start_lean

app = typer.Typer(
    name="rmls",
    cls=PlainFailures,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(stats)
app.command()(split)
app.command()(check)
app.command(cls=ExplainsShortcuts)(train)
app.command()(tune)
app.command()(suggest)
app.command()(serve)
app.command()(learn)
app.add_typer(labels_app, name="labels")
app.command()(explain)
app.command()(methods)
app.command()(predict)
app.command(cls=TakesFile)(evaluate)
app.command()(compare)
for command in (card, push, pull, convert, resample):
    app.command()(command)
app.add_typer(bench_app, name="bench")
app.add_typer(datasets_app, name="datasets")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rmls {rmls.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Classify with many labels, most of them rare: from a data file to label sets.

    Start with [bold]rmls demo[/bold]; it needs no data.
    """
    show_help_without_command(context)


# Commands that answer once and end, and options of theirs that ask for more.
LEAN_COMMANDS, MORE = ("suggest",), ("--cluster",)


def main() -> None:
    """Run the command line; always ends the process."""
    let_letters_pass()
    command, *options = [*sys.argv[1:], ""]
    if command in LEAN_COMMANDS and not any(option.startswith(MORE) for option in options):
        start_lean()
    app(prog_name="rmls")
