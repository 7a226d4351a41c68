"""`rmls train`: its options, and the parameters of an estimator that they stand for.

What a parameter may be, its default and its description come from the estimator.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from rmls.cli.shared import options, texts
from rmls.cli.shared.options import RULES, option, read_decision, spreads, suggest, takes
from rmls.cli.shared.vectors import COLUMN
from rmls.cli.train.options import (
    HELD_OUT,
    METHOD,
    ONLY_RMLS,
    EarlyStopping,
    KeepRows,
    Method,
    NoReport,
    NoValidation,
    Output,
    Paper,
    Resume,
    Settings,
    TestShare,
)
from rmls.core.documented import Documented, read_parameters, read_source_doc
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.cli.train.run import Run, Training


class Shortcut(NamedTuple):
    """One option for one parameter.

    Attributes
    ----------
    flag : str
        The option.
    parameter : str
        The parameter of the estimator.
    metavar : str
    panel : str or None
        Where the help shows it; `ONLY_RMLS` says whose parameter it is.
    help : str
        Where the command line takes more than the declaration says.
    """

    flag: str
    parameter: str
    metavar: str
    panel: str | None = METHOD
    help: str = ""

    @property
    def name(self) -> str:
        """The flag as the name of an argument."""
        return self.flag.strip("-").replace("-", "_")

    def explain(self, entry: Documented) -> tuple[str, str]:
        """Return the help and the default in words, from the docstring of the estimator."""
        names = [*entry.choices, *(["none"] if entry.choices and entry.optional else [])]
        listed = f"{entry.summary.rstrip('.')}: {', '.join(names)}." if names else entry.summary
        return self.help or listed, (entry.default or "").strip('"')

    @property
    def explained_by(self) -> str:
        """The method whose docstring describes it."""
        return "RMLS" if self.panel == ONLY_RMLS else "RMLSRanker"

    def as_option(self) -> Parameter:
        """Return what typer reads; the help is written when it is asked for."""
        # Taken as text: the declaration of the estimator reads and checks it.
        described = typer.Option(self.flag, metavar=self.metavar, rich_help_panel=self.panel)
        return option(self.name, Annotated[str | None, described])


SHORTCUTS = (
    Shortcut("--components", "n_components", "N"),
    Shortcut("--passes", "max_iter", "N"),
    Shortcut("--negatives", "negatives_per_positive", "NUMBER", ONLY_RMLS),
    Shortcut("--learning-rate", "learning_rate", "NUMBER", ONLY_RMLS),
    Shortcut("--l2", "l2", "NUMBER", ONLY_RMLS),
    Shortcut("--loss", "loss", "NAME"),
    Shortcut("--activation", "activation", "NAME", ONLY_RMLS),
    Shortcut("--normalize", "normalize", "NAME"),
    Shortcut("--batch-size", "batch_size", "N", ONLY_RMLS),
    Shortcut("--decision", "decision", "RULE", help=f"How predict cuts: {RULES}"),
    Shortcut("--calibration", "calibration", "NAME"),
    Shortcut("--metric", "validation_metric", "NAME", ONLY_RMLS),
    Shortcut("--validation", "validation_fraction", "SHARE", HELD_OUT),
    Shortcut("--seed", "random_state", "N", None),
    Shortcut("--jobs", "n_jobs", "N", None),
    Shortcut("--cluster", "cluster", "ADDRESS", None),
)

DOCUMENTED = {"RMLS": "rmls.models.rmls.rmls", "RMLSRanker": "rmls.models.ranker.ranker"}
# Options that stand for parameters which of these two only RMLS has.
FLAGS_OF_RMLS = {
    *(shortcut.flag for shortcut in SHORTCUTS if shortcut.panel == ONLY_RMLS),
    *("--early-stopping", "--no-validation"),
}


class ExplainsShortcuts(TyperCommand):
    """A command whose help says of every shortcut what the docstring of its method says."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        # Importing the methods would take seconds; reading their source takes some milliseconds.
        documented = {
            name: read_parameters(read_source_doc(module, name))
            for name, module in DOCUMENTED.items()
        }
        shortcuts = {shortcut.name: shortcut for shortcut in SHORTCUTS}
        parameters: list[Any] = self.params
        for parameter in parameters:
            shortcut = shortcuts.get(str(parameter.name))
            entries = {} if shortcut is None else documented[shortcut.explained_by]
            if shortcut is not None and shortcut.parameter in entries:
                explained = shortcut.explain(entries[shortcut.parameter])
                parameter.help, parameter.show_default = explained
        super().format_help(ctx, formatter)


