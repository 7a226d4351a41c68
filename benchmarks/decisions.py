"""How the cost of every decision rule grows with the number of scores it sees.

Prints seconds for a sparse score matrix of n rows with K listed labels each, for n, 2n, 4n, …, and
the ratio of each time to the one before: about 2 where the cost is O(nnz log K). Calibration of the
listed scores and the sorting of the matrix are measured beside the rules. No data is needed.

    python benchmarks/decisions.py [--rows 2000] [--doublings 4] [--listed 50 200] [--repeats 3]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import sparse

from rmls.core.ranking import Ranking
from rmls.decide import Calibration, ScoreCounts, fit_calibration, fit_macro_f1, make_rule
from rmls.decide.rules import RULES

N_LABELS = 5000
VALUES = {"cardinality": 0.5, "threshold": 0.5, "micro_f1": 0.3}


def make_scores(n_rows: int, n_listed: int, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return scores of some labels of every row, frequent ones more often, and which are true."""
    rng = np.random.default_rng(seed)
    # Distinct labels of a row: a random start and random steps, taken around the circle.
    steps = rng.integers(1, 2 * N_LABELS // n_listed - 1, (n_rows, n_listed))
    labels = (rng.integers(0, N_LABELS, (n_rows, 1)) + np.cumsum(steps, axis=1) // 2) % N_LABELS
    scores = rng.normal(-4, 1.5, labels.shape).astype(np.float32)
    indptr = np.arange(0, labels.size + 1, n_listed)
    matrix = sparse.csr_matrix((scores.ravel(), labels.ravel(), indptr), (n_rows, N_LABELS))
    matrix.sum_duplicates()
    truth = matrix.copy()
    truth.data = (rng.random(matrix.nnz) < 1 / (1 + np.exp(-matrix.data))).astype(np.int32)
    return matrix, truth


def fit_rules(scores: sparse.csr_matrix, truth: sparse.csr_matrix) -> tuple[Calibration, dict]:
    """Return a calibration, and every rule ready to decide."""
    counts = ScoreCounts.covering(scores)
    counts.add(scores, truth)
    calibration = fit_calibration(counts)
    label_counts = np.bincount(truth.indices[truth.data > 0], minlength=N_LABELS)
    rules = {}
    for name, kind in RULES.items():
        rule = kind(VALUES[name]) if name in VALUES else make_rule(name)
        rules[name] = rule.bind(label_counts, truth.shape[0])
    rules["macro_f1"] = fit_macro_f1(counts, calibration)
    return calibration, rules


def measure(action: Callable[[], object], repeats: int) -> float:
    """Return the shortest time of some runs."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)


def measure_all(n_rows: int, n_listed: int, repeats: int) -> tuple[int, dict[str, float]]:
    """Return the number of scores, and the seconds of every step and rule."""
    scores, truth = make_scores(n_rows, n_listed)
    calibration, rules = fit_rules(*make_scores(500, n_listed, seed=1))
    ranking = Ranking.from_csr(scores)
    chances = calibration.apply(ranking)
    counts = ScoreCounts.covering(scores)
    seconds = {
        "count scores": measure(lambda: counts.add(scores, truth), repeats),
        "sort scores": measure(lambda: Ranking.from_csr(scores), repeats),
        "to probabilities": measure(lambda: calibration.apply(ranking), repeats),
    }
    for name, rule in rules.items():
        rule.select(chances.where(chances.rows < 2))
        seconds[name] = measure(lambda rule=rule: rule.select(chances), repeats)
    return len(ranking.scores), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000, help="rows of the smallest problem")
    parser.add_argument("--doublings", type=int, default=4)
    parser.add_argument("--listed", type=int, nargs="+", default=[50, 200], help="labels a row")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    for n_listed in options.listed:
        steps = [
            measure_all(options.rows * 2**doubling, n_listed, options.repeats)
            for doubling in range(options.doublings + 1)
        ]
        print(f"\nK = {n_listed} listed labels a row, {N_LABELS} labels; seconds (ratio)")
        print(f"{'nnz':>18}" + "".join(f"{nnz:>16,}" for nnz, _ in steps) + "     ns/entry")
        for name in steps[0][1]:
            times = [seconds[name] for _, seconds in steps]
            cells = [f"{times[0]:>9.4f}       "]
            for before, now in pairwise(times):
                cells.append(f"{now:>9.4f} ({now / before:.2f})")
            print(f"{name:>18}" + "".join(cells) + f"{1e9 * times[-1] / steps[-1][0]:>13.0f}")


if __name__ == "__main__":
    main()
