"""`rmls convert`: from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmls.cli import options
from rmls.cli.console import note, notes
from rmls.core.errors import InputError

Target = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]
Source = Annotated[str, typer.Argument(metavar="IN", help="A data file, or a data set's name.")]
From = Annotated[
    str | None, typer.Option("--from", metavar="FORMAT", help="Format of IN.", show_default="told")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="FORMAT", help="Format of OUT.", show_default="by its ending"),
]


def convert(
    source: Source,
    target: Target,
    source_format: From = None,
    target_format: To = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the data set IN as OUT, in another format.

    Formats: arff, npz, rmls, svmlight and xmc; text with .gz or .bz2 too.
    """
    from rmls.cli.data import load_data
    from rmls.cli.tables import describe_size
    from rmls.datasets import save

    if target.exists() and not overwrite:
        raise InputError(f"{target} exists; choose another name or give --overwrite.")
    if not target.parent.is_dir():
        raise InputError(f"{target} cannot be written: {target.parent} is not a folder.")
    dataset = load_data(source, source_format)
    save(dataset, target, target_format)
    sizes = describe_size(dataset.n_samples, dataset.n_features, dataset.n_labels)
    note(notes(), "wrote", f"{target}: {sizes}")
