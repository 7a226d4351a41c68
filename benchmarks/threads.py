"""What threads bring to a training of RMLSRanker, and what they cost in quality.

    RMLS_DATA=folder python benchmarks/threads.py eurlex57k_4k tate debdeps [--threads 1 2 4 8 16]

Prints for every number of threads the seconds of a training, the speed-up and the efficiency (the
speed-up over the threads), seconds of the stages, and the figures of the test rows. A model of more
threads should rank as well: 0.003 less in P@5 is what random states differ by.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.feature_extraction.text import TfidfTransformer  # noqa: E402

from rmls import RMLSRanker, evaluate  # noqa: E402
from rmls.core.sparse import label_counts  # noqa: E402
from rmls.datasets import load  # noqa: E402

STAGES = ("representation", "shortlists", "weights")
FIGURES = {"P@1": "precision@1", "P@5": "precision@5", "PSP@5": "psp@5"}
DEPTH = 50


def read_parts(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows of a data set that is split, with tf-idf features."""
    data = load(Path(os.environ.get("RMLS_DATA", "../shared/data")) / f"{name}.npz")
    cut, Y = data.n_train, sparse.csr_matrix(data.Y)
    weigh = TfidfTransformer(sublinear_tf=True).fit(data.X[:cut])
    X = sparse.csr_matrix(weigh.transform(data.X), dtype=np.float32)
    return X[:cut], Y[:cut], X[cut:], Y[cut:]


def measure(parts: tuple[Any, Any, Any, Any], n_threads: int) -> tuple[float, list[str]]:
    """Return the seconds of a training, and the other cells of its line."""
    X, Y, X_test, Y_test = parts
    started = time.perf_counter()
    model = RMLSRanker(n_jobs=n_threads).fit(X, Y)
    seconds = time.perf_counter() - started
    report = evaluate(
        Y_test,
        ranking=model.rank(X_test, DEPTH),
        train_counts=label_counts(Y),
        n_train=X.shape[0],
        by_group=False,
    ).as_dict()
    cells = [f"{model.seconds_[stage]:.2f}" for stage in STAGES]
    cells += [f"{report[key]:.4f}" for key in FIGURES.values()]
    return seconds, [*cells, f"{model.shortlist_recall_:.3f}"]


def main() -> None:
    """Print a line for every data set and number of threads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", metavar="name")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    options = parser.parse_args()
    head = ["data", "threads", "s", "speed-up", "efficiency", *STAGES, *FIGURES, "list recall"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in options.names:
        parts = read_parts(name)
        for n_threads in dict.fromkeys((1, max(options.threads))):
            # Compiles what is not in the cache yet.
            RMLSRanker(n_jobs=n_threads, max_iter=1).fit(*parts[:2])
        first = None
        for n_threads in options.threads:
            seconds, cells = measure(parts, n_threads)
            first = first or seconds * options.threads[0]
            gain = first / seconds
            line = [name, str(n_threads), f"{seconds:.2f}", f"{gain:.1f}"]
            print(f"| {' | '.join([*line, f'{gain / n_threads:.2f}', *cells])} |", flush=True)


if __name__ == "__main__":
    main()
