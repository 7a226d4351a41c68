"""How many passes few rows need: the figures behind ``RMLS(max_iter="auto")``.

A quarter of the training rows is held out (3,000 at most); the model learns from the others, or
from some of them. Test rows are never read. Figures are means of three seeds, which split and
train.

    RMLS_DATA=folder python benchmarks/passes.py [--data enron cooking:300] [--passes 10 20 30] \
        [--components 250]

`name:rows` takes that many rows; `longtail100` and `longtail500` are generated, with that many
labels.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rmls import RMLS, evaluate, make_longtail
from rmls.datasets import load

SEEDS = range(3)
MAX_HELD_OUT = 3_000
GENERATED = {"longtail100": (100, 3.0), "longtail500": (500, 5.0)}
FEW = ["rcv1sub1", "enron", "cooking", "debtags", "yeast", "medical", *GENERATED]
MORE = ["cooking", "debtags", "rcv1sub1", "delicious", "eurlex57k_4k", *GENERATED]
MANY = ["longtail100", "cooking"]
SETS = [
    *(f"{name}:300" for name in FEW),
    *("emotions", "medical", "enron", "yeast"),
    *(f"{name}:1000" for name in MORE),
    *(f"{name}:3000" for name in MANY),
    "rcv1sub1",
]


def training_rows(name):
    data = load(name)
    return (data.split(test_size=0.2) if data.n_train is None else data).train


def divide(name, n_rows, seed):
    """Return rows to learn from and rows to measure on."""
    if name in GENERATED:
        m, labels_per_row = GENERATED[name]
        options = {"labels_per_row": labels_per_row, "test_size": 0.25, "random_state": seed}
        data = make_longtail(int(n_rows / 0.75), 5 * m, m, **options)
        return data.train.X, data.train.Y, data.test.X, data.test.Y
    train = training_rows(name)
    order = np.random.default_rng(seed).permutation(train.n_samples)
    cut = train.n_samples // 4
    held_out, kept = order[:cut][:MAX_HELD_OUT], order[cut:][:n_rows]
    return train.X[kept], train.Y[kept], train.X[held_out], train.Y[held_out]


def measure(parts, passes, components, seed):
    X, Y, X_new, Y_new = parts
    used = time.process_time()
    model = RMLS(components, max_iter=passes, random_state=seed, n_jobs=2).fit(X, Y)
    used = time.process_time() - used
    rare = evaluate(Y_new, model.predict_sets(X_new, "macro_f1"), names=["macro_f1"])
    names = ["example_f1", "precision@1", "precision@5"]
    usual = evaluate(Y_new, model.predict_sets(X_new, "f1"), model.rank(X_new, 5), names=names)
    return [rare["macro_f1"], *(usual[name] for name in names), used]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=SETS)
    parser.add_argument("--passes", nargs="*", type=int, default=[10, 20, 30])
    parser.add_argument("--components", type=int, default=250)
    options = parser.parse_args()
    print("| data | rows | labels | passes | macro-F1 | example-F1 | P@1 | P@5 | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for wanted in options.data:
        name, _, size = wanted.partition(":")
        parts = [divide(name, int(size) if size else None, seed) for seed in SEEDS]
        shape = parts[0][1].shape
        measure(parts[0], 1, options.components, 0)
        for passes in options.passes:
            found = [measure(parts[s], passes, options.components, s) for s in SEEDS]
            *quality, seconds = np.mean(found, axis=0)
            cells = [name, str(shape[0]), str(shape[1]), str(passes)]
            cells += [f"{value:.3f}" for value in quality] + [f"{seconds:.1f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
