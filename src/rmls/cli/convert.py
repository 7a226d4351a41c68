"""`rmls convert`: from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes

Target = Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")]
Source = Annotated[
    str, typer.Argument(metavar="IN", help="A data file, - for stdin, or a data set's name.")
]


def convert(
    source: Source,
    target: Target,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    target_format: options.To = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the data set IN as OUT, in another format.

    Formats: arff, npz, rmls, svmlight and xmc; text with .gz or .bz2 too.
    """
    from rmls.cli.shared.console import check_file_target
    from rmls.cli.shared.data import describe_size, load_data
    from rmls.datasets import save

    check_file_target(target, overwrite)
    dataset = load_data(source, source_format, index_base, labels=False)
    save(dataset, target, target_format, overwrite=overwrite)
    note(notes(), "wrote", f"{target}: {describe_size(dataset)}")
