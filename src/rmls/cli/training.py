"""What `rmls train` does: check, load, announce, train, record, save."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

import rmls
from rmls.bench.machine import versions
from rmls.cli.console import count, note, notes, size
from rmls.cli.data import choose_part, load_data
from rmls.cli.failures import EXIT_INTERRUPTED, plain_warnings
from rmls.cli.options import Part
from rmls.cli.output import check_model_target
from rmls.cli.tables import describe_size
from rmls.core.errors import InputError
from rmls.core.resources import count_threads

if TYPE_CHECKING:
    from rmls.datasets import Dataset
    from rmls.models import RMLS

MAY_CHANGE = ("max_iter", "n_jobs")


@dataclass(frozen=True)
class Run:
    """One call of `rmls train`.

    Attributes
    ----------
    data : str
        Path or name of the data set.
    output : Path
        Folder of the model.
    params : dict
        Parameters of the estimator that the user gave.
    part : Part or None
    source_format : str or None
    quiet : bool
    """

    data: str
    output: Path
    params: dict[str, Any]
    part: Part | None
    source_format: str | None
    quiet: bool

    def load(self) -> Dataset:
        """Return the rows to train on."""
        return choose_part(load_data(self.data, self.source_format), self.part, Part.TRAIN)[0]

    def say(self, title: str, text: str) -> None:
        """Print a note, unless quiet."""
        note(notes(self.quiet), title, text)


def start_training(run: Run, paper: bool, overwrite: bool) -> None:
    """Train a new model and save it."""
    from rmls.models import RMLS
    from rmls.models.rmls.objective import check_options
    from rmls.models.rmls.schedule import count_passes

    check_model_target(run.output, overwrite)
    make = RMLS.paper if paper else RMLS
    params = {"n_jobs": -1, "early_stopping": True, **run.params}
    if params.get("calibration") == "none":
        params["calibration"] = None
    model = make(**params)
    check_options(model)
    count_threads(model.n_jobs)
    dataset = run.load()
    if "n_iter_no_change" not in run.params:
        model.set_params(n_iter_no_change=count_passes(model.max_iter, dataset.n_samples))
    _train(run, model, dataset)


def continue_training(run: Run) -> None:
    """Load the model of an interrupted run, make the remaining passes and save it."""
    from rmls.models import RMLS
    from rmls.models.rmls.schedule import count_passes

    model = rmls.load(run.output)
    if not isinstance(model, RMLS):
        raise InputError(f"{run.output} is a model of {type(model).__name__}, which has no passes.")
    fixed = [name for name in run.params if name not in MAY_CHANGE]
    if fixed:
        raise InputError(f"--resume keeps the settings of the model; {fixed[0]} cannot change.")
    model.set_params(**run.params, warm_start=True)
    total = count_passes(model.max_iter, model.n_samples_)
    if model.n_iter_ >= total:
        raise InputError(
            f"{run.output} has made {model.n_iter_} of {total} passes; ask for more with --passes."
        )
    dataset = run.load()
    _check_same_data(run, model, dataset)
    _train(run, model, dataset)


def _check_same_data(run: Run, model: RMLS, dataset: Dataset) -> None:
    from rmls.core.sparse import label_counts

    same = (
        dataset.n_features == model.n_features_in_
        and dataset.n_samples == model.n_samples_
        and label_counts(dataset.Y).tolist() == model.label_counts_.tolist()
    )
    if not same:
        raise InputError(
            f"{run.data} is not the data that {run.output} was trained on; resume with the same "
            "rows, or train a new model."
        )


def _train(run: Run, model: RMLS, dataset: Dataset) -> None:
    from rmls.models.rmls.sgd import TrainingInterrupted

    before = getattr(model, "n_iter_", 0)
    _announce(run, model, dataset, before)
    model.set_params(verbose=0 if run.quiet else 1)
    started, clock = datetime.now(timezone.utc), time.monotonic()
    with plain_warnings() as seen:
        model.fit(dataset.X, dataset.Y, label_names=dataset.label_names)
    seconds = time.monotonic() - clock
    interrupted = any(isinstance(warning, TrainingInterrupted) for warning in seen)
    if interrupted and model.n_iter_ == before:
        note(notes(), "stopped", f"no further pass was complete; {run.output} was not written")
        raise typer.Exit(EXIT_INTERRUPTED)
    model.set_params(verbose=0, warm_start=False)
    model.training_record_ = _record(model, dataset, started, seconds, interrupted)
    model.save(run.output)
    _report(run, model, model.training_record_)
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _announce(run: Run, model: RMLS, dataset: Dataset, before: int) -> None:
    """Say what is trained on what, and the memory it takes."""
    from rmls.models.rmls.schedule import count_passes

    d, m, k = dataset.n_features, dataset.n_labels, model.n_components
    parameters = 4 * ((d + m) * k + k + m)
    accumulators = parameters if model.accumulators == "element" else 4 * (d + m + k + m)
    copies = 2 if model.early_stopping else 1
    run.say("data", f"{dataset.name}: {describe_size(dataset.n_samples, d, m)}")
    run.say(
        "model",
        f"{count(k, 'component')}, {size(parameters)} "
        f"({size(copies * parameters + accumulators)} while training)",
    )
    rows = "all rows"
    if model.early_stopping:
        rows = f"{model.validation_fraction:.0%} of the rows held out for {model.validation_metric}"
    passes = f"passes {before + 1} to {count_passes(model.max_iter, dataset.n_samples)}"
    threads = count(count_threads(model.n_jobs), "thread")
    run.say("training", f"{rows}, {passes}, {threads}")


def _record(
    model: RMLS, dataset: Dataset, started: datetime, seconds: float, interrupted: bool
) -> dict[str, Any]:
    """Return what is worth knowing about a training later; it is saved with the model."""
    earlier = getattr(model, "training_record_", None) or {}
    held_out = None
    if model.early_stopping:
        held_out = {"metric": model.validation_metric, "curve": list(model.validation_curve_)}
    return {
        "data": dataset.name,
        "rows": dataset.n_samples,
        "features": dataset.n_features,
        "labels": dataset.n_labels,
        "started": earlier.get("started", started.isoformat(timespec="seconds")),
        "seconds": round(earlier.get("seconds", 0.0) + seconds, 3),
        "passes": model.n_iter_,
        "interrupted": interrupted,
        "loss_curve": list(model.loss_curve_),
        "held_out": held_out,
        "threads": count_threads(model.n_jobs),
        "versions": versions(),
    }


def _report(run: Run, model: RMLS, record: dict[str, Any]) -> None:
    from rmls.metrics import get_metric

    text = f"{record['passes']} of {model.max_iter_} passes in {record['seconds']:.1f} s; "
    curve = record["held_out"]["curve"] if record["held_out"] else []
    if curve:
        metric = get_metric(model.validation_metric)
        best = (max if metric.greater_is_better else min)(curve)
        text += f"best held-out {metric.name} {best:.4f} in pass {curve.index(best) + 1}"
    else:
        text += f"loss {record['loss_curve'][-1]:.4f}"
    run.say("trained", text)
    on_disk = sum(file.stat().st_size for file in run.output.iterdir())
    run.say("wrote", f"{run.output} ({size(on_disk)})")
    data, folder = quote(run.data), quote(str(run.output))
    if record["interrupted"]:
        run.say("next", f"rmls train {data} -o {folder} --resume")
    else:
        run.say("next", f"rmls evaluate {folder} {data}")
