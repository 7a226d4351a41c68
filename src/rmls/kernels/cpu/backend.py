"""The CPU backend: the operations of `rmls.kernels.backend.Backend` by Numba kernels and BLAS."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.numeric import NewtonSteps, fit_logistic
from rmls.core.resources import cut_blocks, run_parts
from rmls.core.sparse import is_mapped
from rmls.kernels.arrays import (
    Csr,
    LabelledRows,
    Leading,
    ListScores,
    Mixture,
    NameMatches,
    NamePostings,
    Objective,
    Pairs,
    Params,
    Problem,
    SparseWeights,
    WeightTables,
)
from rmls.kernels.backend import read_only
from rmls.kernels.cpu.linalg.buckets import best_by_bucket
from rmls.kernels.cpu.linalg.products import multiply_rows, products_at
from rmls.kernels.cpu.linalg.select import best_of_rows
from rmls.kernels.cpu.ranker.dual import solve_labels
from rmls.kernels.cpu.ranker.listed import (
    SAMPLE,
    SCRATCH,
    CpuSelection,
    all_pairs,
    guess_scores,
    make_tables,
    mark_relevant,
    mix_listed,
    pair_rows,
    rank_listed,
    score_listed,
    turn_weights,
)
from rmls.kernels.cpu.ranker.lookup import NO_TABLES, index_weights, score_filled
from rmls.kernels.cpu.ranker.update import update_labels
from rmls.kernels.cpu.sgd.alias import build_alias
from rmls.kernels.cpu.sgd.arithmetic import slopes_of_scores
from rmls.kernels.cpu.sgd.passes import VectorPasses

# Up to so many labels the best of a row are found by buckets; scores of a tile of rows.
BUCKET_LABELS, TILE_SCORES = 4096, 1 << 18
SCORED_ROWS = 1024
PARTS_A_THREAD = 16
# Labels that are scored by all of their vectors for every one that is wanted.
TRIED = 2
# Rows of fewer features are as fast entry by entry; numbers of rows with zeros filled in, 1 GiB.
WIDE, MOST_FILLED = 16, 1 << 28
# Pairs of a label and a row that exist at once where all of them are solved.
ALL_PAIRS = 1 << 24

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]


class CpuBackend:
    """Numba kernels on the threads of this machine."""

    def build_alias(self, shares: NDArray[np.float64]) -> NDArray[np.uint32]:
        """Return the alias table of some shares."""
        table: NDArray[np.uint32] = build_alias(shares)
        return table

    def start_passes(
        self,
        rows: LabelledRows,
        params: Params,
        accumulators: Params,
        objective: Objective,
        *,
        batch_size: int,
        n_threads: int,
        max_feature_norm: float | None,
    ) -> VectorPasses:
        """Return the training of these parameters, in place."""
        return VectorPasses(
            rows, params, accumulators, objective, batch_size, n_threads, max_feature_norm
        )

    def loss_slopes(
        self, loss: int, scores: Floats, target: int, focus: tuple[np.float32, ...]
    ) -> Floats:
        """Return the derivative of a loss in every score."""
        slopes: Floats = slopes_of_scores(loss, scores, np.float32(target), focus)
        return slopes

    def hidden(self, rows: Csr, params: Params, activation: str) -> Floats:
        """Return ``activation(x W + b)`` of every row."""
        n_rows = len(rows.indptr) - 1
        out = np.empty((n_rows, params.W.shape[1]), np.float32)
        multiply_rows(*rows, read_only(params.W), out, 0, n_rows)
        out += params.b
        if activation == "tanh":
            np.tanh(out, out=out)
        elif activation == "relu":
            np.maximum(out, 0, out=out)
        return out

    def scores(self, hidden: Floats, vectors: Floats, bias: Floats) -> Floats:
        """Return ``h . l_j + c_j`` of every row and label."""
        result: Floats = hidden @ vectors.T
        result += bias
        return result

    def best_labels(
        self, hidden: Floats, vectors: Floats, bias: Floats, k: int
    ) -> tuple[Labels, Floats]:
        """Return the best labels of every row.

        Labels are scored in tiles that stay in the cache while the best of them are taken.
        """
        if len(vectors) <= BUCKET_LABELS:
            return self._best_of_few(hidden, vectors, bias, k)
        found = CpuSelection(len(hidden), k)
        labels = SCRATCH.numbers(len(vectors))
        found.offer_all(lambda part: self.scores(hidden, vectors[part], bias[part]), labels)
        return found.take()

    def _best_of_few(
        self, hidden: Floats, vectors: Floats, bias: Floats, k: int
    ) -> tuple[Labels, Floats]:
        """Return the same where there are few labels: all scores of some rows are a tile."""
        labels, best = make_tables(len(hidden), k)
        size = max(1, TILE_SCORES // len(vectors))
        for start, stop in cut_blocks(len(hidden), size):
            scores = self.scores(hidden[start:stop], vectors, bias)
            room = SCRATCH.buckets(len(vectors))
            best_by_bucket(scores, *room, labels[start:stop], best[start:stop])
        return labels, best

    def best_leading(
        self, hidden: Floats, vectors: Floats, bias: Floats, leading: Leading, k: int
    ) -> tuple[Labels, Floats]:
        """Return the best labels of every row, of those with the best scores by a cut vector."""
        n_tried = min(TRIED * k, len(leading.labels))
        cut = np.ones((len(hidden), leading.vectors.shape[1]), np.float32)
        np.matmul(hidden, leading.rows, out=cut[:, :-1])
        found = CpuSelection(len(hidden), n_tried)
        if len(leading.labels) >= 2 * SAMPLE:
            found.expect(guess_scores(cut, leading, n_tried))
        found.offer_all(lambda part: cut @ leading.vectors[part].T, leading.labels)
        rows = found.rows_below(min(k, n_tried))
        if len(rows):
            # Too much was expected of these: they look at all labels once more.
            found.expect(np.float32(-np.inf), rows)
            found.offer_all(lambda part: cut[rows] @ leading.vectors[part].T, leading.labels, rows)
        return found.take_again(k, hidden, vectors, bias, leading.following)

    def select(self, n_rows: int, k: int) -> CpuSelection:
        """Return an empty memory of the best ``k`` labels of some rows."""
        return CpuSelection(n_rows, k)

    def best_of_rows(self, scores: Floats, k: int, n_threads: int) -> tuple[Labels, Floats]:
        """Return the best columns of every row of a table, best first."""
        labels, best = make_tables(len(scores), k)
        # Less than two rows a thread are not worth a pool.
        size = max(2, -(-len(scores) // n_threads))

        def work(block: tuple[int, int]) -> None:
            best_of_rows(scores, *block, labels, best)

        run_parts(work, cut_blocks(len(scores), size), n_threads)
        return labels, best

    def pair_rows(
        self, Y: Csr, listed: Labels, n_labels: int, zeros: Any = np.zeros, part: Any = None
    ) -> Pairs:
        """Return for every label the rows that have it and the rows that list it."""
        pairs: Pairs = pair_rows(Y.indptr, Y.indices, listed, n_labels, zeros, part)
        return pairs

    def products_at(self, pairs: Pairs, vectors: Floats, hidden: Floats, n_threads: int) -> Floats:
        """Return ``h_i . l_j`` for every pair."""
        out = np.empty(len(pairs.rows), np.float32)
        return products_at(pairs.indptr, pairs.rows, vectors, hidden, out, n_threads)

    def solve_classifiers(
        self,
        problem: Problem,
        pairs: Pairs,
        duals: Floats,
        n_features: int,
        n_threads: int,
        tick: Callable[[float], None] | None = None,
        labels: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[Any], Floats, Floats]:
        """Train the classifiers of some labels, each on one thread."""
        n_labels = len(pairs.n_relevant)
        labels = np.arange(n_labels) if labels is None else labels
        bias = np.zeros(n_labels, np.float32)
        cuts, done = cut_labels(pairs, n_threads, labels), []
        problem = fill_rows(problem, n_features)

        def solve(part: tuple[int, int]) -> tuple[Any, Any, Any]:
            solved: tuple[Any, Any, Any] = solve_labels(
                problem, pairs, duals, labels[slice(*part)], n_features, bias
            )
            done.append(part)
            if tick is not None:
                # Parts are of about equal work.
                tick(len(done) / (len(cuts) - 1))
            return solved

        parts = run_parts(solve, pairwise(cuts), n_threads)
        lengths, indices, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        return lengths, indices, values, bias[labels]

    def solve_all(
        self, problem: Problem, relevant: Pairs, n_features: int, n_threads: int
    ) -> tuple[Floats, Floats]:
        """Train the classifiers of all labels on all rows, some labels at a time."""
        n_rows, m = len(problem.costs), len(relevant.n_relevant)
        weights, bias = np.zeros((n_features, m), np.float32), np.zeros(m, np.float32)
        for first, last in cut_blocks(m, max(1, ALL_PAIRS // n_rows)):
            pairs = all_pairs(relevant, first, last, n_rows)
            part = problem._replace(label_costs=problem.label_costs[first:last])
            duals = np.zeros(len(pairs.rows), np.float32)
            lengths, indices, values, bias[first:last] = self.solve_classifiers(
                part, pairs, duals, n_features, n_threads
            )
            weights[indices, first + np.repeat(np.arange(last - first), lengths)] = values
        return weights, bias

    def update_classifiers(
        self,
        problem: Problem,
        pairs: Pairs,
        old: Csr,
        squares: Floats,
        bias: Floats,
        certainty: Floats,
        n_threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[Any], Floats]:
        """Let the classifiers learn from new rows, each on one thread."""

        def update(part: tuple[int, int]) -> tuple[Any, Any, Any]:
            labels = np.arange(*part, dtype=np.int64)
            updated: tuple[Any, Any, Any] = update_labels(
                problem, pairs, old, labels, squares, bias, certainty
            )
            return updated

        parts = run_parts(update, pairwise(cut_labels(pairs, n_threads)), n_threads)
        lengths, indices, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        return lengths, indices, values

    def turn_weights(
        self, parts: tuple[NDArray[Any], ...], n_features: int, label_type: type
    ) -> tuple[NDArray[np.int64], NDArray[Any], Floats]:
        """Return weights by feature from weights by label."""
        starts, lengths, indices, values = map(read_only, parts)
        turned: tuple[Any, Any, Any] = turn_weights(
            starts, lengths, indices, values, n_features, label_type
        )
        return turned

    def index_weights(self, weights: SparseWeights) -> WeightTables | None:
        """Return tables of the features with many weights, if there are any."""
        tables: WeightTables | None = index_weights(SparseWeights(*map(read_only, weights)))
        return tables

    def score_lists(
        self,
        rows: Csr,
        weights: SparseWeights,
        listed: Labels,
        n_threads: int = 1,
        tables: WeightTables | None = None,
    ) -> Floats:
        """Return ``w_j . x + b_j`` for the listed labels of every row."""
        out = np.empty(listed.shape, np.float32)
        weights = SparseWeights(*map(read_only, weights))
        tables = NO_TABLES if tables is None else tables
        score = score_filled if len(tables.filled) else score_listed

        def work(block: tuple[int, int]) -> None:
            sums = SCRATCH.sums(len(weights.bias))
            part = slice(*block)
            given = (*rows, weights, tables, listed[part])
            score(*given, block[0], *block, sums, out[part])

        run_parts(work, cut_blocks(len(listed), SCORED_ROWS), n_threads)
        return out

    def mix_lists(self, listed: Labels, scores: ListScores, mixture: Mixture) -> Floats:
        """Return the combination of the scores of every listed label."""
        out = np.empty_like(scores.own)
        mix_listed(listed, scores, Mixture(*map(read_only, mixture)), out)
        return out

    def count_name_words(
        self, X: Csr, Y: Csr, names: Csr, rows: NDArray[np.int64], n_features: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows with a label that names every word, and those that hold the word, too."""
        from rmls.kernels.cpu.ranker.names import count_words

        counts, hits = np.zeros((2, n_features))
        count_words(X, Y, names, rows, counts, hits)
        return counts, hits

    def match_names(self, rows: Csr, postings: NamePostings, n_labels: int) -> NameMatches:
        """Return the labels whose names stand in every row."""
        from rmls.kernels.cpu.ranker.names import match_rows

        indptr = np.zeros(len(rows.indptr), np.int64)
        postings = NamePostings(*map(read_only, postings))
        found = match_rows(rows, postings, SCRATCH.names(len(postings.owners), n_labels), indptr)
        return NameMatches(indptr, *found)

    def best_names(self, matches: NameMatches, size: int) -> Labels:
        """Return the labels whose names match a row best; -1 where there are no more."""
        from rmls.kernels.cpu.ranker.names import best_matches

        found = np.empty((len(matches.indptr) - 1, size), np.int32)
        best_matches(matches, found)
        return found

    def score_names(self, matches: NameMatches, listed: Labels, n_labels: int) -> Floats:
        """Return five numbers on how the name of every listed label matches the row."""
        from rmls.kernels.cpu.ranker.names import N_NUMBERS, score_names

        out = np.empty((*listed.shape, N_NUMBERS), np.float32)
        score_names(matches, SCRATCH.places(n_labels), listed, out)
        return out

    def join_lists(
        self, listed: Labels, scores: Floats, found: Labels, hidden: Floats, params: Params
    ) -> None:
        """Put found labels, with scores, in the place of those with the lowest; in place."""
        from rmls.kernels.cpu.ranker.names import join_lists

        join_lists(listed, scores, found, hidden, read_only(params.L), read_only(params.c))

    def fit_logistic(
        self,
        design: Floats,
        total: Floats,
        positive: Floats,
        ridge: float,
        steps: NewtonSteps,
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Return the coefficients of a logistic regression."""
        return fit_logistic(design, total, positive, ridge=ridge, steps=steps, n_threads=n_threads)

    def rank_lists(self, listed: Labels, scores: Floats, k: int) -> tuple[Labels, Floats]:
        """Return the best of the listed labels of every row, best first."""
        labels, best = make_tables(len(listed), k)
        rank_listed(listed, scores, *SCRATCH.buckets(listed.shape[1]), labels, best)
        return labels, best

    def mark_relevant(self, Y: Csr, listed: Labels, n_labels: int) -> NDArray[np.bool_]:
        """Return which of the listed labels of every row are relevant."""
        out = np.zeros(listed.shape, dtype=bool)
        mark_relevant(Y.indptr, Y.indices, listed, n_labels, out)
        return out


def fill_rows(problem: Problem, n_features: int) -> Problem:
    """Return a problem whose rows hold all features, if they hold half of them or more.

    With zeros filled in they take no more memory, and a third to two thirds of the time.
    """
    n_rows, X = len(problem.costs), problem.x_data
    is_full = 2 * len(X) >= n_rows * n_features
    if n_features < WIDE or not is_full or n_rows * n_features > MOST_FILLED or is_mapped(X):
        return problem
    rows = np.zeros((n_rows, n_features), np.float32)
    rows[np.repeat(np.arange(n_rows), np.diff(problem.x_indptr)), problem.x_indices] = X
    indptr = n_features * np.arange(n_rows + 1, dtype=np.int64)
    no_columns = np.empty((0, n_features), problem.x_indices.dtype)
    return problem._replace(x_indptr=indptr, x_indices=no_columns, x_data=rows.ravel())


def cut_labels(
    pairs: Pairs, n_threads: int, labels: NDArray[np.int64] | slice = slice(None)
) -> list[int]:
    """Cut some labels into parts of about equal work, several for every thread.

    A label costs its pairs and a little for itself.
    """
    work = np.concatenate([[0], np.cumsum(np.diff(pairs.indptr)[labels] + 1)])
    wanted = np.linspace(0, work[-1], PARTS_A_THREAD * n_threads + 1)
    return [int(cut) for cut in np.unique([0, *np.searchsorted(work, wanted), len(work) - 1])]
