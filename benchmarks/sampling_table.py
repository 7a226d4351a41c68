"""The tables of docs/research/what-sampling-buys.md, from the results of its study.

What a change of the decision rule, or of the sampler, does, and further pairs, as paired
differences; then means over folds and seeds with half the width of their 95% interval. Intervals
are corrected for the rows that folds share (Nadeau and Bengio); a difference in brackets is within
noise: its interval holds 0.

    rmls bench run benchmarks/what-sampling-buys.toml --out out/sampling --jobs 2
    python benchmarks/sampling_table.py out/sampling
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from rmls.bench.run.store import read_current
from rmls.report.intervals import resampled_estimate

COLUMNS = [
    ("F: cardinality", "example_f1", "cardinality"),
    ("F: f1", "example_f1", "f1"),
    ("macro-F: cardinality", "macro_f1", "cardinality"),
    ("macro-F: macro_f1", "macro_f1", "macro_f1"),
    ("P@5: dial 0", "precision@5", "tail@5=0.0"),
    ("P@5: dial 0.5", "precision@5", "tail@5=0.5"),
    ("PSP@5: dial 0", "psp@5", "tail@5=0.0"),
    ("PSP@5: dial 0.5", "psp@5", "tail@5=0.5"),
]
CAUTION = (
    "The columns of `frequency` and `frequency ** 0.5` change the number of draws as well, from "
    "five for each relevant label to about 400 a row; the others change one thing."
)
# Of five folds: a fifth of the rows against four.
TEST_RATIO = 0.25
PAPER, RULE = "uniform, alpha 5", "cardinality"
ALL = "all labels"
# Heading, metric, and sampler and rule of both sides.
PAIRS = [
    ("F under f1: alpha 5 - all labels", "example_f1", (PAPER, "f1"), (ALL, "f1")),
    ("F: uniform - all labels", "example_f1", ("uniform", RULE), (ALL, RULE)),
    ("F: frequency ** 0.5 - all labels", "example_f1", ("frequency ** 0.5", RULE), (ALL, RULE)),
    (
        "macro-F under macro_f1: frequency - uniform",
        "macro_f1",
        ("frequency", "macro_f1"),
        ("uniform", "macro_f1"),
    ),
    (
        "F under f1: calibrated - not",
        "example_f1",
        ("uniform", "f1"),
        ("uniform, not calibrated", "f1"),
    ),
]


def collect(folder):
    """Return values by data set, sampler, rule, metric and (seed, fold)."""
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(dict))))
    for record in read_current(folder)[0]:
        config, measured = record["config"], record["measured"]
        if measured is not None:
            place = found[config["dataset"]][config["label"]][config["decision"]]
            for _, metric, _ in COLUMNS:
                value = measured["metrics"]["all"][metric]
                place[metric][config["seed"], config["fold"]] = value
    return found


def interval(values):
    """Return the mean and half the width of its 95% interval."""
    values = list(values)
    found = resampled_estimate(values, TEST_RATIO)
    if found is None:
        return float(np.mean(values)), float("nan")
    return found.mean, (found.high - found.low) / 2


def differences(values, reference):
    return [values[key] - reference[key] for key in values if key in reference]


def show(pair, signed=False):
    mean, width = pair
    if not signed:
        return f"{mean:.3f} ± {width:.3f}"
    text = f"{mean:+.3f} ± {width:.3f}"
    return text if abs(mean) > width else f"({text})"


def print_data(dataset, samplers):
    print(f"\n**{dataset}**\n")
    print(f"| sampler | {' | '.join(name for name, _, _ in COLUMNS)} |")
    print(f"|---|{'--:|' * len(COLUMNS)}")
    for sampler, rules in samplers.items():
        cells = [
            show(interval(rules[rule][metric].values())) if rules[rule][metric] else "–"
            for _, metric, rule in COLUMNS
        ]
        print(f"| {sampler} | {' | '.join(cells)} |")


def print_effects(found):
    print("\n**Table 1. What a change does to F and macro-F, against the paper's scheme**")
    print(f"\n{CAUTION}\n")
    print("| data | F: rule f1 | F: all labels | F: about 400 negatives | F: frequency ** 0.5 |"
          " macro-F: rule macro_f1 | macro-F: all labels | macro-F: frequency |")  # fmt: skip
    print(f"|---|{'--:|' * 7}")
    changes = [
        ("example_f1", PAPER, "f1"),
        ("example_f1", ALL, RULE),
        ("example_f1", "uniform", RULE),
        ("example_f1", "frequency ** 0.5", RULE),
        ("macro_f1", PAPER, "macro_f1"),
        ("macro_f1", ALL, RULE),
        ("macro_f1", "frequency", RULE),
    ]
    for dataset, samplers in found.items():
        cells = [
            show(interval(differences(samplers[s][r][m], samplers[PAPER][RULE][m])), signed=True)
            for m, s, r in changes
        ]
        print(f"| {dataset} | {' | '.join(cells)} |")


def print_pairs(found):
    print("\n**Table 2. Further pairs, the same folds**\n")
    print(f"| data | {' | '.join(heading for heading, *_ in PAIRS)} |")
    print(f"|---|{'--:|' * len(PAIRS)}")
    for dataset, samplers in found.items():
        cells = []
        for _, metric, (sampler, rule), (other, other_rule) in PAIRS:
            values = differences(
                samplers[sampler][rule][metric], samplers[other][other_rule][metric]
            )
            cells.append(show(interval(values), signed=True) if any(values) else "the same")
        print(f"| {dataset} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    found = collect(parser.parse_args().folder)
    print_effects(found)
    print_pairs(found)
    for dataset, samplers in found.items():
        print_data(dataset, samplers)


if __name__ == "__main__":
    main()
