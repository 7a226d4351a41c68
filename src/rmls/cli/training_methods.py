"""What `rmls train --method` does: any other estimator, fitted once and saved."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from shlex import quote
from typing import Any

from rmls.bench.machine import versions
from rmls.cli.console import size
from rmls.cli.failures import plain_warnings
from rmls.cli.output import check_model_target
from rmls.cli.tables import describe_size
from rmls.cli.training import Run
from rmls.core.errors import InputError
from rmls.core.resources import count_threads


def train_method(run: Run, method: str, overwrite: bool, for_rmls: bool) -> None:
    """Fit the estimator called ``method`` and save it; ``for_rmls`` tells of unfit options."""
    if for_rmls:
        raise InputError("--resume and --paper are for RMLS; drop --method.")
    check_model_target(run.output, overwrite)
    model = _make(method, run.params)
    dataset = run.load()
    run.say("data", f"{dataset.name}: {describe_size(*dataset.X.shape, dataset.n_labels)}")
    run.say("model", str(model).replace("\n", " "))
    started, clock = datetime.now(timezone.utc), time.monotonic()
    with plain_warnings():
        model.fit(dataset.X, dataset.Y, label_names=dataset.label_names)
    seconds = time.monotonic() - clock
    model.training_record_ = {
        "data": dataset.name,
        "rows": dataset.n_samples,
        "features": dataset.n_features,
        "labels": dataset.n_labels,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "threads": count_threads(model.n_jobs),
        "versions": versions(),
    }
    model.save(run.output)
    on_disk = sum(file.stat().st_size for file in run.output.iterdir())
    run.say("trained", f"in {seconds:.1f} s")
    run.say("wrote", f"{run.output} ({size(on_disk)})")
    run.say("next", f"rmls evaluate {quote(str(run.output))} {quote(run.data)}")


def _make(method: str, params: dict[str, Any]) -> Any:
    from rmls import models

    found = {name.lower(): name for name in models.__all__}.get(method.lower())
    if found is None:
        raise InputError(f"unknown method {method!r}; known are {', '.join(models.__all__)}.")
    make = getattr(models, found)
    known = make().get_params(deep=False)
    for name in params:
        if name not in known:
            raise InputError(
                f"{found} has no parameter {name!r}; it has {', '.join(sorted(known))}."
            )
    if params.get("calibration") == "none":
        params = {**params, "calibration": None}
    usual = {"n_jobs": -1} if "n_jobs" in known else {}
    return make(**{**usual, **params})


def read_settings(texts: list[str] | None, method: str | None) -> dict[str, Any]:
    """Return the parameters given by --set, which is for other methods than RMLS."""
    if texts and (method is None or method.lower() == "rmls"):
        raise InputError("--set is for another --method; RMLS has options of its own.")
    return parse_settings(texts or [])


def parse_settings(texts: list[str]) -> dict[str, Any]:
    """Return parameters written as ``name=value``.

    Examples
    --------
    >>> parse_settings(["n_neighbors=5", "normalize=l2", "recent=true"])
    {'n_neighbors': 5, 'normalize': 'l2', 'recent': True}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--set takes name=value; got {text!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
