"""What RMLSRanker costs as labels and rows grow, on generated data.

Every point is a process of its own, so that its peak memory is its own: generated rows
(`rmls.make_longtail`, about five labels a row, 50 words a row), one training, the best five labels
of rows that were not trained on. Two series: labels from 10^3 to 10^6 at a fixed number of rows,
and rows at 10^4 labels. Rows are held out at every size (``calibration_folds=0``): the default
trains four models on up to 5,000 rows, which would hide how cost grows. Times are CPU times, those
of the stages too, except the first column: others may work on the machine.

    python benchmarks/ranker_cost.py [--plot cost.svg] [--threads 1]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

MB = 1 << 20
LABELS = [1_000, 10_000, 100_000, 1_000_000]
ROWS = [5_000, 10_000, 20_000, 40_000]
# Too few for 100,000 labels to have a row each: with room for all, the generator gives every label
# one row and there is nothing to learn.
FIXED_ROWS = 15_000
STAGES = ("representation", "shortlists", "weights", "held-out rows")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB


def measure(n_rows, n_labels, options):
    """Train and rank in this process; returns the figures of one point."""
    from rmls import RMLSRanker
    from rmls.datasets import make_longtail
    from rmls.models import two_stage

    two_stage.time = SimpleNamespace(perf_counter=time.process_time)
    RMLSRanker(8, n_jobs=options.threads).fit([[1, 0], [0, 1]] * 40, [["a"], ["b"]] * 40)
    data = make_longtail(round(n_rows / 0.8), options.features, n_labels)
    train, test = data.train, data.test
    n_seen = int((train.Y.sum(axis=0) > 0).sum())
    loaded = peak()
    model = RMLSRanker(calibration_folds=0, n_jobs=options.threads, index=options.index)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(train.X, train.Y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    trained = peak()
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = sum(file.stat().st_size for file in (Path(folder) / "model").iterdir()) / MB
    ranked = min(ranking_seconds(model, test.X) for _ in range(3))
    return {
        "rows": train.n_samples,
        "labels": n_labels,
        "seen": n_seen,
        "train": wall,
        "cpu": cpu,
        **{stage: model.seconds_[stage] for stage in STAGES},
        "rest": cpu - sum(model.seconds_.values()),
        "ms": 1000 * ranked / test.n_samples,
        "loaded": loaded,
        "peak": max(trained, peak()),
        "model": size,
        "weights M": model.n_weights_ / 1e6,
        "list recall": model.shortlist_recall_,
        "index recall": model.index_recall_,
    }


def ranking_seconds(model, X):
    started = time.process_time()
    model.rank(X, k=5)
    return time.process_time() - started


def run_point(n_rows, n_labels, options):
    """Measure a point in a process of its own."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(options.threads))
    command = [sys.executable, __file__, "--point", str(n_rows), str(n_labels)]
    command += ["--threads", str(options.threads), "--features", str(options.features)]
    command += ["--index", options.index]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


COLUMNS = [
    ("train s", "train", "{:.1f}"),
    ("CPU s", "cpu", "{:.1f}"),
    ("vectors", "representation", "{:.1f}"),
    ("shortlists", "shortlists", "{:.1f}"),
    ("weights", "weights", "{:.1f}"),
    ("held-out", "held-out rows", "{:.1f}"),
    ("rest", "rest", "{:.1f}"),
    ("predict ms/row", "ms", "{:.3f}"),
    ("peak MB", "peak", "{:.0f}"),
    ("before training", "loaded", "{:.0f}"),
    ("model MB", "model", "{:.1f}"),
    ("M weights", "weights M", "{:.2f}"),
    ("list recall", "list recall", "{:.3f}"),
    ("index recall", "index recall", "{:.3f}"),
]


def print_head(title):
    print(f"\n{title}\n")
    print("| rows | labels | with a row | " + " | ".join(name for name, _, _ in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 3) + "|")


def print_point(point):
    sizes = [f"{point[name]:,}" for name in ("rows", "labels", "seen")]
    cells = [pattern.format(point[key]) for _, key, pattern in COLUMNS]
    print("| " + " | ".join(sizes + cells) + " |", flush=True)


def print_ratios(points, over):
    """Print every cost as a multiple of that of the smallest point."""
    costs = [("train", "training"), ("cpu", "training, CPU"), ("ms", "prediction")]
    costs += [("peak", "peak memory"), ("model", "model")]
    print(f"\n| {over}, times the smallest | " + " | ".join(title for _, title in costs) + " |")
    print("|---" * (len(costs) + 1) + "|")
    for point in points:
        growth = point[over] / points[0][over]
        cells = [f"{point[key] / points[0][key]:.2f}" for key, _ in costs]
        print(f"| {growth:,.0f} | " + " | ".join(cells) + " |")


def exponent(points, over, key):
    """Return the slope of a line through the logarithms."""
    x = [math.log(point[over]) for point in points]
    y = [math.log(point[key]) for point in points]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    return products / sum((a - x_mean) ** 2 for a in x)


def draw(by_labels, by_rows, path):
    """Draw both series, time and memory, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [
        ("cpu", "training, CPU s", "o-"),
        ("ms", "prediction, ms a row", "s-"),
        ("peak", "peak memory, MB", "^--"),
        ("model", "model, MB", "v--"),
    ]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
    series = [(by_labels, "labels", "rows"), (by_rows, "rows", "labels")]
    for axis, (points, over, fixed) in zip(axes, series, strict=True):
        for key, title, style in lines:
            values = [point[key] for point in points]
            axis.loglog([point[over] for point in points], values, style, label=title)
        sizes = [point[over] for point in points]
        axis.set_xticks(sizes, [f"{value:,}" for value in sizes])
        axis.tick_params(axis="x", which="minor", labelbottom=False)
        axis.set_xlabel(f"{over}, at {points[0][fixed]:,} {fixed}")
        axis.grid(True, which="major", alpha=0.3)
    axes[0].set_ylabel("seconds, milliseconds, megabytes")
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.suptitle("RMLSRanker: cost over labels and over rows")
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, nargs="+", default=LABELS)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--fixed-rows", type=int, default=FIXED_ROWS)
    parser.add_argument("--fixed-labels", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=20_000)
    parser.add_argument("--index", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plot", metavar="FILE", help="SVG or PNG; needs matplotlib")
    parser.add_argument("--point", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(measure(*options.point, options)))
        return
    series = {}
    for over, sizes in (("labels", options.labels), ("rows", options.rows)):
        fixed = options.fixed_rows if over == "labels" else options.fixed_labels
        print_head(f"Over {over}, {options.features:,} features, {options.threads} threads")
        series[over] = []
        for size in sizes:
            place = (fixed, size) if over == "labels" else (size, fixed)
            series[over].append(run_point(*place, options))
            print_point(series[over][-1])
        print_ratios(series[over], over)
    first, last = series["labels"][0], series["labels"][-1]
    print(f"\nlabels x {last['labels'] / first['labels']:,.0f}: ", end="")
    print(f"training CPU x {last['cpu'] / first['cpu']:.2f}, ", end="")
    print(f"prediction x {last['ms'] / first['ms']:.2f}, peak x {last['peak'] / first['peak']:.2f}")
    for key, title in (("cpu", "training CPU"), ("train", "training"), ("peak", "peak memory")):
        print(f"exponent of {title} over rows {exponent(series['rows'], 'rows', key):.2f}")
    if options.plot:
        draw(series["labels"], series["rows"], options.plot)


if __name__ == "__main__":
    main()
