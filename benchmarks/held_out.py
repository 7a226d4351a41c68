"""Label sets and lists of RMLSRanker on a tenth of the training rows, which it does not see.

The tenth is drawn anew for every seed, which is also the model's random state; test rows are never
read. Sets of texts go through `TextFeatures`, others are scaled by the ranker. Times are CPU times
of training, of one thread, after one run that compiles.

    RMLS_DATA=folder python benchmarks/held_out.py cooking artworks [--seeds 0 1 2]
        [--rows 4000] [--rules macro_f1 micro_f1] [--variants '{}' '{"shortlist_size": 500}']
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from rmls import RMLSRanker, evaluate  # noqa: E402
from rmls.core.sparse import label_counts  # noqa: E402
from rmls.datasets import load, load_artworks, read_texts  # noqa: E402
from rmls.features.text.text_features import TextFeatures  # noqa: E402
from rmls.metrics import macro_f1  # noqa: E402

SHARE = 0.1
DEPTH = 50
RANKS = {"P@1": "precision@1", "P@5": "precision@5", "PSP@1": "psp@1", "PSP@5": "psp@5"}


def read_training(name: str) -> tuple[Any, sparse.csr_matrix]:
    """Return the training rows of a data set, texts where there are some, and their labels.

    The names of the labels are those of all rows, as in benchmarks/peers: macro-F counts them all.
    """
    folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
    if name == "artworks":
        works = load_artworks()
        return read_table(list(works.train.texts), [*works.train.labels, *works.test.labels])
    if (folder / f"{name}.jsonl.gz").is_file():
        table = read_texts(folder / f"{name}.jsonl.gz", text="text", labels="labels")
        return read_table(list(table.texts[: load(name).n_train]), table.labels)
    data = load(name if (folder / f"{name}.npz").is_file() else folder / f"{name}.arff")
    n_rows = data.X.shape[0]
    # Without a given split three quarters of the rows train, always the same.
    order = np.random.default_rng(77).permutation(n_rows)[: n_rows * 3 // 4]
    rows = np.sort(order) if data.n_train is None else np.arange(data.n_train)
    return data.X[rows], data.Y[rows]


def read_table(fields: list[Any], labels: list[list[str]]) -> tuple[list[str], sparse.csr_matrix]:
    """Return texts and the labels of as many first rows."""
    names = sorted({label for row in labels for label in row})
    number = {label: place for place, label in enumerate(names)}
    Y = sparse.lil_matrix((len(fields), len(names)), dtype=np.float32)
    for row, some in enumerate(labels[: len(fields)]):
        Y.rows[row] = sorted({number[label] for label in some})
        Y.data[row] = [1.0] * len(Y.rows[row])
    return ["\n".join(parts) for parts in fields], Y.tocsr()


def draw(X: Any, Y: sparse.csr_matrix, n_rows: int) -> tuple[Any, sparse.csr_matrix]:
    """Return some of the rows, always the same, and the labels that they have."""
    rows = np.sort(np.random.default_rng(5).permutation(Y.shape[0])[:n_rows])
    some = Y[rows]
    kept = some[:, np.flatnonzero(label_counts(some))].tocsr()
    return ([X[row] for row in rows] if isinstance(X, list) else X[rows]), kept


def split(X: Any, n_rows: int, seed: int) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Return rows to train on and to judge by, their numbers, and options for the features."""
    order = np.random.default_rng(1000 + seed).permutation(n_rows)
    held = round(SHARE * n_rows)
    kept, left = np.sort(order[held:]), np.sort(order[:held])
    if not isinstance(X, list):
        return X[kept], X[left], kept, left, {}
    features = TextFeatures()
    fitted = features.fit_transform([X[row] for row in kept])
    judged = features.transform([X[row] for row in left])
    return fitted, judged, kept, left, {"normalize": "none"}


def measure(
    X: Any, Y: sparse.csr_matrix, seed: int, params: dict[str, Any], rules: list[str]
) -> dict[str, float]:
    """Fit to nine tenths of the rows; return figures of the last."""
    fitted, judged, kept, left, scaling = split(X, Y.shape[0], seed)
    started = time.process_time()
    model = RMLSRanker(random_state=seed, **scaling, **params).fit(fitted, Y[kept])
    found = {"CPU s": time.process_time() - started, "list recall": model.shortlist_recall_}
    report = evaluate(
        Y[left],
        ranking=model.rank(judged, min(DEPTH, Y.shape[1])),
        train_counts=label_counts(Y[kept]),
        n_train=len(kept),
        by_group=False,
    ).as_dict()
    found |= {short: report[name] for short, name in RANKS.items()}
    for rule in rules:
        sets = model.predict_sets(judged, rule)
        found[rule] = macro_f1(Y[left], sets)
        found[f"{rule}: labels"] = sets.nnz / len(left)
    return found


def show(name: str, title: str, runs: list[dict[str, float]]) -> None:
    """Print the mean of every figure and its deviation over the seeds."""
    cells = []
    for key in runs[0]:
        values = [run[key] for run in runs]
        cells.append(f"{key} {np.mean(values):.4g} ±{np.std(values):.2g}")
    print(f"{name} | {title} | {' | '.join(cells)}", flush=True)


def main() -> None:
    """Print a line for every data set and variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", type=int, help="draw so many of the training rows")
    parser.add_argument("--rules", nargs="+", default=["macro_f1"])
    parser.add_argument("--variants", nargs="+", type=json.loads, default=[{}])
    options = parser.parse_args()
    for name in options.datasets:
        X, Y = read_training(name)
        if options.rows:
            X, Y = draw(X, Y, options.rows)
        if name == options.datasets[0]:
            for params in options.variants:
                measure(X, Y, 0, params, options.rules)
        for params in options.variants:
            runs = [measure(X, Y, seed, params, options.rules) for seed in options.seeds]
            show(name, json.dumps(params), runs)


if __name__ == "__main__":
    main()
