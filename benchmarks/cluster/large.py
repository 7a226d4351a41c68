"""Train on rows of a store, and label them, on nodes under a limit of memory.

    python benchmarks/cluster/large.py --gigabytes 50 --limit 6GB [--folder FOLDER] [--copied]
    python benchmarks/cluster/large.py --gigabytes 20 --limit 4GB --nodes 0

With ``--nodes 0`` this process does all by itself, on one thread and without Ray. Rows are written
into a store, in the order and scale that a training wants: they are not copied, and the disk has to
hold them once. With ``--copied`` they are in the order of their numbers and counts instead of unit
length, and the training copies them. Memory is what is private to a process: pages of mapped files
belong to the cache of the system.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from held_out_rows import say
from local_nodes import Meter, Peaks, start
from numba import njit
from scipy import sparse

import rmls
from rmls import RMLSRanker
from rmls.cluster import keeping, open_cluster, watching
from rmls.core.sparse import row_prints, slice_rows
from rmls.core.words import read_size, versions
from rmls.datasets.store import StoreWriter, is_store, open_store

N_LABELS, LABELS_A_ROW = 999, 3
# A row has one word of every stride of features.
WORDS, STRIDE = 2_000, 50
# A label has one of so many words for itself in each of its rows, of so many times the weight.
TELLING, WEIGHT = 50, 8.0
BLOCK_ROWS = 2_000
LABELLED_ROWS = 10_000


@njit(cache=True)
def mix(number):
    """Return a number in which all bits depend on all bits of another."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@njit(cache=True)
def fill_rows(numbers, labels, words, values):
    """Write the labels, words and values of some rows: each depends on its number alone."""
    for place in range(len(numbers)):
        number = np.uint64(numbers[place])
        for slot in range(LABELS_A_ROW):
            share = N_LABELS // LABELS_A_ROW
            drawn = mix(number * np.uint64(LABELS_A_ROW) + np.uint64(slot) + np.uint64(1 << 60))
            labels[place, slot] = slot * share + np.int64(drawn % np.uint64(share))
        for word in range(WORDS):
            drawn = mix(number * np.uint64(WORDS) + np.uint64(word))
            values[place, word] = 1.0
            for slot in range(LABELS_A_ROW):
                if (word + 7 * labels[place, slot]) % TELLING == 0:
                    values[place, word] = WEIGHT
                    drawn = mix(np.uint64(labels[place, slot] * WORDS + word) + np.uint64(1 << 61))
            words[place, word] = word * STRIDE + np.int64(drawn % np.uint64(STRIDE))


def make_rows(numbers: np.ndarray[Any, Any], unit: bool = True) -> tuple[Any, Any]:
    """Return rows by their numbers, of unit length or as they are."""
    labels = np.empty((len(numbers), LABELS_A_ROW), np.int32)
    words = np.empty((len(numbers), WORDS), np.int32)
    values = np.empty((len(numbers), WORDS), np.float32)
    fill_rows(numbers, labels, words, values)
    if unit:
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    ones = np.ones(labels.shape, np.int32)
    return as_csr(words, values, WORDS * STRIDE), as_csr(labels, ones, N_LABELS)


def as_csr(columns: Any, values: Any, width: int) -> sparse.csr_matrix:
    """Return rows with as many entries each, whose columns rise."""
    ends = np.arange(0, columns.size + 1, columns.shape[1])
    matrix = sparse.csr_matrix((values.ravel(), columns.ravel(), ends), (len(columns), width))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def write_rows(folder: Path, n_rows: int, copied: bool) -> None:
    """Write a store; in the order of the fingerprints, unless a copy is wanted."""
    order = np.arange(n_rows) if copied else find_order(n_rows)
    with StoreWriter(folder, WORDS * STRIDE, N_LABELS) as writer:
        for first in range(0, n_rows, BLOCK_ROWS):
            writer.add(*make_rows(order[first : first + BLOCK_ROWS], not copied))
        writer.finish()


