"""How probabilities hold by the frequency of a label: the labels that models predict.

    RMLS_DATA=folder python benchmarks/calibration_groups.py [debtags eurlex57k_4k ...]
        [--models RMLS RMLSRanker] [--features raw tfidf] [--seed 0]

A fifth of the rows, drawn at random, is scored. For labels of 1 to 3 training rows, 4 to 9 and so
on: how many labels were predicted, their mean probability, and the share that is true. Groups of
500 predictions and more should differ by less than .03.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.feature_extraction.text import TfidfTransformer  # noqa: E402

from rmls import RMLS, RMLSRanker  # noqa: E402
from rmls.core.errors import RmlsWarning  # noqa: E402
from rmls.datasets import load  # noqa: E402

MODELS = {"RMLS": RMLS, "RMLSRanker": RMLSRanker}
SETS = ("enron", "delicious", "cooking", "debtags", "eurlex57k_4k", "rcv1sub1", "yeast", "tate")
EDGES = (1, 4, 10, 30, 100, 300)
ROWS_AT_ONCE = 500
# Fewer predictions say little about a share.
ENOUGH, WANTED = 500, 0.03


def predictions(model: Any, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> tuple[np.ndarray, ...]:
    """Return the label, the probability and the truth of every prediction."""
    found = []
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = X[start : start + ROWS_AT_ONCE]
        sets = sparse.coo_matrix(model.predict(rows))
        chances = np.asarray(model.predict_proba(rows))[sets.row, sets.col]
        true = np.asarray(Y[start + sets.row, sets.col]).ravel()
        found.append((sets.col, chances, true))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def show(
    title: str, counts: np.ndarray, labels: Any, chances: Any, true: Any
) -> tuple[float, float]:
    """Print a line of the table.

    Returns the largest difference of a group that counts, and how probable it is that none would
    be too large if all probabilities were right: truths of pairs are then independent draws.
    """
    cells, worst, within = [], 0.0, 1.0
    for group in range(len(EDGES)):
        inside = np.searchsorted(EDGES, counts[labels], side="right") == group + 1
        size = int(inside.sum())
        if size < 50:
            cells.append(f"{size}")
            continue
        believed, share = float(chances[inside].mean()), float(true[inside].mean())
        mark = "**" if size >= ENOUGH and abs(believed - share) > WANTED else ""
        cells.append(f"{size:,}: {mark}{believed:.3f} {share:.3f}{mark}")
        if size >= ENOUGH:
            worst = max(worst, abs(believed - share))
            deviation = float(np.sqrt((chances[inside] * (1 - chances[inside])).sum())) / size
            within *= math.erf(WANTED / deviation / math.sqrt(2))
    print(f"| {title} | {' | '.join(cells)} | {worst:.3f} |", flush=True)
    return worst, within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SETS), metavar="name")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--features", nargs="+", default=["raw", "tfidf"])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", RmlsWarning)
    folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
    titles = [f"{first}+ rows" for first in EDGES]
    print(f"| data, features, model | {' | '.join(titles)} | worst |")
    print(f"|---|{'---|' * (len(titles) + 1)}")
    lines = []
    for name in options.names:
        data = load(folder / f"{name}.npz")
        order = np.random.default_rng(options.seed).permutation(data.X.shape[0])
        cut = int(0.8 * len(order))
        train, test = order[:cut], order[cut:]
        Y = sparse.csr_matrix(data.Y)
        counts = np.asarray(Y[train].sum(axis=0)).ravel()
        for features in options.features:
            X, new = data.X[train], data.X[test]
            if features == "tfidf":
                weigh = TfidfTransformer().fit(X)
                X, new = (weigh.transform(each).astype(np.float32) for each in (X, new))
            for title in options.models:
                model = MODELS[title](random_state=options.seed).fit(X, Y[train])
                found = predictions(model, new, Y[test])
                lines.append(show(f"{name}, {features}, {title}", counts, *found))
    n_within = sum(worst <= WANTED for worst, _ in lines)
    print(f"\n{n_within} of {len(lines)} lines are within {WANTED} in every group that counts.")
    print(
        f"With right probabilities {sum(chance for _, chance in lines):.1f} would be, on average."
    )


if __name__ == "__main__":
    main()
