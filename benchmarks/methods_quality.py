"""Example-F of every method on Enron (k=50) and Delicious (k=250) beside the paper's figure.

5-fold cross-validation (shuffled, seed 0), the paper's rule for each method: rounding at 0 for
label-space dimension reduction, cardinality for the others. The bar is the paper's mean less two of
its standard deviations (0.02 where it gives none).

    RMLS_DATA=folder python benchmarks/methods_quality.py [--methods PLST FaIE] [--data enron]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.model_selection import KFold

from rmls import models
from rmls.datasets import load
from rmls.metrics import example_f1

K = {"enron": 50, "delicious": 250}
# Mean and standard deviation of the F score in the paper's table, by data set.
PAPER = {
    "RMLS": {"enron": (0.587, 0.011), "delicious": (0.329, 0.007)},
    "PLST": {"enron": (0.442, 0.011), "delicious": (0.167, 0.002)},
    "FaIE": {"enron": (0.442, 0.011), "delicious": (0.166, 0.002)},
    "CSSP": {"enron": (0.442, 0.011), "delicious": (0.100, 0.001)},
    "WSABIE": {"enron": (0.498, 0.022), "delicious": (0.238, 0.009)},
    "LEML": {"enron": (0.424, 0.007), "delicious": (0.278, 0.003)},
    "AllIrrelevant": {"enron": (0.0, 0.0), "delicious": (0.0, 0.0)},
}


def make(name, k):
    method = getattr(models, name)
    return method(n_components=k) if "n_components" in method().get_params() else method()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = sorted(set(models.__all__) - set(models.READS_TEXT))
    parser.add_argument("--methods", nargs="*", default=known)
    parser.add_argument("--data", nargs="*", default=list(K))
    options = parser.parse_args()
    print("| data | method | F | paper | bar | seconds a fold |")
    print("|---|---|---|---|---|---|")
    for name in options.data:
        data = load(name)
        for method in options.methods:
            scores, seconds = [], []
            for train, test in KFold(5, shuffle=True, random_state=0).split(data.X):
                model = make(method, K[name])
                started = time.perf_counter()
                model.fit(data.X[train], data.Y[train])
                seconds.append(time.perf_counter() - started)
                rule = "cardinality" if method == "RMLS" else None
                scores.append(example_f1(data.Y[test], model.predict_sets(data.X[test], rule)))
            mean, paper, verdict = np.mean(scores), "-", "-"
            if method in PAPER:
                expected, deviation = PAPER[method][name]
                bar = expected - 2 * deviation
                paper = f"{expected:.3f} ± {deviation:.3f}"
                verdict = f"{bar:.3f} {'met' if mean >= bar else 'MISSED'}"
            cells = f"{mean:.4f} ± {np.std(scores):.4f} | {paper} | {verdict}"
            print(f"| {name} | {method} | {cells} | {np.mean(seconds):.1f} |", flush=True)


if __name__ == "__main__":
    main()