def find_order(n_rows: int) -> np.ndarray[Any, Any]:
    """Return the numbers of the rows in the order of their fingerprints."""
    prints = [
        row_prints(*make_rows(np.arange(first, min(first + BLOCK_ROWS, n_rows))))
        for first in range(0, n_rows, BLOCK_ROWS)
    ]
    return np.argsort(np.concatenate(prints))


def label_rows(part: tuple[int, int], model: str, rows: str) -> np.ndarray[Any, Any]:
    """Label some rows of a store."""
    store = open_store(rows)
    return np.asarray(rmls.load_once(model).rank(slice_rows(store.X, *part), 3).labels)


def train(root: Path, address: str | None, peaks: Peaks) -> None:
    """Train on the store, and save the model."""
    meter, began = Meter(), time.monotonic()
    given = {"max_iter": 1, "shortlist_size": 4, "cluster": address}
    kept = keeping(root / "parts") if address else nullcontext()
    with watching() as usage, kept:
        model = RMLSRanker(16, **given).fit(open_store(root / "rows"))
    nodes = usage.nodes.values()
    disk = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    say(
        trained=round(time.monotonic() - began),
        cpu={kind: round(each) for kind, each in meter.stop().items()},
        seconds={name: round(each) for name, each in model.seconds_.items()},
        peak_mb=peaks.megabytes,
        disk_gb=round(disk / 1e9, 1),
        node_cpu=[round(node.cpu) for node in nodes],
        megabytes_in=[round(node.bytes_in / 1e6) for node in nodes],
        megabytes_out=[round(node.bytes_out / 1e6) for node in nodes],
        work={name: round(each) for name, each in usage.work.items()},
    )
    model.save(root / "model")


def label(root: Path, address: str | None, n_rows: int, peaks: Peaks) -> None:
    """Label every row, and say how many of the best labels are right."""
    meter, began, right = Meter(), time.monotonic(), []
    Y = open_store(root / "rows").Y.tocsr()
    starts = range(0, n_rows, LABELLED_ROWS)
    parts = [(first, min(first + LABELLED_ROWS, n_rows)) for first in starts]

    def count(number: int, labels: Any) -> None:
        first, last = parts[number]
        best = np.reshape(labels, (last - first, 3))[:, 0]
        right.append(int(np.asarray(Y[np.arange(first, last), best]).sum()))

    with open_cluster(address or "local:1") as engine:
        shared = [engine.share(str(root / name)) for name in ("model", "rows")]
        # Without a bound: the store is mapped by the part, and mapped files would count.
        engine.gather(engine.map(label_rows, parts, *shared), count)
    say(
        labelled=n_rows,
        seconds=round(time.monotonic() - began),
        cpu={kind: round(each) for kind, each in meter.stop().items()},
        right=round(sum(right) / n_rows, 3),
        peak_mb=peaks.megabytes,
    )


@contextmanager
def nodes(n_nodes: int, memory: int) -> Iterator[str | None]:
    """Yield the address of so many nodes, or None where there are none."""
    if not n_nodes:
        yield None
        return
    import ray

    cluster = start(n_nodes, memory)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=50.0)
    parser.add_argument("--limit", default="6GB")
    parser.add_argument("--folder", help="where the rows are written, and kept")
    parser.add_argument("--copied", action="store_true")
    parser.add_argument("--nodes", type=int, default=2)
    options = parser.parse_args()
    root = Path(options.folder or tempfile.mkdtemp())
    n_rows, began = int(options.gigabytes * 1e9 / (8 * WORDS)), time.monotonic()
    if not is_store(root / "rows"):
        write_rows(root / "rows", n_rows, options.copied)
    say(gigabytes=options.gigabytes, rows=n_rows, written=round(time.monotonic() - began))
    os.environ["RMLS_MEMORY"], os.environ["RMLS_SCRATCH"] = options.limit, str(root)
    with nodes(options.nodes, read_size("--limit", options.limit)) as address:
        peaks = Peaks()
        train(root, address, peaks)
        label(root, address, n_rows, peaks)
    say(limit=options.limit, nodes=options.nodes, copied=options.copied, **versions())
    for left in ("parts", "model", *(() if options.folder else ("",))):
        shutil.rmtree(root / left, ignore_errors=True)


if __name__ == "__main__":
    main()
