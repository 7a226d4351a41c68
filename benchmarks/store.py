"""Training, evaluation and labelling from a store larger than the memory that it may take.

Rows whose labels can be learned are generated into a store. A process that is told of a limit
(RMLS_MEMORY) trains on it, one that is not trains on the same rows in memory; both are measured on
rows that they have not seen. Private memory is what counts against the limit: pages of files that
are mapped belong to the cache of the system, which takes them back when others need room.

    python benchmarks/store.py [--size 2GB] [--limit 1GB] [--row-entries 1000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from rmls import RMLSRanker
from rmls.core.resources import MEMORY
from rmls.core.words import read_size, size
from rmls.datasets.store import StoreWriter, open_store
from rmls.metrics import get_metric

N_FEATURES, N_LABELS, LABEL_WORDS = 50_000, 2_000, 20
# Of each of three labels, in every row.
OWN_WORDS = 40
BLOCK_ROWS = 2_000
TEST_SHARE = 0.02


class PrivateMemory:
    """The most private memory that this process has had, looked at every 10 ms."""

    def __init__(self):
        self.peak, self._ends = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        while not self._ends.wait(0.01):
            self.look()

    def look(self):
        lines = Path("/proc/self/status").read_text().splitlines()
        found = next(line for line in lines if line.startswith("RssAnon:"))
        self.peak = max(self.peak, 1024 * int(found.split()[1]))
        return self.peak


def make_rows(rng, n_rows, row_entries):
    """Return word counts: some words of every label of the row among words of any."""
    words = rng.integers(0, N_FEATURES, (n_rows, row_entries), dtype=np.int32)
    # Some labels are frequent, most are rare.
    labels = np.minimum(rng.exponential(N_LABELS / 6, (n_rows, 3)).astype(np.int32), N_LABELS - 1)
    own = labels[:, :, None] * LABEL_WORDS + rng.integers(0, LABEL_WORDS, (n_rows, 3, OWN_WORDS))
    words[:, : 3 * OWN_WORDS] = own.reshape(n_rows, -1)
    rows = np.repeat(np.arange(n_rows), row_entries)
    counts = 1 + (rng.random(words.size) < 0.2) + 2 * (rng.random(words.size) < 0.05)
    shape = (n_rows, N_FEATURES)
    X = sparse.coo_matrix((counts.astype(np.float32), (rows, words.ravel())), shape).tocsr()
    Y = np.zeros((n_rows, N_LABELS), np.int8)
    np.put_along_axis(Y, labels, 1, axis=1)
    return X, sparse.csr_matrix(Y)


def generate(folder, n_bytes, row_entries):
    """Write rows of so many bytes, test rows last."""
    n_rows = n_bytes // (8 * row_entries)
    rng = np.random.default_rng(0)
    source = {"rows": n_rows, "entries": row_entries}
    with StoreWriter(
        folder, N_FEATURES, N_LABELS, source=source, shard_rows=20_000, overwrite=True
    ) as writer:
        while writer.n_rows < n_rows:
            writer.add(*make_rows(rng, min(BLOCK_ROWS, n_rows - writer.n_rows), row_entries))
        writer.finish(n_train=n_rows - round(TEST_SHARE * n_rows))


def measure(folder, in_memory, options):
    """Train and answer in this process; print what it took."""
    watch = PrivateMemory()
    before = watch.look()
    rows = open_store(folder).dataset()
    train, test = rows.train, rows.test
    if in_memory:
        train.X, test.X = train.X.copy(), test.X.copy()
    model = RMLSRanker(options.components, max_iter=options.passes, shortlist_size=options.listed)
    started, clock = time.process_time(), time.monotonic()
    model.fit(train)
    cpu, wall = time.process_time() - started, time.monotonic() - clock
    trained = watch.look()
    # All rows are labelled, those of the training too: they are more than memory holds.
    watch.peak = 0
    whole = rows.X.copy() if in_memory else rows.X
    started = time.process_time()
    model.rank(whole, 5)
    labelled_cpu = time.process_time() - started
    ranking, sets = model.rank(test, 5), model.predict_sets(test)
    result = {
        "before": before,
        "trained": trained,
        "answered": watch.look(),
        "cpu": cpu,
        "wall": wall,
        "labelled_cpu": labelled_cpu,
        "precision@5": get_metric("precision@5")(test.Y, ranking),
        "micro_f1": get_metric("micro_f1")(test.Y, sets),
        "seconds": model.seconds_,
        "faults": resource.getrusage(resource.RUSAGE_SELF).ru_majflt,
    }
    print(json.dumps(result))


def run(folder, in_memory, options):
    command = [sys.executable, __file__, "--measure", str(folder)]
    for name in ("components", "passes", "listed"):
        command += [f"--{name}", str(getattr(options, name))]
    environment = {**os.environ, MEMORY: options.limit}
    if in_memory:
        del environment[MEMORY]
        command.append("--in-memory")
    found = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="2GB")
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--row-entries", type=int, default=1000)
    parser.add_argument("--components", type=int, default=32)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--listed", type=int, default=20)
    parser.add_argument("--folder", help="where the store is written, and kept")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--in-memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.in_memory, options)
        return
    with tempfile.TemporaryDirectory() as above:
        folder = Path(options.folder or above, "rows")
        if not (folder / "store.json").exists():
            clock = time.monotonic()
            generate(folder, read_size("--size", options.size), options.row_entries)
            print(f"generated in {time.monotonic() - clock:.0f} s")
        store = open_store(folder)
        print(f"{store!r}, {size(store.n_bytes)}; limit {options.limit}")
        disk, memory = run(folder, False, options), run(folder, True, options)
    limit = read_size("--limit", options.limit)
    for name, found in (("from disk", disk), ("in memory", memory)):
        print(
            f"{name}: private memory {size(found['before'])} before, peak {size(found['trained'])}"
            f" in training, {size(found['answered'])} in answers; CPU {found['cpu']:.0f} s"
            f" ({found['wall']:.0f} s on the clock), labelling {found['labelled_cpu']:.0f} s; "
            f"P@5 {found['precision@5']:.4f}, micro F1 {found['micro_f1']:.4f}"
        )
        print("   ", {stage: round(seconds, 1) for stage, seconds in found["seconds"].items()})
    print(f"peak of training against the limit {disk['trained'] / limit:.2f}")
    print(f"peak of answers against the limit  {disk['answered'] / limit:.2f}")
    print(f"CPU time against memory            {disk['cpu'] / memory['cpu']:.2f}")


if __name__ == "__main__":
    main()
