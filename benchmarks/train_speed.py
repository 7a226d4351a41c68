"""Training speed of RMLS on Delicious (k = 250, alpha = 5): kernel against plain NumPy.

Prints, from one run on one machine: seconds per pass of the kernel on one and two threads and of a
NumPy mini-batch implementation of the same objective; the two ratios; and how far the kernel's
inner loop is from what this machine can do, by the arithmetic stated at the end.

    python benchmarks/train_speed.py [--passes 10] [--numpy-passes 2]
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from numba import njit

from rmls import RMLS
from rmls.core.errors import RmlsError
from rmls.core.labels import read_labels
from rmls.datasets import load, make_longtail
from rmls.features import unit_rows
from rmls.models.rmls.sampling import Totals
from rmls.models.rmls.sgd import Settled, Sgd, Training, initial_params
from rmls.models.shared.training_set import TrainingSet

K, ALPHA, RATE, BATCH = 250, 5, 0.1, 64


def read_data():
    try:
        data = load("delicious")
    except RmlsError:
        data = make_longtail(16105, 500, 983, labels_per_row=19.0, features_per_row=18.0)
        print("delicious is not available; using generated data of its size")
    data = data.train
    return unit_rows(data.X), data.Y


class Kernel:
    """The product's kernel: online, row-wise AdaGrad."""

    def __init__(self, X, Y, threads, floor=0.0):
        n, d = X.shape
        m = Y.shape[1]
        data = TrainingSet(X, Y, np.arange(n), np.ones(n))
        settings = {"negatives_per_positive": ALPHA, "min_negatives": 0, "gradient_floor": floor}
        options = RMLS(K, l2=0, n_jobs=threads, **settings)
        settled = Settled.of(options, read_labels(Y)[0], Totals.of(data))
        self.training = Training.of(options, Sgd.of(options, (d, m, K)), settled, data)
        self.number = 0

    def run_pass(self):
        self.training.run_pass(self.number, (RATE, RATE))
        self.number += 1


class PlainNumpy:
    """The same objective in mini-batches of 64 rows, with NumPy and nothing else."""

    def __init__(self, X, Y):
        self.X, self.Y = X, Y
        d, m = X.shape[1], Y.shape[1]
        params, accumulators = initial_params((d, m, K), "projection", 0, 0.1, False)
        (self.W, self.b, self.L, self.c), self.acc = params, accumulators
        self.rng = np.random.default_rng(0)

    def run_pass(self):
        order = self.rng.permutation(self.X.shape[0])
        for start in range(0, len(order), BATCH):
            self.step(order[start : start + BATCH])

    def sample(self, rows):
        """Return (position in the batch, label, target) of all relevant and sampled labels."""
        m = self.Y.shape[1]
        positions, labels, targets = [], [], []
        for position, row in enumerate(rows):
            relevant = self.Y.indices[self.Y.indptr[row] : self.Y.indptr[row + 1]]
            irrelevant = np.ones(m, dtype=bool)
            irrelevant[relevant] = False
            pool = np.flatnonzero(irrelevant)
            count = min(ALPHA * len(relevant), len(pool))
            drawn = self.rng.choice(pool, count, replace=False)
            labels += [relevant, drawn]
            targets += [np.ones(len(relevant), np.float32), -np.ones(count, np.float32)]
            positions.append(np.full(len(relevant) + count, position))
        return np.concatenate(positions), np.concatenate(labels), np.concatenate(targets)

    def step(self, rows):
        X = self.X[rows]
        h = np.tanh(X @ self.W + self.b)
        positions, labels, targets = self.sample(rows)
        vectors = self.L[labels]
        scores = np.einsum("ij,ij->i", h[positions], vectors) + self.c[labels]
        slopes = -targets / (1 + np.exp(targets * scores))
        grad_L = np.zeros_like(self.L)
        np.add.at(grad_L, labels, slopes[:, None] * h[positions])
        grad_c = np.bincount(labels, slopes, minlength=len(self.c)).astype(np.float32)
        grad_h = np.zeros_like(h)
        np.add.at(grad_h, positions, slopes[:, None] * vectors)
        grad_z = grad_h * (1 - h * h)
        for param, gradient, acc in (
            (self.L, grad_L, self.acc.L),
            (self.W, X.T @ grad_z, self.acc.W),
        ):
            acc += (gradient**2).mean(axis=1, keepdims=True)
            param -= RATE * gradient / np.sqrt(acc)
        for param, gradient, acc in (
            (self.c, grad_c, self.acc.c),
            (self.b, grad_z.sum(axis=0), self.acc.b),
        ):
            acc += gradient**2
            param -= RATE * gradient / np.sqrt(acc)


