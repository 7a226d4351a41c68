"""Kill drivers, and nodes, by SIGKILL at random moments: every run must end with the same model.

    python benchmarks/cluster/kills.py --times 20 [--victims driver node] [--threads]

A driver that was killed is followed by another process that resumes. A node that was killed is not
replaced before the training has ended; one that dies before the training has counted its workers
leaves one shard, and the model must be that of one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from held_out_rows import say
from local_nodes import add_node, every_worker, kill_node, start

import rmls
from rmls import RMLSRanker, make_longtail
from rmls.cluster import keeping, watching
from rmls.core.words import versions

FORK = multiprocessing.get_context("fork")


def train(address: str, folder: str | None = None, how: str = "begin") -> tuple[Any, int]:
    """Train on as many shards as there are workers, so that a kill may come between two merges.

    Returns the model and the number of shards.
    """
    data = make_longtail(4000, 2000, 400, labels_per_row=4, random_state=1).train
    model = RMLSRanker(32, max_iter=6, cluster=address)
    with every_worker() as shards:
        if folder is None:
            return model.fit(data.X, data.Y), shards[0]
        with keeping(folder, resume=how == "resume"):
            model.fit(data.X, data.Y).save(f"{folder}/model")
            return model, shards[0]


class Driver:
    """A process that trains when it is told to.

    A fork, so that kernels are there already. It is made before this process has anything to do
    with Ray, whose connections do not survive a fork.
    """

    def __init__(self) -> None:
        theirs, self.ours = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=self._wait, args=(theirs,), daemon=True)
        self.process.start()

    @staticmethod
    def _wait(pipe: Any) -> None:
        train(*pipe.recv())

    def begin(self, *given: str) -> None:
        """Let it train."""
        self.ours.send(given)

    def wait(self, seconds: float | None = None) -> int | None:
        """Return how it has ended, or None."""
        self.process.join(seconds)
        return self.process.exitcode


def same_model(model: Any, whole: dict[str, Any]) -> bool:
    found = model._state()[1]
    return found.keys() == whole.keys() and all(
        np.array_equal(whole[name], found[name]) for name in whole
    )


def rehearse(driver: Driver, address: str) -> float:
    """Return the seconds that a driver takes which nobody kills."""
    folder, began = tempfile.mkdtemp(), time.monotonic()
    driver.begin(address, folder)
    driver.wait()
    shutil.rmtree(folder)
    return time.monotonic() - began


def kill_drivers(
    drivers: list[Driver], rng: random.Random, address: str, whole: dict[str, Any]
) -> int:
    """Kill a process that trains, and go on in another one; returns how often all went well."""
    rehearse(drivers.pop(), address)
    seconds, n_same = rehearse(drivers.pop(), address), 0
    for number in range(len(drivers) // 2):
        folder = tempfile.mkdtemp()
        victim, heir = drivers[2 * number : 2 * number + 2]
        moment = rng.uniform(0.05, 0.95) * seconds
        victim.begin(address, folder)
        killed = victim.wait(moment) is None
        victim.process.kill()
        victim.wait()
        kept = len(list(Path(folder).glob("*.npz")))
        heir.begin(address, folder, "resume")
        ended = heir.wait()
        equal = ended == 0 and same_model(rmls.load(f"{folder}/model", mmap=False), whole)
        n_same += equal
        shown = {"moment": round(moment, 1), "killed": killed, "kept": kept, "same": equal}
        say(victim="driver", run=number, **shown)
        shutil.rmtree(folder)
    return n_same


def kill_nodes(times: int, rng: random.Random, cluster: Any, wholes: dict[int, Any]) -> int:
    """Kill one of two nodes while this process trains; another node takes its place later.

    ``wholes`` are the models that so many shards must give.
    """
    import ray

    ray.init(address=cluster.address, log_to_driver=False)
    train(cluster.address)
    began, n_same = time.monotonic(), 0
    train(cluster.address)
    seconds = time.monotonic() - began
    for number in range(times):
        node = rng.choice(cluster.list_all_nodes()[1:])
        moment = rng.uniform(0.05, 0.95) * seconds
        killer = threading.Timer(moment, kill_node, (node,))
        killer.start()
        with watching() as usage:
            model, shards = train(cluster.address)
        killed = not killer.is_alive()
        killer.join()
        equal = same_model(model, wholes[shards])
        n_same += equal
        shown = {"moment": round(moment, 1), "killed": killed, "same": equal}
        say(victim="node", run=number, shards=shards, repeated=usage.repeated, **shown)
        cluster.remove_node(node, allow_graceful=False)
        add_node(cluster)
    ray.shutdown()
    return n_same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--victims", nargs="+", default=["driver", "node"])
    parser.add_argument("--threads", action="store_true", help="threads instead of Ray")
    options = parser.parse_args()
    rng, same = random.Random(options.seed), {}
    wholes = {n: train(f"local:{n}")[0]._state()[1] for n in (1, 2)}
    n_drivers = 2 * options.times + 2 if "driver" in options.victims else 0
    drivers = [Driver() for _ in range(n_drivers)]
    cluster = None if options.threads else start(2)
    address = "local:2" if cluster is None else cluster.address
    if drivers:
        same["driver"] = kill_drivers(drivers, rng, address, wholes[2])
    if "node" in options.victims and cluster is not None:
        same["node"] = kill_nodes(options.times, rng, cluster, wholes)
        cluster.shutdown()
    say(times=options.times, same=same, **versions())


if __name__ == "__main__":
    main()
