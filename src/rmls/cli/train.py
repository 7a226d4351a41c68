"""`rmls train`: from a data set to a model folder."""

from __future__ import annotations

from typing import Any

from rmls.cli import options
from rmls.cli import train_options as own
from rmls.cli.options import read_decision, read_number
from rmls.core.errors import InputError

PATIENCE = 3


def train(
    data: options.Data,
    output: own.Output,
    method: own.MethodName = None,
    setting: own.Setting = None,
    components: own.Components = None,
    passes: own.Passes = None,
    negatives: own.Negatives = None,
    learning_rate: own.LearningRate = None,
    l2: own.L2 = None,
    loss: own.Loss = None,
    activation: own.Activation = None,
    normalize: own.Normalize = None,
    batch_size: own.BatchSize = None,
    decision: own.Decision = None,
    calibration: own.Calibration = None,
    paper: own.Paper = False,
    metric: own.Metric = None,
    validation: own.Validation = None,
    no_validation: own.NoValidation = False,
    early_stopping: own.EarlyStopping = False,
    seed: own.Seed = None,
    jobs: own.Jobs = None,
    resume: own.Resume = False,
    overwrite: options.Overwrite = False,
    part: options.PartOption = None,
    source_format: options.From = None,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model from DATA and write it to a folder.

    Uses the training rows where DATA is split, otherwise all, and holds out
    a tenth of them to measure every pass. Ctrl-C keeps what is learned so far,
    and --resume continues.
    """
    from rmls.cli.training import Run, continue_training, start_training
    from rmls.cli.training_methods import read_settings, train_method

    given = {
        "n_components": components,
        "max_iter": passes,
        "negatives_per_positive": _number_or_auto("--negatives", negatives),
        "learning_rate": learning_rate,
        "l2": _number_or_auto("--l2", l2),
        "loss": loss,
        "activation": activation,
        "normalize": normalize,
        "batch_size": batch_size,
        "decision": _decision(decision, metric),
        "calibration": calibration,
        "random_state": seed,
        "n_jobs": jobs,
        **_validation(metric, validation, no_validation, early_stopping),
    }
    params = {name: value for name, value in given.items() if value is not None}
    params |= read_settings(setting, method)
    run = Run(data, output, params, part, source_format, quiet)
    if method is not None and method.lower() != "rmls":
        train_method(run, method, overwrite, for_rmls=resume or paper)
    elif resume and paper:
        raise InputError("--resume keeps the settings of the model; drop --paper.")
    elif resume:
        continue_training(run)
    else:
        start_training(run, paper, overwrite)


def _number_or_auto(option: str, text: str | None) -> float | str | None:
    return text if text in (None, "auto") else read_number(option, str(text))


def _decision(text: str | None, metric: str | None) -> Any:
    """Return the rule; a threshold is tuned for the metric if that is one of sets."""
    from rmls.decide import Threshold
    from rmls.metrics import get_metric

    wanted = get_metric(metric or own.USUAL_METRIC)
    if text == "threshold" and wanted.needs == "sets":
        return Threshold(metric=wanted.name)
    return None if text is None else read_decision(text)


def _validation(
    metric: str | None, share: float | None, without: bool, early_stopping: bool
) -> dict[str, Any]:
    """Return the parameters of the estimator that concern held-out rows."""
    from rmls.metrics import get_metric

    if without and (early_stopping or share is not None):
        raise InputError("--no-validation excludes --early-stopping and --validation.")
    chosen = get_metric(metric or own.USUAL_METRIC)
    if "propensity" in chosen.options or (chosen.takes_k and chosen.k is None):
        raise InputError(f"--metric {metric} cannot be measured in training; try precision@5.")
    return {
        "early_stopping": False if without else None,
        "validation_fraction": share,
        "validation_metric": None if metric is None else chosen.name,
        "n_iter_no_change": PATIENCE if early_stopping else None,
    }
