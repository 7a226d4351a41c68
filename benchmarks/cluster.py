"""Training on a cluster against one machine: quality, processor time, bytes, faults, memory.

    python benchmarks/cluster.py quality --data tate debdeps eurlex57k --seeds 0 1 2
    python benchmarks/cluster.py ray --data debdeps --nodes 2 4
    python benchmarks/cluster.py model --rows 2000 4000 8000 --check 16000
    python benchmarks/cluster.py kills --times 20
    python benchmarks/cluster.py large --gigabytes 50 --limit 6GB

`quality` compares shards on threads with one machine on held-out training rows: a test shows that
Ray gives the same model as threads, bit for bit. `ray` starts nodes on this machine, each with its
own processes and object store, and counts the processor time of all of them. `model` fits the cost
of every stage to some sizes and checks it on others. `kills` ends a node, and the driver, by
SIGKILL at random moments. `large` trains from a store under a limit of memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rmls import RMLSRanker, make_longtail
from rmls.cluster import keeping, watching
from rmls.core.words import read_size, versions
from rmls.models.ranker.large import spread

STORE = 300 << 20
SMALL = {"n_components": 32, "max_iter": 3}


def say(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


def split(name: str, limit: int | None) -> tuple[Any, ...]:
    """Training rows, a fifth of them held out: test rows are not looked at."""
    from rmls.datasets import load

    if name == "longtail":
        data = make_longtail(limit or 80_000, 600, 300, labels_per_row=5, random_state=1).train
    else:
        folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
        data = load(folder / f"{name}.npz").train
    X, Y = data.X.tocsr(), data.Y.tocsr()
    order = np.random.default_rng(5).permutation(X.shape[0])[:limit]
    held, kept = np.split(order, [len(order) // 5])
    return X[kept], Y[kept], X[held], Y[held]


def precision(model: Any, X: Any, Y: Any) -> dict[str, float]:
    labels = model.rank(X, 5).labels.reshape(-1, 5)
    hits = np.array([np.isin(row, Y[i].indices) for i, row in enumerate(labels)])
    return {"P@1": round(100 * hits[:, 0].mean(), 2), "P@5": round(100 * hits.mean(), 2)}


def quality(options: argparse.Namespace) -> None:
    for name in options.data:
        X, Y, X_held, Y_held = split(name, options.rows)
        for seed in options.seeds:
            base: dict[str, float] = {}
            for cluster in (None, "local:2", "local:4"):
                cpu = time.process_time()
                with every_worker():
                    model = RMLSRanker(random_state=seed, cluster=cluster).fit(X, Y)
                cpu = time.process_time() - cpu
                found = precision(model, X_held, Y_held)
                base = base or {**found, "cpu": cpu}
                lost = {f"lost {key}": round(base[key] - found[key], 2) for key in found}
                figures = {**found, **lost, "recall": round(model.shortlist_recall_, 4)}
                ratio = round(cpu / base["cpu"], 2)
                say(
                    data=name, seed=seed, cluster=cluster, **figures, cpu=round(cpu, 1), ratio=ratio
                )


def start(n_nodes: int, memory: int | None = None) -> Any:
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(n_nodes):
        more = {} if memory is None else {"memory": memory}
        cluster.add_node(num_cpus=1, object_store_memory=STORE, **more)
    return cluster


class Meter:
    """Processor time of this process and of all that it has started, by what they are.

    Looks twice a second: a process that ends meanwhile has counted until then.
    """

    def __init__(self) -> None:
        self.first, self.last = self.look(), {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @staticmethod
    def look() -> dict[int, tuple[str, float]]:
        """Return what every process is, and what it has spent."""
        import psutil

        own, found = psutil.Process(), {}
        for each in (own, *own.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                words = " ".join(each.cmdline()[:2])
                kind = "driver" if each == own else "daemons"
                if "default_worker" in words or ("ray::" in words and "Agent" not in words):
                    kind = "workers"
                found[each.pid] = kind, sum(each.cpu_times()[:2])
        return found

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            self.last.update(self.look())

    def stop(self) -> dict[str, float]:
        """Return what was spent since the beginning."""
        self._ended.set()
        self._thread.join()
        self.last.update(self.look())
        spent = {"driver": 0.0, "workers": 0.0, "daemons": 0.0}
        for pid, (kind, seconds) in self.last.items():
            spent[kind] += seconds - self.first.get(pid, (kind, 0.0))[1]
        return spent


IDLE = 10.0


def train_here(name: str, limit: int | None) -> tuple[float, dict[str, float]]:
    X, Y, X_held, Y_held = split(name, limit)
    RMLSRanker(8, max_iter=1).fit(X[:400], Y[:400])
    before = time.process_time()
    model = RMLSRanker(random_state=0).fit(X, Y)
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


def on_ray(options: argparse.Namespace) -> None:
    for name in options.data:
        one, quality = one_machine(name, options.rows)
        data = split(name, options.rows)
        say(data=name, rows=data[0].shape[0], nodes=1, cpu=round(one, 1), **quality)
        for n_nodes in options.nodes:
            ray_run(name, n_nodes, one, data)
        again, _ = one_machine(name, options.rows)
        say(data=name, nodes=1, cpu_again=round(again, 1))


def warm_up(address: str, n_nodes: int, X: Any, Y: Any) -> None:
    """Let every node do some of every stage."""
    with every_worker():
        for _ in range(10):
            with watching() as usage:
                RMLSRanker(8, max_iter=2, cluster=address).fit(X, Y)
            if min(
                (node.tasks for node in usage.nodes.values()), default=0
            ) >= 10 and n_nodes == len(usage.nodes):
                return


@contextlib.contextmanager
def every_worker() -> Iterator[None]:
    """Let vectors learn on as many shards as there are workers, whether it pays or not."""
    rule = spread.paying_shards
    spread.paying_shards = lambda touches, n_workers: n_workers
    try:
        yield
    finally:
        spread.paying_shards = rule


def ray_run(name: str, n_nodes: int, one: float, data: tuple[Any, ...]) -> None:
    """Train on so many nodes; their start, and what Ray costs without work, are told apart."""
    import ray

    X, Y, X_held, Y_held = data
    meter = Meter()
    cluster = start(n_nodes)
    ray.init(address=cluster.address, log_to_driver=False)
    # Workers that have loaded the kernels: a service of nodes is warm.
    warm_up(cluster.address, n_nodes, X[:2000], Y[:2000])
    started = meter.stop()
    meter = Meter()
    time.sleep(IDLE)
    idle = sum(meter.stop().values()) / IDLE
    meter, began = Meter(), time.monotonic()
    with watching() as usage:
        model = RMLSRanker(random_state=0, cluster=cluster.address).fit(X, Y)
    spent, seconds = meter.stop(), time.monotonic() - began
    total = sum(spent.values())
    nodes = usage.nodes.values()
    busiest = max(node.cpu for node in nodes)
    alone = total - sum(node.cpu for node in nodes)
    say(
        data=name,
        nodes=n_nodes,
        seconds=round(seconds, 1),
        cpu=round(total, 1),
        ratio=round(total / one, 2),
        without_idle_ray=round((total - idle * seconds) / one, 2),
        spent={kind: round(each, 1) for kind, each in spent.items()},
        idle_a_second=round(idle, 3),
        start={kind: round(each, 1) for kind, each in started.items()},
        # If nodes had cores of their own: what the driver does, and the busiest node.
        efficiency=round(one / (n_nodes * (alone + busiest)), 2),
        work={name: round(each, 1) for name, each in usage.work.items()},
        megabytes_in=[round(node.bytes_in / 1e6) for node in nodes],
        megabytes_out=[round(node.bytes_out / 1e6) for node in nodes],
        node_cpu=[round(node.cpu, 1) for node in nodes],
        **precision(model, X_held, Y_held),
    )
    ray.shutdown()
    cluster.shutdown()


def model_costs(options: argparse.Namespace) -> None:
    """Fit the processor time of every stage to some sizes, and check it on others.

    A visit costs its entries and labels, a list the labels it is searched among, a pair the entries
    of its row; all but the last times the components. The driver costs its entries.
    """
    k, passes, listed, negatives = 32, 4, 50, 20

    def measure(n_rows: int) -> tuple[dict[str, float], dict[str, float]]:
        data = make_longtail(n_rows, 5_000, n_rows // 8, labels_per_row=4, random_state=1).train
        settings = {"max_iter": passes, "shortlist_size": listed, "calibration_folds": 0}
        before = time.process_time()
        with watching() as usage:
            RMLSRanker(k, **settings, cluster="local:2").fit(data.X, data.Y)
        spent = {**usage.work, "driver": time.process_time() - before - sum(usage.work.values())}
        rows, labels = data.Y.shape
        touched = data.X.nnz + (1 + negatives) * data.Y.nnz
        work = {
            "visit_shard": passes * k * touched,
            "propose_block": rows * labels * k,
            "solve_block": rows * listed * data.X.nnz / rows,
            "driver": data.X.nnz,
        }
        say(rows=rows, labels=labels, entries=int(data.X.nnz), cpu=spent)
        return work, spent

    measure(options.fit[0])
    runs = [measure(n_rows) for n_rows in options.fit]
    rates = {
        name: sum(spent[name] for _, spent in runs) / sum(work[name] for work, _ in runs)
        for name in runs[0][0]
    }
    say(nanoseconds={name: round(1e9 * rate, 3) for name, rate in rates.items()})
    for n_rows in options.check:
        work, spent = measure(n_rows)
        for name, rate in rates.items():
            say(checked=name, expected=round(rate * work[name], 2), found=round(spent[name], 2))


def train_small(address: str, folder: str | None = None, how: str = "begin") -> Any:
    """Train on as many shards as there are workers, so that a kill may come between two merges."""
    data = make_longtail(4000, 2000, 400, labels_per_row=4, random_state=1).train
    model = RMLSRanker(32, max_iter=6, cluster=address)
    with every_worker():
        if folder is None:
            return model.fit(data.X, data.Y)
        with keeping(folder, resume=how == "resume"):
            return model.fit(data.X, data.Y).save(f"{folder}/model")


def same_model(model: Any, whole: dict[str, Any]) -> bool:
    found = model._state()[1]
    return found.keys() == whole.keys() and all(
        np.array_equal(whole[name], found[name]) for name in whole
    )


def kills(options: argparse.Namespace) -> None:
    """Kill nodes, and drivers, at random moments; every run must end with the same model."""
    rng = random.Random(options.seed)
    cluster = None if options.what == "threads" else start(2)
    address = "local:2" if cluster is None else cluster.address
    train_small("local:2")
    began = time.monotonic()
    whole = train_small("local:2")._state()[1]
    seconds = time.monotonic() - began
    same = {}
    if "driver" in options.victims:
        same["driver"] = kill_drivers(options.times, rng, address, (whole, seconds))
    if "node" in options.victims and cluster is not None:
        same["node"] = kill_nodes(options.times, rng, cluster, whole)
    say(times=options.times, same=same, **versions())
    if cluster is not None:
        cluster.shutdown()


def kill_drivers(times: int, rng: random.Random, address: str, wanted: tuple[Any, float]) -> int:
    """Kill the process that trains, and go on in another one; both are forks of this one."""
    import rmls

    fork, (whole, seconds), n_same = multiprocessing.get_context("fork"), wanted, 0
    for number in range(times):
        folder = tempfile.mkdtemp()
        process = fork.Process(target=train_small, args=(address, folder))
        process.start()
        moment = rng.uniform(0.05, 0.95) * seconds
        process.join(moment)
        killed = process.is_alive()
        process.kill()
        process.join()
        kept = len(list(Path(folder).glob("*.npz")))
        process = fork.Process(target=train_small, args=(address, folder, "resume"))
        process.start()
        process.join()
        model = rmls.load(f"{folder}/model", mmap=False) if process.exitcode == 0 else None
        equal = model is not None and same_model(model, whole)
        n_same += equal
        shown = {"moment": round(moment, 1), "killed": killed, "kept": kept, "same": equal}
        say(victim="driver", run=number, **shown)
        shutil.rmtree(folder)
    return n_same


def kill_nodes(times: int, rng: random.Random, cluster: Any, whole: dict[str, Any]) -> int:
    """Kill one of two nodes while this process trains; another node takes its place later."""
    import ray

    ray.init(address=cluster.address, log_to_driver=False)
    train_small(cluster.address)
    began, n_same = time.monotonic(), 0
    train_small(cluster.address)
    seconds = time.monotonic() - began
    for number in range(times):
        node = rng.choice(cluster.list_all_nodes()[1:])
        pid = node.all_processes["raylet"][0].process.pid
        moment = rng.uniform(0.05, 0.95) * seconds
        killer = threading.Timer(moment, os.kill, (pid, signal.SIGKILL))
        killer.start()
        with watching() as usage:
            model = train_small(cluster.address)
        killed = not killer.is_alive()
        killer.join()
        equal = same_model(model, whole)
        n_same += equal
        shown = {"moment": round(moment, 1), "killed": killed, "same": equal}
        say(victim="node", run=number, repeated=usage.repeated, **shown)
        cluster.remove_node(node, allow_graceful=False)
        cluster.add_node(num_cpus=1, object_store_memory=STORE)
    ray.shutdown()
    return n_same


def write_rows(folder: Path, n_rows: int, shape: tuple[int, int], words: int) -> None:
    """Write a store of random rows in which every label has words of its own."""
    from scipy import sparse

    from rmls.datasets.store import StoreWriter

    rng, (n_features, n_labels) = np.random.default_rng(0), shape
    with StoreWriter(folder, n_features, n_labels) as writer:
        for first in range(0, n_rows, 10_000):
            count = min(10_000, n_rows - first)
            labels = rng.integers(0, n_labels, (count, 3))
            own = (labels[:, :, None] * 7 + rng.integers(0, 20, (count, 3, 20))) % n_features
            noise = rng.integers(0, n_features, (count, words - 60))
            columns = np.hstack([own.reshape(count, -1), noise]).astype(np.int32)
            ends = np.arange(0, columns.size + 1, words)
            values = np.ones(columns.size, np.float32)
            X = sparse.csr_matrix((values, columns.ravel(), ends), (count, n_features))
            X.sum_duplicates()
            ones, ends = np.ones(labels.size, np.int32), np.arange(0, labels.size + 1, 3)
            Y = sparse.csr_matrix((ones, labels.ravel(), ends), (count, n_labels))
            Y.sum_duplicates()
            Y.data[:] = 1
            writer.add(X, Y)
        writer.finish()


class Peaks:
    """The largest private memory of one process, by what it is, looked at twice a second."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            for pid, (kind, _) in Meter.look().items():
                with contextlib.suppress(OSError, IndexError):
                    status = Path(f"/proc/{pid}/status").read_text()
                    private = int(status.split("RssAnon:")[1].split()[0]) << 10
                    self.bytes[kind] = max(self.bytes.get(kind, 0), private)
            time.sleep(0.5)


