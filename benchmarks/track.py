"""What training and prediction cost, beside the figures of the last release.

    python benchmarks/track.py                        # this checkout beside benchmarks/track.json
    python benchmarks/track.py --against ../old/src   # beside another checkout, in turns
    python benchmarks/track.py --record               # these figures become those of the release

Each case is a process of its own, run three times on one thread; CPU seconds are medians. Kept
figures come from another machine or hour: seconds are divided by those of a fixed piece of work
that every run does first. Exit status 1 where something became worse: more than 25% in time (10%
and 5 MB in memory, .01 in quality), or with --against more than 15%.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

OWN = Path(__file__).resolve().parents[1] / "src"
KEPT = Path(__file__).with_name("track.json")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Bound(NamedTuple):
    """How much worse a figure may be: by a share, and by an amount that is always allowed."""

    share: float
    amount: float
    less_is_better: bool = True


KEPT_BOUNDS = {"time": Bound(0.25, 0.01), "memory": Bound(0.1, 5.0)}
SIDE_BOUNDS = {"time": Bound(0.15, 0.01), "memory": Bound(0.1, 5.0)}
QUALITY = Bound(0.0, 0.01, less_is_better=False)


def artworks() -> dict[str, float]:
    """Texts of the embedded sample: training, and the labels of texts one by one."""
    from rmls import TextRanker
    from rmls.datasets import load_artworks

    works = load_artworks()
    model = TextRanker(n_jobs=1)
    train = cpu(lambda: model.fit(works.train.texts, works.train.labels))
    found: list[Any] = []
    predict = cpu(lambda: found.append(model.rank(works.test.texts, 5)))
    one = cpu(lambda: [model.suggest([text], 5) for text in list(works.test.texts)[:200]])
    quality = model.score(works.test.texts, works.test.labels)
    return {"train": train, "predict": predict, "200 texts one by one": one, "quality": quality}


def longtail(method: str, n_rows: int, n_labels: int) -> dict[str, float]:
    """Generated rows with a long tail of labels."""
    import rmls
    from rmls.datasets import make_longtail
    from rmls.metrics import evaluate

    data = make_longtail(n_rows, 5_000, n_labels)
    cut = int(0.8 * n_rows)
    model = getattr(rmls, method)(n_jobs=1, random_state=0)
    train = cpu(lambda: model.fit(data.X[:cut], data.Y[:cut]))
    found: list[Any] = []
    predict = cpu(lambda: found.append(model.rank(data.X[cut:], 5)))
    report = evaluate(data.Y[cut:], ranking=found[0], by_group=False).as_dict()
    return {"train": train, "predict": predict, "quality": report["precision@1"]}


def saved() -> dict[str, float]:
    """A saved model in a process that starts cold: import, load, and the labels of one text."""
    import rmls

    started = time.process_time()
    model = rmls.load(os.environ["RMLS_TRACK_MODEL"])
    model.suggest(["Fishing boats in the harbour"], 5)
    # The process has done nothing else: what came before are imports.
    return {"load and suggest": time.process_time() - started, "all": time.process_time()}


CASES: dict[str, Callable[[], dict[str, float]]] = {
    "artworks": artworks,
    "RMLSRanker, 3,000 labels": lambda: longtail("RMLSRanker", 8_000, 3_000),
    "RMLSRanker, 100 labels": lambda: longtail("RMLSRanker", 3_000, 100),
    "RMLS, 500 labels": lambda: longtail("RMLS", 4_000, 500),
    "saved model": saved,
}


def cpu(work: Callable[[], Any]) -> float:
    """Return the processor time of some work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def peak_memory() -> float:
    """Return the largest resident size of this process in MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Other than getrusage it does not begin with the size of the process that started this one.
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def yardstick() -> float:
    """Return the processor time of a fixed piece of work: products, sorting, and Python."""
    import numpy as np

    rng = np.random.default_rng(0)
    table = rng.random((600, 600), dtype=np.float32)

    def work() -> None:
        for _ in range(20):
            np.argsort(table @ table, axis=1)
        sum(number * number for number in range(300_000))

    return median(cpu(work) for _ in range(3))


def run_case(name: str, source: Path) -> dict[str, float]:
    """Run one case in a process of its own, which compiles before it measures."""
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--case", name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(sources: list[Path], names: list[str], rounds: int) -> list[dict[str, Any]]:
    """Return the figures of every source, which take turns; the first round compiles."""
    found: list[dict[str, Any]] = [{} for _ in sources]
    for name in names:
        runs: list[list[dict[str, float]]] = [[] for _ in sources]
        for number in range(rounds + 1):
            for place, source in enumerate(sources):
                figures = run_case(name, source)
                if number:
                    runs[place].append(figures)
        for place, some in enumerate(runs):
            found[place][name] = {key: median(run[key] for run in some) for key in some[0]}
        print(f"{name}: done", file=sys.stderr, flush=True)
    return found


def compare(now: dict[str, Any], before: dict[str, Any], bounds: dict[str, Bound]) -> list[str]:
    """Print both with their ratio, and return what became worse."""
    worse = []
    print(f"{'case':28} {'figure':22} {'before':>9} {'now':>9} {'ratio':>7}")
    for case, figures in now.items():
        for key, value in figures.items():
            old = before.get(case, {}).get(key)
            if old is None or key == "yardstick":
                continue
            bound, unit = _bound(key, bounds), 1.0
            if bound is bounds["time"] and bounds is KEPT_BOUNDS:
                unit = before[case]["yardstick"] / figures["yardstick"]
            scaled = value * unit
            ratio = scaled / old if old else 1.0
            mark = ""
            if _is_worse(scaled, old, bound):
                mark = "  worse"
                worse.append(f"{case}, {key}")
            print(f"{case:28} {key:22} {old:9.3f} {scaled:9.3f} {ratio:7.2f}{mark}")
    return worse


def _bound(key: str, bounds: dict[str, Bound]) -> Bound:
    if key == "quality":
        return QUALITY
    return bounds["memory" if key == "peak MB" else "time"]


def _is_worse(now: float, before: float, bound: Bound) -> bool:
    loss = now - before if bound.less_is_better else before - now
    return loss > max(bound.share * before, bound.amount)


def save_artworks(folder: str) -> str:
    """Train the model that the case of a saved one loads, and return its path."""
    from rmls import TextRanker
    from rmls.datasets import load_artworks

    works = load_artworks()
    path = str(Path(folder, "model"))
    TextRanker(n_jobs=1).fit(works.train.texts, works.train.labels).save(path)
    return path


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", type=Path, help="the src folder of another checkout")
    parser.add_argument("--record", action="store_true", help="keep the figures in track.json")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="CASE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        unit = {} if options.case == "saved model" else {"yardstick": yardstick()}
        figures = CASES[options.case]()
        peak = {"peak MB": peak_memory()}
        print(json.dumps({**figures, **peak, **(unit or {"yardstick": yardstick()})}))
        return
    if not (options.against or options.record or KEPT.exists()):
        raise SystemExit(f"there is no {KEPT.name} to compare with; --record makes one.")
    sources = [OWN, *([options.against.resolve()] if options.against else [])]
    with tempfile.TemporaryDirectory() as folder:
        if "saved model" in options.cases:
            os.environ["RMLS_TRACK_MODEL"] = save_artworks(folder)
        found = measure(sources, options.cases, options.rounds)
    if options.record:
        KEPT.write_text(json.dumps(found[0], indent=2) + "\n")
        return
    before = found[1] if options.against else json.loads(KEPT.read_text())
    bounds = SIDE_BOUNDS if options.against else KEPT_BOUNDS
    worse = compare(found[0], before, bounds)
    print("worse: " + "; ".join(worse) if worse else "nothing became worse")
    raise SystemExit(1 if worse else 0)


if __name__ == "__main__":
    main()
