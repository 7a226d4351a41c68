"""Fit the processor time of every stage to some trainings, and check it on others.

    python benchmarks/cluster/costs.py [--fit 8000 16000 32000] [--check 64000]

A visit costs the rows of the parameters that it moves, and their components; a merge the rows that
travel, times the components; a list the labels that it is searched among, times the components; a
pair the entries of its row. What the driver does beside merging costs its entries and pairs. Every
stage has a fixed cost as well. The runs that are checked have more rows, or other components, lists
and shards.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from held_out_rows import say
from local_nodes import every_worker
from scipy.optimize import nnls

from rmls import RMLSRanker, make_longtail
from rmls.cluster import watching
from rmls.cluster.merging import Touched
from rmls.cluster.passes import SpreadPasses
from rmls.core.words import versions

STAGES = ("visits", "merges", "lists", "classifiers", "driver")
PASSES, NEGATIVES = 4, 20
N_FEATURES = 5_000


@contextmanager
def counting_merges() -> Iterator[dict[str, float]]:
    """Count the rows of the parameters that nodes send back, and the time it takes to merge."""
    merge, found = SpreadPasses._merge, {"rows": 0.0, "cpu": 0.0}

    def counted(self: Any, moved: list[list[Touched]]) -> Any:
        began = time.thread_time()
        result = merge(self, moved)
        found["cpu"] += time.thread_time() - began
        found["rows"] += sum(len(each.rows) for part in moved for each in part)
        return result

    SpreadPasses._merge = counted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        SpreadPasses._merge = merge  # type: ignore[method-assign]


def measure(n_rows: int, k: int = 32, listed: int = 50, n_shards: int = 2) -> tuple[Any, Any]:
    """Return the work of every stage of a training, and the processor time that it took."""
    # Up to 4,000 labels, which lists are searched among exactly.
    data = make_longtail(n_rows, N_FEATURES, n_rows // 16, labels_per_row=4, random_state=1).train
    settings = {"max_iter": PASSES, "shortlist_size": listed, "calibration_folds": 0}
    before = time.process_time()
    with watching() as usage, every_worker(), counting_merges() as merged:
        RMLSRanker(k, **settings, n_jobs=1, cluster=f"local:{n_shards}").fit(data.X, data.Y)
    spent = time.process_time() - before
    nodes = [usage.work[name] for name in ("visit_shard", "propose_block", "solve_block")]
    times = [nodes[0], merged["cpu"], nodes[1], nodes[2], spent - sum(nodes) - merged["cpu"]]
    rows, labels = data.Y.shape
    moves = PASSES * (data.X.nnz + (1 + NEGATIVES) * data.Y.nnz)
    work = [
        (1, moves, moves * k),
        (1, merged["rows"] * k, 0),
        (1, rows * labels * k, 0),
        (1, listed * data.X.nnz, 0),
        (1, data.X.nnz + listed * rows, 0),
    ]
    say(
        rows=rows,
        labels=labels,
        entries=int(data.X.nnz),
        components=k,
        listed=listed,
        shards=n_shards,
        rows_sent=round(merged["rows"]),
        cpu={name: round(each, 3) for name, each in zip(STAGES, times, strict=True)},
    )
    return np.array(work, float), np.array(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", nargs="+", type=int, default=[8_000, 16_000, 32_000])
    parser.add_argument("--check", nargs="+", type=int, default=[64_000])
    options = parser.parse_args()
    measure(2_000)
    runs = [measure(n) for n in options.fit] + [measure(options.fit[1], 64, 100, 4)]
    works, times = (np.array(each) for each in zip(*runs, strict=True))
    # Relative errors count: a stage of a second is as good a witness as one of ten.
    fitted = [
        nnls(works[:, stage] / times[:, stage, None], np.ones(len(times)))[0]
        for stage in range(len(STAGES))
    ]
    for name, (fixed, *rates) in zip(STAGES, fitted, strict=True):
        say(stage=name, seconds=round(fixed, 3), nanoseconds=[round(1e9 * r, 3) for r in rates])
    checks = [{"n_rows": n} for n in options.check]
    checks.append({"n_rows": options.fit[-1], "k": 128, "listed": 50, "n_shards": 4})
    for settings in checks:
        work, found = measure(**settings)
        for number, name in enumerate(STAGES):
            expected = float(fitted[number] @ work[number])
            say(checked=name, expected=round(expected, 3), found=round(found[number], 3))
    say(**versions())


if __name__ == "__main__":
    main()
