"""Read one svmlight file with rmls and with scikit-learn, alternately, and print the ratio.

Run: python benchmarks/read_text.py [--rows 19348] [--repeats 7] [--values counts|weights]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np
import sklearn
from sklearn.datasets import load_svmlight_file

from rmls.datasets import load, make_longtail, save


def write_file(path: Path, n_rows: int, values: str) -> None:
    """Write long-tailed data with the shape of EUR-Lex; weights have full float32 digits."""
    data = make_longtail(n_rows, 5000, 3993, labels_per_row=5.3, features_per_row=300.0)
    if values == "weights":
        length = np.sqrt(np.asarray(data.X.multiply(data.X).sum(axis=1)).ravel())
        data.X.data /= np.repeat(length, np.diff(data.X.indptr)).astype(np.float32)
    save(data, path)


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=19348)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--values", choices=("counts", "weights"), default="counts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        write_file(path, arguments.rows, arguments.values)
        readers = {
            "rmls": lambda: load(path),
            "scikit-learn": lambda: load_svmlight_file(
                str(path), multilabel=True, dtype=np.float32, zero_based=True
            ),
        }
        first = {name: seconds(reader) for name, reader in readers.items()}
        times: dict[str, list[float]] = {name: [] for name in readers}
        for _ in range(arguments.repeats):
            for name, reader in readers.items():
                times[name].append(seconds(reader))
        size = path.stat().st_size / 1e6
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    print(
        f"{arguments.rows} rows, {size:.1f} MB of {arguments.values}, {arguments.repeats} repeats"
    )
    for name, median in medians.items():
        spread = f"{min(times[name]):.3f} to {max(times[name]):.3f}"
        print(f"{name:>12}: median {median:.3f} s ({spread}), first call {first[name]:.2f} s")
    print(f"scikit-learn / rmls = {medians['scikit-learn'] / medians['rmls']:.2f}")
    print(
        f"rmls {version('rmls')}, sklearn {sklearn.__version__}, "
        f"numba {numba.__version__}, Python {platform.python_version()}, {platform.machine()}"
    )


if __name__ == "__main__":
    main()