def label_rows(part: tuple[int, int], model: str, rows: str) -> np.ndarray[Any, Any]:
    """Label some rows of a store."""
    import rmls
    from rmls.core.sparse import slice_rows
    from rmls.datasets.store import open_store

    store = open_store(rows)
    return np.asarray(rmls.load_once(model).rank(slice_rows(store.X, *part), 3).labels)


def large(options: argparse.Namespace) -> None:
    """Generate rows on disk, train and label them under a limit of memory."""
    import ray

    from rmls.datasets.store import open_store

    root = Path(tempfile.mkdtemp(dir=options.folder))
    shape, words = (50_000, 2_000), 500
    n_rows = int(options.gigabytes * 1e9 / (8 * words))
    began = time.monotonic()
    write_rows(root / "rows", n_rows, shape, words)
    say(gigabytes=options.gigabytes, rows=n_rows, written=round(time.monotonic() - began))
    limit = read_size("--limit", options.limit)
    os.environ["RMLS_MEMORY"], os.environ["RMLS_SCRATCH"] = options.limit, str(root)
    cluster = start(options.nodes[0], limit)
    ray.init(address=cluster.address, log_to_driver=False)
    peaks, began = Peaks(), time.monotonic()
    given = {"max_iter": 1, "shortlist_size": 5, "cluster": cluster.address}
    with watching() as usage, keeping(root / "parts"):
        model = RMLSRanker(32, **given).fit(open_store(root / "rows"))
    nodes = usage.nodes.values()
    disk = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    say(
        limit=options.limit,
        trained=round(time.monotonic() - began),
        peak_mb={kind: round(each / 1e6) for kind, each in peaks.bytes.items()},
        disk_gb=round(disk / 1e9, 1),
        node_cpu=[round(node.cpu) for node in nodes],
        megabytes_in=[round(node.bytes_in / 1e6) for node in nodes],
        megabytes_out=[round(node.bytes_out / 1e6) for node in nodes],
        work={name: round(each) for name, each in usage.work.items()},
    )
    model.save(root / "model")
    label_store(root, cluster.address, n_rows, peaks)
    ray.shutdown()
    cluster.shutdown()
    shutil.rmtree(root)


