"""Memory of turning a table of texts into a store, which must not grow with the table.

The table is read once, and several times over as if it were that much longer; each run is a process
of its own. The same table is turned into rows in memory, for comparison.

    python benchmarks/store_texts.py TABLE [--times 3]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rmls.core.words import size
from rmls.datasets import iterate_texts, open_store
from rmls.features import TextFeatures
from rmls.models.text.stored import TextSource, store_texts
from store import PrivateMemory


def measure(path, times, in_memory):
    def read():
        for _ in range(times):
            yield from iterate_texts(path)

    next(read())
    # Compiled code is there before anything is measured.
    TextFeatures(stem="english").fit_transform(["warm up the kernels"])
    watch, features = PrivateMemory(), TextFeatures(stem="english")
    before, started = watch.look(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        if in_memory:
            X = features.fit_transform(features.scan(table.columns for table in read()))
        else:
            store_texts(TextSource(read, {}), Path(folder, "rows"), features)
            X = open_store(Path(folder, "rows")).X
        found = f"{X.shape[0]:,} rows of {size(8 * X.nnz)}"
    cpu = time.process_time() - started
    print(
        f"{'in memory' if in_memory else 'to a store':10} {times} times: {found}, private memory "
        f"{size(before)} before, peak {size(watch.look())}, CPU {cpu:.0f} s"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--measure", choices=["store", "memory"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.table, options.times, options.measure == "memory")
        return
    for kind in ("store", "memory"):
        for times in (1, options.times):
            command = [sys.executable, __file__, options.table, "--measure", kind]
            subprocess.run([*command, "--times", str(times)], check=True)


if __name__ == "__main__":
    main()
