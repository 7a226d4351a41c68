"""What `rmls.tune` is worth: the tuned model minus that of the defaults, on test rows.

Training rows are tuned on, `--rows` of them at most, drawn at random; the test rows are asked once
at the end. Sets of texts are tuned as texts. A set without a split is divided by a fixed seed.

    RMLS_DATA=folder python benchmarks/tune.py [enron cooking ...] [--metric psp@5] [--minutes 2]
        [--rows 6000] [--jobs 1] [--folder trials] [--free]

``--free`` tries only what needs no training of its own: the boost of rare labels, the rules.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from rmls import RMLSRanker, TextRanker, compare, tune  # noqa: E402
from rmls.datasets import load, read_texts  # noqa: E402
from rmls.imbalance import assign_folds  # noqa: E402
from rmls.tuning.choices import in_words, read_figure  # noqa: E402

SETS = (
    *("enron", "medical", "yeast", "rcv1sub1"),
    *("cooking", "debtags", "delicious", "eurlex57k_4k"),
)
SHOWN = ("P@1", "P@5", "PSP@5", "nDCG@5", "example F", "macro F")


def read_set(name: str, n_rows: int) -> tuple[tuple[Any, Any], tuple[Any, Any], bool]:
    """Return training and test rows with their labels, and whether they are texts."""
    folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
    data = load(folder / f"{name}.npz" if (folder / f"{name}.npz").is_file()
                else folder / f"{name}.arff")  # fmt: skip
    if data.n_train is None:
        test = assign_folds(data.Y, [0.8, 0.2], random_state=77) == 1
        train_rows, test_rows = np.flatnonzero(~test), np.flatnonzero(test)
    else:
        train_rows, test_rows = np.arange(data.n_train), np.arange(data.n_train, data.n_samples)
    train_rows = np.random.default_rng(7).permutation(train_rows)[:n_rows]
    if not (folder / f"{name}.jsonl.gz").is_file():
        train, test_data = data.take(train_rows), data.take(test_rows)
        return (train.X, train.Y), (test_data.X, test_data.Y), False
    table = read_texts(folder / f"{name}.jsonl.gz", text="text", labels="labels")
    parts = [table.take(rows.tolist()) for rows in (train_rows, test_rows)]
    pairs = [([text for (text,) in part.texts], part.labels) for part in parts]
    return pairs[0], pairs[1], True


def measure(name: str, options: argparse.Namespace) -> str:
    """Tune on one set; returns whether the tuned model is better, worse or neither."""
    train, test, are_texts = read_set(name, options.rows)
    inner = RMLSRanker(n_jobs=options.jobs)
    model = TextRanker(inner) if are_texts else inner
    folder = None if options.folder is None else Path(options.folder) / name
    started = time.monotonic()
    found = tune(
        *train,
        model=model,
        metric=options.metric,
        minutes=options.minutes,
        space={} if options.free else None,
        folder=folder,
    )
    seconds = time.monotonic() - started
    n_rows = found.n_rows
    promised = "" if found.difference is None else f", promised {100 * found.difference.value:+.2f}"
    print(f"{name}: {in_words(found.params)} in {seconds:.0f} s, {n_rows:,} rows{promised}")
    if not found.params:
        print(f"    {found.reason}", flush=True)
        return "same"
    differences = compare(model.fit(*train), found.model, *test).quality.differences
    figure = read_figure(options.metric)
    for metric in dict.fromkeys([figure, *SHOWN]):
        each = differences[metric, "all"]
        print(f"    {metric:<10} {100 * each.value:+.2f} [{100 * each.low:+.2f}, "
              f"{100 * each.high:+.2f}]", flush=True)  # fmt: skip
    worth = differences[figure, "all"]
    return "better" if worth.low > 0 else "worse" if worth.high < 0 else "within noise"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--metric", default="psp@5")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", help="keep trials here, to go on after an interruption")
    parser.add_argument("--free", action="store_true", help="no change that needs a training")
    options = parser.parse_args()
    verdicts = {name: measure(name, options) for name in options.sets}
    print(", ".join(f"{name} {verdict}" for name, verdict in verdicts.items()))
    for kind in ("better", "within noise", "same", "worse"):
        print(f"{kind}: {sum(verdict == kind for verdict in verdicts.values())}")


if __name__ == "__main__":
    main()