class Given(NamedTuple):
    """A parameter that the user gave.

    Attributes
    ----------
    source : str
        The option it was given by.
    name : str
        The parameter of the estimator.
    text : str
    """

    source: str
    name: str
    text: str


def parse_settings(texts: Iterable[str]) -> list[Given]:
    """Return parameters written as ``name=value``.

    Examples
    --------
    >>> parse_settings(["normalize=l2"])
    [Given(source='--set', name='normalize', text='l2')]
    """
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--set takes name=value; got {text!r}.")
        found.append(Given("--set", name, value))
    return found


def read_params(estimator: Any, given: Iterable[Given]) -> dict[str, Any]:
    """Return checked parameters of a class; of two values for one the later is taken."""
    options = estimator.declared_options()
    params = {}
    for source, name, text in given:
        if name not in options and source in FLAGS_OF_RMLS:
            raise InputError(
                f"{source} is for RMLS, and {estimator.__name__} has no parameter {name!r}; "
                "add --method RMLS."
            )
        if name not in options:
            raise InputError(
                f"{source}: {estimator.__name__} has no parameter {name!r}; "
                f"it has {', '.join(options) or 'none'}{suggest(name, options)}"
            )
        params[name] = _read_value(name, options[name], text)
        try:
            options[name].check(name, params[name])
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
    return _tune_for_metric(params)


def _read_value(name: str, option: Any, text: str) -> Any:
    from rmls.metrics import get_metric

    # Rules and metrics have names that the declaration does not list.
    if name == "decision":
        return read_decision(text)
    return get_metric(text).name if name == "validation_metric" else option.read(text)


def _tune_for_metric(params: dict[str, Any]) -> dict[str, Any]:
    """Let a threshold that is to be tuned serve the metric, if that is one of sets."""
    from rmls.decide import Threshold
    from rmls.metrics import get_metric

    rule, metric = params.get("decision"), params.get("validation_metric")
    tuned = isinstance(rule, Threshold) and not rule.is_fitted
    if tuned and metric is not None and get_metric(metric).needs == "sets":
        return {**params, "decision": Threshold(metric=metric)}
    return params


