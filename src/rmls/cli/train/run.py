"""What `rmls train` does for every method: load, announce, fit, record, save, report."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from rmls.cli.shared.console import (
    EXIT_INTERRUPTED,
    CtrlC,
    describe_failure,
    note,
    notes,
    plain_warnings,
    show_traceback,
)
from rmls.cli.shared.data import (
    align_indices,
    choose_part,
    describe_size,
    describe_training_rows,
    load_data,
)
from rmls.cli.shared.options import Part
from rmls.cli.train.command import Given, read_params
from rmls.core.errors import ArchiveError, InputError, RmlsWarning
from rmls.core.options import read_seed
from rmls.core.resources import count_threads
from rmls.core.words import count, size, versions
from rmls.decide import Threshold
from rmls.models import RMLS
from rmls.models.shared.progress import TrainingInterrupted, showing

if TYPE_CHECKING:
    from rmls.datasets import Dataset


# Names tried for a model whose own was taken during the training.
MAX_NAMES = 100


class Rows(NamedTuple):
    """What a training sees of a data set, and what it does not.

    Attributes
    ----------
    train : Dataset
    part : Part
        The part of the file that they are from.
    test : Dataset or None
        Rows that ``--test-share`` keeps out of the training.
    others : Part or None
        Another part of the file, with rows of its own.
    is_test : ndarray of bool, or None
        Which rows of a table of texts the test rows are.
    """

    train: Dataset
    part: Part
    test: Dataset | None
    others: Part | None
    is_test: Any = None


class Division(NamedTuple):
    """How test rows are chosen: their share, and the seed."""

    share: float
    seed: int


@dataclass(frozen=True)
class Run:
    """One call of `rmls train`.

    Attributes
    ----------
    data : str
        Path or name of the data set.
    output : Path
        Folder of the model.
    part : Part or None
    source_format : str or None
    index_base : int or None
        The first index of svmlight text.
    quiet : bool
    overwrite : bool
        Replace a model that stands at ``output`` in the end.
    """

    data: str
    output: Path
    part: Part | None
    source_format: str | None
    index_base: int | None
    quiet: bool
    overwrite: bool = True

    def load(self, training: Training) -> Rows:
        """Return the rows; a model that has a training behind it says how to read them."""
        dataset = load_data(self.data, self.source_format, self.index_base)
        if self.index_base is None and training.earlier:
            dataset = align_indices(dataset, training.model, labels=True)
        part = self.part or training.part
        if training.division is not None:
            from rmls.cli.split import divide, rows_to_divide

            train, test = divide(rows_to_divide(dataset, part), *training.division)
            return Rows(train, part or Part.ALL, test, None)
        part = part or (Part.ALL if dataset.n_train is None else Part.TRAIN)
        train, _ = choose_part(dataset, part, Part.TRAIN)
        others = {Part.TRAIN: Part.TEST, Part.TEST: Part.TRAIN}.get(part)
        there = train.n_samples < dataset.n_samples
        return Rows(train, part, None, others if there else None)

    def finished(self, model: Any) -> Any:
        """Return what is saved of a trained model."""
        return model

    def measure(self, model: Any, rows: Rows) -> None:
        """Print the figures of the rows that were kept out of the training."""
        if rows.test is not None:
            _measure(self, model, rows.test)

    def next_steps(self, training: Training, rows: Rows) -> Iterator[tuple[str, str]]:
        """Yield what to do now, as title and text."""
        yield from _next_steps(self, training, rows)

    def say(self, title: str, text: str) -> None:
        """Print a note, unless quiet."""
        note(notes(self.quiet), title, text)


def run_training(run: Run, training: Training) -> None:
    """Train a model on the data of a run and save it; ends the program if it was interrupted."""
    rows = run.load(training)
    training.prepare(rows.train)
    _announce(run, training, rows)
    started, clock = datetime.now(timezone.utc), time.monotonic()
    with CtrlC() as ctrl_c:
        try:
            training.fit(rows.train, run.quiet, ctrl_c)
        except KeyboardInterrupt:
            show_traceback()
            training.interrupted, training.is_worth_saving = True, False
        if training.is_worth_saving:
            seconds = time.monotonic() - clock
            training.model.training_record_ = _record(training, rows, started, seconds)
            run = _save(run, run.finished(training.model))
    if not training.is_worth_saving:
        note(notes(), "stopped", f"{training.nothing_to_save}; {run.output} was not written")
        raise typer.Exit(EXIT_INTERRUPTED)
    _report(run, training)
    interrupted = training.interrupted or ctrl_c.held or not _judge(run, training.model, rows)
    for title, text in run.next_steps(training, rows):
        run.say(title, text)
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _announce(run: Run, training: Training, rows: Rows) -> None:
    run.say("data", f"{rows.train.name}: {describe_size(rows.train)}")
    if rows.test is not None and training.division is not None:
        share, seed = training.division
        kept = count(rows.test.n_samples, "row")
        run.say("test", f"{kept} ({share:.0%}) kept for testing, stratified, seed {seed}")
    for title, text in training.announce(rows.train):
        run.say(title, text)
    threads, cores = (count_threads(n) for n in (getattr(training.model, "n_jobs", None), -1))
    if "n_jobs" in training.model.declared_options() and threads < cores:
        run.say("threads", f"{threads} of {cores} cores; --jobs -1 uses all")


def _save(run: Run, model: Any) -> Run:
    """Write the model, under another name where one appeared meanwhile; returns where."""
    for number in range(1, MAX_NAMES):
        suffix = f"-{number}" if number > 1 else ""
        folder = run.output.with_name(f"{run.output.name}{suffix}")
        try:
            model.save(folder, overwrite=run.overwrite)
        except ArchiveError:
            # A training of hours is not thrown away because of a name.
            if run.overwrite or not os.path.lexists(folder) or number == MAX_NAMES - 1:
                raise
        else:
            break
    if folder != run.output:
        text = f"{run.output} appeared during the training and is left alone"
        note(notes(), "note", text)
    return replace(run, output=folder)


def _record(training: Training, rows: Rows, started: datetime, seconds: float) -> dict[str, Any]:
    """Return what is worth knowing about a training later; it is saved with the model."""
    # A resumed training goes on with the record of the one before.
    earlier, division = training.earlier, training.division
    return {
        **describe_training_rows(rows.train, rows.part),
        "test_share": division and division.share,
        "test_seed": division and division.seed,
        "seed": _plain_seed(training.model),
        "started": earlier.get("started", started.isoformat(timespec="seconds")),
        "seconds": round(earlier.get("seconds", 0.0) + seconds, 3),
        "interrupted": training.interrupted,
        **training.record(),
        "threads": count_threads(training.model.n_jobs),
        "versions": versions(),
    }


def _plain_seed(model: Any) -> int | None:
    seed = getattr(model, "random_state", None)
    return seed if isinstance(seed, int) else None


def _report(run: Run, training: Training) -> None:
    run.say("trained", training.outcome(training.model.training_record_))
    on_disk = sum(file.stat().st_size for file in run.output.iterdir())
    run.say("wrote", f"{run.output} ({size(on_disk)})")


def _judge(run: Run, model: Any, rows: Rows) -> bool:
    """Say how good the saved model is, whatever happens to it; Ctrl-C is answered with False."""
    kept = f"the model in {run.output} is complete"
    try:
        with CtrlC():
            run.measure(model, rows)
    except KeyboardInterrupt:
        show_traceback()
        note(notes(), "stopped", f"before the report was made; {kept}")
        return False
    except Exception as error:
        # Figures that were asked for are missed; a report that comes by itself is not.
        if rows.test is not None or isinstance(error, BrokenPipeError):
            raise
        show_traceback()
        reason = describe_failure(error)[0].rstrip(".")
        warnings.warn(f"no report ({reason}); {kept}.", RmlsWarning, stacklevel=2)
    return True


def _next_steps(run: Run, training: Training, rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield what to do now; rows that were trained on are never recommended for a test."""
    data, folder = quote(run.data), quote(str(run.output))
    if training.interrupted and training.can_resume:
        yield "next", f"rmls train {data} -o {folder} --method RMLS --resume"
    elif rows.others is not None:
        yield "next", f"rmls evaluate {folder} {data} --part {rows.others.value}"
    elif rows.test is not None:
        yield "next", f"rmls predict {folder} NEW-DATA -o labels.jsonl"
    elif (beside := _test_file(run.data)) is not None:
        yield "next", f"rmls evaluate {folder} {quote(str(beside))}"
    else:
        yield "next", f"rmls evaluate {folder} TEST-DATA"
        yield (
            "note",
            (
                f"every row of {run.data} was trained on; --test-share 0.2 keeps some for a test, "
                f"rmls split {data} writes two files"
            ),
        )


