"""What the options of RMLSRanker do, on a validation part of the training rows.

A fifth of the training rows (drawn anew for every seed, which is also the model's random state) is
left out and scored; the test rows are never read. Features are tf-idf as in benchmarks/peers,
fitted on the rows that are trained on. macro-F is that of the best k labels of every row, with k
the mean label count, rounded: the rule of benchmarks/peers. Times are CPU times.

    RMLS_DATA=folder python benchmarks/ranker_variants.py [name ...] [--seeds 0 1 2] [--only int8]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from sklearn.feature_extraction.text import TfidfTransformer  # noqa: E402

from rmls import RMLSRanker, evaluate  # noqa: E402
from rmls.core.errors import RmlsError  # noqa: E402
from rmls.core.sparse import label_counts  # noqa: E402
from rmls.datasets import load  # noqa: E402
from rmls.decide import TopK  # noqa: E402

DATASETS = ["eurlex57k_4k", "cooking"]
SHARE = 0.2
RANKS = [f"{kind}@{k}" for kind in ("precision", "psp") for k in (1, 3, 5)]
VARIANTS = [
    {},
    {"precision": "int16"},
    {"precision": "int8"},
    {"n_models": 2},
    {"n_models": 3},
    {"shortlist_size": 75},
    {"shortlist_size": 300},
    {"tail": 0.0},
    {"tail": 0.25},
    {"tail": 1.0},
    {"offset": 0.1},
    {"C": 1.0},
    {"loss": "logistic"},
    {"prune": 0.01},
    {"prune": 0.3},
    {"index": "clusters"},
]
COLUMNS = ["P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "macro-F"]
COSTS = ["CPU s", "model MB", "ms/row", "list recall", "index recall"]


def title(params):
    return ", ".join(f"{name}={value}" for name, value in params.items()) or "default"


def split(data, seed):
    """Return the features and labels of a training and a validation part of the training rows."""
    rows = np.random.default_rng(seed).permutation(data.n_samples)
    cut = round(SHARE * data.n_samples)
    kept, left_out = np.sort(rows[cut:]), np.sort(rows[:cut])
    transform = TfidfTransformer(sublinear_tf=True).fit(data.X[kept])
    return [(transform.transform(data.X[part]), data.Y[part]) for part in (kept, left_out)]


def measure(params, parts, seed, threads):
    """Fit one variant; returns its metrics and what it cost."""
    (X, Y), (X_test, Y_test) = parts
    model = RMLSRanker(random_state=seed, n_jobs=threads, **params)
    started = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - started
    ranking = model.rank(X_test, 5)
    counts = label_counts(Y)
    report = evaluate(Y_test, ranking=ranking, names=RANKS, train_counts=counts, n_train=Y.shape[0])
    rule = TopK(max(1, round(Y.nnz / Y.shape[0])))
    sets = evaluate(Y_test, rule.select(ranking), names=["macro_f1"])
    costs = [seconds, model_size(model), predicting(model, X_test)]
    recalls = [model.shortlist_recall_, model.index_recall_]
    return [*(report[name] for name in RANKS), sets["macro_f1"], *costs, *recalls]


def model_size(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return sum(file.stat().st_size for file in (Path(folder) / "model").iterdir()) / 2**20


def predicting(model, X):
    """Return CPU milliseconds a row, the least of three."""
    found = []
    for _ in range(3):
        started = time.process_time()
        model.rank(X, 5)
        found.append(1000 * (time.process_time() - started) / X.shape[0])
    return min(found)


def print_row(params, figures):
    mean, spread = figures.mean(axis=0), figures.std(axis=0)
    n = len(COLUMNS)
    cells = [f"{m:.4f} ± {s:.4f}" for m, s in zip(mean[:n], spread[:n], strict=True)]
    cells += [
        f"{value:.{digits}f}" for value, digits in zip(mean[n:], (1, 1, 3, 3, 3), strict=True)
    ]
    print(f"| {title(params)} | " + " | ".join(cells) + " |", flush=True)


def print_differences(figures):
    """Print how the variants differ from the default on the same rows, in points."""
    names = COLUMNS
    print("\ndifference to the default on the same rows, in points (hundredths)\n")
    print("| variant | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for params, found in figures[1:]:
        gap = 100 * (found - figures[0][1])[:, : len(names)]
        cells = [
            f"{m:+.2f} ± {s:.2f}" for m, s in zip(gap.mean(axis=0), gap.std(axis=0), strict=True)
        ]
        print(f"| {title(params)} | " + " | ".join(cells) + " |")


def run(name, options):
    try:
        data = load(name)
    except RmlsError as error:
        print(f"{name} skipped: {error}")
        return
    data = data if data.n_train is None else data.train
    print(
        f"\n{name}: {data.n_samples:,} training rows, of which {SHARE:.0%} are left out, ", end=""
    )
    print(f"{data.n_labels:,} labels; seeds {options.seeds}, {options.threads} threads\n")
    print("| variant | " + " | ".join(COLUMNS + COSTS) + " |")
    print("|---" * (len(COLUMNS + COSTS) + 1) + "|")
    parts = {seed: split(data, seed) for seed in options.seeds}
    figures = []
    for params in VARIANTS:
        if params and options.only and not any(word in title(params) for word in options.only):
            continue
        rows = [measure(params, parts[seed], seed, options.threads) for seed in options.seeds]
        figures.append((params, np.array(rows, dtype=float)))
        print_row(*figures[-1])
    print_differences(figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=DATASETS, help="data sets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", help="parts of the names of variants")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    RMLSRanker(8).fit([[1, 0], [0, 1]] * 40, [["a"], ["b"]] * 40)
    for name in options.names:
        run(name, options)


if __name__ == "__main__":
    main()
