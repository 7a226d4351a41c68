"""Measure rmls and other systems from the same raw text: same split, same metrics.

    RMLS_DATA=folder python benchmarks/peers/text.py [--systems annif] [--datasets cooking]

Every system gets a virtual environment of its own, every run a process. A result is one JSON file;
the table is made from those that are there. What cannot be installed or fails is listed beneath.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from catalogue import RECIPES, Peer
from environments import Environment, prepare
from exchange import read_json, read_ranking
from execution import environment, run_worker, worker_command
from record import REPOSITORY, describe_run
from text_exchange import write_problem
from text_problems import GENERATED, KNOWN, TextData, read_data
from text_table import format_tables

FOLDER = Path(__file__).resolve().parent
WORKER = FOLDER / "text_worker.py"
# What Annif's wiki gives for trees in the way of Bonsai.
BONSAI = {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}


def _system(name: str, adapter: str, home: str = "", **options: Any) -> Peer:
    return Peer(name, FOLDER / "text_adapters" / f"{adapter}.py", home, options)


SYSTEMS: dict[str, Peer] = {
    system.name: system
    for system in (
        _system("TextRanker", "rmls_text"),
        _system("TextRanker-seed1", "rmls_text", ranker={"random_state": 1}),
        _system("TextRanker-seed2", "rmls_text", ranker={"random_state": 2}),
        _system("sklearn", "sklearn_text", "sklearn"),
        _system("sklearn-solved", "solved_text"),
        _system("fasttext", "fasttext_text", "fasttext"),
        _system("annif-omikuji", "annif_text", "annif", backend="omikuji"),
        _system("annif-bonsai", "annif_text", "annif", backend="omikuji", **BONSAI),
        _system("annif-tfidf", "annif_text", "annif", backend="tfidf"),
    )
}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    add("--datasets", nargs="+", default=["artworks"], choices=KNOWN)
    add("--autotune", type=int, default=300, help="seconds of fastText's search")
    add("--text", type=json.loads, default={}, help="options of TextRanker, as JSON")
    add("--ranker", type=json.loads, default={}, help="options of the RMLSRanker inside")
    add("--held", action="store_true", help="judge on a tenth of the training rows, to choose on")
    add("--name", help="what a system with other options is called in the table")
    add("--again", action="store_true", help="run what has a result, too")
    add("--envs", type=Path, default=REPOSITORY / "out" / "peers", help="where to install")
    add("--out", type=Path, default=REPOSITORY / "out" / "text-peers")
    add("--threads", type=int, default=os.cpu_count() or 1)
    add("--timeout", type=float, default=6 * 3600.0, help="seconds for one run")
    add("--table-only", action="store_true", help="print the table of earlier results")
    add("--all", action="store_true", help="in the table: all data sets")
    return parser.parse_args(arguments)


def choose(options: argparse.Namespace) -> list[Peer]:
    """Return the systems that are asked for, with their options."""
    chosen = []
    for name in options.systems:
        system = SYSTEMS[name]
        if name == "fasttext":
            system = replace(system, options={"seconds": options.autotune})
        if not system.environment:
            ranker = {**system.options.get("ranker", {}), **options.ranker}
            given = {"text": options.text, "ranker": ranker}
            system = replace(system, options={key: some for key, some in given.items() if some})
        chosen.append(replace(system, name=options.name or name))
    return chosen


def run_one(
    system: Peer, data: TextData, home: Environment, options: argparse.Namespace
) -> dict[str, Any]:
    """Run a system on a data set; return its result, or why there is none."""
    if home.failure:
        return {"failure": f"not installed: {home.failure}"}
    with tempfile.TemporaryDirectory(dir=options.out) as work:
        problem, folder = Path(work, "problem.jsonl"), Path(work, "result")
        write_problem(problem, data.problem)
        command = worker_command(WORKER, system, home.python, problem, folder, options.threads)
        log = options.out / f"{data.name}-{system.name}.log"
        variables = environment(options.threads, system)
        if failure := run_worker(command, log, variables, options.timeout):
            return {"failure": failure}
        report = read_json(folder / "report.json")
        rankings = folder / "rankings.npz"
        sets = {name: read_ranking(rankings, f"set_{name}") for name in report["sets"]}
        report["metrics"] = data.measure(read_ranking(rankings, "test"), sets)
    return report


def run_all(options: argparse.Namespace) -> None:
    """Run what has no result yet; every result is written as it comes."""
    options.out.mkdir(parents=True, exist_ok=True)
    context, homes = describe_run(), {"": Environment(sys.executable)}
    for dataset in options.datasets:
        data = None
        for system in choose(options):
            title = f"{dataset}-held" if options.held else dataset
            path = options.out / f"{title}-{system.name}.json"
            if path.is_file() and not options.again and not read_json(path).get("failure"):
                continue
            data = data or read_some(dataset, options.held)
            name = system.environment
            if name not in homes:
                homes[name] = prepare(name, RECIPES[name], options.envs.resolve())
            print(f"{system.name} on {dataset} …", file=sys.stderr, flush=True)
            load = os.getloadavg()[0]
            result = run_one(system, data, homes[name], options)
            result |= {"system": system.name, "dataset": title, "data": data.title, **context}
            result |= {"threads": options.threads, "options": system.options, "load": load}
            result["time"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
            path.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


def read_some(name: str, held: bool) -> TextData:
    """Return a data set, or its training rows alone."""
    data = read_data(name)
    return TextData.of_held_out(data) if held else data


def read_results(folder: Path, datasets: list[str]) -> list[dict[str, Any]]:
    """Return all results that are there, systems in their own order."""
    order = {name: place for place, name in enumerate(SYSTEMS)}
    found = [read_json(path) for path in sorted(folder.glob("*.json"))]
    found.sort(key=lambda row: (order.get(row["system"], len(order)), row["system"]))
    return [row for row in found if row["dataset"] in datasets]


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line asks for and print the table."""
    options = parse(arguments)
    if not options.table_only:
        run_all(options)
    names = [name for name in KNOWN if name != GENERATED] if options.all else options.datasets
    wanted = [f"{name}-held" for name in names] if options.held else names
    print(format_tables(read_results(options.out, wanted)))


if __name__ == "__main__":
    main()
