"""Training on Ray nodes of this machine against one machine: processor time, bytes, efficiency.

    python benchmarks/cluster/work.py [--data tate debdeps eurlex57k] [--nodes 2 4] [--rounds 3]

One machine and nodes take turns, and the figures are those of the round with the median ratio: what
the same training takes differs by a tenth within minutes where machines are shared. Processor time
is that of all processes: the driver, the workers, and Ray's own. Workers have loaded their kernels
before, as those of a service have.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from typing import Any

import numpy as np
from held_out_rows import NAMES, precision, say, split
from local_nodes import Meter, every_worker, start

from rmls import RMLSRanker
from rmls.cluster import watching
from rmls.core.words import versions

IDLE = 10.0


def train_here(name: str, limit: int | None) -> tuple[float, dict[str, float]]:
    """Train without a cluster; returns the processor time, and the precision."""
    X, Y, X_held, Y_held = split(name, limit)
    RMLSRanker(8, max_iter=1).fit(X[:400], Y[:400])
    before = time.process_time()
    model = RMLSRanker(random_state=0, n_jobs=1).fit(X, Y)
    return time.process_time() - before, precision(model, X_held, Y_held)


def one_machine(name: str, limit: int | None) -> tuple[float, dict[str, float]]:
    """Train without a cluster, by as many processes at once as there are cores.

    Nodes share the caches of this machine with each other; the training that they are compared with
    does the same, or a busy core alone would look like work.
    """
    context = multiprocessing.get_context("spawn")
    n_processes = os.cpu_count() or 1
    with context.Pool(n_processes) as pool:
        found = pool.starmap(train_here, [(name, limit)] * n_processes, chunksize=1)
    return float(np.mean([cpu for cpu, _ in found])), found[0][1]


def warm_up(address: str, n_nodes: int, X: Any, Y: Any) -> None:
    """Let every node do some of every stage."""
    with every_worker():
        for _ in range(10):
            with watching() as usage:
                RMLSRanker(8, max_iter=2, cluster=address).fit(X, Y)
            least = min((node.tasks for node in usage.nodes.values()), default=0)
            if least >= 10 and len(usage.nodes) == n_nodes:
                return


def train_on_nodes(name: str, n_nodes: int, n_rounds: int, limit: int | None) -> None:
    """Train on so many nodes; their start, and what Ray costs without work, are told apart."""
    import ray

    data = split(name, limit)
    meter = Meter()
    cluster = start(n_nodes)
    ray.init(address=cluster.address, log_to_driver=False)
    warm_up(cluster.address, n_nodes, data[0][:2000], data[1][:2000])
    started = meter.stop()
    meter = Meter()
    time.sleep(IDLE)
    idle = sum(meter.stop().values()) / IDLE
    rounds = []
    for _ in range(n_rounds):
        one, quality = one_machine(name, limit)
        say(data=name, rows=data[0].shape[0], nodes=1, cpu=round(one, 1), **quality)
        rounds.append(train_once(cluster.address, one, idle, data))
    rounds.sort(key=lambda figures: figures["ratio"])
    say(
        data=name,
        nodes=n_nodes,
        ratios=[figures["ratio"] for figures in rounds],
        idle_a_second=round(idle, 3),
        start={kind: round(each, 1) for kind, each in started.items()},
        **rounds[n_rounds // 2],
    )
    ray.shutdown()
    cluster.shutdown()


def train_once(address: str, one: float, idle: float, data: tuple[Any, ...]) -> dict[str, Any]:
    """Train on the nodes; returns what was spent, against what one machine has spent."""
    X, Y, X_held, Y_held = data
    meter, began = Meter(), time.monotonic()
    with watching() as usage:
        model = RMLSRanker(random_state=0, n_jobs=1, cluster=address).fit(X, Y)
    spent, seconds = meter.stop(), time.monotonic() - began
    total = sum(spent.values())
    # Vectors that learn on one shard do so in the driver, which is no node.
    nodes = list(usage.nodes.values())
    busiest = max(node.cpu for node in nodes)
    alone = total - idle * seconds - sum(node.cpu for node in nodes)
    return {
        "seconds": round(seconds, 1),
        "one": round(one, 1),
        "cpu": round(total, 1),
        "ratio": round(total / one, 2),
        # Ray's processes spend this whether anybody trains or not: on a busy machine for longer.
        "without_idle_ray": round((total - idle * seconds) / one, 2),
        "spent": {kind: round(each, 1) for kind, each in spent.items()},
        # If nodes had cores of their own: what the driver does alone, and the busiest node.
        "efficiency": round(one / (len(nodes) * (alone + busiest)), 2),
        "work": {name: round(each, 1) for name, each in usage.work.items()},
        "megabytes_in": [round(node.bytes_in / 1e6) for node in nodes],
        "megabytes_out": [round(node.bytes_out / 1e6) for node in nodes],
        "node_cpu": [round(node.cpu, 1) for node in nodes],
        **precision(model, X_held, Y_held),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=NAMES)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--nodes", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for name in options.data:
        for n_nodes in options.nodes:
            train_on_nodes(name, n_nodes, options.rounds, options.rows)
    say(**versions())


if __name__ == "__main__":
    main()
