"""What the demo measures: RMLSRanker and one-vs-rest on the same rows and labels."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.labels import match_columns, read_labels
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads
from rmls.core.sparse import label_counts
from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem
from rmls.kernels.backend import get_backend
from rmls.metrics import evaluate, macro_f1
from rmls.models.ranker.archive import index_type
from rmls.models.ranker.label_words import LabelWords
from rmls.models.shared.progress import Stage, stage
from rmls.models.text.naming import name_labels

if TYPE_CHECKING:
    from rmls.datasets import Artworks, Dataset
    from rmls.features import TextFeatures

# Labels that are solved at a time: 256 times 6,400 rows need 15 MB.
BLOCK_LABELS = 256
# Of the slopes in the dual, where a classifier counts as trained.
TOLERANCE = np.float32(0.01)
MAX_EPOCHS = 100
# Training rows of a label, from the rarest on; the last band has no end.
BANDS = (5, 50)
K = 5


class Band(NamedTuple):
    """Labels with about as many training rows.

    Attributes
    ----------
    name : str
    n_labels, n_pairs : int
        Labels, and how often test rows have them.
    found : list of float
        Share of these that is among the best five, of every method.
    """

    name: str
    n_labels: int
    n_pairs: int
    found: list[float]


@dataclass(frozen=True)
class Rows:
    """The works as rows of numbers, and their labels.

    Attributes
    ----------
    train : Dataset
    X, Y : CSR matrix
        Test rows, and those of their labels that a training row has.
    n_unknown : int
        Labels that only test rows have.
    names : LabelWords or None
        What labels are called, for those who learn from it.
    """

    train: Dataset
    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    n_unknown: int
    names: LabelWords | None = None


@dataclass(frozen=True)
class Answers:
    """What a method says of the test rows.

    Attributes
    ----------
    name : str
    ranking : Ranking
        The best five labels of every row.
    seconds : float
        Of the training.
    """

    name: str
    ranking: Ranking
    seconds: float


def read_rows(works: Artworks, features: TextFeatures) -> Rows:
    """Return the texts of the works as numbers; a label no training row has is nobody's to find."""
    from rmls.cli.shared.texts import as_dataset

    labels = works.train.labels or []
    named = name_labels(labels)
    texts = [] if named is None else named.texts
    X = features.fit_transform(works.train.columns, names=texts)
    train = as_dataset(labels, X, "artworks/train")
    space, Y = read_labels(works.test.labels)
    known = train.label_names or []
    Y, unknown = match_columns(Y, [str(name) for name in space.names], known)
    names = None if named is None else named.words(features)
    X = features.transform(works.test.columns)
    return Rows(train, X, Y[:, : len(known)].tocsr(), len(unknown), names)


def answer_ranker(model: Any, rows: Rows) -> Answers:
    """Train a ranker of ours and return its answers."""
    started = time.monotonic()
    model.fit(rows.train, label_text=rows.names)
    seconds = time.monotonic() - started
    return Answers(type(model).__name__, model.rank(rows.X, K), seconds)


def answer_one_vs_rest(rows: Rows, n_jobs: int) -> Answers:
    """Train a linear classifier for every label on all rows and return their answers."""
    started = time.monotonic()
    with stage("one-vs-rest") as shown:
        scores = score_one_vs_rest(rows.train.X, rows.train.Y, rows.X, n_jobs, shown)
    seconds = time.monotonic() - started
    return Answers("one-vs-rest", Ranking.from_dense(scores, K), seconds)


