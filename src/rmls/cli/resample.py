"""`rmls resample`: a data set with more rows of rare labels, or fewer of frequent ones."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes, print_json, results
from rmls.cli.shared.options import Part
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.datasets import Dataset
    from rmls.imbalance import ImbalanceReport


class Method(str, Enum):
    """The methods by their names on the command line."""

    LPROS = "lpros"
    LPRUS = "lprus"
    MLROS = "mlros"
    MLRUS = "mlrus"
    MLSMOTE = "mlsmote"
    REMEDIAL = "remedial"


class Vote(str, Enum):
    """Which labels of its neighbours a new row of MLSMOTE has."""

    RANKING = "ranking"
    UNION = "union"
    INTERSECTION = "intersection"


class Draw(str, Enum):
    """From what ML-RUS draws the rows to delete."""

    ROWS = "rows"
    LABELS = "labels"


Output = Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The file to write.")]
MethodOption = Annotated[
    Method, typer.Option("--method", help="How rows are added or removed.", show_choices=True)
]
Share = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        parser=options.number(),
        help="Rows to add or remove, as a share of all; for mlsmote new rows per rare row.",
        show_default="0.25; mlsmote 1",
    ),
]
Neighbors = Annotated[
    int | None,
    typer.Option(
        metavar="K", parser=options.whole(1), help="Neighbours, of mlsmote.", show_default="5"
    ),
]
Labels = Annotated[
    Vote | None, typer.Option(help="Labels of new rows, of mlsmote.", show_default="ranking")
]
DrawOption = Annotated[
    Draw | None, typer.Option("--draw", help="What mlrus draws from.", show_default="rows")
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        parser=options.number(),
        help="SCUMBLE to split at, of remedial.",
        show_default="the mean",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=options.whole(0, options.LARGEST_SEED),
        help="Random seed.",
        show_default="0",
    ),
]
PartOption = Annotated[
    Part | None,
    typer.Option(
        "--part",
        metavar="PART",
        help="Write only all, train or test rows, resampled.",
        show_default="training rows resampled, test rows as they are",
    ),
]


def resample(
    data: options.Data,
    output: Output,
    method: MethodOption = Method.MLROS,
    share: Share = None,
    neighbors: Neighbors = None,
    labels: Labels = None,
    draw: DrawOption = None,
    threshold: Threshold = None,
    seed: Seed = None,
    part: PartOption = None,
    source_format: options.From = None,
    target_format: options.To = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write DATA as OUT with more rows of rare labels, or fewer of frequent ones.

    Where DATA is split, only the training rows are resampled.
    """
    from rmls.cli.shared.console import check_file_target
    from rmls.cli.shared.data import choose_part, describe_size, load_data
    from rmls.datasets import save
    from rmls.imbalance import describe

    given = {
        "share": share,
        "neighbors": neighbors,
        "labels": labels and labels.value,
        "draw": draw and draw.value,
        "threshold": threshold,
        "seed": seed,
    }
    sampler = _make_resampler(method, given)
    check_file_target(output, overwrite)
    dataset = load_data(data, source_format)
    if part is not None:
        dataset, _ = choose_part(dataset, part, Part.ALL)
        dataset = replace(dataset, n_train=None)
    before = describe(_rows_to_change(dataset).Y)
    resampled = _resample(dataset, sampler)
    after = describe(_rows_to_change(resampled).Y)
    save(resampled, output, target_format, overwrite=overwrite)
    _report(dataset.name, method.value, before, after, json)
    note(notes(), "wrote", f"{output}: {describe_size(resampled)}")


PARAMETERS = {
    "share": "sampling_strategy",
    "neighbors": "n_neighbors",
    "labels": "labels",
    "draw": "draw",
    "threshold": "threshold",
    "seed": "random_state",
}


TITLES = {
    "n_samples": "rows",
    "cardinality": "labels per row",
    "min_count": "rows of the rarest label",
    "max_count": "rows of the most frequent",
    "mean_ir": "MeanIR",
    "cvir": "CVIR",
    "scumble": "SCUMBLE",
}


def _make_resampler(method: Method, given: dict[str, Any]) -> Any:
    """Return the resampler; an option that the method does not have is an error."""
    from rmls import imbalance

    cls = getattr(imbalance, method.value.upper())
    known = cls().get_params()
    chosen = {option: value for option, value in given.items() if value is not None}
    for option in chosen:
        if PARAMETERS[option] not in known:
            raise InputError(f"--{option} is no option of the method {method.value}.")
    sampler = cls(**{PARAMETERS[option]: value for option, value in chosen.items()})
    try:
        sampler._check_options()
    except InputError as error:
        # The sentence begins with the parameter; here it is called by its option.
        name, _, rest = str(error).partition(" ")
        option = next(option for option, parameter in PARAMETERS.items() if parameter == name)
        raise InputError(f"--{option} {rest}") from error
    return sampler


def _rows_to_change(dataset: Dataset) -> Dataset:
    return dataset if dataset.n_train is None else dataset.train


def _resample(dataset: Dataset, sampler: Any) -> Dataset:
    """Return the data set with its training rows resampled, and its test rows behind them."""
    from scipy import sparse

    rows = _rows_to_change(dataset)
    X, Y = sampler.fit_resample(rows.X, rows.Y)
    if dataset.n_train is None:
        return replace(dataset, X=X, Y=Y)
    # Test rows stand for data to come, whose frequencies nobody changes.
    test = dataset.test
    return replace(
        dataset,
        X=sparse.vstack([X, test.X], format="csr"),
        Y=sparse.vstack([Y, test.Y], format="csr"),
        n_train=int(X.shape[0]),
    )


def _figures(report: ImbalanceReport) -> dict[str, int | float | None]:
    values = report.as_dict()
    counts = report.label_counts[report.label_counts > 0]
    shown = {name: values[name] for name in TITLES if name in values}
    return {**shown, "min_count": int(counts.min()), "max_count": int(counts.max())}


def _report(
    name: str, method: str, before: ImbalanceReport, after: ImbalanceReport, json: bool
) -> None:
    sides = {"before": _figures(before), "after": _figures(after)}
    if json:
        print_json({"data": name, "method": method, **sides})
        return
    from rmls.cli.shared.tables import plain_table

    table = plain_table([f"{name}, {method}", "before", "after"], ["before", "after"])
    for figure, title in TITLES.items():
        table.add_row(title, *(_show(side[figure]) for side in sides.values()))
    results().print(table)


def _show(value: int | float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
