"""Measure rmls and its peers side by side: same splits, same metrics, one process each.

    RMLS_DATA=folder python benchmarks/peers/run.py [--peers pecos omikuji] [--datasets enron]

Every peer gets a virtual environment of its own. A peer that cannot be installed, crashes or
takes too long is listed beneath the table. Every run is appended to results.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from catalogue import PEERS, RECIPES, Peer, choose_peers, rmls_method
from environments import Environment, prepare
from execution import Outcome, run_peer
from problems import N_FOLDS, Split, default_names, read_dataset, splits
from record import REPOSITORY, describe_run
from scoring import measure
from table import format_tables

from rmls.core.errors import RmlsError

RESULTS = "results.jsonl"


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--peers", nargs="*", help=f"default: all of {', '.join(PEERS)}")
    add("--rmls", nargs="*", default=["RMLS"], help="methods of rmls, as RMLS:n_components=50")
    add("--datasets", nargs="+", help="default: the small ones at hand")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--folds", nargs="+", type=int, choices=range(N_FOLDS))
    where.add_argument("--given", action="store_true", help="the set's own split (default)")
    add("--draw", type=int, metavar="ROWS", help="train on so many rows drawn from the others")
    add("--features", choices=("auto", "raw", "unit", "tfidf"), default="auto")
    add("--envs", type=Path, default=REPOSITORY / "out" / "peers", help="where to install")
    add("--out", type=Path, default=REPOSITORY / "out" / "peers-results")
    add("--python", nargs="*", default=[], metavar="NAME=PATH", help="interpreter of a peer")
    add("--here", action="store_true", help="run rmls in this interpreter, with all it has")
    add("--timeout", type=float, default=1800.0, help="seconds for one run")
    add("--threads", type=int, default=os.cpu_count() or 1)
    add("--no-label-limit", action="store_true", help="run peers beyond their number of labels")
    add("--table-only", action="store_true", help="print the table of earlier results")
    return parser.parse_args(arguments)


def install(peers: list[Peer], options: argparse.Namespace) -> dict[str, Environment]:
    """Return the environments of the peers."""
    given = dict(text.partition("=")[::2] for text in options.python)
    ready = {"": Environment(sys.executable)}
    if options.here:
        ready["rmls"] = ready[""]
    for name in dict.fromkeys(peer.environment for peer in peers):
        if name in ready:
            continue
        say(f"environment of {name} …")
        ready[name] = prepare(name, RECIPES[name], options.envs.resolve(), given.get(name))
        if ready[name].failure:
            say(f"  not installed: {ready[name].failure}")
    return ready


def run_one(
    peer: Peer, split: Split, environment: Environment, options: argparse.Namespace
) -> tuple[str, Outcome]:
    """Run a peer on a split where that is possible; return a status and what came of it."""
    if environment.failure:
        return "not installed", Outcome(environment.failure)
    n_labels = split.train.n_labels
    if peer.most_labels and n_labels > peer.most_labels and not options.no_label_limit:
        return "refused", Outcome(
            f"{n_labels:,} labels, more than {peer.most_labels:,}; --no-label-limit runs it"
        )
    with tempfile.TemporaryDirectory(dir=options.out) as work:
        problem, folder = Path(work, "problem.npz"), Path(work, "result")
        split.write(problem, peer.raw)
        outcome = run_peer(
            peer, environment.python, problem, folder, options.threads, options.timeout
        )
        if outcome.failure and (folder / "log.txt").is_file():
            name = f"{peer.name}-{split.dataset}-{split.fold}.log".replace("/", "_")
            shutil.copy(folder / "log.txt", options.out / name)
    return ("failed" if outcome.failure else "ok"), outcome


def result_row(
    peer: Peer, split: Split, status: str, outcome: Outcome, options: argparse.Namespace
) -> dict[str, Any]:
    """Return the line of results.jsonl for one run."""
    row = {
        "peer": peer.name,
        "dataset": split.dataset,
        "fold": split.fold,
        "data": split.title,
        "features": split.features,
        "given_features": "raw" if peer.raw else split.features,
        "threads": options.threads,
        "status": status,
        "failure": outcome.failure,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **outcome.report,
    }
    if status == "ok":
        row["predict_ms_per_row"] = 1000 * row["predict_seconds"] / split.test.n_samples
        row["metrics"] = measure(split, outcome.test, outcome.sample)
    return row


def run_all(options: argparse.Namespace, peers: list[Peer]) -> list[dict[str, Any]]:
    """Run everything, append every result as it comes, and return the results."""
    options.out.mkdir(parents=True, exist_ok=True)
    ready, context, rows = install(peers, options), describe_run(), []
    for name in options.datasets or default_names():
        try:
            data = read_dataset(name)
        except RmlsError as error:
            say(f"{name} is left out: {error}")
            continue
        for split in splits(data, name, options.features, options.folds, options.draw):
            for peer in peers:
                say(f"{peer.name} on {name}, {split.fold} …")
                context["load_before"] = os.getloadavg()[0]
                status, outcome = run_one(peer, split, ready[peer.environment], options)
                rows.append(result_row(peer, split, status, outcome, options) | context)
                with (options.out / RESULTS).open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    return rows


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return earlier results, the newest of every peer, data set, fold and kind of features."""
    newest = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        newest[row["peer"], row["dataset"], row["fold"], row["features"]] = row
    return list(newest.values())


def say(text: str) -> None:
    """Report progress beside the table, which goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line asks for and print the table."""
    options = parse(arguments)
    peers = [*map(rmls_method, options.rmls), *choose_peers(options.peers)]
    earlier = read_results(options.out / RESULTS) if options.table_only else None
    print(format_tables(run_all(options, peers) if earlier is None else earlier))


if __name__ == "__main__":
    main()
