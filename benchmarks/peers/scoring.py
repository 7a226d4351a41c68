"""The same metrics and the same decision rule for every peer, computed by rmls."""

from __future__ import annotations

import numpy as np
from exchange import Ranked
from problems import Split
from scipy import sparse

from rmls.core.frequency import propensities
from rmls.core.ranking import Ranking
from rmls.decide import Cardinality, CardinalityCount, Rule, TopK
from rmls.metrics import evaluate

# What rankings are boosted by, where scores are probabilities: (1 / propensity) ** BOOST.
BOOST = 0.5


def measure(split: Split, test: Ranked, sample: Ranked) -> dict[str, dict[str, float]]:
    """Return all metrics of the ranking, and of the label sets by both decision rules."""
    Y_train = split.train.Y
    n_labels = Y_train.shape[1]
    ranking = Ranking(*test, n_labels)
    truth = split.test.Y
    counts = np.bincount(Y_train.indices, minlength=n_labels)
    report = evaluate(
        truth, ranking=ranking, train_counts=counts, n_train=Y_train.shape[0], by_group=False
    )
    found = {"ranking": report.as_dict()}
    if are_probabilities(ranking.scores):
        boosted = boost(ranking, propensities(counts, Y_train.shape[0]) ** -BOOST)
        report = evaluate(
            truth, ranking=boosted, train_counts=counts, n_train=Y_train.shape[0], by_group=False
        )
        found["boosted"] = report.as_dict()
    for rule in (top_rule(Y_train), cardinality_rule(Y_train, split.sample, sample)):
        sets = rule.select(ranking)
        found[rule.name] = evaluate(truth, sets, by_group=False).as_dict()
        found[rule.name]["labels_per_row"] = sets.nnz / max(sets.shape[0], 1)
    return found


def are_probabilities(scores: np.ndarray) -> bool:
    """Whether scores lie between 0 and 1 and differ: those of PECOS, napkinXC and Omikuji do."""
    return bool(scores.size) and float(scores.min()) >= 0 and 0 < float(scores.max()) <= 1


def boost(ranking: Ranking, factors: np.ndarray) -> Ranking:
    """Return the listed labels by their scores times a factor of the label."""
    scores = ranking.scores * factors[ranking.labels].astype(np.float32)
    rows = np.repeat(np.arange(len(ranking.indptr) - 1), np.diff(ranking.indptr))
    order = np.lexsort((-scores, rows))
    return Ranking(ranking.indptr, ranking.labels[order], scores[order], ranking.n_labels)


def top_rule(Y_train: sparse.csr_matrix) -> Rule:
    """Give every row as many labels as a training row has on average, rounded, at least 1."""
    return TopK(max(1, round(Y_train.nnz / Y_train.shape[0])))


def cardinality_rule(Y_train: sparse.csr_matrix, rows: np.ndarray, ranked: Ranked) -> Rule:
    """Return the threshold at which sampled training rows get as many labels as they have."""
    counter = CardinalityCount(float(np.diff(Y_train.indptr)[rows].sum()))
    lengths = np.diff(ranked.indptr)
    table = np.full((len(lengths), max(int(lengths.max(initial=0)), 1)), -np.inf, dtype=np.float32)
    table[np.arange(table.shape[1]) < lengths[:, None]] = ranked.scores
    counter.add(table, np.ones(len(lengths)))
    return Cardinality(counter.threshold())
