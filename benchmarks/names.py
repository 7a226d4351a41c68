"""What names of labels are worth: TextRanker with use_names=False and with names, from raw text.

    RMLS_DATA=folder python benchmarks/names.py [cooking tate ...] [--hide 0.1] [--rows 15000]
                                               [--seeds 0 1 2] [--json FILE] [--times]
                                               [--stem auto|endings|none|LANGUAGE]

A tenth of the TRAINING rows is held out for every seed and scored; --test scores the test rows
instead. All labels of `<name>.labels.txt` are known by name; --hide takes a share of them from all
training rows, so that more labels have none. "0 rows" are labels that no training row has.

Lexical search lists the labels whose whole name is in the text, stemmed as the model stems, names
of most words first, then the rarest. It is done twice, with names as they are and with what stands
behind their last colon ("2:bedroom", "game::strategy"); words without a letter do not count.
Ratios of time are processor time with names over that without, both in this run: of one training
each, and the median of several predictions by turns. --times prints these and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from rmls import RMLSRanker, TextRanker, evaluate  # noqa: E402
from rmls.core.errors import RmlsWarning  # noqa: E402
from rmls.core.label_text import LabelText  # noqa: E402
from rmls.core.ranking import Ranking  # noqa: E402
from rmls.datasets import read_label_text  # noqa: E402
from rmls.datasets.tables.streams import open_text  # noqa: E402
from rmls.features.text.names import name_rows  # noqa: E402
from rmls.metrics import expected_calibration_error  # noqa: E402

# Training rows; they come first.
SETS = {"cooking": 12_404, "debtags": 23_945, "tate": 46_711, "eurlex57k": 51_000}
METRICS = {"P@1": "precision@1", "P@5": "precision@5", "PSP@1": "psp@1", "PSP@5": "psp@5"}
K = 5
LEXICAL = "R@5, 0 rows, lexical search"
BLOCK_ROWS = 500
# Prediction is measured so often, by turns: other work on the machine slows both.
REPEATS = 9


class Part(NamedTuple):
    """Rows to learn from and rows to score, with all labels that there are."""

    texts: list[str]
    labels: list[list[str]]
    new_texts: list[str]
    truth: sparse.csr_matrix
    counts: np.ndarray
    known: list[str]
    # Labels that had rows before --hide took them.
    hidden: np.ndarray


def read_rows(folder: Path, name: str) -> tuple[list[str], list[list[str]]]:
    with open_text(folder / f"{name}.jsonl.gz", None) as stream:
        rows = [json.loads(line) for line in stream]
    return [row["text"] for row in rows], [row["labels"] for row in rows]


def read_names(folder: Path, name: str, labels: list[list[str]]) -> LabelText:
    """Return what all labels are called, written as the rows write them."""
    known = sorted({label for row in labels for label in row})
    called = read_label_text(folder / f"{name}.labels.txt").align(known)
    return LabelText(called.labels, called.names)


def split(rows: Any, known: list[str], options: argparse.Namespace, n_train: int, seed: int):
    """Draw held-out rows, training rows and labels that lose their rows."""
    texts, labels = rows
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_train)
    held, train = order[: n_train // 10], order[n_train // 10 :]
    if options.test:
        held, train = np.arange(n_train, len(texts)), order
    train = np.sort(train[: options.rows])
    hidden = {known[place] for place in np.flatnonzero(rng.random(len(known)) < options.hide)}
    kept = [[label for label in labels[row] if label not in hidden] for row in train]
    place = {label: number for number, label in enumerate(known)}
    counts, before = (
        np.bincount([place[label] for row in rows for label in row], minlength=len(known))
        for rows in (kept, [labels[row] for row in train])
    )
    truth = as_matrix([[place[label] for label in labels[row]] for row in held], len(known))
    learned, new = ([texts[row] for row in part] for part in (train, held))
    return Part(learned, kept, new, truth, counts, known, before > counts)


def as_matrix(rows: list[list[int]], n_columns: int) -> sparse.csr_matrix:
    found = [sorted(set(row)) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in found])])
    indices = np.array([column for row in found for column in row], dtype=np.int64)
    return sparse.csr_matrix((np.ones(len(indices), int), indices, indptr), (len(rows), n_columns))


def seconds_of(work: Any) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def train(
    part: Part, use_names: bool, text: Any, seed: int, options: argparse.Namespace
) -> tuple[Any, float]:
    """Train one model; returns it and its seconds."""
    model = TextRanker(
        RMLSRanker(random_state=seed), stem=options.stem, use_names=use_names, n_jobs=options.jobs
    )
    given = text if use_names else None
    return model, seconds_of(lambda: model.fit(part.texts, part.labels, label_text=given))


def compare_times(part: Part, models: list[TextRanker]) -> dict[str, float]:
    """Return the time of ranking with names over that without, of prepared rows and of texts."""
    rows = [model.features_.transform(part.new_texts) for model in models]
    prepared, raw = [], []
    for _ in range(REPEATS):
        pairs = list(zip(models, rows, strict=True))
        old, new = (seconds_of(lambda m=m, X=X: m.estimator_.rank(X, K)) for m, X in pairs)
        prepared.append(new / old)
        old, new = (seconds_of(lambda m=m: m.rank(part.new_texts, K)) for m in models)
        raw.append(new / old)
    return {
        "time, ranking rows": float(np.median(prepared)),
        "time, texts": float(np.median(raw)),
    }


def recall(part: Part, best: Any, chosen: np.ndarray) -> float:
    """Return the share of the assignments of some labels that are among the best 5 of a row."""
    wanted = part.truth[:, chosen]
    return float(wanted.multiply(best[:, chosen]).sum() / max(wanted.sum(), 1))


def measure(part: Part, model: TextRanker) -> tuple[dict[str, float], Ranking]:
    """Return the figures of one model, and how it ranks the labels."""
    rows = model.features_.transform(part.new_texts)
    ranking = model.estimator_.rank(rows, K)
    # Both models in the same columns, of all labels.
    place = {label: number for number, label in enumerate(part.known)}
    columns = np.array([place[label] for label in model.classes_], np.int32)
    ranking = Ranking(
        ranking.indptr,
        columns[ranking.labels],
        ranking.scores,
        len(part.known),
        probabilities=ranking.probabilities,
    )
    sets = model.estimator_.predict_sets(rows, "macro_f1")
    sets = sparse.csr_matrix(
        (sets.data, columns[sets.indices], sets.indptr), (len(part.new_texts), len(part.known))
    )
    report = evaluate(
        part.truth,
        sets,
        ranking,
        probabilities=ranking,
        names=[*METRICS.values(), "macro_f1"],
        train_counts=part.counts,
        n_train=len(part.texts),
        by_group=False,
    ).totals
    best = ranking.top(K).to_sets()
    figures = {title: report[name] for title, name in METRICS.items()}
    figures["R@5, 1-5 rows"] = recall(part, best, (part.counts >= 1) & (part.counts <= 5))
    figures["R@5, 0 rows"] = recall(part, best, part.counts == 0)
    figures |= {"macro-F": report["macro_f1"], "ECE": report["ece"]}
    figures["ECE, 1+ rows"] = expected_calibration_error(
        part.truth, ranking, labels=part.counts > 0
    )
    figures["tail"] = model.estimator_.tail_
    return figures, ranking


def believed(part: Part, ranking: Ranking) -> dict[str, float]:
    """Return how sure the model is of the labels without rows that it lists, and how right."""
    rows = np.repeat(np.arange(len(part.new_texts)), np.diff(ranking.indptr))
    unseen = part.counts == 0
    kinds = {"listed labels with 0 rows": unseen}
    if part.hidden.any():
        kinds |= {"those hidden": part.hidden, "those never there": unseen & ~part.hidden}
    figures = {}
    for kind, labels in kinds.items():
        chosen = labels[ranking.labels]
        true = np.asarray(part.truth[rows[chosen], ranking.labels[chosen]]).ravel()
        n_chosen = max(int(chosen.sum()), 1)
        figures[f"{kind}, of 100 listed"] = 100 * float(chosen.mean())
        figures[f"{kind}: mean probability"] = float(ranking.probabilities[chosen].sum()) / n_chosen
        figures[f"{kind}: share that is true"] = float(true.sum()) / n_chosen
    return figures


def search_names(part: Part, model: TextRanker, names: list[str]) -> float:
    """Return the recall at 5 of labels without rows by their whole names, and nothing else."""
    words = binary(name_rows(model.features_, names))
    terms = model.features_.get_feature_names_out()[: model.features_.n_words_]
    spelled = np.array([any(map(str.isalpha, term)) for term in terms])
    words = binary(words[:, : len(terms)].multiply(spelled[None, :]))
    lengths = np.diff(words.indptr)
    rows = binary(model.features_.transform(part.texts + part.new_texts)[:, : len(terms)])
    learned, rows = rows[: len(part.texts)], rows[len(part.texts) :]
    rarity = np.log((1 + learned.shape[0]) / (1 + learned.sum(axis=0).A1))
    # Rarity decides between names of as many words.
    keys = lengths + (words @ rarity) / 1e6
    found: list[list[int]] = []
    for start in range(0, rows.shape[0], BLOCK_ROWS):
        shared = sparse.csr_matrix(rows[start : start + BLOCK_ROWS] @ words.T)
        for row in range(shared.shape[0]):
            own = slice(shared.indptr[row], shared.indptr[row + 1])
            labels = shared.indices[own]
            whole = labels[shared.data[own] == lengths[labels]]
            found.append(whole[np.argsort(-keys[whole], kind="stable")][:K].tolist())
    return recall(part, as_matrix(found, len(part.known)), part.counts == 0)


def binary(matrix: Any) -> sparse.csr_matrix:
    found = sparse.csr_matrix(matrix)
    found.eliminate_zeros()
    return sparse.csr_matrix((np.ones(found.nnz), found.indices, found.indptr), found.shape)


def run_seed(rows: Any, text: Any, n_train: int, seed: int, options: argparse.Namespace):
    """Return the figures of both models and what only their pair has."""
    part = split(rows, list(text.ids), options, n_train, seed)
    models, seconds = zip(
        *(train(part, use_names, text, seed, options) for use_names in (False, True)),
        strict=True,
    )
    both = {"time, training": seconds[1] / seconds[0]} | compare_times(part, models)
    if options.times:
        return {}, {}, both
    (plain, _), (named, ranking) = (measure(part, model) for model in models)
    called = [name or label for name, label in zip(text.names, text.ids, strict=True)]
    behind = [name.rpartition(":")[2] for name in called]
    for title, names in (("", called), (", behind the colon", behind)):
        both[f"{LEXICAL}{title}"] = search_names(part, models[1], names)
    both["seconds of training without names"] = seconds[0]
    shown = part.truth[:, part.counts == 0].sum(), part.truth[:, part.counts > 0].sum()
    both["assignments of labels with 0 rows"] = shown[0] / max(sum(shown), 1)
    return plain, named, both | believed(part, ranking)


def mean_and_spread(values: list[float]) -> str:
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=min(1, len(values) - 1)))
    return f"{mean:.3f} ({spread:.3f})" if abs(mean) < 10 else f"{mean:.0f} ({spread:.0f})"


def show_table(title: str, runs: list[Any]) -> None:
    titles = list(runs[0][0])
    print(f"\n| {title} | {' | '.join(titles)} |\n|---|{'---|' * len(titles)}")
    for place, label in enumerate(("without names", "with names")):
        cells = [mean_and_spread([run[place][key] for run in runs]) for key in titles]
        print(f"| {label} | {' | '.join(cells)} |")
    gains = [[run[1][key] - run[0][key] for run in runs] for key in titles]
    print(f"| difference | {' | '.join(map(mean_and_spread, gains))} |\n")


def show(title: str, runs: list[Any]) -> None:
    if runs[0][0]:
        show_table(title, runs)
    else:
        print(title)
    for key in runs[0][2]:
        print(f"{key}: {mean_and_spread([run[2][key] for run in runs])}")
        if key.startswith(LEXICAL):
            # Of the means: a seed may have a handful of such labels, and a search find none.
            found, others = (
                sum(run[place][name] for run in runs)
                for place, name in ((1, "R@5, 0 rows"), (2, key))
            )
            print(f"with names against it: {found / others if others else np.nan:.2f}")
    print(flush=True)


def warm_up() -> None:
    """Compile what is compiled, so that no model pays for it."""
    texts = [f"word{row % 7} other{row % 5} thing" for row in range(60)]
    labels = [[f"word{row % 7}"] for row in range(60)]
    for use_names in (False, True):
        TextRanker(use_names=use_names).fit(texts, labels).rank(texts[:2], 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(SETS), metavar="name")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--hide", type=float, default=0.0)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--stem", default="auto")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    # Labels that no training row has are what this is about.
    warnings.simplefilter("ignore", RmlsWarning)
    folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
    print(f"rmls {version('rmls')}, Python {platform.python_version()}, {platform.machine()}")
    warm_up()
    for name in options.names:
        if name not in SETS or not (folder / f"{name}.jsonl.gz").is_file():
            why = "is not there" if name in SETS else f"is none of {', '.join(SETS)}"
            print(f"{name} is left out: {folder / name}.jsonl.gz {why}")
            continue
        rows = read_rows(folder, name)
        text = read_names(folder, name, rows[1])
        runs = []
        for seed in options.seeds:
            runs.append(run_seed(rows, text, SETS[name], seed, options))
            if options.json:
                record = {"set": name, "seed": seed, "hide": options.hide, "rows": options.rows}
                record |= {"test": options.test, "figures": runs[-1]}
                with options.json.open("a") as file:
                    file.write(json.dumps(record) + "\n")
        most = SETS[name] if options.test else SETS[name] - SETS[name] // 10
        n_rows = min(options.rows or most, most)
        hidden = f", {options.hide:.0%} of the labels hidden" if options.hide else ""
        show(f"{name}, {n_rows:,} rows{hidden}", runs)


if __name__ == "__main__":
    main()
