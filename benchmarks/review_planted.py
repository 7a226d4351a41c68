"""How many planted mistakes a review lists first, and how long a check and a review take.

    python benchmarks/review_planted.py [FOLDER]

Artworks come with the package; cooking and eurlex57k are read from FOLDER where they are there
(cooking.jsonl.gz: 12,404 training rows, then 3,000 test rows).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from rmls import TextRanker, check_table, review_model
from rmls.datasets import load_artworks, read_texts
from rmls.datasets.tables import TextTable

SHARE = 0.04
COOKING_TRAIN = 12_404


def plant(model: TextRanker, table: TextTable) -> dict[str, set[tuple[int, str]]]:
    """Replace a label of 4% of the rows by a random one, and remove one from as many others."""
    generator = np.random.default_rng(0)
    names = [str(name) for name in model.classes_]
    frequency = model.label_counts_ / model.label_counts_.sum()
    labels = [list(row) for row in table.labels or []]
    order = generator.permutation(len(labels))
    size = int(SHARE * len(labels))
    wrong, missing = set(), set()
    for row in order[:size].tolist():
        place = generator.integers(len(labels[row]))
        name = names[generator.choice(len(names), p=frequency)]
        if name not in labels[row]:
            wrong.add((row, name))
            labels[row][place] = name
    for row in order[size : 2 * size].tolist():
        if len(labels[row]) > 1:
            missing.add((row, labels[row].pop(generator.integers(len(labels[row])))))
    table.labels = labels
    return {"mistaken_label": wrong, "missing_label": missing}


def report(name: str, train: TextTable, test: TextTable) -> None:
    start = time.process_time()
    check_table(train)
    print(f"{name}: {len(train):,} rows checked in {time.process_time() - start:.1f} s of one core")
    model = TextRanker().fit(train.texts, train.labels)
    start = time.process_time()
    review_model(model, test, train)
    print(f"  {len(test):,} rows reviewed in {time.process_time() - start:.1f} s of one core")
    planted = plant(model, test)
    review = review_model(model, test)
    n_labels = sum(map(len, test.labels or []))
    for kind, pairs in planted.items():
        found = review[kind]
        if found is None:
            continue
        first = {(int(each[0].split()[0]) - 1, each[3]) for each in found.examples}
        listed = set(found.rows)
        print(
            f"  {kind}: {len(pairs)} planted ({len(pairs) / n_labels:.1%} of all labels); "
            f"{len(first & pairs)} among the first {len(first)}, "
            f"rows of {sum(row in listed for row, _ in pairs)} in the list of {found.count}"
        )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    works = load_artworks()
    # Compiled before anything is timed.
    check_table(works.test)
    report("artworks", works.train, works.test)
    if (folder / "cooking.jsonl.gz").is_file():
        table = read_texts(folder / "cooking.jsonl.gz")
        report("cooking", table.take(slice(COOKING_TRAIN)), table.take(slice(COOKING_TRAIN, None)))
    if (folder / "eurlex57k.jsonl.gz").is_file():
        table = read_texts(folder / "eurlex57k.jsonl.gz")
        start = time.process_time()
        check_table(table)
        spent = time.process_time() - start
        print(f"eurlex57k: {len(table):,} rows checked in {spent:.1f} s of one core")


if __name__ == "__main__":
    main()
