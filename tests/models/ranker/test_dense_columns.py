"""Dense columns beside sparse ones: what they decide, what they cost, what is saved of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import rmls
from rmls import RMLSRanker
from rmls.core.errors import ArchiveError, InputError
from rmls.models.ranker import dense
from rmls.models.ranker.dense import PRIOR_ROWS, RIDGE, DenseTrainer, unit_vectors
from rmls.models.ranker.sources import Rows
from rmls.models.shared.training_set import TrainingSet

N_DENSE, N_LABELS = 12, 40


def make_rows(n_rows: int = 600, n_labels: int = N_LABELS, seed: int = 0) -> Any:
    """Return random words, vectors around the one of their label, and the labels."""
    rng = np.random.default_rng(seed)
    words = sparse.random(n_rows, 50, 0.1, format="csr", dtype=np.float32, random_state=seed)
    centers = np.random.default_rng(99).normal(size=(n_labels, N_DENSE))
    labels = rng.integers(n_labels, size=n_rows)
    vectors = centers[labels] + 0.3 * rng.normal(size=(n_rows, N_DENSE)) + 5.0
    return words, vectors.astype(np.float32), sparse.eye(n_labels, format="csr")[labels]


def beside(words: Any, vectors: Any) -> Any:
    return sparse.hstack([words, sparse.csr_matrix(vectors)], format="csr")


def training_set(n_rows: int = 300, weights: Any = None) -> TrainingSet:
    words, vectors, Y = make_rows(n_rows)
    weights = np.ones(n_rows) if weights is None else weights
    labels = sparse.csr_matrix(Y, dtype=np.int32)
    return TrainingSet(words, labels, np.arange(n_rows), weights, dense=vectors)


def precision(model: RMLSRanker, X: Any, Y: Any) -> float:
    best = model.rank(X, 1).labels
    return float(np.mean(Y[np.arange(len(best)), best]))


def test_what_the_dense_columns_alone_decide_is_found() -> None:
    train, new = make_rows(), make_rows(seed=1)
    options: Any = {"shortlist_size": 10, "n_components": 8}
    plain = RMLSRanker(**options).fit(train[0], train[2])
    assert precision(plain, new[0], new[2]) < 0.15
    model = RMLSRanker(**options, dense_columns=N_DENSE).fit(beside(*train[:2]), train[2])
    assert precision(model, beside(*new[:2]), new[2]) > 0.95
    # Of 40 labels 10 are listed, by vectors that know nothing: the dense columns propose, too.
    assert model.shortlist_recall_ > 0.95


def test_what_the_words_decide_is_not_lost() -> None:
    rng = np.random.default_rng(0)
    topics = rng.integers(20, size=500)
    words = sparse.csr_matrix(np.eye(20, dtype=np.float32)[topics])
    Y = sparse.eye(20, format="csr")[topics]
    noise = rng.normal(size=(500, 8)).astype(np.float32)
    model = RMLSRanker(8, dense_columns=8).fit(beside(words, noise), Y)
    other = rng.normal(size=(500, 8)).astype(np.float32)
    assert precision(model, beside(words, other), Y) > 0.99


def test_discriminants_are_those_of_a_normal_distribution() -> None:
    data = training_set(weights=np.random.default_rng(3).uniform(0.5, 2, 300))
    found = DenseTrainer().learn(data)
    share = data.weights / data.weights.sum()
    raw = np.asarray(data.dense, dtype=np.float64)
    U = raw - share @ raw
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    mean = share @ U
    spread = (U - mean).T @ np.diag(share) @ (U - mean)
    spread += RIDGE * np.trace(spread) / N_DENSE * np.eye(N_DENSE)
    counts = data.positives()
    for label in range(N_LABELS):
        own = data.Y[:, label].toarray().ravel() * data.weights
        center = own @ (U - mean) / (counts[label] + PRIOR_ROWS)
        vector = np.linalg.solve(spread, center)
        bias = np.log(counts[label] / data.weights.sum()) - center @ vector / 2 - vector @ mean
        np.testing.assert_allclose(found.vectors[label], vector, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found.bias[label], bias, rtol=1e-3)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = training_set()
    whole = DenseTrainer().learn(data)
    monkeypatch.setattr(dense, "BLOCK", 7)
    parts = DenseTrainer().learn(data)
    np.testing.assert_allclose(parts.vectors, whole.vectors, rtol=1e-3, atol=1e-4)


def test_found_labels_are_the_best_of_all_that_have_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = training_set()
    Y = sparse.csr_matrix(data.Y.multiply(np.arange(N_LABELS) != 7), dtype=np.int32)
    Y.eliminate_zeros()
    index = DenseTrainer().learn(replace(data, Y=Y))
    rows = Rows(data.X[:20], data.dense[:20] if data.dense is not None else None)
    seen = index.look(rows)
    scores = seen @ index.vectors.T + index.bias
    scores[:, 7] = -np.inf
    found = index.find(seen, 30)
    for row, labels in enumerate(found):
        best = np.argsort(-scores[row])[: (labels >= 0).sum()]
        assert set(labels[labels >= 0]) == set(best)
    listed = np.tile(np.arange(N_LABELS, dtype=np.int32), (20, 1))
    columns = index.score(seen, listed)
    norms = np.where(index.norms > 0, index.norms, 1)
    cosines = (seen @ index.vectors.T + index.shifts) / norms
    np.testing.assert_allclose(columns[:, :, 0], cosines, rtol=1e-3, atol=1e-3)
    below = cosines - cosines.max(axis=1, keepdims=True)
    np.testing.assert_allclose(columns[:, :, 1], below, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(columns[:, 7, 0], 0, atol=1e-6)
    monkeypatch.setattr(dense, "MAX_RATIO", 0)
    np.testing.assert_allclose(index.score(seen, listed), columns, rtol=1e-3, atol=1e-3)


def test_two_sources_list_a_label_once() -> None:
    words, vectors, Y = make_rows()
    names = sparse.csr_matrix(np.eye(N_LABELS, words.shape[1], dtype=np.float32))
    # Every row holds the name of its label, so that names are worth something.
    words = sparse.csr_matrix(words + Y @ names)
    model = RMLSRanker(8, shortlist_size=20, dense_columns=N_DENSE)
    model.fit(beside(words, vectors), Y, label_text=names)
    proposer = model._scorer.proposer
    assert [source.kind for source in proposer.sources] == ["names", "dense"]
    listed = proposer.propose(model._rows(sparse.csr_matrix(beside(words, vectors)))).labels
    assert (np.diff(listed, axis=1) > 0).all()
    assert model.combination_.unseen is not None
    alone = RMLSRanker(8, dense_columns=N_DENSE).fit(beside(words, vectors), Y)
    assert alone.combination_.unseen is None


def test_scores_do_not_tell_how_many_rows_a_label_has() -> None:
    """A rare label has fewer rows where one was held out: its scores must not tell that."""
    data = training_set()
    twice = replace(data, weights=np.where(data.Y[:, 3].toarray().ravel(), 2.0, 1.0))
    listed = np.tile(np.arange(N_LABELS, dtype=np.int32), (20, 1))
    found = []
    for each in (data, twice):
        index = DenseTrainer().learn(each)
        # In the same metric, so that the number of the label's own rows is all that differs.
        found.append(index.score(index.look(Rows(data.X[:20], each.dense[:20])), listed)[:, 3, 0])
    np.testing.assert_allclose(*found, rtol=0.2, atol=0.2)


@pytest.mark.parametrize("folds", [0, 3])
def test_rows_are_scored_by_discriminants_that_have_not_seen_them(
    folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Labels at random: who has seen a row knows them, and nobody else can.
    rng = np.random.default_rng(0)
    n_rows, n_dense = 300, 200
    words = sparse.random(n_rows, 30, 0.2, format="csr", dtype=np.float32, random_state=0)
    vectors = rng.normal(size=(n_rows, n_dense)).astype(np.float32)
    Y = sparse.eye(30, format="csr")[rng.integers(30, size=n_rows)]
    options: Any = {"calibration_folds": folds, "validation_fraction": 0.3}
    model = RMLSRanker(8, dense_columns=n_dense, **options).fit(beside(words, vectors), Y)
    held = model._held_out
    assert held is not None
    assert held.more is not None
    assert np.median(place_of_truth(held)) > 5
    learn = DenseTrainer.learn

    def leak(self: DenseTrainer, data: TrainingSet) -> Any:
        everything = np.arange(len(data.Y.indptr) - 1)
        return learn(self, replace(data, rows=everything, weights=np.ones(len(everything))))

    # The same look finds a leak, where there is one.
    monkeypatch.setattr(DenseTrainer, "learn", leak)
    leaked = RMLSRanker(8, dense_columns=n_dense, **options).fit(beside(words, vectors), Y)
    assert leaked._held_out is not None
    assert np.median(place_of_truth(leaked._held_out)) < 2


def place_of_truth(held: Any) -> Any:
    """Return how many labels have a higher cosine than the true one, for every row."""
    cosines = held.more[:, :, -2]
    own = np.where(held.relevant, cosines, np.inf).min(axis=1, keepdims=True)
    return (cosines > own).sum(axis=1)


def test_held_out_rows_are_learned_in_the_end() -> None:
    words, vectors, Y = make_rows()
    model = RMLSRanker(8, dense_columns=N_DENSE, calibration_folds=0)
    model.fit(beside(words, vectors), Y)
    (index,) = model._scorer.proposer.sources
    data = TrainingSet.of(
        sparse.csr_matrix(beside(words, vectors)),
        sparse.csr_matrix(Y, dtype=np.int32),
        np.ones(600),
    )
    everything = replace(data, dense=vectors)
    expected = DenseTrainer().learn(everything)
    np.testing.assert_allclose(index.arrays()["dense_bias"], expected.bias, rtol=1e-3)


@pytest.mark.parametrize("precision_name", ["float32", "int16", "int8"])
def test_a_saved_model_answers_the_same(tmp_path: Path, precision_name: str) -> None:
    words, vectors, Y = make_rows()
    X = beside(words, vectors)
    model = RMLSRanker(
        8, shortlist_size=20, dense_columns=N_DENSE, precision=precision_name, normalize="rescale"
    )
    model.fit(X, Y)
    model.save(tmp_path / "model")
    again = rmls.load(tmp_path / "model")
    one, other = model.rank(X, 5), again.rank(X, 5)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-5)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    words, vectors, Y = make_rows()
    model = RMLSRanker(8, dense_columns=N_DENSE).fit(beside(words, vectors), Y)
    (index,) = model._scorer.proposer.sources
    object.__setattr__(index, "norms", -index.norms)  # type: ignore[attr-defined]
    with pytest.raises(ArchiveError, match="negative"):
        model.save(tmp_path / "model")


def test_all_columns_dense_is_refused() -> None:
    _, vectors, Y = make_rows(60)
    with pytest.raises(InputError, match="dense_columns is 12 but X has 12 columns"):
        RMLSRanker(8, dense_columns=N_DENSE).fit(vectors, Y)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e30, 1e-30])
def test_columns_without_a_difference_do_no_harm(value: float) -> None:
    words, _, Y = make_rows(100)
    X = beside(words, np.full((100, N_DENSE), value, np.float32))
    assert np.isfinite(RMLSRanker(8, dense_columns=N_DENSE).fit(X, Y).rank(X, 3).scores).all()


@pytest.mark.parametrize("scale", [1e-20, 1e18])
def test_scales_of_the_vectors_do_not_matter(scale: float) -> None:
    vectors = make_rows()[1]
    center = vectors.mean(axis=0)
    scaled = unit_vectors(vectors * np.float32(scale), center * np.float32(scale))
    np.testing.assert_allclose(scaled, unit_vectors(vectors, center), atol=1e-4)


def test_splitting_columns_returns_both_parts() -> None:
    words, vectors, _ = make_rows(50)
    rows = Rows.split(sparse.csr_matrix(beside(words, vectors)), N_DENSE)
    assert abs(rows.X - words).nnz == 0
    assert rows.dense is not None
    np.testing.assert_array_equal(rows.dense, vectors)
    part = rows.part(10, 20)
    assert part.dense is not None
    assert (part.X.shape, part.dense.shape) == ((10, 50), (10, N_DENSE))


def test_a_dense_block_is_no_block_of_the_classifiers() -> None:
    words, vectors, Y = make_rows()
    model = RMLSRanker(8, dense_columns=N_DENSE).fit(beside(words, vectors), Y)
    assert len(model._scorer.weights.indptr) == 50 + 1
    assert model.representation_.params.W.shape[0] == 50
