"""Are explanations exact, quick and faithful? Parts against scores, time, and a deletion test.

    RMLS_DATA=folder python benchmarks/explanations.py [cooking debtags tate] [--pairs 10000]
                                                      [--rows 300] [--draws 5] [--jobs 1]
                                                      [--all-labels]

A TextRanker of its defaults is trained on the training rows of every set; with --all-labels it
knows those without training rows by their names (`<name>.labels.txt`). Then, on test rows:

* exact: of random pairs of a row and a label, half of them listed, the largest difference between
  the sum of the parts and the score that ranks. For labels that are not listed the score is that
  of the same model with lists of all labels.
* quick: time of one explanation, text to words, on one thread; that of the processor and that of
  the clock, which on a busy machine is more.
* faithful: the words that the explanation of the best label names first are taken out of the text,
  and its probability is looked at again. Against that: as many different words drawn at random,
  and those with the largest tf-idf. Of short texts at most half of the words are taken. "point"
  takes the gradient at the text itself, "path" (the default) the mean on the way from no text.

Intervals are 95% of the mean over rows.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from dataclasses import replace
from itertools import islice
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from rmls import TextRanker  # noqa: E402
from rmls.core.errors import RmlsWarning  # noqa: E402
from rmls.datasets.tables.streams import open_text  # noqa: E402
from rmls.features.text.occurrences import find_occurrences  # noqa: E402

N_TRAIN = {"cooking": 12_404, "debtags": 23_945, "tate": 46_711}
REMOVED = (1, 3, 10)
MIN_WORDS = 4


def read_rows(name):
    """Return texts and labels of the training rows, and the texts of the test rows."""
    folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
    with open_text(folder / f"{name}.jsonl.gz", None) as stream:
        rows = [json.loads(line) for line in stream]
    train, test = rows[: N_TRAIN[name]], rows[N_TRAIN[name] :]
    return (
        [row["text"] for row in train],
        [row["labels"] for row in train],
        [row["text"] for row in test],
    )


def read_labels(name):
    """Return the labels of a set, each called what it is."""
    folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
    labels = (folder / f"{name}.labels.txt").read_text("utf-8").splitlines()
    return {label: label for label in labels}


# -- exact ---------------------------------------------------------------------------------------


def largest_differences(model, texts, n_pairs, seed=0, labels_a_row=20):
    """Return the largest difference of listed and of other pairs, and how many there were."""
    rng = np.random.default_rng(seed)
    inner, scorer = model.estimator_, model.estimator_._scorer
    (block,) = scorer.blocks
    longer = replace(block, proposer=replace(block.proposer, size=inner._space.n_labels))
    wide = replace(scorer, blocks=(longer,))
    names, worst, counts = inner._space.names, {True: 0.0, False: 0.0}, {True: 0, False: 0}
    for number in rng.integers(len(texts), size=-(-n_pairs // labels_a_row)):
        X = model.features_.transform([texts[number]])
        found, scores = wide.score(inner._rows(X), wide.mixture)
        score_of = dict(zip(found.labels[0].tolist(), scores[0].tolist(), strict=True))
        ranking = inner.rank(X, inner.shortlist_size_)
        score_of.update(zip(ranking.labels.tolist(), ranking.scores.tolist(), strict=True))
        half = labels_a_row // 2
        listed = rng.choice(ranking.labels, half)
        for label in [*listed, *rng.integers(len(names), size=half)]:
            explained = inner.explain(X, names[label])
            difference = abs(explained.total - score_of[int(label)])
            worst[explained.listed] = max(worst[explained.listed], difference)
            counts[explained.listed] += 1
    return worst, counts


# -- quick ---------------------------------------------------------------------------------------


def milliseconds(call, texts):
    """Return the mean time of the processor, and the median by the clock."""
    call(texts[0])
    taken, busy = [], time.process_time()
    for text in texts:
        started = time.perf_counter()
        call(text)
        taken.append(1000 * (time.perf_counter() - started))
    return 1000 * (time.process_time() - busy) / len(texts), float(np.median(taken))


# -- faithful ------------------------------------------------------------------------------------


def without(text, explained, removed):
    """Return a text without any occurrence of some words."""
    kept, end = [], 0
    for word in explained.words:
        if word.word.lower() in removed and word.start >= end:
            kept.append(text[end : word.start])
            end = word.end
    return "".join([*kept, text[end:]])


def by_value(model, text, explained):
    """Return the different words of a text, those with the largest tf-idf first."""
    occurrences = find_occurrences(model.features_, [text])
    X = model.features_.transform([text])
    order = np.argsort(X.indices)
    shares = occurrences.share(X.indices[order], X.data[order].astype(np.float64))
    totals = {}
    for word, share in zip(explained.words, shares, strict=True):
        totals[word.word.lower()] = totals.get(word.word.lower(), 0.0) + share
    return sorted(totals, key=lambda word: -totals[word])


def drops(model, text, rng, n_draws):
    """Return how much the probability of the best label falls, by method and number of words."""
    best = model.explain(text, k=1)[0]
    words = [word for word, _ in best.top_words]
    if len(words) < MIN_WORDS:
        return None
    point = model.explain(text, best.label, gradient="point")
    orders = {
        "named first (path)": [words],
        "named first (point)": [[word for word, _ in point.top_words]],
        "largest tf-idf": [by_value(model, text, best)],
        "at random": [list(rng.permutation(words)) for _ in range(n_draws)],
    }
    found = {}
    for method, tried in orders.items():
        for size in REMOVED:
            n_words = min(size, len(words) // 2)
            texts = [without(text, best, set(order[:n_words])) for order in tried]
            X = model.features_.transform(texts)
            chances = [model.estimator_.explain(row, best.label).probability for row in X]
            found[method, size] = best.probability - float(np.mean(chances))
    return best.probability, len(words), found


def interval(values):
    values = np.asarray(values)
    return f"{values.mean():.3f} ± {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def deletion_table(name, model, texts, n_rows, n_draws):
    rng = np.random.default_rng(1)
    chosen = [texts[number] for number in rng.permutation(len(texts))[: 2 * n_rows]]
    found = (drops(model, text, rng, n_draws) for text in chosen)
    rows = list(islice((row for row in found if row is not None), n_rows))
    chance = np.mean([row[0] for row in rows])
    median = np.median([row[1] for row in rows])
    print(f"\n{name}: {len(rows)} test texts, the middle one of {median:.0f} different words;")
    print(f"mean probability of the best label {chance:.3f}, and how much it falls\n")
    print("| words taken out | " + " | ".join(map(str, REMOVED)) + " |")
    print("|---|" + "--:|" * len(REMOVED))
    for method in dict.fromkeys(method for method, _ in rows[0][2]):
        cells = [interval([row[2][method, size] for row in rows]) for size in REMOVED]
        print(f"| {method} | " + " | ".join(cells) + " |")
    ahead = [
        interval([row[2]["named first (path)", n] - row[2]["at random", n] for row in rows])
        for n in REMOVED
    ]
    print("| path – random | " + " | ".join(ahead) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(N_TRAIN), metavar="name")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all-labels", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", RmlsWarning)
    for name in options.names:
        texts, labels, test = read_rows(name)
        started = time.perf_counter()
        called = read_labels(name) if options.all_labels else None
        model = TextRanker(n_jobs=options.jobs).fit(texts, labels, label_text=called)
        seconds = time.perf_counter() - started
        print(f"\n## {name}: {len(texts):,} rows, {len(model.classes_):,} labels, {seconds:.0f} s")
        model.estimator_.set_params(n_jobs=1)
        worst, counts = largest_differences(model, test, options.pairs)
        for listed, title in ((True, "listed"), (False, "not listed")):
            print(f"exact: {worst[listed]:.1e} at most, {counts[listed]:,} pairs {title}")
        some = test[: options.rows]
        for title, call in {
            "of the best label": lambda text, model=model: model.explain(text, k=1),
            "of the best five": lambda text, model=model: model.explain(text, k=5),
        }.items():
            busy, clock = milliseconds(call, some)
            print(f"quick: {busy:.1f} ms an explanation {title} ({clock:.1f} ms by the clock)")
        deletion_table(name, model, test, options.rows, options.draws)


if __name__ == "__main__":
    main()