@njit(fastmath=True)
def touch_labels(L, h, grad, labels):
    """Do the three multiply-adds per number that a label costs, and nothing else."""
    k = len(h)
    for position in range(len(labels)):
        label = labels[position]
        total = np.float32(0)
        for q in range(k):
            total += h[q] * L[label, q]
        slope = total * np.float32(1e-9)
        for q in range(k):
            grad[q] += slope * L[label, q]
        for q in range(k):
            L[label, q] -= slope * h[q]


def machine_limit(n_labels, repeats=5):
    """Return nanoseconds per label of `touch_labels` on random rows of a matrix of this size."""
    rng = np.random.default_rng(0)
    L = rng.standard_normal((n_labels, K)).astype(np.float32)
    h, grad = L[0].copy(), np.zeros(K, np.float32)
    labels = rng.integers(0, n_labels, 200_000).astype(np.int32)
    touch_labels(L, h, grad, labels[:10])
    return min(cpu_seconds(touch_labels, L, h, grad, labels) for _ in range(repeats)) / 2e-4


def cpu_seconds(function, *arguments):
    started = time.process_time()
    function(*arguments)
    return time.process_time() - started


def wall_seconds(function):
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--numpy-passes", type=int, default=2)
    options = parser.parse_args()
    X, Y = read_data()
    steps = Y.nnz * (1 + ALPHA)
    one, two, thinned = Kernel(X, Y, 1), Kernel(X, Y, 2), Kernel(X, Y, 1, floor=0.02)
    plain = PlainNumpy(X, Y)
    for runner in (one, two, thinned):
        runner.run_pass()
    limit_ns = machine_limit(Y.shape[1])
    walls = {name: [] for name in ("one", "two", "thinned", "plain")}
    cpu_one = []
    for number in range(options.passes):
        started = time.process_time()
        walls["one"].append(wall_seconds(one.run_pass))
        cpu_one.append(time.process_time() - started)
        walls["two"].append(wall_seconds(two.run_pass))
        walls["thinned"].append(wall_seconds(thinned.run_pass))
        if number < options.numpy_passes:
            walls["plain"].append(wall_seconds(plain.run_pass))
    median = {name: statistics.median(values) for name, values in walls.items()}
    kernel_ns = statistics.median(cpu_one) / steps * 1e9
    report(median, kernel_ns, limit_ns, Y.shape[1], steps)


def report(median, kernel_ns, limit_ns, n_labels, steps):
    print(f"{n_labels} labels, k {K}, alpha {ALPHA}: {steps} label steps a pass; seconds a pass:")
    print(f"kernel, 1 thread            {median['one']:8.3f}")
    print(f"kernel, 2 threads           {median['two']:8.3f}")
    print(f"kernel, gradient_floor 0.02 {median['thinned']:8.3f} (1 thread)")
    print(f"plain NumPy mini-batches    {median['plain']:8.3f}")
    print(f"NumPy / kernel (1 thread)   {median['plain'] / median['one']:8.1f}")
    print(f"1 thread / 2 threads        {median['one'] / median['two']:8.2f}")
    print(f"machine limit               {limit_ns:8.1f} ns a label: 3 x {K} multiply-adds on a")
    print(f"    random row of {n_labels} x {K} float32, {3 * K / limit_ns:.1f} G multiply-adds/s")
    print(f"kernel, all of a pass       {kernel_ns:8.1f} ns a label (CPU time)")
    print(f"kernel / limit              {kernel_ns / limit_ns:8.2f}")


if __name__ == "__main__":
    main()
