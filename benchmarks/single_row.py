"""The labels of one text: processor time of `suggest`, and of its parts.

    python benchmarks/single_row.py models/tate --texts tate.jsonl.gz
    python benchmarks/single_row.py models/tate --texts tate.jsonl.gz --source ../before/src

"words" is a text as a row, "rank" the best labels of such a row as anybody may ask for them,
"scores" what the ranker itself does with it: lists, scores, the best of them. With --source
another checkout takes turns with this one; the ratio is that of the medians. One thread.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

OWN = Path(__file__).resolve().parents[1] / "src"
K = 5


def cpu(function: Callable[[Any], Any], given: list[Any]) -> list[float]:
    """Return the processor time of every call."""
    took = []
    for each in given:
        start = time.thread_time()
        function(each)
        took.append(time.thread_time() - start)
    return took


def measure(path: str, texts: list[str]) -> dict[str, list[float]]:
    """Return the times of one process."""
    import rmls
    from rmls.core.resources import THREAD_LIMITS
    from rmls.models.ranker.sources import Rows

    model: Any = rmls.load(path)
    features, inner = model.features_, model.estimator_
    scorer = inner._scorer
    with THREAD_LIMITS.at_most(1):
        rows = [features.transform([text]) for text in texts]
        parts: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
            "suggest": (lambda text: model.suggest([text], K), texts),
            "words": (lambda text: features.transform([text]), texts),
            "rank": (lambda row: inner.rank(row, K), rows),
            "scores": (lambda row: scorer.rank(Rows(row), K, scorer.mixture, 1), rows),
        }
        for function, given in parts.values():
            cpu(function, given[:20])
        return {name: cpu(function, given) for name, (function, given) in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--texts", required=True, help="JSON lines with a text each, gzip")
    parser.add_argument("--source", type=Path, help="the src folder of another checkout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        with gzip.open(options.texts, "rt", encoding="utf-8") as stream:
            texts = [json.loads(line)["text"] for line in islice(stream, 400)]
        print(json.dumps(measure(options.model, texts)))
        return
    sources = {"this": OWN} | ({"other": options.source} if options.source else {})
    found: dict[str, dict[str, list[float]]] = {name: {} for name in sources}
    command = [sys.executable, __file__, options.model, "--texts", options.texts, "--once"]
    for _ in range(options.rounds):
        for name, source in sources.items():
            values = {**os.environ, "PYTHONPATH": str(source)}
            done = subprocess.run(command, env=values, capture_output=True, check=True)
            for part, times in json.loads(done.stdout).items():
                found[name].setdefault(part, []).extend(times)
    for part in found["this"]:
        middle = {name: 1000 * median(found[name][part]) for name in sources}
        shown = ", ".join(f"{name} {value:.3f} ms" for name, value in middle.items())
        ratio = f", ratio {middle['other'] / middle['this']:.2f}" if options.source else ""
        print(f"{part}: {shown}{ratio}")


if __name__ == "__main__":
    main()
