"""Votes of the most similar training rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import Option, store_params, whole
from rmls.core.resources import count_threads, run_parts
from rmls.decide import CardinalityCount, Rule
from rmls.features import unit_rows
from rmls.kernels.backend import csr_arrays
from rmls.kernels.cpu.methods.nearest import nearest_rows
from rmls.models.shared.answers import BLOCK_BYTES
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import ScoredRows
from rmls.models.shared.probabilities import GivesProbabilities
from rmls.models.shared.sparse_archive import read_csr, sparse_state
from rmls.models.shared.training_set import TrainingSet


class KNN(GivesProbabilities, MultiLabelEstimator):
    """Score a label by the share of the most similar training rows that have it.

    Similarity is the cosine of normalised rows; the score is the mean of the neighbours' labels
    weighted by their similarity. All training rows together have one more vote, so that labels
    that no neighbour has are ranked by their frequency.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that vote; all rows where there are fewer.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled before the cosine; see `rmls.features.fit_normalizer`.
    decision : str, float or Rule, default="cardinality"
        How `predict` cuts.
    n_jobs : int or None, default=None
        Threads of the search: None is 1, -1 all cores. The scores do not depend on it.

    Attributes
    ----------
    classes_ : ndarray
    frequencies_ : ndarray of float32, shape (n_labels,)
        Share of the training rows that have the label; the scores of a row that is similar to none.

    Notes
    -----
    Training rows with the same features are one neighbour with their summed weight and their mean
    labels; the nearest ones vote until their weights add up to ``n_neighbors`` (at most
    ``n_neighbors`` different ones), the last one with what is left. Rows of negative similarity do
    not vote. The cardinality threshold is set with every training row's own neighbour left out.
    A search visits the training rows that share a feature, through an inverted index.

    Examples
    --------
    >>> from rmls import KNN
    >>> model = KNN(n_neighbors=1).fit([[1, 0], [0, 1]], [["tax"], ["law"]])
    >>> model.predict_proba([[3, 1]]).tolist()
    [[0.25, 0.75]]
    """

    frequencies_: NDArray[np.float32]

    n_neighbors: int

    _options: ClassVar[dict[str, Option]] = {
        "n_neighbors": whole(1),
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        normalize: str = "auto",
        decision: str | float | Rule = "cardinality",
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())

    def _fit(self, data: TrainingSet) -> ScoredRows:
        Y, weights = data.labels, data.weights
        self.frequencies_ = (data.positives() / weights.sum()).astype(np.float32)
        unit = unit_rows(self._normalized(data).features)
        # Sites in the order of their codes, so that a row finds its own site again by bisection.
        _, first, site = np.unique(row_codes(unit), return_index=True, return_inverse=True)
        totals = np.bincount(site, weights=weights)
        shares = (weights / totals[site]).astype(np.float32)
        mean = sparse.csr_matrix((shares, (site, np.arange(data.n_rows))))
        self._weights = totals.astype(np.float32)
        self._labels = _canonical(mean @ Y.astype(np.float32))
        self._index = _canonical(unit[first].T)
        return _WithoutOwnVote(self, data)

    # -- scores ----------------------------------------------------------------------------------

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        return self._vote(unit_rows(X), np.full(X.shape[0], -1))

    def _vote(self, unit: sparse.csr_matrix, left_out: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the weighted mean labels of the neighbours and one vote of all rows, dense."""
        found, similarity = self._search(unit, left_out)
        weights = self._weights[found]
        before = np.cumsum(weights, axis=1) - weights
        # A neighbour of weight w has w votes, until all n_neighbors are given.
        votes = np.clip(self.n_neighbors - before, 0, weights) * np.maximum(similarity, 0)
        totals = votes.sum(axis=1, dtype=np.float64)
        votes = (votes / np.where(totals > 0, totals, 1)[:, None]).astype(np.float32)
        indptr = np.arange(0, votes.size + 1, votes.shape[1])
        shape = (len(votes), len(self._weights))
        matrix = sparse.csr_matrix((votes.ravel(), found.ravel(), indptr), shape=shape)
        scores: NDArray[np.float32] = (matrix @ self._labels).toarray()
        scores[totals <= 0] = self.frequencies_
        # (n share + frequency) / (n + 1): one vote of all rows breaks the many ties.
        scores *= np.float32(self.n_neighbors)
        scores += self.frequencies_
        scores /= np.float32(self.n_neighbors + 1)
        # Shares that were rounded one by one may add up to a little more than 1.
        return np.minimum(scores, 1, out=scores)

    def _search(
        self, unit: sparse.csr_matrix, left_out: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the nearest training rows of every row and their similarities, best first."""
        n_rows, n_sites = unit.shape[0], len(self._weights)
        found = np.empty((n_rows, min(self.n_neighbors, n_sites)), np.int32)
        similarity = np.empty(found.shape, np.float32)
        queries, index = csr_arrays(unit), csr_arrays(self._index)
        left_out = left_out.astype(np.int64)

        def search(bounds: tuple[int, int]) -> None:
            memory = np.empty((1, n_sites), np.float32)
            nearest_rows(queries, index, left_out, memory, bounds, found, similarity)

        threads = min(count_threads(self.n_jobs), n_rows)
        cuts = np.linspace(0, n_rows, threads + 1).astype(int).tolist()
        run_parts(search, pairwise(cuts), threads)
        return found, similarity

    def _own_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return scores

    def _class_probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        return scores

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {"weights": self._weights, "frequencies": self.frequencies_}
        arrays |= sparse_state("index", self._index) | sparse_state("labels", self._labels)
        return {}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        d, m = int(self.n_features_in_), self._space.n_labels
        check_arrays(archive, {"weights": (np.float32, (None,)), "frequencies": (np.float32, (m,))})
        self._weights = archive.arrays["weights"]
        if not len(self._weights) or self._weights.min() < 0:
            raise InputError("there are no rows to vote, or some of a negative weight")
        self.frequencies_ = archive.arrays["frequencies"]
        self._index = read_csr(archive, "index", (d, len(self._weights)))
        self._labels = read_csr(archive, "labels", (len(self._weights), m))


class _WithoutOwnVote(ScoredRows):
    """Training rows, each scored without its own vote."""

    model: KNN

    def cardinality_threshold(self) -> float:
        sample = self.data.first(self.sample_rows)
        model, truth = self.model, sample.labels
        unit = unit_rows(model._scaled(sample.features))
        # A row is its own nearest neighbour: with its vote the threshold would be far too high.
        sites = np.searchsorted(row_codes(sparse.csr_matrix(model._index.T)), row_codes(unit))
        counter = CardinalityCount(float(sample.weights @ truth.getnnz(axis=1)))
        size = max(1, BLOCK_BYTES // (4 * sample.n_labels))
        for start in range(0, sample.n_rows, size):
            block = slice(start, start + size)
            counter.add(model._vote(unit[block], sites[block]), sample.weights[block])
        return counter.threshold()


def row_codes(X: sparse.csr_matrix) -> NDArray[np.float64]:
    """Return a number per row that is the same for equal rows only (almost surely)."""
    rng = np.random.Generator(np.random.Philox(key=0))
    # A random projection to one number: different rows coincide with probability 0.
    codes: NDArray[np.float64] = X.astype(np.float64) @ rng.standard_normal(X.shape[1])
    return codes


def _canonical(matrix: Any) -> sparse.csr_matrix:
    result = sparse.csr_matrix(matrix, dtype=np.float32)
    result.sort_indices()
    return result
