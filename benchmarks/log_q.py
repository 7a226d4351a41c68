"""What sampling does to scores, and what the log-Q correction makes of it, on known probabilities.

Rows are drawn from six feature vectors with known, independent label probabilities, so that the
best score of every (vector, label) is known: the logit of the probability, less the logarithm of
the rate at which the label is sampled when it is irrelevant. The rates are counted here from the
formulas, row by row, without the package. Prints for every sampler the mean over all pairs of
score - logit, uncorrected; what it should be; and both root mean square distances from the theory.

With --row-rate relevant labels are corrected by the rate of their row as it is, which is wrong
where the number of draws grows with the relevant labels.

    python benchmarks/log_q.py [--rows 30000] [--passes 20] [--row-rate]

With --real the probabilities that the models give of themselves, without calibration, on a quarter
of up to 6,000 training rows of real data: Brier score and log loss, both less is better.

    RMLS_DATA=folder python benchmarks/log_q.py --real enron delicious cooking
"""

from __future__ import annotations

import argparse

import numpy as np

from rmls import RMLS
from rmls.datasets import load
from rmls.metrics import brier_score
from rmls.models.rmls import objective

N_VECTORS, N_LABELS = 6, 30
SETTINGS = {
    "uniform, fixed number": {"negatives_per_positive": 0, "min_negatives": 6},
    "uniform, 1 per relevant": {"negatives_per_positive": 1, "min_negatives": 1},
    "uniform, with replacement": {"min_negatives": 6, "replacement": True},
    "frequency": {"sampler": "frequency", "sampler_power": 1.0},
    "frequency, 2 per relevant": {
        "sampler": "frequency",
        "negatives_per_positive": 2,
        "min_negatives": 1,
    },
    "frequency, distinct": {"sampler": "frequency", "replacement": False},
    "mixture": {"sampler": "mixture", "sampler_power": 1.0},
    "in batch": {"sampler": "in_batch", "batch_size": 8},
    "in batch, distinct": {"sampler": "in_batch", "batch_size": 8, "replacement": False},
    "all": {"negatives": "all", "negatives_per_positive": 1, "min_negatives": 1},
}
BASE = {"negatives_per_positive": 0, "min_negatives": 6, "l2": 0.0, "gradient_floor": 0.0}


def make_data(n_rows, seed=0):
    """Return feature vectors, labels, the vector of every row and the true probabilities."""
    rng = np.random.default_rng(seed)
    head = 0.5 * np.arange(1, N_LABELS + 1) ** -0.7
    odds = head / (1 - head) * np.exp(rng.normal(0, 0.5, (N_VECTORS, N_LABELS)))
    odds *= np.geomspace(0.5, 4, N_VECTORS)[:, None]
    chances = np.clip(odds / (1 + odds), 0.02, 0.9)
    kind = np.arange(n_rows) % N_VECTORS
    Y = (rng.random((n_rows, N_LABELS)) < chances[kind]).astype(int)
    return np.eye(N_VECTORS)[kind], Y, kind, chances


def shares(options, X, Y):
    """Return the share of every label in the draws of a sampler."""
    counts = Y.sum(axis=0) ** float(options.get("sampler_power", 0.5))
    sampler = options.get("sampler", "uniform")
    uniform, by_count = np.full(N_LABELS, 1 / N_LABELS), counts / counts.sum()
    mixed = (uniform + by_count) / 2
    # Equal rows are merged, and a row is visited 16 times at most.
    groups, times = np.unique(np.hstack([X, Y]), axis=0, return_counts=True)
    in_batch = np.minimum(times, 16) @ groups[:, X.shape[1] :] / np.minimum(times, 16).sum()
    return {"uniform": uniform, "frequency": by_count, "mixture": mixed, "in_batch": in_batch}[
        sampler
    ]


def rates(options, X, Y):
    """Return the expected number of times that each label enters the loss of each row."""
    q = shares(options, X, Y)
    wanted = np.floor(options["negatives_per_positive"] * Y.sum(axis=1) + 0.5)
    wanted = np.minimum(np.maximum(wanted, options["min_negatives"]), (Y == 0).sum(axis=1))
    tries = wanted / (1 - Y @ q)
    distinct = options.get("replacement") is False
    if options.get("sampler") == "in_batch":
        tries = np.full(len(Y), options["batch_size"] - 1.0)
    elif distinct:
        # How many draws find the wanted number of different labels, by search.
        grid = np.arange(1, 200)
        found = (1 - (1 - q) ** grid[:, None]).sum(axis=1)
        tries = np.round(np.ceil(np.interp(wanted, found, grid)) / (1 - Y @ q))
    if distinct:
        return 1 - (1 - q) ** tries[:, None]
    return tries[:, None] * q


def mean_rates(r, Y, kind):
    """Return the mean rate of every (vector, label) over the rows where the label is irrelevant."""
    groups = np.eye(N_VECTORS)[kind]
    irrelevant = 1 - Y
    return (groups.T @ (r * irrelevant)) / (groups.T @ irrelevant)


def compare(name, n_rows=30000, passes=20):
    """Return offsets from the true logits: uncorrected, expected, corrected; each per pair."""
    options = {**BASE, **SETTINGS[name]}
    X, Y, kind, chances = make_data(n_rows)
    logits = np.log(chances / (1 - chances))
    offsets = []
    for log_q in (False, True):
        model = RMLS(16, max_iter=passes, log_q=log_q, normalize="none", **options).fit(X, Y)
        offsets.append(model.decision_function(np.eye(N_VECTORS)) - logits)
    expected = -np.log(mean_rates(rates(options, X, Y), Y, kind))
    return offsets[0], expected, offsets[1]


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values))))


def measure_real(name):
    """Print Brier score and log loss without and with log-Q, for few and for many draws."""
    data = load(name).train
    rows = np.random.default_rng(0).permutation(data.n_samples)[:6000]
    parts = data.take(rows).split(0.25, 1)
    truth = parts.test.Y.toarray()
    for alpha in (5, "auto"):
        cells = []
        for log_q in (False, True):
            model = RMLS(100, negatives_per_positive=alpha, log_q=log_q, calibration=None)
            model.fit(parts.train.X, parts.train.Y)
            chances = np.clip(model.predict_proba(parts.test.X), 1e-7, 1 - 1e-7).astype(float)
            loss = -np.where(truth > 0, np.log(chances), np.log1p(-chances)).sum(axis=1).mean()
            cells += [f"{brier_score(parts.test.Y, chances):.5f}", f"{loss:.3f}"]
        print(f"| {name} | {alpha} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=30000)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--row-rate", action="store_true")
    parser.add_argument("--real", nargs="+", metavar="NAME")
    options = parser.parse_args()
    if options.real:
        print(
            "| data | negatives_per_positive | Brier | log loss | Brier, log_q | log loss, log_q |"
        )
        print("|---|---|---|---|---|---|")
        for name in options.real:
            measure_real(name)
        return
    if options.row_rate:
        exact = objective.make_sampler
        objective.make_sampler = lambda *args: exact(*args)._replace(leave_out=0)
    print("| sampler | uncorrected | expected -log r | corrected | rms, uncorrected | corrected |")
    print("|---|---|---|---|---|---|")
    for name in SETTINGS:
        plain, expected, corrected = compare(name, options.rows, options.passes)
        means = [f"{part.mean():+.3f}" for part in (plain, expected, corrected)]
        errors = [f"{root_mean_square(part):.3f}" for part in (plain - expected, corrected)]
        print(f"| {name} | {' | '.join(means + errors)} |")


if __name__ == "__main__":
    main()
