"""Run one adapter on raw text and write what came of it: the half inside a system's environment.

python text_worker.py --adapter FILE --problem FILE --result FOLDER --threads N --options JSON
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path

import numpy as np
from exchange import write_json, write_rankings
from text_exchange import read_problem
from worker import find_version, load_adapter, memory_bytes, timed

DEPTH = 50


def measure(adapter, problem):
    """Train, rank and decide; return the report and the named rankings of the test rows."""
    report = {}
    with timed(report, "warm_up"):
        adapter.warm_up()
    report["start_bytes"] = memory_bytes("VmRSS")
    with timed(report, "train"):
        adapter.train(problem)
    with timed(report, "predict"):
        ranked = adapter.rank(problem.test_texts, min(DEPTH, len(problem.names)))
    # Of this process alone: what Annif's commands take is not in it.
    report["peak_bytes"] = memory_bytes("VmHWM")
    sets = adapter.decide(problem.test_texts, ranked)
    report["sets"] = list(sets)
    report["model_bytes"] = adapter.model_bytes()
    return report, {"test": ranked, **{f"set_{name}": some for name, some in sets.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--adapter", "--problem", "--result"):
        parser.add_argument(name, required=True, type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--options", type=json.loads, default={})
    options = parser.parse_args()
    problem = read_problem(options.problem)
    adapter = load_adapter(options.adapter, options.threads, options.result, options.options)
    report, rankings = measure(adapter, problem)
    write_rankings(options.result / "rankings.npz", **rankings)
    report["version"] = find_version(adapter.distributions)
    report["settings"] = adapter.settings()
    report["versions"] = {"python": platform.python_version(), "numpy": np.__version__}
    write_json(options.result / "report.json", report)


if __name__ == "__main__":
    main()
