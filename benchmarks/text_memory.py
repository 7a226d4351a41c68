"""Read and vectorise a file of texts in chunks; print the memory that this takes.

    RMLS_DATA=folder python benchmarks/text_memory.py [--dataset eurlex57k] [--copies 1]

Claim: at most three times the size of the text. `--copies` repeats the file, to see how memory
grows; what remains of a text are the counts of its words. Without data, texts of random words.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from rmls.datasets import iterate_texts
from rmls.datasets.tables.streams import open_bytes
from rmls.features import TextFeatures
from text_features import MB, memory, write_random


def measure(path: Path, n_jobs: int) -> None:
    """Print the size of the text, and what was held at most while it became rows."""
    TextFeatures().fit_transform(["a text to load what is compiled", "and another text"])
    # Resets the peak, so that imports and compiling do not count.
    Path("/proc/self/clear_refs").write_text("5")
    before, size, clock = memory("VmRSS"), 0, time.perf_counter()

    def chunks():
        nonlocal size
        for table in iterate_texts(path, text="text", labels="labels"):
            size += sum(len(text.encode()) for (text,) in table.texts)
            yield table.columns

    features = TextFeatures(n_jobs=n_jobs)
    scanned = features.scan(chunks())
    scans = memory("VmHWM") - before
    rows = features.fit_transform(scanned)
    peak, seconds = memory("VmHWM") - before, time.perf_counter() - clock
    made = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    print(
        f"{path.name}: {rows.shape[0]:,} texts, {size / MB:.0f} MB; read {scans / MB:.0f} MB, "
        f"rows {made / MB:.0f} MB, peak {peak / MB:.0f} MB = {peak / size:.2f} times the text, "
        f"{seconds:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="eurlex57k")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(os.environ.get("RMLS_DATA", "../shared/data"), f"{options.dataset}.jsonl.gz")
        if not path.is_file():
            print(f"{path.name} is not there; random texts instead")
            path = Path(folder, "random.jsonl")
            write_random(path, 10_000)
        if options.copies > 1:
            longer = Path(folder, f"{options.copies} times {path.name}".replace(".gz", ""))
            with longer.open("wb") as target:
                for _ in range(options.copies):
                    with open_bytes(path) as source:
                        shutil.copyfileobj(source, target)
            path = longer
        measure(path, options.jobs)
    versions = ", ".join(f"{name} {version(name)}" for name in ("rmls", "numpy", "numba"))
    print(f"{versions}, Python {platform.python_version()}, {platform.machine()}")


if __name__ == "__main__":
    main()
