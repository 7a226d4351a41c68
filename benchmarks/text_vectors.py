"""What vectors of an encoder beside the words are worth, and what they cost.

    RMLS_DATA=folder python benchmarks/text_vectors.py time
    RMLS_DATA=folder python benchmarks/text_vectors.py cooking tate --vectors FOLDER [--seeds 0 1 2]

`time` prints how much longer training and ranking take with 384 dense columns, on made-up rows.
For a data set, FOLDER holds NAME.npy with a vector for each of its first training rows; without
it vectors are made here from the texts alone: a truncated SVD, 256 columns, of tf-idf of character
3- to 5-grams. 3,000 of these TRAINING rows are held out for every seed; no test row is read.
Rows come in an order of their content, which any column changes, and with it which rows a model
holds out: a vector that is the same for all rows shows how much that alone does.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from rmls import RMLSRanker, TextRanker, evaluate, make_longtail  # noqa: E402
from rmls.core.errors import RmlsWarning  # noqa: E402
from rmls.core.labels import read_labels  # noqa: E402
from rmls.datasets.tables.streams import open_text  # noqa: E402
from rmls.models.ranker.dense import DenseTrainer, unit_vectors  # noqa: E402
from rmls.models.shared.training_set import TrainingSet  # noqa: E402

METRICS = {"P@1": "precision@1", "P@5": "precision@5", "PSP@5": "psp@5"}
ROWS = {"cooking": 12_404, "tate": 15_000}
HELD_OUT, RARE, WIDTH = 3000, 5, 256


def read_rows(name):
    """Return texts and labels of the first training rows."""
    path = Path(os.environ.get("RMLS_DATA", "../shared/data"), f"{name}.jsonl.gz")
    with open_text(path, None) as stream:
        rows = [json.loads(line) for _, line in zip(range(ROWS[name]), stream, strict=False)]
    return [row["text"] for row in rows], [row["labels"] for row in rows]


def read_vectors(name, texts, folder):
    if folder is not None:
        return np.load(Path(folder, f"{name}.npy"))
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    terms = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=3, sublinear_tf=True)
    return TruncatedSVD(WIDTH, random_state=0).fit_transform(terms.fit_transform(texts))


def rare_recall(ranking, labels, counts):
    """Return the share of the true labels with up to five training rows among the best five."""
    found = [
        label in {each.label for each in row}
        for row, names in zip(ranking, labels, strict=True)
        for label in names
        if 0 < counts.get(label, 0) <= RARE
    ]
    return float(np.mean(found))


def measure(columns, labels, parts, params):
    """Return the metrics of the held-out rows, the CPU time of fit and of rank."""
    train, held_out = parts
    take = lambda rows: {  # noqa: E731
        name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
        for name, values in columns.items()
    }
    times = [time.process_time()]
    model = TextRanker(**params).fit(take(train), [labels[row] for row in train])
    times.append(time.process_time())
    ranking = model.rank(take(held_out), 5)
    times.append(time.process_time())
    truth = [labels[row] for row in held_out]
    report = evaluate(
        truth,
        ranking=ranking,
        names=list(METRICS.values()),
        label_names=model.classes_,
        train_counts=model.label_counts_,
        n_train=model.n_samples_,
        by_group=False,
    )
    counts = dict(zip(model.classes_.tolist(), model.label_counts_.tolist(), strict=True))
    figures = [report.totals[name] for name in METRICS.values()]
    return [*figures, rare_recall(ranking, truth, counts), *np.diff(times)]


def compare(name, folder, seeds):
    texts, labels = read_rows(name)
    vectors = np.asarray(read_vectors(name, texts, folder), dtype=np.float32)
    # Rows in another order, and nothing to be learned from it.
    nothing = np.ones((len(texts), 1), np.float32)
    orders = [np.random.default_rng(seed).permutation(len(texts)) for seed in seeds]
    parts = [(order[HELD_OUT:], order[:HELD_OUT]) for order in orders]
    print(
        f"\n| {name}, {len(parts[0][0]):,} rows | {' | '.join(METRICS)} | rare | fit s | rank s |"
    )
    print("|---|---|---|---|---|---|---|")
    variants = {
        "words": ({"text": texts}, {}),
        "words, a constant vector": ({"text": texts, "v": nothing}, {"vectors": "v"}),
        f"words and {vectors.shape[1]} columns": ({"text": texts, "v": vectors}, {"vectors": "v"}),
    }
    for title, (columns, params) in variants.items():
        runs = np.array([measure(columns, labels, part, params) for part in parts])
        cells = [" / ".join(f"{run:.4f}" for run in runs[:, place]) for place in range(4)]
        cells += [f"{runs[:, place].mean():.1f}" for place in (4, 5)]
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


def compare_alone(name, folder, seeds):
    """Print how vectors rank without words: by ridge regression, and by discriminants."""
    texts, labels = read_rows(name)
    vectors = np.asarray(read_vectors(name, texts, folder), dtype=np.float32)
    _, Y = read_labels(labels)
    print(f"\n| {name}, vectors alone | P@1 | rare labels among the best 30 |\n|---|---|---|")
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(texts))
        train, held_out = order[HELD_OUT:], np.sort(order[:HELD_OUT])
        data = TrainingSet(Y, Y, train, np.ones(len(train)), dense=vectors)
        index = DenseTrainer().learn(data)
        rows = unit_vectors(vectors, index.center)
        centred = rows[train] - rows[train].mean(axis=0)
        counts = data.positives()
        spread = centred.T @ centred / len(train)
        for ridge in (0.03, 0.1, 0.3, 1.0):
            added = ridge * np.trace(spread) / len(spread) * np.eye(len(spread))
            weights = np.linalg.solve(spread + added, (Y[train].T @ centred).T) / len(train)
            scores = (rows[held_out] - rows[train].mean(axis=0)) @ weights + counts / len(train)
            show_alone(f"ridge regression, {ridge}", scores, Y[held_out], counts)
        show_alone(
            "discriminants", rows[held_out] @ index.vectors.T + index.bias, Y[held_out], counts
        )


def show_alone(title, scores, Y, counts):
    scores = np.where(counts > 0, scores, -np.inf)
    best = np.argsort(-scores, axis=1)[:, :30]
    hits = np.asarray(Y[np.arange(len(best))[:, None], best].todense()) > 0
    rare = (counts > 0) & (counts <= RARE)
    found = hits[rare[best]].sum() / rare[Y.indices].sum()
    print(f"| {title} | {hits[:, 0].mean():.4f} | {found:.4f} |")


def compare_time(n_rows=6000, width=384):
    """Print what dense columns cost, in CPU time, both sides in turn."""
    data = make_longtail(n_rows, 2000, 800, labels_per_row=3)
    vectors = np.random.default_rng(0).normal(size=(n_rows, width)).astype(np.float32)
    both = sparse.hstack([data.X, sparse.csr_matrix(vectors)], format="csr")
    sides = {"words": (data.X, 0), f"words and {width} columns": (both, width)}
    times = {title: [] for title in sides}
    for number in range(4):
        for title, (X, n_dense) in sides.items():
            started = time.process_time()
            model = RMLSRanker(normalize="l2", dense_columns=n_dense).fit(X, data.Y)
            middle = time.process_time()
            model.rank(X, 5)
            # The first run compiles.
            if number:
                times[title].append((middle - started, time.process_time() - middle))
    plain, dense = (np.min(values, axis=0) for values in times.values())
    for title, (fit, rank) in zip(sides, (plain, dense), strict=True):
        print(f"{title}: fit {fit:.2f} s, rank {rank:.2f} s")
    print(f"ratio: fit {dense[0] / plain[0]:.2f}, rank {dense[1] / plain[1]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["time"], metavar="name")
    parser.add_argument("--vectors", metavar="FOLDER")
    parser.add_argument("--alone", action="store_true", help="the vectors without the words")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    # Labels of held-out rows that no training row has are expected.
    warnings.simplefilter("ignore", RmlsWarning)
    for name in options.names:
        if name == "time":
            compare_time()
        else:
            (compare_alone if options.alone else compare)(name, options.vectors, options.seeds)


if __name__ == "__main__":
    main()
