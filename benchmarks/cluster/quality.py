"""Training on shards against one machine: precision on held-out training rows, processor time.

    python benchmarks/cluster/quality.py [--data tate debdeps eurlex57k] [--seeds 0 1 2]

Shards are threads: a test shows that Ray gives the same model, bit for bit. A cluster learns
vectors on as many shards as pay ("paying", one on these sets); here it also learns them on all of
its workers, whether it pays or not ("every").
"""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Any

from held_out_rows import NAMES, precision, say, split
from local_nodes import every_worker

from rmls import RMLSRanker
from rmls.core.words import versions

RUNS = ((None, ""), ("local:2", "paying"), ("local:2", "every"), ("local:4", "every"))


def measure(data: tuple[Any, ...], seed: int, cluster: str | None, shards: str) -> dict[str, float]:
    """Train, and return precision, recall of the lists and processor time."""
    X, Y, X_held, Y_held = data
    cpu = time.process_time()
    with every_worker() if shards == "every" else contextlib.nullcontext():
        model = RMLSRanker(random_state=seed, cluster=cluster, n_jobs=1).fit(X, Y)
    cpu = time.process_time() - cpu
    recall = round(100 * model.shortlist_recall_, 2)
    return {**precision(model, X_held, Y_held), "recall": recall, "cpu": round(cpu, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=NAMES)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    for name in options.data:
        data = split(name, options.rows)
        lost: dict[tuple[str | None, str], list[list[float]]] = {run: [] for run in RUNS}
        for seed in options.seeds:
            base: dict[str, float] = {}
            for run in RUNS:
                found = measure(data, seed, *run)
                base = base or found
                lost[run].append([base[key] - found[key] for key in ("P@1", "P@5")])
                say(data=name, seed=seed, cluster=run[0], shards=run[1], **found)
        for run, each in lost.items():
            first, fifth = (round(sum(column) / len(each), 2) for column in zip(*each, strict=True))
            say(data=name, cluster=run[0], shards=run[1], lost={"P@1": first, "P@5": fifth})
    say(**versions())


if __name__ == "__main__":
    main()