def score_one_vs_rest(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    X_test: sparse.csr_matrix,
    n_jobs: int,
    shown: Stage,
) -> NDArray[np.float32]:
    """Return what ``OneVsRestClassifier(LinearSVC())`` of scikit-learn scores.

    The problem of every label is that of ``LinearSVC``, over all rows, solved to a tolerance by our
    own dual solver: the same scores, without the time that scikit-learn spends around each label.
    """
    labels, n_labels = Y.tocsc(), Y.shape[1]
    scores = np.empty((X_test.shape[0], n_labels), np.float32)
    # The rows of all labels at once would be a table of rows x labels.
    for start in range(0, n_labels, BLOCK_LABELS):
        block = slice(start, start + BLOCK_LABELS)
        weights, bias = _solve_block(X, labels[:, block], count_threads(n_jobs))
        scores[:, block] = (X_test @ weights.T).toarray() + bias
        done = min(block.stop, n_labels)
        shown.tick(done / n_labels, f"{done:,} of {n_labels:,} labels")
    return scores


def _solve_block(
    X: sparse.csr_matrix, Y: sparse.csc_matrix, n_threads: int
) -> tuple[sparse.csr_matrix, NDArray[np.float32]]:
    """Return the weights of some labels, one row a label, and their biases."""
    (n_rows, n_features), n_labels = X.shape, Y.shape[1]
    relevant = np.zeros((n_labels, n_rows), bool)
    relevant[np.repeat(np.arange(n_labels), np.diff(Y.indptr)), Y.indices] = True
    # The rows that have the label come first.
    order = np.argsort(~relevant, axis=1, kind="stable").astype(np.int32)
    pairs = Pairs(
        np.arange(n_labels + 1, dtype=np.int64) * n_rows, order.ravel(), np.diff(Y.indptr)
    )
    problem = Problem(
        X.indptr.astype(np.int64),
        X.indices.astype(index_type(n_features)),
        X.data.astype(np.float32, copy=False),
        np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel(),
        np.ones(n_rows, np.float32),
        np.ones(n_labels, np.float32),
        np.zeros(0, dtype=bool),
        np.zeros(0, np.float32),
        DUAL_LOSSES.index("squared_hinge"),
        TOLERANCE,
        MAX_EPOCHS,
        np.float32(0.0),
    )
    duals = np.zeros(order.size, np.float32)
    lengths, indices, values, bias = get_backend("cpu").solve_classifiers(
        problem, pairs, duals, n_features, n_threads
    )
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return sparse.csr_matrix((values, indices, indptr), shape=(n_labels, n_features)), bias


def compare_bands(rows: Rows, answers: list[Answers]) -> list[Band]:
    """Return how many labels each method finds among its best five, the rarest labels first."""
    counts = label_counts(rows.train.Y)
    limits = [0, *BANDS, int(counts.max(initial=0))]
    names = [f"{low + 1} to {high}" for low, high in zip(limits, BANDS, strict=False)]
    names.append(f"more than {BANDS[-1]}")
    bands = []
    for name, low, high in zip(names, limits[:-1], limits[1:], strict=True):
        inside = np.flatnonzero((counts > low) & (counts <= high))
        truth = rows.Y[:, inside]
        hits = [truth.multiply(each.ranking.to_sets()[:, inside]).nnz for each in answers]
        found = [hit / max(truth.nnz, 1) for hit in hits]
        bands.append(Band(name, len(inside), truth.nnz, found))
    return bands


def compare_totals(rows: Rows, answers: list[Answers]) -> dict[str, list[float]]:
    """Return the usual figures of every method, all of its best labels.

    Sets cut at a threshold would compare the thresholds: that of ``LinearSVC`` gives rare labels to
    hardly any row.
    """
    names = {"precision@1": "P@1", f"precision@{K}": f"P@{K}", f"psp@{K}": f"PSP@{K}"}
    figures: dict[str, list[float]] = {title: [] for title in (*names.values(), f"macro-F@{K}")}
    for each in answers:
        report = evaluate(
            rows.Y,
            ranking=each.ranking,
            names=list(names),
            train_counts=label_counts(rows.train.Y),
            n_train=rows.train.n_samples,
            by_group=False,
        )
        for name, title in names.items():
            figures[title].append(report[name])
        sets = each.ranking.to_sets()
        figures[f"macro-F@{K}"].append(macro_f1(rows.Y, sets, only_occurring=True))
    return figures
