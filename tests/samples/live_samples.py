"""Fitted rankers of every kind whose labels will change, and what must hold after any change."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from named_samples import CODES, Named, make_named
from scipy import sparse

from rmls import RMLSRanker
from rmls.features import TextFeatures
from rmls.features.text.names import name_rows

DATA, NEW = make_named(), make_named(60, seed=5)
N_DENSE = 6
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "int16": {"precision": "int16"},
    "int8": {"precision": "int8"},
    "clusters": {"index": "clusters", "precision": "int8"},
    "leading": {"index": "leading", "n_components": 40},
    "offset": {"offset": 0.2, "loss": "logistic"},
    "not calibrated": {"calibration": None},
    "names": {},
    "dense": {"dense_columns": N_DENSE},
    "names and dense": {"dense_columns": N_DENSE},
}
WITH_NAMES = ("names", "names and dense")


class Live(NamedTuple):
    """A fitted ranker to change, rows to ask it and rows to show it, and names of new labels.

    Attributes
    ----------
    model : RMLSRanker
    X : CSR matrix
        Rows that were not learned from.
    own : CSR matrix of three rows
        Rows of something that no training row is about.
    words : CSR matrix of two rows
        What two labels are called; the words of the first are in ``own``.
    """

    model: RMLSRanker
    X: sparse.csr_matrix
    own: sparse.csr_matrix
    words: sparse.csr_matrix


# Names of labels to come are known words, which no training row has.
FEATURES = TextFeatures(stem="none")
FEATURES.fit_transform(DATA.texts, names=[*DATA.names.values(), "quasar nebula", "glacier fjord"])
OWN = ["quasar nebula telescope", "quasar nebula", "the quasar nebula again"]


def with_vectors(X: sparse.csr_matrix, seed: int) -> sparse.csr_matrix:
    dense = np.random.default_rng(seed).normal(size=(X.shape[0], N_DENSE)).astype(np.float32)
    return sparse.csr_matrix(sparse.hstack([X, sparse.csr_matrix(dense)]))


@cache
def _fitted(kind: str) -> Live:
    rows = [FEATURES.transform(texts) for texts in (DATA.texts, NEW.texts, OWN)]
    if OPTIONS[kind].get("dense_columns"):
        rows = [with_vectors(part, seed) for seed, part in enumerate(rows)]
    defaults = {"n_components": 16, "max_iter": 4, "shortlist_size": 10}
    settings: dict[str, Any] = {**defaults, **OPTIONS[kind]}
    names = name_rows(FEATURES, list(DATA.names.values())) if kind in WITH_NAMES else None
    model = RMLSRanker(**settings).fit(rows[0], DATA.labels, label_text=names)
    words = name_rows(FEATURES, ["quasar nebula", "glacier fjord"])
    return Live(model, rows[1], rows[2], words)


def fitted(kind: str = "plain") -> Live:
    """Return a ranker of 30 labels that may be changed."""
    live = _fitted(kind)
    return live._replace(model=copy.deepcopy(live.model))


def as_sets(data: Named = DATA) -> np.ndarray:
    return np.array([[label in row for label in CODES] for row in data.labels], dtype=int)


def answers(model: Any, X: Any, n_labels: int | None = None) -> dict[str, np.ndarray]:
    """Return scores and probabilities of the first labels of a model."""
    return {
        "scores": model.decision_function(X)[:, :n_labels],
        "probabilities": model.predict_proba(X)[:, :n_labels],
    }


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def assert_consistent(ranker: RMLSRanker, X: Any) -> None:
    """Assert that all tables are about the same labels, and all answers about the same scores."""
    n_labels, scorer = len(ranker.classes_), ranker._scorer
    assert ranker._space.n_labels == n_labels == scorer.n_labels
    assert sum(block.proposer.vectors.n_labels for block in scorer.blocks) == n_labels
    firsts = [block.first for block in scorer.blocks]
    assert firsts == [0, scorer.proposer.vectors.n_labels][: len(firsts)]
    for block in scorer.blocks:
        own = block.proposer.vectors.n_labels
        assert len(block.weights.bias) == len(block.weights.scale) == own
        assert len(block.proposer.vectors.params.c) == own
        assert block.proposer.size <= own
        assert len(block.weights.indptr) - 1 == len(block.proposer.vectors.params.W)
    tables = [ranker.label_counts_, ranker._frequencies.positives]
    if ranker._background is not None:
        tables.append(ranker._background.certainty)
    if ranker._calibration is not None:
        tables += [ranker._calibration.bias, ranker._calibration.curve_of]
        tables.append(ranker._rules["macro_f1"].thresholds)  # type: ignore[attr-defined]
    assert [len(table) for table in tables] == [n_labels] * len(tables)
    assert not set(ranker.former_labels_) & set(ranker.classes_.tolist())
    scores, chances = ranker.decision_function(X), ranker.predict_proba(X)
    assert scores.shape == chances.shape == (X.shape[0], n_labels)
    assert np.isfinite(scores).all()
    assert ((chances >= 0) & (chances <= 1)).all()
    for k in {1, min(3, n_labels), n_labels}:
        found = ranker.rank(X, k)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(found.indptr))
        np.testing.assert_allclose(found.scores, scores[rows, found.labels], atol=1e-5)
        np.testing.assert_allclose(found.probabilities, chances[rows, found.labels], atol=1e-5)
        best = -np.sort(-scores, axis=1)[:, :k]
        np.testing.assert_allclose(found.scores.reshape(-1, k), best, atol=1e-5)
    for rule in ("f1", "macro_f1", "top_2", "cardinality"):
        if ranker._calibration is not None or rule in ("top_2", "cardinality"):
            assert ranker.predict_sets(X, rule).shape == scores.shape
