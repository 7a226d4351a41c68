"""Run a study: find its data, run what is missing, store the results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from rmls.bench.run.records import SCHEMA, Record
from rmls.bench.run.runner import Listener, missing_fits, run_fits
from rmls.bench.run.store import ResultStore, read_current, write_study
from rmls.bench.study.data import checksum, load_source, split_rows
from rmls.bench.study.grid import Config, DataSource, Fit, Study
from rmls.core.errors import InputError, RmlsError
from rmls.core.words import count

Say = Callable[[str], None]


def run_study(
    study: Study,
    folder: Path,
    *,
    command: str = "",
    unavailable: dict[str, str] | None = None,
    needed: Collection[str] = (),
    jobs: int = 1,
    retry_failed: bool = False,
    budget: float | None = None,
    listener: Listener | None = None,
    say: Say = lambda text: None,
) -> list[Record]:
    """Run what is missing of a study, and return all results of its folder.

    Parameters
    ----------
    study : Study
    folder : Path
        Results are added to those that it holds; a study that was ended goes on here.
    command : str
        How the study was started, for the report.
    unavailable : dict, optional
        Data sets that are known to be unavailable, by name, with what to say of them.
    needed : collection of str, optional
        Names of data sets without which nothing is run.
    jobs : int, default=1
        Runs at a time.
    retry_failed : bool, default=False
        Run again what has failed before.
    budget : float, optional
        Hours for all runs. Settings that are not finished then are named in ``study.json`` and in
        the report; the next call goes on with them.
    listener : Listener, optional
    say : callable, optional
        Called with sentences for the user.

    Notes
    -----
    Data sets that are not available are said and skipped. It is an error if none is available, or
    one that is needed is not.
    """
    listener = listener or Listener()
    found, missing = _find_data(study, needed, say)
    # The lock of the store is held from here on: one writer a folder.
    with ResultStore(folder) as store:
        here = {name: facts["checksum"] for name, facts in found.items()}
        fits = [fit for fit in study.fits() if fit.dataset.name in here]
        facts = {
            "schema": SCHEMA,
            "study": study.name,
            "protocol": study.protocol,
            "title": study.title or study.name,
            "command": command,
            "n_results": sum(len(fit.method.decisions) for fit in fits),
            "datasets": found,
            # What is found missing now is newer than what was known before.
            "missing": {**(unavailable or {}), **missing},
        }
        write_study(folder, facts)
        if retry_failed and (n_failed := store.remove_failed()):
            say(f"running {count(n_failed, 'failed result')} again.")
        waiting = missing_fits(fits, here, store.records)
        if store.records and len(waiting) < len(fits):
            say(f"{len(fits) - len(waiting)} of {len(fits)} runs are done already.")
        listener.begin(fits, waiting, jobs)
        run_fits(waiting, here, store, jobs, listener, None if budget is None else 3600 * budget)
        unfinished = _unfinished(fits, missing_fits(fits, here, store.records))
        if unfinished and budget is not None:
            write_study(folder, {**facts, "budget_hours": budget, "unfinished": unfinished})
            say(f"not finished within {budget:g} h: {'; '.join(unfinished)}.")
        return store.records


def all_failed(study: Study, folder: Path) -> bool:
    """Tell whether a folder holds results of the study, and none that ended well."""
    asked = {_as_text(config) for fit in study.fits() for config in fit.configs()}
    records = [r for r in read_current(folder)[0] if _as_text(r["config"]) in asked]
    return bool(records) and all(record["status"] == "failed" for record in records)


def _as_text(config: Config) -> str:
    return json.dumps(config, sort_keys=True)


def _unfinished(fits: list[Fit], left: list[Fit]) -> dict[str, str]:
    """Return the settings with runs that are left, and how many of how many."""
    of = Counter(fit.setting for fit in fits)
    return {name: f"{n} of {of[name]} runs" for name, n in Counter(f.setting for f in left).items()}


def _find_data(
    study: Study, needed: Collection[str], say: Say
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the facts of the data sets that are available, and why the others are not."""
    found: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for source in study.datasets:
        facts = _facts_or_reason(source, study)
        if isinstance(facts, str):
            if source.name in needed:
                raise InputError(f"the study cannot be run without {source.name}: {facts}")
            missing[source.name] = facts
            say(f"skipping {source.name}: {facts}")
        else:
            found[source.name] = facts
    if not found:
        raise InputError(f"no data set of the study {study.name!r} is available.")
    return found, missing


def _facts_or_reason(source: DataSource, study: Study) -> dict[str, Any] | str:
    try:
        return _facts(source, study)
    except (RmlsError, OSError) as error:
        return str(error)


def _facts(source: DataSource, study: Study) -> dict[str, Any]:
    from rmls.imbalance import describe

    dataset = load_source(source)
    # Tried before anything runs: data that cannot be split are refused now.
    split_rows(dataset, study.folds, study.n_folds, 0, study.seeds[0])
    return {
        "checksum": checksum(dataset),
        "n_samples": dataset.n_samples,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "features": source.features,
        "note": source.note,
        "imbalance": describe(dataset.Y).as_dict(),
    }
