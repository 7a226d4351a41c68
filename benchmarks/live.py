"""What a fitted TextRanker is worth that goes on without training again, against a full fit.

    RMLS_DATA=folder python benchmarks/live.py add [tate] [--labels 1000]
    RMLS_DATA=folder python benchmarks/live.py examples [cooking debtags tate] [--seeds 0 1 2]
    RMLS_DATA=folder python benchmarks/live.py learn [cooking debtags tate] [--parts 1 20]
    RMLS_DATA=folder python benchmarks/live.py thousand [cooking] [--calls 1000] [--save-every 10]

`add` puts labels with names into a model of all training rows: how long it takes, and whether any
score of another label changes. `examples` takes labels with at least ten training rows out of a
training, adds each of them later by its name and three of its rows, and counts how many of its
assignments are among the best five, beside a full fit. `learn` trains on ten elevenths of the rows
and learns the others later, in one call and in many. `thousand` does so in a thousand calls, with
the model saved on the way.

Scored are the TEST rows; with --held-out an eighth of the training rows instead, which all choices
were made on. Times are processor time, all models of a row of a table measured in this run. A bar
is what was promised; "yes" is that it was kept.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

import rmls  # noqa: E402
from rmls import RMLSRanker, TextRanker, evaluate  # noqa: E402
from rmls.core.errors import RmlsWarning  # noqa: E402
from rmls.core.ranking import Ranking  # noqa: E402
from rmls.datasets import read_label_text  # noqa: E402
from rmls.datasets.tables.streams import open_text  # noqa: E402

# Training rows; they come first.
SETS = {"cooking": 12_404, "debtags": 23_945, "tate": 46_711}
METRICS = {"P@1": "precision@1", "P@5": "precision@5", "PSP@5": "psp@5"}
K = 5
HIDDEN, MIN_ROWS, SHOWN_ROWS = 200, 10, 3
# Texts on which all scores before and after are compared, dense.
COMPARED_TEXTS = 500
WORDS = ("harvest", "engine", "glacier", "ledger", "orchard", "signal", "tunnel", "violin")


class Rows(NamedTuple):
    """Texts and the names of their labels."""

    texts: list[Any]
    labels: list[list[str]]

    def take(self, places: Sequence[int]) -> Rows:
        return Rows([self.texts[at] for at in places], [self.labels[at] for at in places])

    def without(self, hidden: set[str]) -> Rows:
        return Rows(self.texts, [[n for n in row if n not in hidden] for row in self.labels])


class Split(NamedTuple):
    """Rows to learn from, rows to score, and all labels that either has."""

    train: Rows
    test: Rows
    known: list[str]

    def matrix(self, rows: Rows) -> sparse.csr_matrix:
        place = {name: number for number, name in enumerate(self.known)}
        found = [sorted({place[name] for name in row}) for row in rows.labels]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in found])])
        indices = np.array([column for row in found for column in row], np.int64)
        shape = (len(found), len(self.known))
        return sparse.csr_matrix((np.ones(len(indices), np.int32), indices, indptr), shape)

    def rank(self, model: TextRanker) -> Ranking:
        """Return the best labels of the rows to score, in the columns of all labels."""
        place = {name: number for number, name in enumerate(self.known)}
        columns = np.array([place.get(name, -1) for name in model.classes_], np.int32)
        found = model.rank(self.test.texts, K)
        return Ranking(found.indptr, columns[found.labels], found.scores, len(self.known))


def read_rows(folder: Path, name: str) -> Rows:
    with open_text(folder / f"{name}.jsonl.gz", None) as stream:
        rows = [json.loads(line) for line in stream]
    return Rows([row["text"] for row in rows], [row["labels"] for row in rows])


def split(folder: Path, name: str, seed: int, held_out: bool) -> Split:
    rows, n_train = read_rows(folder, name), SETS[name]
    known = sorted({label for row in rows.labels for label in row})
    order = np.random.default_rng(seed).permutation(n_train)
    if held_out:
        n_held = n_train // 8
        return Split(rows.take(order[n_held:]), rows.take(order[:n_held]), known)
    return Split(rows.take(order), rows.take(range(n_train, len(rows.texts))), known)


def train(rows: Rows, options: argparse.Namespace, seed: int, names: Any = None) -> TextRanker:
    model = TextRanker(RMLSRanker(random_state=seed), n_jobs=options.jobs)
    return model.fit(rows.texts, rows.labels, label_text=names)


def seconds_of(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    started = time.process_time()
    result = work(*given)
    return time.process_time() - started, result


def size_of(folder: Path) -> float:
    """Return the megabytes of a model."""
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def quality(part: Split, model: TextRanker) -> dict[str, float]:
    """Return the metrics in points, propensities by all training rows."""
    counts = np.asarray(part.matrix(part.train).sum(axis=0)).ravel()
    totals = evaluate(
        part.matrix(part.test),
        ranking=part.rank(model),
        names=list(METRICS.values()),
        train_counts=counts,
        n_train=len(part.train.texts),
        by_group=False,
    ).totals
    return {title: 100 * totals[name] for title, name in METRICS.items()}


def spread(values: Sequence[float], digits: int = 2) -> str:
    deviation = float(np.std(values, ddof=min(1, len(values) - 1)))
    return f"{np.mean(values):.{digits}f} ({deviation:.{digits}f})"


def table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    print(f"\n| {title} | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")
    print(flush=True)


def kept(holds: Any) -> str:
    return "yes" if bool(holds) else "NO"


# -- labels that are added -------------------------------------------------------------------------


def run_add(folder: Path, name: str, options: argparse.Namespace) -> None:
    part = split(folder, name, 0, options.held_out)
    # Labels that no training row has are known by name.
    model = train(part.train, options, 0, {label: label for label in part.known})
    rng = np.random.default_rng(0)
    # Words of texts and words that no text has, numbered so that no name is that of a label.
    common = [word for word in " ".join(map(str, part.train.texts[:2000])).split() if len(word) > 4]
    names = [
        f"{rng.choice(common)} {rng.choice(WORDS)}{place % 97} {place}"
        for place in range(options.labels)
    ]
    texts = part.test.texts[:COMPARED_TEXTS]
    before, chances = model.decision_function(texts), model.predict_proba(texts)
    n_labels = before.shape[1]
    with tempfile.TemporaryDirectory() as place:
        model.save(Path(place) / "old")
        wall = time.perf_counter()
        seconds, _ = seconds_of(model.add_labels, names)
        wall = time.perf_counter() - wall
        model.save(Path(place) / "new")
        sizes = [size_of(Path(place) / which) for which in ("old", "new")]
    change = float(np.abs(model.decision_function(texts)[:, :n_labels] - before).max())
    other = float(np.abs(model.predict_proba(texts)[:, :n_labels] - chances).max())
    found = model.rank(names, 1)
    own = np.mean([row[0].label == label for row, label in zip(found, names, strict=True)])
    heads = ["measured", "bar", "kept"]
    lines = [
        ["seconds", f"{wall:.2f}", "< 1", kept(wall < 1)],
        ["processor seconds", f"{seconds:.2f}", "", ""],
        ["largest change of another score", f"{change:g}", "0", kept(change == 0)],
        ["largest change of another probability", f"{other:g}", "0", kept(other == 0)],
        ["megabytes before and after", f"{sizes[0]:.1f}, {sizes[1]:.1f}", "", ""],
        ["added labels first for their own name", f"{own:.1%}", "", ""],
    ]
    table(f"{name}: {options.labels:,} labels added to {n_labels:,}", heads, lines)


def hide(part: Split, seed: int) -> list[str]:
    """Draw labels that have rows enough, in the training and to be scored by."""
    rng = np.random.default_rng(100 + seed)
    counts = np.asarray(part.matrix(part.train).sum(axis=0)).ravel()
    scored = np.asarray(part.matrix(part.test).sum(axis=0)).ravel()
    able = np.flatnonzero((counts >= MIN_ROWS) & (scored > 0))
    chosen = rng.choice(able, min(HIDDEN, len(able) // 2), replace=False)
    return [part.known[label] for label in np.sort(chosen)]


def recalls(part: Split, model: TextRanker, labels: Sequence[str]) -> tuple[np.ndarray, float]:
    """Return the share of every label's assignments that are among the best five, and of all."""
    place = {name: number for number, name in enumerate(part.known)}
    columns = [place[name] for name in labels]
    truth = part.matrix(part.test)[:, columns]
    found = truth.multiply(part.rank(model).to_sets()[:, columns])
    hits, all_ = (np.asarray(each.sum(axis=0)).ravel() for each in (found, truth))
    return hits / all_, float(hits.sum() / all_.sum())


