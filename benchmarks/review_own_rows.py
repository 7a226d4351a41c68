"""How far a review of a model's own held-out rows is from one of rows that it never sees.

    python benchmarks/review_own_rows.py [FOLDER]

A model is trained on a random part of the rows and judged twice: on the training rows that it
held out by itself, and on the other part. Printed are both figures and their difference, each the
mean over random parts, and the time of training and review. Artworks come with the package; cooking
is read from FOLDER where it is there (cooking.jsonl.gz).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from rmls import TextRanker, review_model
from rmls.datasets import load_artworks, read_texts
from rmls.datasets.tables import TextTable
from rmls.review import Review
from rmls.review.quality import METRICS

N_PARTS = 8


def figures(review: Review) -> dict[str, float]:
    values = review.quality.values
    found = {metric: values["TextRanker", metric, "all"].value for metric in METRICS}
    found["PSP@5 tail"] = values["TextRanker", "PSP@5", "tail"].value
    return {**found, "calibration error": review.calibration_error}


def compare(name: str, table: TextTable, n_train: int) -> None:
    own, other, seconds = [], [], []
    for seed in range(N_PARTS):
        order = np.random.default_rng(seed).permutation(len(table)).tolist()
        train = table.take(order[:n_train])
        clock = time.process_time()
        model = TextRanker().fit(train.texts, train.labels)
        trained = time.process_time()
        review = review_model(model, train=train)
        seconds.append((trained - clock, time.process_time() - trained))
        own.append(figures(review))
        # As many rows: macro F is of the labels that they have, which are more in more rows.
        test = table.take(order[n_train : n_train + review.n_held_out])
        other.append(figures(review_model(model, test)))
    fit, spent = np.median(seconds, axis=0)
    how = "all rows, by 3 models" if review.n_judges > 1 else f"{review.n_held_out} rows"
    print(f"{name}, {n_train:,} rows: judged on {how}, beside {review.quality.methods[1]}")
    print(f"  training {fit:.1f} s, review {spent:.1f} s of one core")
    for metric in own[0]:
        pairs = np.array([(one[metric], two[metric]) for one, two in zip(own, other, strict=True)])
        gaps = pairs[:, 0] - pairs[:, 1]
        error = gaps.std(ddof=1) / np.sqrt(N_PARTS)
        mean = pairs.mean(axis=0)
        print(f"  {metric:<18}{mean[0]:.3f} {mean[1]:.3f}  {gaps.mean():+.3f} ± {error:.3f}")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    works = load_artworks()
    table = works.train
    table.extend(works.test)
    # Compiled before anything is timed.
    small = table.take(slice(200))
    review_model(TextRanker().fit(small.texts, small.labels), train=small)
    compare("artworks", table, 6400)
    compare("artworks", table, 3000)
    if (folder / "cooking.jsonl.gz").is_file():
        table = read_texts(folder / "cooking.jsonl.gz")
        compare("cooking", table, 12_404)
        compare("cooking", table, 3000)


if __name__ == "__main__":
    main()
