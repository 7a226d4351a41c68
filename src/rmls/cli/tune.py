"""`rmls tune`: parameters that suit the data, chosen on held-out rows, then a training on all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rmls.cli.shared import options, texts
from rmls.cli.shared.console import check_file_target, note, notes, print_json, results
from rmls.cli.shared.options import number, whole
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.cli.train.command import Given
    from rmls.tuning import Tuned

MINUTES, LONGEST = 10.0, 7 * 24 * 60.0

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="MODEL", help="The folder to write.")
]
Metric = Annotated[
    str,
    typer.Option(metavar="NAME", help="psp@k, p@k, ndcg@k, f1 or macro_f1."),
]
Minutes = Annotated[
    float,
    typer.Option(
        metavar="NUMBER",
        parser=number(0.01, LONGEST),
        help="For all trials and the training at the end.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A default of your own, to start from; may be repeated.",
        show_default=False,
    ),
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="OUT", help="Write the account as a page, too.")
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N", parser=whole(0, options.LARGEST_SEED), help="Of the rows that are held out."
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", parser=whole(-1), help="Threads; -1 is all.")
]


class Task(NamedTuple):
    """What is tuned, and how the model is trained in the end."""

    X: Any
    Y: Any
    label_names: Any
    model: Any
    name: str
    train: Callable[[list[Given]], None]


def tune(
    data: options.Data,
    output: Output,
    metric: Metric = "psp@5",
    minutes: Minutes = MINUTES,
    settings: Settings = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    html: Html = None,
    json: options.Json = False,
    overwrite: options.Overwrite = False,
    part: options.PartOption = None,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    categories: texts.Categories = None,
    numbers: texts.Numbers = None,
    label_text: texts.LabelTextFile = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    quiet: options.Quiet = False,
) -> None:
    """Choose parameters that suit DATA, then learn a model with them from all rows.

    Few changes of the defaults are tried on growing parts of the rows. The
    best takes the place of the defaults only if it is better on the rows it
    was chosen on beyond chance, and not worse on rows that nothing was
    chosen on. Trials are kept in MODEL.tune: the same command goes on after
    Ctrl-C, or with more minutes.
    """
    from rmls.cli.shared.console import check_model_target
    from rmls.cli.shared.data import reads_texts
    from rmls.cli.train.command import Given, list_columns, parse_settings
    from rmls.tuning.choices import read_figure
    from rmls.tuning.tuner import tune as search

    read_figure(metric)
    check_model_target(output, overwrite)
    _check_page(html, overwrite)
    reading = texts.Reading(text, labels, None, separator, encoding, delimiter, source_format)
    given = [Given("--jobs", "n_jobs", str(jobs)), *parse_settings(settings or [])]
    names, console = texts.Names(label_text), notes(quiet)
    if reads_texts(data, reading):
        given = [*list_columns(categories, numbers), *given]
        task = _text_task(data, output, reading, names, given, quiet=quiet)
    else:
        if label_text is not None or categories is not None or numbers is not None:
            raise InputError(f"{data} holds numbers; names and columns are for tables of texts.")
        task = _number_task(data, output, part, source_format, index_base, given, quiet=quiet)
    found = search(
        task.X,
        task.Y,
        model=task.model,
        metric=metric,
        minutes=minutes,
        folder=output.with_name(f"{output.name}.tune"),
        label_names=task.label_names,
        label_text=None if names.file is None else names.read_for(type(task.model), _silent),
        refit=False,
        random_state=seed,
        say=lambda title, told: note(console, title, told),
    )
    task.train([*given, *_chosen(found)])
    _keep(output, found)
    _tell(found, task.name, html, json=json)


def _check_page(html: Path | None, overwrite: bool) -> None:
    if html is not None:
        check_file_target(html, overwrite)


def _text_task(
    data: str,
    output: Path,
    reading: texts.Reading,
    names: texts.Names,
    given: list[Given],
    *,
    quiet: bool,
) -> Task:
    from rmls.cli.shared.options import find_estimator
    from rmls.cli.train.command import read_params
    from rmls.cli.train.texts import TextRun, text_parameters, train_on_texts
    from rmls.datasets.tables import read_texts
    from rmls.models import RMLSRanker, TextRanker

    if data == "-":
        raise InputError("the texts are read twice; save them to a file first.")
    features, rest = text_parameters(given)
    beside = {"categories": features.categories, "numbers": features.numbers}
    table = read_texts(data, **reading.options(needs_labels=True, **beside))
    known = [row for row, found in enumerate(table.labels or []) if found]
    if not known:
        raise InputError(f"{data}: no row has a label; there is nothing to learn from.")
    if len(known) < len(table):
        left = count(len(table) - len(known), "row")
        note(notes(quiet), "note", f"{left} without labels left out")
        table = table.take(known)
    model = TextRanker(
        RMLSRanker(**read_params(RMLSRanker, rest)), **features.get_params(deep=False)
    )
    run = TextRun(data, output, None, None, None, quiet, True, reading, names)

    def train(all_given: list[Given]) -> None:
        estimator = find_estimator("RMLSRanker")
        train_on_texts(run, estimator, all_given, paper=False, test_share=None)

    return Task(table.columns, table.labels, None, model, Path(data).name, train)


def _number_task(
    data: str,
    output: Path,
    part: options.Part | None,
    source_format: str | None,
    index_base: int | None,
    given: list[Given],
    *,
    quiet: bool,
) -> Task:
    from rmls.cli.shared.data import choose_part, load_data
    from rmls.cli.train.command import read_params
    from rmls.cli.train.run import Run, new_training, run_training
    from rmls.models import RMLSRanker

    dataset, _ = choose_part(load_data(data, source_format, index_base), part, options.Part.TRAIN)
    run = Run(data, output, part, source_format, index_base, quiet, True)

    def train(all_given: list[Given]) -> None:
        run_training(run, new_training(RMLSRanker, all_given, paper=False))

    model = RMLSRanker(**read_params(RMLSRanker, given))
    return Task(dataset.X, dataset.Y, dataset.label_names, model, dataset.name, train)


def _chosen(found: Tuned) -> list[Given]:
    """Return the choice as settings of a training, which wins over those before."""
    from rmls.cli.train.command import Given
    from rmls.tuning.choices import written

    return [
        Given("--set", name.rpartition("__")[2], written(value))
        for name, value in found.params.items()
    ]


def _keep(output: Path, found: Tuned) -> None:
    """Write the account into the record of the model."""
    from rmls.archive import amend_archive

    account = found.as_dict()
    amend_archive(
        output,
        lambda saved: {**saved, "training": {**(saved.get("training") or {}), "tuning": account}},
    )


def _tell(found: Tuned, name: str, html: Path | None, *, json: bool) -> None:
    from rmls.core.files import write_text

    if json:
        print_json(found.as_dict())
    else:
        found.print(results(), name)
    if html is not None:
        write_text(html, found.html(name))
        note(notes(), "wrote", str(html))


def _silent(title: str, text: str) -> None:
    """Leave to the training what it says about names."""