def _test_file(data: str) -> Path | None:
    """Return the file of test rows beside one of training rows, such as x-test.npz."""
    path = Path(data)
    head, found, tail = path.name.rpartition("train")
    beside = path.with_name(f"{head}test{tail}")
    return beside if found and beside.is_file() else None


def _measure(run: Run, model: Any, test: Dataset) -> None:
    """Print the figures of the rows that were kept out of the training."""
    from rmls.cli.evaluate import DEFAULT_METRICS, measure, show_report
    from rmls.cli.shared.options import read_list

    report, n_empty = measure(model, test, read_list("--metrics", DEFAULT_METRICS), [1, 3, 5])
    show_report(report, f"{test.name}, not trained on", n_empty)


class Training:
    """A model to fit once; a subclass adds what only its method has.

    Parameters
    ----------
    model : estimator
        With checked options.

    Attributes
    ----------
    interrupted : bool
        Whether the user ended the training early.
    is_worth_saving : bool
        Whether there is a model to write.
    can_resume : bool
        Whether ``--resume`` could go on from an interrupted training.
    part : Part or None
        The part of the data to train on, where nothing else is said.
    division : Division or None
        How rows are kept out of the training.
    earlier : dict
        The record of the training that this one continues.
    nothing_to_save : str
        What to say when there is no model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.interrupted = False
        self.is_worth_saving = True
        self.can_resume = False
        self.part: Part | None = None
        self.division: Division | None = None
        self.earlier: dict[str, Any] = {}
        self.fit_with: dict[str, Any] = {}
        name = type(model).__name__
        self.nothing_to_save = f"there is no model of {name} before this stage is complete"

    def prepare(self, dataset: Dataset) -> None:
        """Settle what depends on the data, or refuse them."""

    def announce(self, dataset: Dataset) -> Iterator[tuple[str, str]]:
        """Yield the titles and texts of notes about what is trained."""
        yield "model", str(self.model).replace("\n", " ")

    def fit(self, dataset: Dataset, quiet: bool, ctrl_c: CtrlC) -> None:
        """Train and show every stage; once there is a model, Ctrl-C waits until it is saved."""
        with plain_warnings() as seen, showing(not quiet):
            self.learn(dataset)
            ctrl_c.waits = True
        self.interrupted = any(isinstance(warning, TrainingInterrupted) for warning in seen)

    def learn(self, dataset: Dataset) -> None:
        """Fit the model."""
        self.model.fit(dataset, **self.fit_with)

    def record(self) -> dict[str, Any]:
        """Return what the record has beside sizes, time and versions."""
        return {}

    def outcome(self, record: dict[str, Any]) -> str:
        """Return the result of the training in words."""
        return f"in {record['seconds']:.1f} s"


def new_training(
    estimator: Any, given: Iterable[Given], *, paper: bool, test_share: float | None = None
) -> Training:
    """Return the training of a new model: what was given, and the defaults of the estimator."""
    training = _new_training(estimator, read_params(estimator, given), paper)
    if test_share is not None:
        seed = read_seed(getattr(training.model, "random_state", 0))
        training.division = Division(test_share, seed)
    return training


def _new_training(estimator: Any, params: dict[str, Any], paper: bool) -> Training:
    if estimator is not RMLS:
        if paper:
            _refuse_other_method()
        return Training(_checked(estimator(**params)))
    from rmls.cli.train.passes import PassTraining

    model = _checked(RMLS.paper(**params) if paper else RMLS(**params))
    tunes = isinstance(model.decision, Threshold) and not model.decision.is_fitted
    if "validation_metric" in params and not (model.early_stopping or tunes):
        message = "validation_metric has no effect without --early-stopping or a tuned threshold."
        warnings.warn(message, RmlsWarning, stacklevel=2)
    return PassTraining(model)


def resumed_training(
    estimator: Any, given: Iterable[Given], *, paper: bool, folder: Path, data: str
) -> Training:
    """Return the training that makes the missing passes of the model in ``folder``."""
    if estimator is not RMLS:
        _refuse_other_method()
    if paper:
        raise InputError("--resume keeps the settings of the model; drop --paper.")
    from rmls.cli.train.passes import ResumedTraining

    return ResumedTraining(folder, read_params(RMLS, given), data)


def _checked(model: Any) -> Any:
    model._check_options()
    return model


def _refuse_other_method() -> None:
    raise InputError("--resume and --paper are for RMLS; add --method RMLS.")
