"""Carry a study out: find its data, run what is missing, write the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rmls.bench.data import checksum, load_source, split_rows
from rmls.bench.records import SCHEMA, Record
from rmls.bench.runner import Listener, missing_fits, run_fits
from rmls.bench.store import ResultStore, read_results, read_study, write_study
from rmls.bench.study import DataSource, Study
from rmls.core.errors import InputError, RmlsError

Say = Callable[[str], None]


def conduct(
    study: Study,
    folder: Path,
    *,
    command: str = "",
    known_missing: dict[str, str] | None = None,
    jobs: int = 1,
    retry_failed: bool = False,
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
    known_missing : dict, optional
        Data sets that cannot be had, by name, with what to say of them.
    jobs : int, default=1
        Runs at a time.
    retry_failed : bool, default=False
        Run again what has failed before.
    listener : Listener, optional
    say : callable, optional
        Called with sentences for the user.

    Notes
    -----
    Data sets that are not at hand are said and skipped. It is an error if none is at hand.
    """
    listener = listener or Listener()
    found, missing = _look_at_data(study, say)
    with ResultStore(folder) as store:
        here = {name: facts["checksum"] for name, facts in found.items()}
        fits = [fit for fit in study.fits() if fit.dataset.name in here]
        write_study(
            folder,
            {
                "schema": SCHEMA,
                "study": study.name,
                "protocol": study.protocol,
                "title": study.title or study.name,
                "command": command,
                "n_results": sum(len(fit.method.decisions) for fit in fits),
                "datasets": found,
                "missing": {**(known_missing or {}), **missing},
            },
        )
        if retry_failed and (n_failed := store.remove_failed()):
            say(f"running {n_failed} failed results again.")
        waiting = missing_fits(fits, here, store.records)
        if store.records and len(waiting) < len(fits):
            say(f"{len(fits) - len(waiting)} of {len(fits)} runs are done already.")
        listener.begin(fits, waiting, jobs)
        run_fits(waiting, here, store, jobs, listener)
        return store.records


def _look_at_data(study: Study, say: Say) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the facts of the data sets at hand, and why the others are not."""
    found: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for source in study.datasets:
        facts = _facts_or_reason(source, study)
        if isinstance(facts, str):
            missing[source.name] = facts
            say(f"skipping {source.name}: {facts}")
        else:
            found[source.name] = facts
    if not found:
        raise InputError(f"no data set of the study {study.name!r} is at hand.")
    return found, missing


def _facts_or_reason(source: DataSource, study: Study) -> dict[str, Any] | str:
    try:
        return _facts(source, study)
    except (RmlsError, OSError) as error:
        return str(error)


def _facts(source: DataSource, study: Study) -> dict[str, Any]:
    from rmls.imbalance import describe

    dataset = load_source(source)
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


def report_again(folder: Path) -> tuple[Path, Path]:
    """Write the report of a folder anew and return its two files."""
    from rmls.bench.report import write_report

    return write_report(Path(folder), *read_current(folder))


def read_current(folder: Path) -> tuple[list[Record], dict[str, Any]]:
    """Return the results of a folder and its ``study.json``.

    Results of a data set that has changed since are left out.
    """
    records, study = read_results(folder), read_study(folder)
    if not records:
        raise InputError(f"{folder} holds no finished result yet.")
    known = {name: facts["checksum"] for name, facts in study.get("datasets", {}).items()}
    return [record for record in records if _is_current(record, known)], study


def _is_current(record: Record, checksums: dict[str, str]) -> bool:
    data = record["data"]
    wanted = checksums.get(record["config"]["dataset"])
    return data is None or wanted in (None, data["checksum"])
