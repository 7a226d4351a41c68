"""Samplers, losses and weights of RMLS side by side on a fifth of the training rows held out.

Prints P@1, P@5, PSP@5 and the processor time of the fit relative to the default, from one run.

    python benchmarks/samplers.py [--data eurlex57k_4k] [--components 100] [--passes 5]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from rmls import RMLS
from rmls.datasets import load
from rmls.metrics import get_metric, propensities, psp_at_k

SETTINGS = [
    {},
    {"log_q": True},
    {"sampler": "frequency"},
    {"sampler": "frequency", "log_q": True},
    {"sampler": "frequency", "replacement": False},
    {"sampler": "mixture"},
    {"sampler": "in_batch", "batch_size": 64},
    {"loss": "focal"},
    {"loss": "asymmetric"},
    {"class_weight": "propensity"},
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="eurlex57k_4k")
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--passes", type=int, default=5)
    options = parser.parse_args()
    data = load(options.data).train
    held = np.random.default_rng(0).permutation(data.X.shape[0]) % 5 == 0
    X, Y, X_held, Y_held = data.X[~held], data.Y[~held], data.X[held], data.Y[held]
    chances = propensities(np.asarray(Y.sum(axis=0)).ravel(), Y.shape[0])
    RMLS(4, max_iter=1).fit(X[:50], Y[:50])
    print("| options | P@1 | P@5 | PSP@5 | time |")
    print("|---|---|---|---|---|")
    default = None
    for setting in SETTINGS:
        start = time.process_time()
        model = RMLS(options.components, max_iter=options.passes, **setting).fit(X, Y)
        seconds = time.process_time() - start
        default = default or seconds
        ranking = model.rank(X_held, 5)
        figures = [get_metric(f"precision@{k}")(Y_held, ranking) for k in (1, 5)]
        figures.append(psp_at_k(Y_held, ranking, 5, propensity=chances))
        named = ", ".join(f"{name}={value!r}" for name, value in setting.items()) or "default"
        row = [f"{value:.3f}" for value in figures] + [f"{seconds / default:.2f}"]
        print(f"| `{named}` | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
