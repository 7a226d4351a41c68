"""Results made by hand, for what is computed from results."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rmls.bench.run.records import SCHEMA, Record
from rmls.report.tables import Table, TableCell

METHODS = {"ML-CSSP": "CSSP", "Baseline": "AllIrrelevant"}
NAMES = ("hamming_loss", "example_f1", "example_accuracy", "micro_f1", "macro_f1", "macro_recall")
RANKED = tuple(f"{name}@{k}" for name in ("precision", "psp", "ndcg") for k in (1, 3, 5))


def make_record(
    label: str = "RMLS",
    value: float = 0.5,
    *,
    dataset: str = "enron",
    k: int | None = 25,
    fold: int = 0,
    decision: str = "cardinality",
    failure: str | None = None,
    **changes: Any,
) -> Record:
    """A result all of whose metrics are ``value``; changes of the configuration by name."""
    params = {**({} if k is None else {"n_components": k}), **changes.pop("params", {})}
    seconds = changes.pop("seconds", 1.0)
    config: Any = {
        "experiment": "methods",
        "dataset": dataset,
        "features": "raw",
        "label": label,
        "method": METHODS.get(label, label.partition(",")[0]),
        "preset": None,
        "params": params,
        "decision": decision,
        "folds": "shuffled",
        "n_folds": 5,
        "fold": fold,
        "seed": 0,
        "threads": 1,
        **changes,
    }
    text = json.dumps(config, sort_keys=True)
    return {
        "schema": SCHEMA,
        "key": hashlib.sha256(text.encode()).hexdigest()[:16],
        "study": "made by hand",
        "status": "failed" if failure else "ok",
        "config": config,
        "data": {
            "checksum": f"sha256:{dataset}",
            "n_train": 80,
            "n_test": 20,
            "n_features": 7,
            "n_labels": 5,
        },
        "measured": None if failure else make_measured(value, seconds),
        "failure": {"reason": failure, "message": "it went wrong."} if failure else None,  # type: ignore[typeddict-item]
        "commit": "abc",
        "versions": {"rmls": "0.1.0", "numpy": "2.0"},
        "machine": {"cpu": "a processor", "cores": 2, "jobs": 1},
        "finished": "2026-01-01T00:00:00+00:00",
    }


def make_measured(value: float, seconds: float) -> Any:
    metrics = dict.fromkeys((*NAMES, *RANKED), value)
    return {
        "metrics": {group: dict(metrics) for group in ("all", "head", "torso", "tail")},
        "reliability": None,
        "empty_rows": 0.25,
        "train_seconds": seconds,
        "train_cpu_seconds": seconds,
        "predict_seconds": 0.5 * seconds,
        "predict_cpu_seconds": 0.5 * seconds,
        "peak_memory": 300_000_000,
        "model_bytes": 2_000_000,
    }


def folds(label: str, value: float, n_folds: int = 5, **options: Any) -> list[Record]:
    """Results that scatter by 0.001 around a value."""
    return [
        make_record(label, value + 0.001 * (fold - (n_folds - 1) / 2), fold=fold, **options)
        for fold in range(n_folds)
    ]


def by_row(table: Table) -> dict[tuple[str, ...], dict[str, TableCell]]:
    """Figures by names and heading; names that stand for several lines are repeated."""
    found = {}
    above = [""] * table.n_names
    for row in table.rows:
        assert len(row) == len(table.columns)
        names = [cell.text for cell in row[: table.n_names]]
        if table.n_names == 3 and not names[0]:
            names[:2] = above[:2]
        above = names
        found[tuple(names)] = dict(zip(table.columns, row, strict=True))
    return found