def run_examples(folder: Path, name: str, options: argparse.Namespace) -> None:
    found: list[dict[str, float]] = []
    for seed in options.seeds:
        part = split(folder, name, seed, options.held_out)
        text = read_label_text(folder / f"{name}.labels.txt").align(part.known)
        called = {label: text.names[at] for at, label in enumerate(text.labels)}
        names = {label: called.get(label) or label for label in part.known}
        hidden = hide(part, seed)
        full = train(part.train, options, seed)
        model = train(part.train.without(set(hidden)), options, seed)
        rng = np.random.default_rng(seed)
        by_label: dict[str, list[int]] = {label: [] for label in hidden}
        for row, labels in enumerate(part.train.labels):
            for label in labels:
                if label in by_label:
                    by_label[label].append(row)
        shown = {
            label: rng.choice(rows, SHOWN_ROWS, replace=False) for label, rows in by_label.items()
        }
        by_name = copy.deepcopy(model).add_labels(hidden, names)
        seconds = 0.0
        for label in hidden:
            texts = part.train.take(shown[label]).texts
            given = ([label], names, texts, [[label]] * SHOWN_ROWS)
            seconds += seconds_of(model.add_labels, *given)[0]
        results = {"full fit": full, "by name": by_name, "by name and three rows": model}
        found.append({"seconds": seconds / len(hidden)})
        for title, each in results.items():
            own, all_ = recalls(part, each, hidden)
            found[-1] |= {title: own.mean(), f"{title}, all": all_}
    titles = ["full fit", "by name", "by name and three rows"]

    def share(title: str, end: str = "") -> list[float]:
        return [each[f"{title}{end}"] / each[f"full fit{end}"] for each in found]

    lines = [
        [
            title,
            spread([100 * each[title] for each in found], 1),
            spread(share(title)),
            spread([100 * each[f"{title}, all"] for each in found], 1),
            spread(share(title, ", all")),
            kept(np.mean(share(title)) >= 0.5) if title == titles[2] else "",
        ]
        for title in titles
    ]
    heads = ["mean R@5 of the labels", "of a full fit", "R@5 of all their assignments"]
    heads += ["of a full fit", "kept (0.5, mean)"]
    table(f"{name}: {len(hidden)} labels added, {len(found)} seeds", heads, lines)
    print(
        f"processor seconds a label: {spread([each['seconds'] for each in found], 3)}", flush=True
    )


