"""`rmls convert`: from one file format to another, or to a store of rows on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmls.cli.shared import options, texts
from rmls.cli.shared.console import note, notes
from rmls.core.errors import InputError

PANEL = "Stores"

Target = Annotated[str, typer.Argument(metavar="OUT", help="The file to write, or the store.")]
Source = Annotated[
    str, typer.Argument(metavar="IN", help="A data file, - for stdin, or a data set's name.")
]
AsStore = Annotated[
    bool,
    typer.Option(
        "--store",
        help="Write a folder of shards that need not fit into memory; IN may be a table of texts.",
        rich_help_panel=PANEL,
    ),
]
ShardRows = Annotated[
    int | None,
    typer.Option(
        "--shard-rows",
        metavar="N",
        parser=options.whole(1),
        help="Rows of a shard.",
        show_default="100,000",
        rich_help_panel=PANEL,
    ),
]
FeaturesOf = Annotated[
    str | None,
    typer.Option(
        "--features-of",
        metavar="MODEL",
        help="Turn texts into the features of this model or store, to test or label them.",
        rich_help_panel=PANEL,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any parameter of the text features, such as stem=none; repeat it for several.",
        rich_help_panel=PANEL,
    ),
]


def convert(
    source: Source,
    target: Target,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    target_format: options.To = None,
    overwrite: options.Overwrite = False,
    store: AsStore = False,
    shard_rows: ShardRows = None,
    features_of: FeaturesOf = None,
    settings: Settings = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    categories: texts.Categories = None,
    numbers: texts.Numbers = None,
    id: texts.Id = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    quiet: options.Quiet = False,
) -> None:
    """Write the data set IN as OUT, in another format.

    Formats: arff, npz, rmls, svmlight and xmc; text with .gz or .bz2 too.
    With --store OUT is a folder of rows on disk, from these formats or from a
    table of texts (CSV, JSON lines, Parquet, …); both may be addresses such
    as s3://bucket/rows. A store that was not finished is gone on with.
    """
    if store:
        from rmls.cli.shared.stores import Conversion, convert_to_store

        if target_format is not None:
            raise InputError("--store and --to exclude each other; give one of them.")
        reading = texts.Reading(text, labels, id, separator, encoding, delimiter, source_format)
        asked = Conversion(
            source, target, reading, categories, numbers, features_of, tuple(settings or ())
        )
        convert_to_store(asked, index_base, shard_rows, overwrite=overwrite, quiet=quiet)
        return
    given = {"--shard-rows": shard_rows, "--features-of": features_of, "--set": settings}
    for flag, value in given.items():
        if value is not None:
            raise InputError(f"{flag} is for stores; add --store.")
    _convert_file(source, Path(target), (source_format, index_base, target_format), overwrite)


def _convert_file(
    source: str, target: Path, formats: tuple[str | None, int | None, str | None], overwrite: bool
) -> None:
    from rmls.cli.shared.console import check_file_target
    from rmls.cli.shared.data import describe_size, load_data
    from rmls.datasets import save

    source_format, index_base, target_format = formats
    check_file_target(target, overwrite)
    dataset = load_data(source, source_format, index_base, labels=False)
    save(dataset, target, target_format, overwrite=overwrite)
    note(notes(), "wrote", f"{target}: {describe_size(dataset)}")
