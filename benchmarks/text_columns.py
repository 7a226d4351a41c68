"""What categories and numbers beside the texts are worth, and how much they should count.

    RMLS_DATA=folder python benchmarks/text_columns.py [made artworks tate] [--seeds 0 1]
                                                      [--weights 0.25 0.5 1]

Three tables. `made`: a word, a category and a number decide a label each, by construction.
`artworks` comes with the package, `tate` is read from the folder: title, artist, medium and date of
works of art, which may be texts or columns of their own; the year is the first number of four
digits in the date. A part of the TRAINING rows is held out for every seed (1,400 of artworks, 3,000
of tate, where up to 12,000 others are trained on); no test row is read.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from rmls import TextRanker, evaluate  # noqa: E402
from rmls.core.errors import RmlsWarning  # noqa: E402
from rmls.datasets import load_artworks  # noqa: E402
from rmls.datasets.tables.streams import open_text  # noqa: E402

METRICS = {"P@1": "precision@1", "P@5": "precision@5", "PSP@5": "psp@5"}
YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")
TATE_TRAIN = 46_711
SIZES = {"made": (1000, 1000), "artworks": (5000, 1400), "tate": (12_000, 3000)}


def with_year(columns):
    """Return the columns with the year of the date, None where it has none."""
    found = [YEAR.search(date) for date in columns["date"]]
    return {**columns, "year": [int(year[0]) if year else None for year in found]}


def read_artworks():
    works = load_artworks().train
    return with_year(works.columns), works.labels


def read_tate():
    """Read the training rows; the last three lines of a text are artist, medium and date."""
    columns = {name: [] for name in ("title", "artist", "medium", "date")}
    labels = []
    path = Path(os.environ.get("RMLS_DATA", "../shared/data"), "tate.jsonl.gz")
    with open_text(path, None) as stream:
        for _, line in zip(range(TATE_TRAIN), stream, strict=False):
            row = json.loads(line)
            *title, artist, medium, date = ["", *row["text"].split("\n")]
            cells = (" ".join(title), artist, medium, date)
            for name, cell in zip(columns, cells, strict=True):
                columns[name].append(cell)
            labels.append(row["labels"])
    return with_year(columns), labels


def make_rows():
    """Make rows of which a word, a category of 50 and an interval of a number decide a label."""
    rng = np.random.default_rng(0)
    n = sum(SIZES["made"])
    words, kinds = rng.integers(20, size=n), rng.integers(50, size=n)
    years = rng.lognormal(size=n)
    parts = np.searchsorted(np.quantile(years, [0.2, 0.4, 0.6, 0.8]), years)
    fillers = rng.integers(200, size=(n, 8))
    titles = [
        f"topic{w} {' '.join(f'w{f}' for f in row)}" for w, row in zip(words, fillers, strict=True)
    ]
    columns = {
        "title": titles,
        "artist": [f"artist {kind}" for kind in kinds],
        "medium": [""] * n,
        "date": [f"{year:.4f}".replace(".", "") for year in years],
        "year": years.tolist(),
    }
    labels = [[f"t{w}", f"k{k % 10}", f"p{p}"] for w, k, p in zip(words, kinds, parts, strict=True)]
    return columns, labels


READERS = {"made": make_rows, "artworks": read_artworks, "tate": read_tate}
TEXTS = ["title", "artist", "medium", "date"]


def variants(weights):
    """Yield titles, the columns that are used, and the parameters."""
    yield "title", ["title"], {}
    yield "all as text", TEXTS, {}
    both = {"categories": ["artist", "medium"]}
    for weight in weights:
        more = {**both, "column_weight": weight}
        yield f"artist, medium as categories, {weight}", ["title", "artist", "medium"], more
        more = {**more, "numbers": ["year"]}
        yield f"the same and the year, {weight}", ["title", "artist", "medium", "year"], more
        year = {"numbers": ["year"], "column_weight": weight}
        yield f"texts and the year, {weight}", ["title", "artist", "medium", "year"], year
    yield "categories and year alone", ["artist", "medium", "year"], {**both, "numbers": ["year"]}


def take(columns, names, rows):
    return {name: [columns[name][row] for row in rows] for name in names}


def measure(columns, labels, parts, names, params, jobs):
    """Return metrics of the held-out rows and the CPU time of the training."""
    train, held_out = parts
    started = time.process_time()
    model = TextRanker(n_jobs=jobs, **params)
    model.fit(take(columns, names, train), [labels[row] for row in train])
    seconds = time.process_time() - started
    report = evaluate(
        [labels[row] for row in held_out],
        ranking=model.rank(take(columns, names, held_out), 5),
        names=list(METRICS.values()),
        label_names=model.classes_,
        train_counts=model.label_counts_,
        n_train=model.n_samples_,
        by_group=False,
    )
    return [report.totals[name] for name in METRICS.values()], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["made", "artworks"], metavar="name")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--weights", type=float, nargs="+", default=[0.25, 0.5, 1.0])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    # Labels of held-out rows that no training row has are expected.
    warnings.simplefilter("ignore", RmlsWarning)
    for name in options.names:
        columns, labels = READERS[name]()
        n_train, n_held = SIZES[name]
        orders = [np.random.default_rng(seed).permutation(len(labels)) for seed in options.seeds]
        parts = [(order[n_held : n_held + n_train], order[:n_held]) for order in orders]
        print(f"\n| {name}, {len(parts[0][0]):,} rows | {' | '.join(METRICS)} | CPU s |")
        print(f"|---|{'---|' * (len(METRICS) + 1)}")
        for title, used, params in variants(options.weights):
            runs = [measure(columns, labels, part, used, params, options.jobs) for part in parts]
            figures = [" / ".join(f"{run[0][i]:.4f}" for run in runs) for i in range(len(METRICS))]
            seconds = " / ".join(f"{run[1]:.0f}" for run in runs)
            print(f"| {title} | {' | '.join(figures)} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