# -- rows that are learned -------------------------------------------------------------------------


def learn(model: TextRanker, rows: Rows, count: int) -> None:
    """Learn from rows in a number of calls."""
    for places in np.array_split(np.arange(len(rows.texts)), count):
        model.partial_fit(*rows.take(places))


def run_learn(folder: Path, name: str, options: argparse.Namespace) -> None:
    found: dict[str, list[dict[str, float]]] = {}
    for seed in options.seeds:
        part = split(folder, name, seed, options.held_out)
        n_new = len(part.train.texts) // 11
        new, old = (
            part.train.take(range(n_new)),
            part.train.take(range(n_new, len(part.train.texts))),
        )
        full_time, full = seconds_of(train, part.train, options, seed)
        wanted = quality(part, full)
        found.setdefault("full fit", []).append(wanted | {"time": 1.0})
        base = train(old, options, seed)
        found.setdefault("ten elevenths alone", []).append(quality(part, base))
        for count in options.parts:
            model = copy.deepcopy(base)
            seconds, _ = seconds_of(learn, model, new, count)
            title = f"the rest in {count} call{'s' * (count > 1)}"
            share = {"time": seconds / full_time}
            found.setdefault(title, []).append(quality(part, model) | share)
    lines = []
    for title, runs in found.items():
        line = [title, *(spread([run[key] for run in runs]) for key in METRICS)]
        line.append(spread([run["time"] for run in runs]) if "time" in runs[0] else "")
        losses = [
            np.mean(
                [full[key] - run[key] for full, run in zip(found["full fit"], runs, strict=True)]
            )
            for key in METRICS
        ]
        if "call" in title:
            good = max(losses) <= 0.5 and np.mean([run["time"] for run in runs]) <= 0.2
            line += [f"{max(losses):.2f}", kept(good)]
        else:
            line += [f"{max(losses):.2f}", ""]
        lines.append(line)
    heads = [*METRICS, "time, of a full fit", "largest loss", "kept (0.5 points, 0.2)"]
    table(f"{name}, {len(options.seeds)} seeds", heads, lines)


