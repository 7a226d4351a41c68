"""The table of docs/what-sampling-buys.md from the results of benchmarks/what-sampling-buys.toml.

For every data set, sampler and decision rule: the mean over folds and seeds, and the paired
difference to the paper's scheme (uniform, alpha 5, cardinality) with a 95% interval.

    rmls bench run benchmarks/what-sampling-buys.toml --out out/sampling --jobs 2
    python benchmarks/sampling_table.py out/sampling
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import stats

from rmls.bench.conduct import read_current

METRICS = ["example_f1", "macro_f1", "precision@5", "psp@5", "macro_recall@5"]
SHORT = ["F", "macro-F", "P@5", "PSP@5", "macro recall@5"]
REFERENCE = ("uniform, alpha 5", "cardinality")


def collect(folder):
    """Return values by data set, (sampler, rule), metric and (seed, fold)."""
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for record in read_current(folder)[0]:
        config, measured = record["config"], record["measured"]
        if measured is None:
            continue
        place = found[config["dataset"]][config["label"], config["decision"]]
        for metric in METRICS:
            value = measured["metrics"]["all"][metric]
            place[metric][config["seed"], config["fold"]] = value
    return found


def difference(values, reference):
    """Return the mean paired difference and half the width of its 95% interval."""
    pairs = [values[key] - reference[key] for key in values if key in reference]
    if len(pairs) < 2:
        return float(np.mean(pairs)), float("nan")
    width = stats.t.ppf(0.975, len(pairs) - 1) * np.std(pairs, ddof=1) / np.sqrt(len(pairs))
    return float(np.mean(pairs)), float(width)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    found = collect(parser.parse_args().folder)
    for dataset, settings in found.items():
        print(f"\n**{dataset}**\n")
        print(f"| sampler | rule | {' | '.join(SHORT)} |")
        print(f"|---|---|{'--:|' * len(SHORT)}")
        reference = settings[REFERENCE]
        for (sampler, rule), metrics in settings.items():
            cells = []
            for metric in METRICS:
                mean = np.mean(list(metrics[metric].values()))
                change, width = difference(metrics[metric], reference[metric])
                sign = "" if abs(change) <= width else (" ✓" if change > 0 else " ✗")
                cells.append(f"{mean:.3f} ({change:+.3f} ± {width:.3f}){sign}")
            print(f"| {sampler} | {rule} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
