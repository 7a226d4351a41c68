"""A small study on generated data, and ways to read what it left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmls.bench.run.records import Record
from rmls.bench.study.grid import DataSource, Experiment, Study
from rmls.bench.study.methods import Method

SMALL = DataSource("small", longtail={"n": 120, "d": 40, "m": 12, "labels_per_row": 2.0})
RMLS_METHOD = Method("RMLS", params={"n_components": 3, "max_iter": 2})
RULES = Method("MostFrequent", decisions=("top_1", "cardinality"))
PLST_METHOD = Method("PLST", params={"n_components": 3}, decisions=("round", "cardinality"))
BASELINE = Method("AllIrrelevant", "Baseline", decisions=("none",))

TOML = """
n_folds = 3
seeds = [0, 1]

[[experiment]]
datasets = [{ name = "small", longtail = { n = 120, d = 40, m = 12 } }]

[[experiment.method]]
method = "RMLS"
params = { n_components = [3, 5], max_iter = 2 }
decisions = ["cardinality", "top_2"]

[[experiment.method]]
method = "KNN"
"""
TOML_RESULTS = 2 * 3 * (2 * 2 + 1)


def small_study(*methods: Method, **options: Any) -> Study:
    experiment = Experiment("methods", (SMALL,), methods or (RMLS_METHOD, PLST_METHOD, BASELINE))
    return Study("small study", (experiment,), **{"n_folds": 2, **options})


def quality(records: list[Record]) -> dict[str, Any]:
    """What a run measures besides time and memory, by the key of the result."""
    return {
        record["key"]: (record["status"], record["measured"] and record["measured"]["metrics"])
        for record in records
    }


def write_toml(folder: Path, text: str = TOML) -> Path:
    path = folder / "grid.toml"
    path.write_text(text)
    return path