def run_thousand(folder: Path, name: str, options: argparse.Namespace) -> None:
    part = split(folder, name, 0, options.held_out)
    n_new = len(part.train.texts) // 11
    new = part.train.take(range(n_new))
    full_time, full = seconds_of(train, part.train, options, 0)
    model = train(part.train.take(range(n_new, len(part.train.texts))), options, 0)
    seconds = saving = 0.0
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model"
        full.save(Path(place) / "fresh")
        for number, places in enumerate(np.array_split(np.arange(n_new), options.calls)):
            rows = new.take(places)
            seconds += seconds_of(model.partial_fit, *rows)[0]
            if (number + 1) % options.save_every == 0 or number + 1 == options.calls:
                saving += seconds_of(model.save, path)[0]
                # What is learned next starts from what is on disk.
                model = rmls.load(path)
        sizes = [size_of(Path(place) / which) for which in ("fresh", "model")]
        before, after = quality(part, full), quality(part, rmls.load(path))
    share = sizes[1] / sizes[0]
    lines = [
        ["rows of a call", f"{n_new / options.calls:.1f}", "", ""],
        ["megabytes of a fresh model", f"{sizes[0]:.2f}", "", ""],
        ["megabytes after all calls", f"{sizes[1]:.2f}", "", ""],
        ["its share", f"{share:.3f}", "1.1", kept(share <= 1.1)],
        ["labels", f"{len(model.classes_)}, fresh {len(full.classes_)}", "", ""],
        ["milliseconds of a call", f"{1000 * seconds / options.calls:.0f}", "", ""],
        ["milliseconds of saving", f"{1000 * saving * options.save_every / options.calls:.0f}"],
        ["seconds of a full fit", f"{full_time:.1f}", "", ""],
    ]
    lines += [[key, f"{after[key]:.2f}, fresh {before[key]:.2f}"] for key in METRICS]
    title = f"{name}: {options.calls:,} calls, saved every {options.save_every}"
    table(title, ["measured", "bar", "kept"], [[*line, "", ""][:4] for line in lines])


PARTS = {"add": run_add, "examples": run_examples, "learn": run_learn, "thousand": run_thousand}
USUAL = {"add": ["tate"], "thousand": ["cooking"]}


def warm_up() -> None:
    """Compile what is compiled, so that no model pays for it."""
    texts = [f"word{row % 7} other{row % 5} thing" for row in range(60)]
    model = TextRanker().fit(texts, [[f"word{row % 7}"] for row in range(60)])
    model.add_labels(["another thing"], None, texts[:3], [["another thing"]] * 3)
    model.partial_fit(texts[:5], [["word1"], ["new"], ["word2"], [], ["other"]]).rank(texts[:2], 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--parts", type=int, nargs="+", default=[1, 20])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--held-out", action="store_true")
    options = parser.parse_args()
    # Labels that no training row has are what this is about.
    warnings.simplefilter("ignore", RmlsWarning)
    folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
    print(f"rmls {version('rmls')}, Python {platform.python_version()}, {platform.machine()}")
    warm_up()
    for name in options.names or USUAL.get(options.part, list(SETS)):
        if name not in SETS or not (folder / f"{name}.jsonl.gz").is_file():
            why = "is not there" if name in SETS else f"is none of {', '.join(SETS)}"
            print(f"{name} is left out: {folder / name}.jsonl.gz {why}")
            continue
        PARTS[options.part](folder, name, options)


if __name__ == "__main__":
    main()
