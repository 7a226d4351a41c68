"""The beginning of a report: what came out, what was run, and on what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rmls.bench.pages.series import Results
from rmls.bench.pages.winners import winner_parts
from rmls.bench.run.records import Record
from rmls.bench.tables.study_tables import dataset_title
from rmls.core.words import size
from rmls.report.content import Bullets, Code, Facts, Section
from rmls.report.numbers import format_number
from rmls.report.tables import Table, table_row


def overview_section(results: Results) -> Section:
    """Return who wins, what was run, and on what."""
    parts = winner_parts(results)
    parts.append(_dataset_table(results))
    parts.append(Facts(_facts(results)))
    if results.study.get("command"):
        parts.append(Code(str(results.study["command"])))
    missing = results.study.get("missing") or {}
    if missing:
        parts.append("Not available, so not run:")
        parts.append(Bullets([(name, f": {reason}") for name, reason in missing.items()]))
    unfinished = results.study.get("unfinished") or {}
    if unfinished:
        hours = results.study.get("budget_hours")
        parts.append(f"Not finished within {hours:g} hours:" if hours else "Not finished:")
        parts.append(Bullets([(name, f": {left} left") for name, left in unfinished.items()]))
    return Section("summary", "Summary", parts)


def finished(records: list[Record]) -> str:
    """Return when the last of the results was finished.

    Examples
    --------
    >>> finished([])
    ''
    """
    latest = max((record["finished"] for record in records), default="")
    return latest[:16].replace("T", " ") + (" UTC" if latest.endswith(("+00:00", "Z")) else "")


def _dataset_table(results: Results) -> Table:
    known = results.study.get("datasets") or {}
    # Data sets of the plan first, then those that only results name.
    names = dict.fromkeys([*known, *(r["config"]["dataset"] for r in results.records)])
    rows = []
    for name in names:
        own = [r for r in results.records if r["config"]["dataset"] == name]
        facts = known.get(name, {})
        sizes = [facts.get(field) for field in ("n_samples", "n_features", "n_labels")]
        failed = sum(record["status"] == "failed" for record in own)
        rows.append(
            table_row(
                dataset_title(name, results.study),
                *(format_number(number, 0) for number in [*sizes, len(own), failed]),
            )
        )
    columns = ["data set", "rows", "features", "labels", "results", "failed"]
    return Table("Data sets", columns, rows)


def _facts(results: Results) -> list[tuple[str, str]]:
    records = results.records
    n_failed = sum(record["status"] == "failed" for record in records)
    # A folder may hold more than the last call asked for; then the total is enough.
    wanted = results.study.get("n_results")
    total = f"{len(records)} of {wanted}" if wanted and wanted > len(records) else f"{len(records)}"
    pairs = [
        ("Results", f"{total}, {n_failed or 'none'} failed"),
        ("Methods", "; ".join(dict.fromkeys(r["config"]["label"] for r in records))),
        ("Splits", "; ".join(_distinct(map(_split, records)))),
        ("Threads", ", ".join(_distinct(str(r["config"]["threads"]) for r in records))),
        ("Commit", ", ".join(_distinct(r["commit"] or "unknown" for r in records))),
        ("Machine", "; ".join(_distinct(_machine(r["machine"]) for r in records))),
        ("Versions", "; ".join(_distinct(_versions(r["versions"]) for r in records))),
        ("Last result", finished(records)),
    ]
    return [(name, text) for name, text in pairs if text]


def _split(record: Record) -> str:
    config = record["config"]
    if config["folds"] == "given":
        return "the split that comes with the data"
    return f"{config['n_folds']} {config['folds']} folds, seed {config['seed']}"


def _machine(machine: dict[str, Any]) -> str:
    said = [str(machine["cpu"])] if machine.get("cpu") else []
    if machine.get("cores"):
        said.append(f"{machine['cores']} cores")
    if machine.get("memory"):
        said.append(size(float(machine["memory"])))
    if machine.get("system"):
        said.append(str(machine["system"]))
    return ", ".join(said)


def _versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _distinct(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
