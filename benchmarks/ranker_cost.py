"""What RMLSRanker costs as rows and labels grow, to a million of each, and what it learns there.

    python benchmarks/ranker_cost.py [--points 1000x1000 1000000x1000000] [--threads 1 2]
        [--out points.jsonl] [--plot cost.svg]

Every point (rows x labels) is a process of its own, so that its peak memory is its own. Labels can
be learned at every size: each has words of its own and some of its topic of a hundred labels, a row
has some of those of each of its five labels, four of one topic, among as many other words, and a
label is in five rows on average where there are as many
rows as labels. Frequent labels have up to hundreds of times the rows of rare ones. Rows are held
out at every size (``calibration_folds=0``): the default trains four models on up to 5,000 rows,
which would hide how cost grows. Quality is that of rows that were not trained on.

With --out every point is written down when it is known, and those that are there are not run again.
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
from typing import Any

import numpy as np
from scipy import sparse

MB = 1 << 20
N_WORDS = 200_000
LABELS_A_ROW, WORDS_A_LABEL, WORDS_SHOWN, OTHER_WORDS = 5, 6, 5, 25
LABELS_A_TOPIC = 100
TEST_ROWS = 5_000
POINTS = ["1000x1000", "10000x10000", "100000x100000", "1000000x1000000"]
POINTS += ["100000x10000", "1000000x10000"]
STAGES = ("features", "representation", "shortlists", "weights", "held-out rows", "combination")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def make_rows(n_rows: int, n_labels: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return generated rows and their labels; what a label's words are depends on its number."""
    rng = np.random.default_rng(seed)
    # The square of a uniform number: the density falls with the root of the label's number. Labels
    # of one remainder are a topic; all labels of a row but one are of its topic.
    labels = (n_labels * rng.random((n_rows, LABELS_A_ROW)) ** 2).astype(np.int64)
    n_topics = max(n_labels // LABELS_A_TOPIC, 1)
    topic = labels[:, :1] % n_topics
    same = labels // n_topics * n_topics + topic
    labels[:, 1:-1] = np.where(same < n_labels, same, topic)[:, 1:-1]
    shown = rng.integers(WORDS_A_LABEL, size=(n_rows, LABELS_A_ROW, WORDS_SHOWN))
    own = spread(labels[:, :, None] * WORDS_A_LABEL + shown) % np.uint64(N_WORDS)
    # Two of the words that speak for a label are those of its topic.
    common = spread(~(labels % n_topics * WORDS_A_LABEL)[:, :, None] - shown[:, :, :2])
    own[:, :, :2] = common % np.uint64(N_WORDS)
    others = (N_WORDS * rng.random((n_rows, OTHER_WORDS)) ** 2).astype(np.uint64)
    words = np.hstack([own.reshape(n_rows, -1), others])
    return to_csr(words, N_WORDS), to_csr(labels, n_labels)


def spread(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return numbers in which all bits depend on all bits of others (the end of SplitMix64)."""
    found = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def to_csr(columns: np.ndarray[Any, Any], width: int) -> sparse.csr_matrix:
    """Return a matrix of ones at some columns of every row, each once."""
    n_rows, per_row = columns.shape
    ends = np.arange(0, n_rows * per_row + 1, per_row)
    ones = np.ones(columns.size, np.float32)
    matrix = sparse.csr_matrix((ones, columns.ravel().astype(np.int32), ends), (n_rows, width))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def peak() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB


def measure(n_rows: int, n_labels: int, n_threads: int) -> dict[str, Any]:
    """Train and rank in this process; returns the figures of one point."""
    from rmls import RMLSRanker, evaluate
    from rmls.core.sparse import label_counts

    # Kernels are compiled before anything is measured.
    RMLSRanker(8, calibration_folds=0, n_jobs=n_threads).fit(*make_rows(300, 5_000, 2))
    X, Y = make_rows(n_rows, n_labels, 0)
    X_test, Y_test = make_rows(TEST_ROWS, n_labels, 1)
    counts, loaded = label_counts(Y), peak()
    model = RMLSRanker(calibration_folds=0, n_jobs=n_threads)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, Y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    trained = peak()
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = sum(file.stat().st_size for file in (Path(folder) / "model").iterdir()) / MB
    model.rank(X_test, k=5)
    started = time.process_time()
    ranking = model.rank(X_test, k=5)
    ranked = time.process_time() - started
    report = evaluate(
        Y_test, ranking=ranking, train_counts=counts, n_train=n_rows, by_group=False
    ).as_dict()
    return {
        "rows": n_rows,
        "labels": n_labels,
        "threads": n_threads,
        "seen": int((counts > 0).sum()),
        "wall": wall,
        "cpu": cpu,
        **{stage: model.seconds_.get(stage, 0.0) for stage in STAGES},
        "ms": 1000 * ranked / TEST_ROWS,
        "loaded": loaded,
        "peak": trained,
        "model": size,
        "P@1": report["precision@1"],
        "P@5": report["precision@5"],
        "PSP@5": report["psp@5"],
        "list recall": model.shortlist_recall_,
        "index recall": model.index_recall_,
    }


def run_point(n_rows: int, n_labels: int, n_threads: int) -> dict[str, Any]:
    """Measure a point in a process of its own."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(n_threads))
    command = [sys.executable, __file__, "--once", str(n_rows), str(n_labels), str(n_threads)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


COLUMNS = [
    ("threads", "threads", "{}"),
    ("train s", "wall", "{:.1f}"),
    ("CPU s", "cpu", "{:.1f}"),
    ("vectors s", "representation", "{:.1f}"),
    ("lists s", "shortlists", "{:.1f}"),
    ("weights s", "weights", "{:.1f}"),
    ("predict, CPU ms/row", "ms", "{:.3f}"),
    ("peak MB", "peak", "{:,.0f}"),
    ("before training", "loaded", "{:,.0f}"),
    ("model MB", "model", "{:,.0f}"),
    ("P@1", "P@1", "{:.3f}"),
    ("P@5", "P@5", "{:.3f}"),
    ("PSP@5", "PSP@5", "{:.3f}"),
    ("list recall", "list recall", "{:.3f}"),
    ("index recall", "index recall", "{:.3f}"),
]


def print_head() -> None:
    print("| rows | labels | with a row | " + " | ".join(name for name, _, _ in COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 3) + "|")


def print_point(point: dict[str, Any]) -> None:
    sizes = [f"{point[name]:,}" for name in ("rows", "labels", "seen")]
    cells = [pattern.format(point[key]) for _, key, pattern in COLUMNS]
    print("| " + " | ".join(sizes + cells) + " |", flush=True)


def print_growth(points: list[dict[str, Any]]) -> None:
    """Print how cost grows along each series, as the power of the number of rows."""
    for title, series in find_series(points):
        for key in ("cpu", "ms", "peak", "model"):
            x, y = (np.log([point[each] for point in series]) for each in ("rows", key))
            print(f"{title}: {key} grows with the power {np.polyfit(x, y, 1)[0]:.2f} of the rows")


def print_efficiency(points: list[dict[str, Any]]) -> None:
    """Print what threads save: wall time and efficiency against one."""
    by_size: dict[tuple[int, int], dict[int, dict[str, Any]]] = {}
    for point in points:
        by_size.setdefault((point["rows"], point["labels"]), {})[point["threads"]] = point
    for (n_rows, n_labels), found in by_size.items():
        for n_threads in sorted(set(found) - {1}) if 1 in found else ():
            one, many = found[1], found[n_threads]
            for stage in ("wall", "representation", "shortlists", "weights"):
                gain = one[stage] / many[stage]
                print(
                    f"{n_rows:,} x {n_labels:,}, {n_threads} threads, {stage}: {gain:.2f} times as "
                    f"fast, efficiency {gain / n_threads:.2f}"
                )


def find_series(points: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the points of one thread along either way: with the labels, and at 10,000 of them."""
    single = sorted(
        (each for each in points if each["threads"] == 1), key=lambda each: each["rows"]
    )
    ways = [
        ("as many labels as rows", [each for each in single if each["rows"] == each["labels"]]),
        ("10,000 labels", [each for each in single if each["labels"] == 10_000]),
    ]
    return [(title, series) for title, series in ways if len(series) > 1]


def draw(points: list[dict[str, Any]], path: str) -> None:
    """Draw time, memory and quality of both series over the rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [
        ("cpu", "training, CPU s", "o-"),
        ("ms", "prediction, CPU ms a row", "s-"),
        ("peak", "peak memory, MB", "^--"),
        ("model", "model, MB", "v--"),
    ]
    series = find_series(points)
    figure, axes = pyplot.subplots(
        1, len(series), figsize=(11, 4.6), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (title, part) in zip(axes[0], series, strict=True):
        rows = [point["rows"] for point in part]
        for key, name, style in lines:
            axis.loglog(rows, [point[key] for point in part], style, label=name)
        ticks = [f"{point['rows']:,}\nP@1 {point['P@1']:.2f}" for point in part]
        axis.set_xticks(rows, ticks)
        axis.tick_params(axis="x", which="minor", labelbottom=False)
        axis.set_xlabel(f"rows; {title}")
        axis.grid(True, which="major", alpha=0.3)
    axes[0][0].set_ylabel("seconds, milliseconds, megabytes")
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.suptitle("RMLSRanker: what size costs, one thread")
    figure.savefig(path, dpi=150)


def read_points(path: Path | None) -> list[dict[str, Any]]:
    """Return the points that are known already."""
    if path is None or not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", nargs="+", default=POINTS, metavar="ROWSxLABELS")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, help="JSON lines; points that are there are not run")
    parser.add_argument("--plot", metavar="FILE", help="SVG or PNG; needs matplotlib")
    parser.add_argument("--once", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measure(*options.once)))
        return
    points = read_points(options.out)
    known = {(each["rows"], each["labels"], each["threads"]) for each in points}
    wanted = [tuple(int(size) for size in point.split("x")) for point in options.points]
    for n_rows, n_labels in sorted(wanted, key=math.prod):
        for n_threads in options.threads:
            if (n_rows, n_labels, n_threads) not in known:
                points.append(run_point(n_rows, n_labels, n_threads))
                if options.out:
                    with options.out.open("a") as stream:
                        stream.write(json.dumps(points[-1]) + "\n")
    print_head()
    for point in points:
        print_point(point)
    print_growth(points)
    print_efficiency(points)
    if options.plot:
        draw(points, options.plot)


if __name__ == "__main__":
    main()
