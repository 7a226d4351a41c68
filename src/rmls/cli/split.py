"""`rmls split`: a data set in parts that have every label alike, to train on and to test with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmls.cli.shared import options
from rmls.cli.shared.options import Part
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.datasets import Dataset

DEFAULT_SHARE = 0.2

TestShare = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Rows of the test part, as a share of all.",
        show_default=str(DEFAULT_SHARE),
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        metavar="K", parser=options.whole(2), help="K splits; each row is a test row in one."
    ),
]
Seed = Annotated[
    int,
    typer.Option(metavar="N", parser=options.whole(0, options.LARGEST_SEED), help="Random seed."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where to write: for x.npz x-train.npz and x-test.npz, or x-fold1.npz, …",
        show_default="DATA, in this folder",
    ),
]


def split(
    data: options.Data,
    output: Output = None,
    test_share: TestShare = None,
    folds: Folds = None,
    seed: Seed = 0,
    part: options.PartOption = None,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    target_format: options.To = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the rows of DATA as training and test rows, every label divided alike.

    With --folds K every file holds all rows, another K-th of them as its test
    part; formats that cannot hold a split get two files each.
    """
    from rmls.cli.shared.console import check_file_target, note, notes
    from rmls.cli.shared.data import describe_size, load_data
    from rmls.datasets import save

    if folds is not None and test_share is not None:
        raise InputError("--folds and --test-share exclude each other; give one of them.")
    share = check_test_share(DEFAULT_SHARE if test_share is None else test_share)
    dataset = rows_to_divide(load_data(data, source_format, index_base), part)
    target, format = _find_target(data, dataset, output, target_format)
    parts = dict(_parts(dataset, target, format, folds, share, seed))
    # All of them before the first is written.
    for path in parts:
        check_file_target(path, overwrite)
    for path, rows in parts.items():
        save(rows, path, format)
        note(notes(), "wrote", f"{path}: {describe_size(rows)}")


def check_test_share(share: float) -> float:
    """Return a share of test rows, or raise a sentence."""
    if not 0 < share < 1:
        raise InputError(f"--test-share must lie between 0 and 1; got {share}.")
    return share


def rows_to_divide(dataset: Dataset, part: Part | None) -> Dataset:
    """Return the rows to divide; a data set that is split already must be asked for by part."""
    from rmls.cli.shared.data import choose_part

    if part is None and dataset.n_train is not None:
        raise InputError(
            f"{dataset.name} has {dataset.n_train:,} training and "
            f"{dataset.n_samples - dataset.n_train:,} test rows already; give --part all to divide "
            "them anew, or --part train to divide the training rows."
        )
    chosen, _ = choose_part(dataset, part, Part.ALL)
    return replace(chosen, n_train=None)


def divide(dataset: Dataset, share: float, seed: int) -> tuple[Dataset, Dataset]:
    """Return stratified training and test rows, each in the order of the file."""
    import numpy as np

    from rmls.imbalance import assign_folds

    places = assign_folds(dataset.Y, [1 - share, share], random_state=seed)
    train, test = (np.flatnonzero(places == part) for part in (0, 1))
    return dataset.take(train, f"{dataset.name}/train"), dataset.take(test, f"{dataset.name}/test")


def _parts(
    dataset: Dataset, target: Path, format: str, folds: int | None, share: float, seed: int
) -> Iterator[tuple[Path, Dataset]]:
    """Yield the files and what they hold."""
    import numpy as np

    from rmls.datasets.formats import format_named
    from rmls.imbalance import assign_folds

    if folds is None:
        yield from _pair(target, *divide(dataset, share, seed))
        return
    places = assign_folds(dataset.Y, [1 / folds] * folds, random_state=seed)
    for fold in range(folds):
        train, test = np.flatnonzero(places != fold), np.flatnonzero(places == fold)
        path = _beside(target, f"fold{fold + 1}")
        if format_named(format).keeps_split:
            whole = dataset.take(np.concatenate([train, test]))
            yield path, replace(whole, n_train=len(train))
        else:
            yield from _pair(path, dataset.take(train), dataset.take(test))


def _pair(target: Path, train: Dataset, test: Dataset) -> Iterator[tuple[Path, Dataset]]:
    yield _beside(target, "train"), train
    yield _beside(target, "test"), test


def _beside(path: Path, what: str) -> Path:
    """Return ``x-what.svm.gz`` for ``x.svm.gz``."""
    from rmls.datasets.formats import stem_of

    stem = stem_of(path)
    return stem.with_name(f"{stem.name}-{what}{path.name[len(stem.name) :]}")


def _find_target(
    data: str, dataset: Dataset, output: Path | None, wanted: str | None
) -> tuple[Path, str]:
    """Return the name that those of the files are made from, and their format."""
    from rmls.datasets.formats import format_by_extension, format_named, plain_suffix

    if output is None:
        name = Path(data).name
        # A name of the registry has no ending; npz is the fastest format.
        output = Path(name if Path(name).suffix else f"{name}.npz")
        if wanted is not None:
            output = output.with_suffix(format_named(wanted).extensions[0])
        else:
            wanted = dataset.format if Path(name).suffix else "npz"
    if wanted is not None:
        return output, format_named(wanted).name
    by_ending = format_by_extension(output)
    if by_ending is None and plain_suffix(output) != ".txt":
        raise InputError(f"the ending of {output.name} names no format; give one with --to.")
    return output, by_ending.name if by_ending is not None else "xmc"