def label_store(root: Path, address: str, n_rows: int, peaks: Peaks) -> None:
    """Label every row of a store on the nodes, and say how many of the best labels are right."""
    from rmls.cluster import open_cluster
    from rmls.datasets.store import open_store

    began, right = time.monotonic(), []
    Y = open_store(root / "rows").Y.tocsr()
    parts = [(first, min(first + 20_000, n_rows)) for first in range(0, n_rows, 20_000)]

    def count(number: int, labels: Any) -> None:
        first, last = parts[number]
        best = np.reshape(labels, (last - first, 3))[:, 0]
        right.append(int(np.asarray(Y[np.arange(first, last), best]).sum()))

    with open_cluster(address) as engine:
        shared = [engine.share(str(root / name)) for name in ("model", "rows")]
        # Without a bound: the store is mapped by the part, and mapped files would count.
        engine.gather(engine.map(label_rows, parts, *shared), count)
    say(
        labelled=n_rows,
        seconds=round(time.monotonic() - began),
        right=round(sum(right) / n_rows, 3),
        peak_mb={kind: round(each / 1e6) for kind, each in peaks.bytes.items()},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["quality", "ray", "model", "kills", "large"])
    parser.add_argument("--data", nargs="+", default=["tate", "debdeps", "eurlex57k"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--nodes", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--fit", nargs="+", type=int, default=[4000, 8000, 16000])
    parser.add_argument("--check", nargs="+", type=int, default=[32000])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--victims", nargs="+", default=["driver", "node"])
    parser.add_argument("--what", choices=["ray", "threads"], default="ray")
    parser.add_argument("--gigabytes", type=float, default=50.0)
    parser.add_argument("--limit", default="6GB")
    parser.add_argument("--folder")
    options = parser.parse_args()
    parts = {"quality": quality, "ray": on_ray, "model": model_costs, "kills": kills}
    {**parts, "large": large}[options.part](options)


if __name__ == "__main__":
    main()