@takes("shortcuts", [shortcut.as_option() for shortcut in SHORTCUTS])
@spreads
def train(
    *,
    data: options.Data,
    output: Output,
    method: Method = "RMLSRanker",
    settings: Settings = None,
    shortcuts: dict[str, str | None],
    paper: Paper = False,
    no_validation: NoValidation = False,
    early_stopping: EarlyStopping = False,
    test_share: TestShare = None,
    no_report: NoReport = False,
    keep_rows: KeepRows = False,
    resume: Resume = False,
    overwrite: options.Overwrite = False,
    part: options.PartOption = None,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    categories: texts.Categories = None,
    numbers: texts.Numbers = None,
    label_text: texts.LabelTextFile = None,
    no_names: texts.NoNames = False,
    features: texts.Features = None,
    encoder: texts.Encoder = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model from DATA and write it to a folder.

    DATA is a table of texts and labels (CSV, JSON lines, Parquet, Excel, a
    folder of texts) or a data set of features. Uses the training rows where
    DATA is split, otherwise all. Parameters that are not given have the
    defaults of Python. Ctrl-C keeps the best model there
    is so far; --method RMLS --resume continues the passes of RMLS. A report
    of rows that the model had not seen goes to MODEL.html (texts only).
    """
    from rmls.cli.shared.console import check_model_target
    from rmls.cli.shared.data import is_store_path, reads_texts
    from rmls.cli.shared.options import find_estimator
    from rmls.cli.train.run import Run, run_training

    stopping = {"--no-validation": no_validation, "--early-stopping": early_stopping}
    # --set comes last and wins over a shortcut.
    columns = [*list_columns(categories, numbers), *_list_vectors(features, encoder)]
    given = [*_list_given(shortcuts, stopping, keep_rows), *parse_settings(settings or [])]
    estimator, names = find_estimator(method), texts.Names(label_text, no_names)
    reading = texts.Reading(
        text, labels, None, separator, encoding, delimiter, source_format, features
    )
    if reads_texts(data, reading):
        from rmls.cli.train.texts import TextRun, train_on_texts

        _check_texts(resume, test_share, names, estimator)
        check_model_target(output, overwrite)
        table = TextRun(data, output, part, None, None, quiet, overwrite, reading, names)
        table = replace(table, reports=not no_report)
        train_on_texts(table, estimator, [*columns, *given], paper=paper, test_share=test_share)
        return
    _check_numbers(data, estimator, columns)
    run = Run(data, output, part, source_format, index_base, quiet, overwrite)
    run = _open_store_run(run, names, resume) if is_store_path(data) else run
    run, training = _settle(run, estimator, given, paper, test_share, resume=resume)
    if label_text is not None and type(run) is Run:
        training.fit_with["label_text"] = names.read_for(estimator, run.say)
    run_training(run, training)


def _open_store_run(run: Run, names: texts.Names, resume: bool) -> Run:
    """Return the run of a store; one that was made of texts gives a model that takes texts."""
    from rmls.cli.shared.stores import store_features
    from rmls.datasets.store import open_store

    features = store_features(open_store(run.data))
    if features is None:
        return run
    if resume:
        raise InputError("--resume continues a training on features; train on the store again.")
    from rmls.cli.train.stores import StoreRun

    given = {field.name: getattr(run, field.name) for field in fields(run)}
    return StoreRun(**given, features=features, names=names)


def _settle(
    run: Run,
    estimator: Any,
    given: list[Given],
    paper: bool,
    test_share: float | None,
    *,
    resume: bool,
) -> tuple[Run, Training]:
    """Return the run of a training on features, and a new training or one that goes on."""
    from rmls.cli.shared.console import check_model_target
    from rmls.cli.train.run import new_training, resumed_training

    _check_share(test_share, resume)
    if not resume:
        check_model_target(run.output, run.overwrite)
        return run, new_training(estimator, given, paper=paper, test_share=test_share)
    training = resumed_training(estimator, given, paper=paper, folder=run.output, data=run.data)
    return replace(run, overwrite=True), training


def _check_share(test_share: float | None, resume: bool) -> None:
    from rmls.cli.split import check_test_share

    if test_share is not None:
        check_test_share(test_share)
        if resume:
            raise InputError("--resume keeps the rows of the model; drop --test-share.")


def _check_texts(
    resume: bool, test_share: float | None, names: texts.Names, estimator: Any
) -> None:
    """Refuse what is not for texts."""
    if resume:
        raise InputError("--resume continues a training on features; train on the texts again.")
    _check_share(test_share, resume)
    names.check(estimator)


def _check_numbers(data: str, estimator: Any, columns: list[Given]) -> None:
    """Refuse what is for texts, where the rows are numbers."""
    if estimator.__name__ == "TextRanker":
        raise InputError(f"TextRanker takes texts, and {data} holds numbers; use RMLSRanker.")
    if columns:
        flag = columns[0].source
        what = "names columns of" if flag in ("--categories", "--numbers") else "goes with"
        raise InputError(f"{flag} {what} a table of texts, and {data} holds numbers.")


def list_columns(categories: str | None, numbers: str | None) -> Iterator[Given]:
    """Yield the columns beside the texts as parameters of the text features."""
    for flag, named in (("--categories", categories), ("--numbers", numbers)):
        if named is not None:
            listed = json.dumps(options.read_list(flag, named))
            yield Given(flag, flag.strip("-"), listed)


def _list_vectors(features: str | None, encoder: Path | None) -> Iterator[Given]:
    """Yield where vectors come from as parameters of the text features."""
    if features is not None:
        yield Given("--features", "vectors", COLUMN)
    if encoder is not None:
        # The model may be asked from another folder.
        yield Given("--encoder", "encoder", json.dumps(str(encoder.resolve())))


def _list_given(
    shortcuts: dict[str, str | None], stopping: dict[str, bool], keep_rows: bool
) -> Iterator[Given]:
    """Yield the parameters that options of their own were given for."""
    both = stopping["--early-stopping"] or shortcuts["validation"] is not None
    if stopping["--no-validation"] and both:
        raise InputError("--no-validation excludes --early-stopping and --validation.")
    for shortcut in SHORTCUTS:
        text = shortcuts[shortcut.name]
        if text is not None:
            yield Given(shortcut.flag, shortcut.parameter, text)
    for flag, is_given in stopping.items():
        if is_given:
            # --no-validation stands for early_stopping=False.
            yield Given(flag, "early_stopping", str(flag == "--early-stopping"))
    if keep_rows:
        yield Given("--keep-rows", "keep_rows", "true")
