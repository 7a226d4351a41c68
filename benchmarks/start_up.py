"""How long a process takes to its first labels: imports, `rmls suggest`, a fresh install.

    python benchmarks/start_up.py models/tate --text "Fishing boats in the harbour at Whitby"
    python benchmarks/start_up.py models/tate --source ../before/src --rounds 10
    python benchmarks/start_up.py --first

Every line is a process of its own, in turns with the others: wall and processor time, medians, and
the ratio to `python -c "import numpy"`, which can be compared between machines. Bytecode is
written before, as pip does. With --first a model of texts is trained, saved, loaded and asked in a
process whose cache of kernels is empty, then in another that finds them: the difference is what a
first run compiles. One thread.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

OWN = Path(__file__).resolve().parents[1] / "src"
TEXT = "Fishing boats in the harbour at Whitby"
YARDSTICK = "import numpy"
IMPORTS = (YARDSTICK, "import scipy.sparse", "import typer", "import numba", "import sklearn.base")
FIRST = """
import sys, tempfile
import rmls
from rmls.datasets import load_artworks
works = load_artworks().train.take(slice(0, 1200))
folder = tempfile.mkdtemp() + "/model"
rmls.TextRanker().fit(works.columns, works.labels).save(folder)
few = {name: values[:1] for name, values in works.columns.items()}
rmls.load(folder).suggest(few, 5)
"""


def run(command: list[str], source: Path, **more: str) -> tuple[float, float]:
    """Return wall and processor time of a process."""
    values = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", **more}
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=values, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(times: dict[str, list[tuple[float, float]]]) -> None:
    """Print the medians of every line, and their ratio to the first."""
    middle = {
        name: tuple(median(part) for part in zip(*each, strict=True))
        for name, each in times.items()
    }
    unit = middle[YARDSTICK]
    for name, (wall, cpu) in middle.items():
        print(f"{name:34s} {wall:6.3f} s, processor {cpu:6.3f} s, ratio {cpu / unit[1]:5.2f}")


def start(model: str, text: str, other: Path | None, rounds: int) -> None:
    """Measure imports and commands, in turns."""
    sources = {"": OWN} | ({", other": other} if other else {})
    lines = {name: ([sys.executable, "-c", name], OWN) for name in IMPORTS}
    for suffix, source in sources.items():
        compileall.compile_dir(source, quiet=2)
        program = [sys.executable, "-m", "rmls"]
        lines[f"rmls --help{suffix}"] = ([*program, "--help"], source)
        lines[f"rmls suggest{suffix}"] = ([*program, "suggest", model, text], source)
        with_options = [*program, "suggest", model, text, "--top", "3"]
        lines[f"rmls suggest --top 3{suffix}"] = (with_options, source)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in lines}
    for _ in range(rounds):
        for name, (command, source) in lines.items():
            times[name].append(run(command, source))
    show(times)


def first(other: Path | None) -> None:
    """Measure a first run with an empty cache of kernels, and a second one."""
    for name, source in ({"this": OWN} | ({"other": other} if other else {})).items():
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, "-c", FIRST]
            cold = run(command, source, NUMBA_CACHE_DIR=cache)
            warm = run(command, source, NUMBA_CACHE_DIR=cache)
        share = (cold[1] - warm[1]) / cold[1]
        print(
            f"{name}: first run {cold[0]:.1f} s, processor {cold[1]:.1f} s; second {warm[0]:.1f} s,"
            f" processor {warm[1]:.1f} s; compilation is {share:.0%} of the first"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", nargs="?", help="the folder of a model for texts")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--source", type=Path, help="the src folder of another checkout")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--first", action="store_true", help="a first run with nothing compiled")
    options = parser.parse_args()
    if options.first:
        first(options.source)
    if options.model:
        start(options.model, options.text, options.source, options.rounds)


if __name__ == "__main__":
    main()
