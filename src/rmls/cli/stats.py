"""`rmls stats`: how unequal the labels of a data set are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes, print_json, results
from rmls.cli.shared.options import Part

if TYPE_CHECKING:
    from rmls.imbalance import ImbalanceReport

Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a picture too (.png, .svg or .pdf)."),
]


def stats(
    data: options.Data,
    plot: Plot = None,
    json: options.Json = False,
    part: options.PartOption = Part.ALL,
    source_format: options.From = None,
) -> None:
    """Show how unequal the labels of DATA are."""
    from rmls.cli.shared.data import choose_part, load_data
    from rmls.imbalance import describe, plot_imbalance

    dataset, _ = choose_part(load_data(data, source_format), part, Part.ALL)
    report = describe(dataset.Y, dataset.label_names)
    if plot is not None:
        plot_imbalance(report, plot)
    if json:
        sizes = {"name": dataset.name, "n_features": dataset.n_features}
        print_json({**sizes, **report.as_dict()})
    else:
        _show(report, f"{dataset.name}, {dataset.n_features:,} features")
    if plot is not None:
        note(notes(), "wrote", str(plot))


def _show(report: ImbalanceReport, title: str) -> None:
    from rich.text import Text

    from rmls.cli.shared.tables import frequency_table, frequent_labels, statistics_table

    console = results()
    console.print(Text(title, style="bold"))
    console.print(statistics_table(report))
    console.print()
    console.print(frequency_table(report))
    console.print()
    console.print(Text(frequent_labels(report)))
