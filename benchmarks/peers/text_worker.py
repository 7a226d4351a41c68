"""Run one adapter on raw text and write what came of it: the half inside a system's environment.

python text_worker.py --adapter FILE --problem FILE --result FOLDER --threads N --options JSON
"""

from __future__ import annotations

from text_exchange import read_problem
from worker import DEPTH, memory_bytes, run_adapter, timed, warm_up


def measure(adapter, problem, folder):
    """Train, rank and decide; return the report and the named rankings of the test rows."""
    report = warm_up(adapter)
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


if __name__ == "__main__":
    run_adapter(__doc__.splitlines()[0], read_problem, measure)
