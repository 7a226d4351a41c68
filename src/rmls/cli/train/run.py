"""What `rmls train` does for every method: load, announce, fit, record, save, report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from rmls.cli.shared.console import EXIT_INTERRUPTED, note, notes, plain_warnings
from rmls.cli.shared.data import choose_part, describe_size, load_data
from rmls.cli.shared.options import Part
from rmls.cli.train.command import Given, read_params
from rmls.core.errors import InputError
from rmls.core.resources import count_threads
from rmls.core.words import size, versions
from rmls.models import RMLS

if TYPE_CHECKING:
    from rmls.datasets import Dataset


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
    quiet : bool
    """

    data: str
    output: Path
    part: Part | None
    source_format: str | None
    quiet: bool

    def load(self) -> Dataset:
        """Return the rows to train on."""
        return choose_part(load_data(self.data, self.source_format), self.part, Part.TRAIN)[0]

    def say(self, title: str, text: str) -> None:
        """Print a note, unless quiet."""
        note(notes(self.quiet), title, text)


def run_training(run: Run, training: Training) -> None:
    """Train a model on the data of a run and save it; ends the program if it was interrupted."""
    dataset = run.load()
    training.prepare(dataset)
    run.say("data", f"{dataset.name}: {describe_size(dataset)}")
    for title, text in training.announce(dataset):
        run.say(title, text)
    started, clock = datetime.now(timezone.utc), time.monotonic()
    training.fit(dataset, run.quiet)
    seconds = time.monotonic() - clock
    if training.is_worth_saving:
        training.model.training_record_ = _record(training, dataset, started, seconds)
        training.model.save(run.output)
        _report(run, training)
    else:
        note(notes(), "stopped", f"no further pass was complete; {run.output} was not written")
    if training.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _record(
    training: Training, dataset: Dataset, started: datetime, seconds: float
) -> dict[str, Any]:
    """Return what is worth knowing about a training later; it is saved with the model."""
    # A resumed training goes on with the record of the one before.
    earlier = getattr(training.model, "training_record_", None) or {}
    return {
        "data": dataset.name,
        "rows": dataset.n_samples,
        "features": dataset.n_features,
        "labels": dataset.n_labels,
        "started": earlier.get("started", started.isoformat(timespec="seconds")),
        "seconds": round(earlier.get("seconds", 0.0) + seconds, 3),
        **training.record(),
        "threads": count_threads(training.model.n_jobs),
        "versions": versions(),
    }


def _report(run: Run, training: Training) -> None:
    run.say("trained", training.outcome(training.model.training_record_))
    on_disk = sum(file.stat().st_size for file in run.output.iterdir())
    run.say("wrote", f"{run.output} ({size(on_disk)})")
    data, folder = quote(run.data), quote(str(run.output))
    if training.interrupted:
        run.say("next", f"rmls train {data} -o {folder} --resume")
    else:
        run.say("next", f"rmls evaluate {folder} {data}")


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
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.interrupted = False
        self.is_worth_saving = True

    def prepare(self, dataset: Dataset) -> None:
        """Settle what depends on the data, or refuse them."""

    def announce(self, dataset: Dataset) -> Iterator[tuple[str, str]]:
        """Yield the titles and texts of notes about what is trained."""
        yield "model", str(self.model).replace("\n", " ")

    def fit(self, dataset: Dataset, quiet: bool) -> list[Warning]:
        """Train, and return the warnings that were shown."""
        with plain_warnings() as seen:
            self.model.fit(dataset.X, dataset.Y, label_names=dataset.label_names)
        return seen

    def record(self) -> dict[str, Any]:
        """Return what the record has beside sizes, time and versions."""
        return {}

    def outcome(self, record: dict[str, Any]) -> str:
        """Return the result of the training in words."""
        return f"in {record['seconds']:.1f} s"


def new_training(
    estimator: Any, given: Iterable[Given], *, paper: bool, stops_early: bool
) -> Training:
    """Return the training of a new model.

    All cores are used; RMLS holds out rows and keeps the best of all passes.
    """
    params = read_params(estimator, given)
    if "n_jobs" in estimator.declared_options():
        params.setdefault("n_jobs", -1)
    if estimator is not RMLS:
        if paper:
            _refuse_other_method()
        model = _checked(estimator(**params))
        return Training(model)
    from rmls.cli.train.passes import PassTraining

    # Someone at a terminal wants to see what every pass is worth; a program asks for it.
    params.setdefault("early_stopping", True)
    model = _checked(RMLS.paper(**params) if paper else RMLS(**params))
    return PassTraining(model, stops_early or "n_iter_no_change" in params)


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
    raise InputError("--resume and --paper are for RMLS; drop --method.")
