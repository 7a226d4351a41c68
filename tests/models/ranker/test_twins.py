"""Labels of the same rows share a vector, and a search looks at equal vectors once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tolerances import assert_same_lists

import rmls.kernels.cpu.backend as cpu
from rmls import RMLS, RMLSRanker, make_longtail
from rmls.kernels.arrays import Params
from rmls.kernels.backend import Vectors
from rmls.models.ranker.label_index import ExactIndex, LeadingIndex, link_equals
from rmls.models.ranker.sources import Twins

DATA = make_longtail(300, 60, 40, random_state=0)


def with_twins() -> sparse.csr_matrix:
    """Return labels of which 40 to 44 are copies of 0 to 4, and 45 and 46 have no row."""
    Y = sparse.csr_matrix(DATA.Y)
    return sparse.csr_matrix(sparse.hstack([Y, Y[:, :5], sparse.csr_matrix((300, 2), dtype=int)]))


def fitted(**options: Any) -> RMLSRanker:
    given = {"n_components": 16, "calibration_folds": 0, "shortlist_size": 20, **options}
    return RMLSRanker(**given).fit(DATA.X, with_twins())


def test_labels_of_one_kind_are_in_the_same_rows_and_others_are_not() -> None:
    Y = with_twins()
    twins, dense = Twins.of(Y), Y.toarray()
    for one in range(Y.shape[1]):
        for other in range(Y.shape[1]):
            same = bool((dense[:, one] == dense[:, other]).all())
            assert same == (twins.kinds[one] == twins.kinds[other])
    np.testing.assert_array_equal(twins.kinds[twins.firsts], np.arange(len(twins.firsts)))
    assert (np.diff(twins.firsts) > 0).all()


def test_twins_have_one_vector() -> None:
    params = fitted()._scorer.proposer.vectors.params
    np.testing.assert_array_equal(params.L[:5], params.L[40:45])
    np.testing.assert_array_equal(params.c[:5], params.c[40:45])
    np.testing.assert_array_equal(params.L[45], params.L[46])
    assert not np.array_equal(params.L[0], params.L[1])


def test_a_representation_of_the_users_own_tells_all_labels_apart() -> None:
    weights = np.linspace(1, 2, 47)
    model = fitted(representation=RMLS(16, class_weight=weights, max_iter=2))
    params = model._scorer.proposer.vectors.params
    assert not np.array_equal(params.L[0], params.L[40])


def test_every_label_has_a_row_of_its_own_in_the_model_that_is_saved(tmp_path: Any) -> None:
    model = fitted(index="leading", n_components=40)
    model.save(tmp_path / "model")
    import rmls

    loaded: Any = rmls.load(tmp_path / "model")
    ours, theirs = (each.rank(DATA.X, 10).labels for each in (model, loaded))
    np.testing.assert_array_equal(ours, theirs)
    assert loaded._scorer.proposer.vectors.params.L.shape[0] == 47


def repeated(n_vectors: int, n_labels: int, n_rows: int = 40) -> tuple[Vectors, np.ndarray]:
    """Return labels that share a few vectors, and rows; all scores differ but those of twins."""
    rng = np.random.default_rng(0)
    owners = rng.integers(n_vectors, size=n_labels)
    labels = rng.normal(size=(n_vectors, 24)).astype(np.float32)[owners]
    bias = rng.normal(size=n_vectors).astype(np.float32)[owners]
    empty = np.zeros((1, 24), np.float32)
    hidden = rng.normal(size=(n_rows, 24)).astype(np.float32)
    return Vectors(Params(empty, empty[0], labels, bias), "linear"), hidden


def test_labels_with_the_same_vector_follow_each_other() -> None:
    vectors, _ = repeated(7, 60)
    firsts, following = link_equals(vectors.params.L, vectors.params.c)
    chains = []
    for first in firsts:
        chain = [int(first)]
        while following[chain[-1]] >= 0:
            chain.append(int(following[chain[-1]]))
        assert chain == sorted(chain)
        assert len({vectors.params.L[label].tobytes() for label in chain}) == 1
        chains += chain
    assert sorted(chains) == list(range(60))


@pytest.mark.parametrize(("n_vectors", "n_labels"), [(1, 30), (5, 30), (40, 300), (3000, 5000)])
@pytest.mark.parametrize("k", [1, 7, 30])
def test_equal_vectors_are_found_as_if_each_were_searched(
    n_vectors: int, n_labels: int, k: int
) -> None:
    vectors, hidden = repeated(n_vectors, n_labels)
    index = next(LeadingIndex.fit(vectors, hidden, [24]))
    assert len(index.leading.labels) <= n_vectors
    labels, scores = index.search(hidden, k)
    exact = ExactIndex(vectors).search(hidden, k)[0]
    assert_same_lists(labels, exact, vectors.scores(hidden))
    assert (np.diff(labels, axis=1) > 0).all()
    wanted = np.take_along_axis(vectors.scores(hidden), labels.astype(np.int64), axis=1)
    np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("guess", [np.inf, -np.inf, 3.0])
def test_a_wrong_guess_of_the_score_to_beat_costs_time_only(
    guess: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, hidden = repeated(3000, 3000)
    index = next(LeadingIndex.fit(vectors, hidden, [24]))
    wanted = index.search(hidden, 20)[0]
    monkeypatch.setattr(cpu, "guess_scores", lambda cut, *_: np.full(len(cut), guess, np.float32))
    assert_same_lists(index.search(hidden, 20)[0], wanted, vectors.scores(hidden))
