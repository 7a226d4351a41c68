"""Quality of RMLS on real data: the figures of the README, with their spread.

Sets are cut by the paper's cardinality rule, and in the first column by the default, expected F.

RMLS_DATA=folder python benchmarks/quality.py [name ...]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize

from rmls import RMLS, evaluate
from rmls.core.errors import RmlsError
from rmls.datasets import load
from rmls.metrics import example_f1

SETS = ["example_f1", "example_accuracy", "hamming_loss"]
RANKS = ["precision@1", "precision@3", "precision@5"]


def measure(model, data, train, test, scale=None):
    """Fit on some rows, return metrics of the others and the seconds of training."""
    X_train, X_test = data.X[train], data.X[test]
    if scale is not None:
        X_train, X_test = scale(X_train, X_test)
    started = time.perf_counter()
    model.fit(X_train, data.Y[train])
    seconds = time.perf_counter() - started
    sets = model.predict_sets(X_test, "cardinality")
    report = evaluate(data.Y[test], sets, model.rank(X_test, 5), names=SETS + RANKS)
    best = example_f1(data.Y[test], model.predict_sets(X_test, "f1"))
    return [best, *(report[name] for name in SETS + RANKS), seconds]


def tfidf(X_train, X_test):
    transform = TfidfTransformer(sublinear_tf=True).fit(X_train)
    return transform.transform(X_train), transform.transform(X_test)


def unit(X_train, X_test):
    return normalize(X_train), normalize(X_test)


def folds(data):
    return list(KFold(5, shuffle=True, random_state=0).split(data.X))


def split(data):
    return [(np.arange(data.n_train), np.arange(data.n_train, data.n_samples))]


CASES = [
    ("enron", "default, k=50", lambda: RMLS(50), folds, None),
    ("enron", "default, k=50, unit rows by hand", lambda: RMLS(50), folds, unit),
    ("enron", "paper, k=50", lambda: RMLS.paper(50), folds, None),
    ("delicious", "default, k=250", lambda: RMLS(250, n_jobs=-1), folds, None),
    ("yeast", "default, k=50", lambda: RMLS(50), split, None),
    ("debtags", "default, k=250", lambda: RMLS(250, n_jobs=-1), split, None),
    ("debtags", "default, unit rows by hand", lambda: RMLS(250, n_jobs=-1), split, unit),
    ("eurlex57k_4k", "default, k=250, tf-idf", lambda: RMLS(250, n_jobs=-1), split, tfidf),
    ("eurlex57k_4k", "default, k=250, raw counts", lambda: RMLS(250, n_jobs=-1), split, None),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="data sets; all by default")
    wanted = parser.parse_args().names
    print("| data | model | F, rule f1 | F | accuracy | Hamming | P@1 | P@3 | P@5 | training s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, title, make, splits, scale in CASES:
        if wanted and name not in wanted:
            continue
        try:
            data = load(name)
        except RmlsError as error:
            print(f"| {name} | skipped: {error} |")
            continue
        rows = np.array([measure(make(), data, *part, scale) for part in splits(data)])
        mean, spread = rows.mean(axis=0), rows.std(axis=0)
        cells = [f"{value:.4f}" for value in mean[:-1]]
        if len(rows) > 1:
            cells = [f"{m:.4f} ± {s:.4f}" for m, s in zip(mean[:-1], spread, strict=False)]
        print(f"| {name} | {title} | {' | '.join(cells)} | {mean[-1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
