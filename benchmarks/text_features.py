"""Vectorise raw texts with scikit-learn and with rmls, alternately, and print the ratios.

    RMLS_DATA=folder python benchmarks/text_features.py [--dataset tate] [--repeats 5] [--train]

Claims: on one core at least as fast as TfidfVectorizer, on two twice as fast; reading a file and
vectorising takes less time than training on it (--train) and at most three times the memory of the
text, the text included. Without data, texts of random words are used.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from rmls.datasets import read_texts
from rmls.features import TextFeatures

SAME_WORDS = r"(?u)[^\W_]+"
MB = 1e6
Work = Callable[[list[str]], Any]

SKLEARN: dict[str, Work] = {
    "scikit-learn, its defaults": lambda texts: TfidfVectorizer(sublinear_tf=True).fit_transform(
        texts
    ),
    "scikit-learn, our words": lambda texts: TfidfVectorizer(
        sublinear_tf=True, token_pattern=SAME_WORDS, dtype=np.float32
    ).fit_transform(texts),
}
RMLS: dict[str, Work] = {
    "rmls, 1 thread": lambda texts: TextFeatures(stem="none").fit_transform(texts),
    "rmls, 2 threads": lambda texts: TextFeatures(stem="none", n_jobs=2).fit_transform(texts),
    "rmls with stems, 1 thread": lambda texts: TextFeatures().fit_transform(texts),
    "rmls with stems, 2 threads": lambda texts: TextFeatures(n_jobs=2).fit_transform(texts),
}
MORE: dict[str, Work] = {
    "scikit-learn, word pairs": lambda texts: TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, 2), token_pattern=SAME_WORDS, dtype=np.float32
    ).fit_transform(texts),
    "rmls, word pairs": lambda texts: TextFeatures(stem="none", pairs=True).fit_transform(texts),
    "rmls, characters": lambda texts: TextFeatures(characters=(3, 5)).fit_transform(texts),
}


def write_random(path: Path, n_rows: int) -> None:
    """Write texts of 300 words each, a few of them frequent and most of them rare."""
    rng = np.random.default_rng(0)
    words = ["".join(chr(97 + letter) for letter in rng.integers(26, size=7)) for _ in range(50000)]
    with path.open("w") as file:
        for _ in range(n_rows):
            drawn = np.minimum(rng.zipf(1.3, size=300), len(words)) - 1
            text = " ".join(words[number] for number in drawn)
            file.write(json.dumps({"text": text, "labels": [f"l{drawn[0] % 50}"]}) + "\n")


def measure(work: Work, texts: list[str]) -> tuple[float, float]:
    """Return CPU and wall seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work(texts)
    return time.process_time() - cpu, time.perf_counter() - wall


def memory(field: str) -> int:
    """Return a line of the process's status in bytes: VmHWM is its peak, VmRSS what it has now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


def peak_of(name: str, path: Path, results: Any) -> None:
    """Read and vectorise in a process of its own; report what that added to it at most."""
    work = (SKLEARN | RMLS | MORE)[name]
    work(["a text to load what is compiled", "and another text"])
    before = memory("VmRSS")
    table = read_texts(path, text="text", labels="labels")
    size = sum(len(row[0].encode()) for row in table.texts)
    read = memory("VmHWM") - before
    rows = work([row[0] for row in table.texts])
    results.put((size, read, memory("VmHWM") - before, rows.data.nbytes + rows.indices.nbytes))


def compare(texts: list[str], works: dict[str, Work], repeats: int) -> dict[str, Any]:
    """Run all alternately; return the medians of CPU and wall seconds."""
    for work in works.values():
        work(texts[:100])
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            taken[name].append(measure(work, texts))
    medians = {
        name: tuple(statistics.median(run[i] for run in runs) for i in (0, 1))
        for name, runs in taken.items()
    }
    for name, (cpu, wall) in medians.items():
        low, high = (function(run[0] for run in taken[name]) for function in (min, max))
        print(f"{name:>28}: CPU {cpu:6.2f} s ({low:.2f} to {high:.2f}), wall {wall:6.2f} s")
    return medians


def print_ratios(medians: dict[str, Any]) -> None:
    """Print how many times as long scikit-learn takes."""
    for theirs in SKLEARN:
        for ours in RMLS:
            cpu, wall = (medians[theirs][i] / medians[ours][i] for i in (0, 1))
            print(f"{theirs} / {ours}: CPU {cpu:.2f}, wall {wall:.2f}")


def print_memory(path: Path, names: list[str]) -> None:
    """Print what reading and vectorising take, in sizes of the text."""
    context = multiprocessing.get_context("spawn")
    for name in names:
        results = context.SimpleQueue()
        process = context.Process(target=peak_of, args=(name, path, results))
        process.start()
        size, read, peak, rows = results.get()
        process.join()
        print(
            f"{name:>28}: text {size / MB:.0f} MB, read {read / MB:.0f}, "
            f"rows {rows / MB:.0f}, peak {peak / MB:.0f} MB = {peak / size:.2f} times the text"
        )


def print_training(path: Path) -> None:
    """Print the time of reading and vectorising a file beside that of training on it."""
    from rmls import RMLSRanker

    warm = [f"{word} text" for word in "abcdefgh" * 5]
    RMLSRanker().fit(TextFeatures().fit_transform(warm), [[text[0]] for text in warm])
    times = [(time.process_time(), time.perf_counter())]
    table = read_texts(path, text="text", labels="labels")
    times.append((time.process_time(), time.perf_counter()))
    rows = TextFeatures(n_jobs=-1).fit_transform(table.texts)
    times.append((time.process_time(), time.perf_counter()))
    RMLSRanker(n_jobs=-1, normalize="none").fit(rows, table.labels)
    times.append((time.process_time(), time.perf_counter()))
    steps = np.diff(times, axis=0)
    for name, (cpu, wall) in zip(("reading", "vectorising", "training"), steps, strict=True):
        print(f"{name:>28}: CPU {cpu:6.2f} s, wall {wall:6.2f} s")
    ratios = steps[:2].sum(axis=0) / steps[2]
    print(f"reading and vectorising / training: CPU {ratios[0]:.2f}, wall {ratios[1]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="eurlex57k")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--more", action="store_true", help="word pairs and characters, too")
    parser.add_argument("--train", action="store_true", help="compare with the time of training")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(os.environ.get("RMLS_DATA", "../shared/data"), f"{options.dataset}.jsonl.gz")
        if not path.is_file():
            print(f"{path.name} is not there; random texts instead")
            path = Path(folder, "random.jsonl")
            write_random(path, 10_000)
        texts = [row[0] for row in read_texts(path, text="text", labels="labels").texts]
        size = sum(len(text.encode()) for text in texts)
        print(f"{path.name}: {len(texts):,} texts, {size / MB:.0f} MB, {options.repeats} repeats")
        print_ratios(compare(texts, SKLEARN | RMLS, options.repeats))
        if options.more:
            compare(texts, MORE, options.repeats)
        print_memory(path, [*SKLEARN, *RMLS, *(MORE if options.more else ())])
        if options.train:
            print_training(path)
    versions = ", ".join(f"{name} {version(name)}" for name in ("rmls", "scikit-learn", "numba"))
    print(f"{versions}, Python {platform.python_version()}, {platform.machine()}")


if __name__ == "__main__":
    main()
