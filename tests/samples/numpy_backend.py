"""A backend in plain NumPy: slow, obvious, and enough for every model that takes a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from rmls.core.numeric import fit_logistic
from rmls.kernels.arrays import DUAL_LOSSES, Csr, NameMatches, Pairs
from rmls.kernels.some_labels import solve_copies


def as_matrix(rows: Csr, n_columns: int) -> np.ndarray:
    shape = (len(rows.indptr) - 1, n_columns)
    return sparse.csr_matrix((rows.data, rows.indices, rows.indptr), shape=shape).toarray()


class NumpyPasses:
    """Online AdaGrad on the logistic loss; parameters are kept apart until they are pulled."""

    def __init__(self, rows: Any, params: Any, accumulators: Any, objective: Any) -> None:
        self.rows, self.objective = rows, objective
        self.targets = (params, accumulators)
        self.params = type(params)(*(array.astype(np.float64) for array in params))
        self.sums = type(params)(*(array.astype(np.float64) for array in accumulators))

    def run(self, visits: Any, tick: Callable[[float], None] | None = None) -> tuple[float, float]:
        rates = np.linspace(visits.first_rate, visits.last_rate, len(visits.rows))
        losses = [
            self._visit(row, np.random.default_rng(int(key)), rate)
            for row, key, rate in zip(visits.rows, visits.keys, rates, strict=True)
        ]
        if tick is not None:
            tick(1.0)
        return float(sum(losses)), float(len(losses))

    def pull(self) -> None:
        for target, own in zip(self.targets, (self.params, self.sums), strict=True):
            for array, values in zip(target, own, strict=True):
                array[...] = values

    def _visit(self, row: int, rng: np.random.Generator, rate: float) -> float:
        rows, (W, b, L, c) = self.rows, self.params
        part = slice(rows.x_indptr[row], rows.x_indptr[row + 1])
        features, values = rows.x_indices[part], rows.x_data[part]
        relevant = rows.y_indices[rows.y_indptr[row] : rows.y_indptr[row + 1]]
        others = np.setdiff1d(np.arange(len(L)), relevant)
        wanted = max(
            self.objective.negatives_per_positive * len(relevant), self.objective.min_negatives
        )
        drawn = rng.choice(others, min(int(wanted), len(others)), replace=False)
        labels = np.concatenate([relevant, drawn])
        target = np.arange(len(labels)) < len(relevant)
        h = np.tanh(values @ W[features] + b)
        logits = L[labels] @ h + c[labels]
        slopes = 1 / (1 + np.exp(-logits)) - target
        upstream = (slopes @ L[labels]) * (1 - h * h)
        self._step("L", labels, slopes[:, None] * h, rate)
        self._step("c", labels, slopes, rate)
        self._step("W", features, values[:, None] * upstream, rate)
        self._step("b", slice(None), upstream, rate)
        return float(np.logaddexp(0, np.where(target, -logits, logits)).sum())

    def _step(self, name: str, places: Any, gradient: np.ndarray, rate: float) -> None:
        theta, sums = getattr(self.params, name), getattr(self.sums, name)
        square = gradient**2
        if theta.ndim == 2 and not self.objective.elementwise:
            square = square.mean(axis=1, keepdims=True)
        sums[places] += square
        theta[places] -= rate * gradient / np.sqrt(sums[places])


class NumpySelection:
    """Keeps every score that is offered and sorts at the end."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.k = k
        self.seen: list[list[tuple[float, int]]] = [[] for _ in range(n_rows)]

    def offer(self, scores: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> None:
        for row, line in zip(rows, scores, strict=True):
            self.seen[row] += zip(-line, labels, strict=True)

    def take(self) -> tuple[np.ndarray, np.ndarray]:
        best = [sorted(sorted(pairs)[: self.k], key=lambda pair: pair[1]) for pairs in self.seen]
        labels = np.array([[label for _, label in row] for row in best], np.int32)
        return labels, np.array([[-score for score, _ in row] for row in best], np.float32)


def _minimise(
    X: np.ndarray,
    target: np.ndarray,
    costs: np.ndarray,
    offsets: np.ndarray,
    firm: np.ndarray,
    start: np.ndarray,
    problem: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum of a loss beside a parabola, and every row's curvature there."""
    w = start.copy()
    for _ in range(100):
        z = target * (X @ w + offsets)
        if problem.loss == DUAL_LOSSES.index("logistic"):
            p = 1 / (1 + np.exp(np.clip(z, -50, 50)))
            slopes, bend = -costs * p, costs * p * (1 - p)
        else:
            slopes, bend = -2 * costs * np.maximum(1 - z, 0), 2 * costs * (z < 1)
        gradient = firm * (w - start) + X.T @ (slopes * target)
        w -= np.linalg.solve(np.diag(firm) + (X * bend[:, None]).T @ X, gradient)
    return w, bend


class NumpyBackend:
    """The operations of `rmls.kernels.backend.Backend`."""

    def build_alias(self, shares: np.ndarray) -> np.ndarray:
        return np.zeros((len(shares), 2), np.uint32)

    def start_passes(
        self, rows: Any, params: Any, accumulators: Any, objective: Any, **limits: Any
    ) -> NumpyPasses:
        return NumpyPasses(rows, params, accumulators, objective)

    def fit_logistic(
        self, design: Any, total: Any, positive: Any, ridge: float, steps: Any, n_threads: int
    ) -> np.ndarray:
        return fit_logistic(design, total, positive, ridge=ridge, steps=steps)

    def loss_slopes(self, loss: int, scores: np.ndarray, target: int, focus: Any) -> np.ndarray:
        return np.asarray(-target / (1 + np.exp(target * scores)), np.float32)

    def hidden(self, rows: Csr, params: Any, activation: str) -> np.ndarray:
        assert activation == "tanh"
        return np.tanh(as_matrix(rows, len(params.W)) @ params.W + params.b).astype(np.float32)

    def scores(self, hidden: np.ndarray, vectors: np.ndarray, bias: np.ndarray) -> np.ndarray:
        return np.asarray(hidden @ vectors.T + bias, np.float32)

    def best_labels(
        self, hidden: np.ndarray, vectors: np.ndarray, bias: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        found = NumpySelection(len(hidden), k)
        labels = np.arange(len(vectors), dtype=np.int32)
        found.offer(self.scores(hidden, vectors, bias), labels, np.arange(len(hidden)))
        return found.take()

    def best_leading(
        self, hidden: np.ndarray, vectors: np.ndarray, bias: np.ndarray, leading: Any, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.best_labels(hidden, vectors, bias, k)

    def select(self, n_rows: int, k: int) -> NumpySelection:
        return NumpySelection(n_rows, k)

    def best_of_rows(
        self, scores: np.ndarray, k: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return order.astype(np.int32), np.take_along_axis(scores, order, axis=1)

    def pair_rows(
        self, Y: Csr, listed: np.ndarray, n_labels: int, zeros=np.zeros, part: Any = None
    ) -> Pairs:
        relevant = as_matrix(Y, n_labels) > 0
        either = relevant.copy()
        np.put_along_axis(either, listed, True, axis=1)
        if part is not None:
            outside = ~np.isin(np.arange(n_labels), np.arange(*part))
            relevant[:, outside] = either[:, outside] = False
        rows = [
            np.concatenate([np.flatnonzero(has), np.flatnonzero(any_ & ~has)])
            for has, any_ in zip(relevant.T, either.T, strict=True)
        ]
        indptr = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        return Pairs(indptr, np.concatenate(rows).astype(np.int32), relevant.sum(axis=0))

    def products_at(
        self, pairs: Pairs, vectors: np.ndarray, hidden: np.ndarray, n_threads: int
    ) -> np.ndarray:
        labels = np.repeat(np.arange(len(vectors)), np.diff(pairs.indptr))
        return np.einsum("ij,ij->i", vectors[labels], hidden[pairs.rows])

    def solve_classifiers(
        self,
        problem: Any,
        pairs: Pairs,
        duals: np.ndarray,
        n_features: int,
        n_threads: int,
        tick: Any = None,
        labels: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Gradient descent on the squared hinge of every label, in the primal."""
        if labels is not None:
            solve = partial(self.solve_classifiers, n_features=n_features, n_threads=n_threads)
            return solve_copies(solve, problem, pairs, duals, labels)
        X = as_matrix(Csr(problem.x_indptr, problem.x_indices, problem.x_data), n_features)
        X = np.column_stack([X, np.ones(len(X))])
        table = np.zeros((len(pairs.n_relevant), n_features + 1))
        for label, w in enumerate(table):
            rows = pairs.rows[pairs.indptr[label] : pairs.indptr[label + 1]]
            target = np.where(np.arange(len(rows)) < pairs.n_relevant[label], 1.0, -1.0)
            costs = problem.costs[rows] * problem.label_costs[label]
            if not (costs[target > 0] > 0).any():
                w[-1] = -1.0
                continue
            step = 1 / (1 + 2 * np.linalg.norm(X[rows] * np.sqrt(costs)[:, None], 2) ** 2)
            for _ in range(200):
                slack = np.maximum(1 - target * (X[rows] @ w), 0)
                w -= step * (w - 2 * X[rows].T @ (costs * target * slack))
        weights = sparse.csr_matrix(np.where(np.abs(table) < problem.prune, 0, table)[:, :-1])
        lengths, values = np.diff(weights.indptr), weights.data.astype(np.float32)
        indices = weights.indices.astype(problem.x_indices.dtype)
        return lengths, indices, values, table[:, -1].astype(np.float32)

    def solve_all(
        self, problem: Any, relevant: Pairs, n_features: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        n_rows, m = len(problem.costs), len(relevant.n_relevant)
        Y = sparse.csr_matrix(
            (np.ones(len(relevant.rows)), relevant.rows, relevant.indptr), shape=(m, n_rows)
        ).T.tocsr()
        every = np.tile(np.arange(m), (n_rows, 1))
        pairs = self.pair_rows(Csr(Y.indptr, Y.indices, Y.data), every, m)
        lengths, indices, values, bias = self.solve_classifiers(
            problem._replace(prune=0), pairs, np.zeros(0), n_features, n_threads
        )
        weights = np.zeros((n_features, m), np.float32)
        weights[indices, np.repeat(np.arange(m), lengths)] = values
        return weights, bias

    def update_classifiers(
        self,
        problem: Any,
        pairs: Pairs,
        old: Csr,
        squares: np.ndarray,
        bias: np.ndarray,
        certainty: np.ndarray,
        n_threads: int,
    ) -> tuple[np.ndarray, ...]:
        """Newton steps on every label's objective, in the primal; features of no row stay."""
        rows = Csr(problem.x_indptr, problem.x_indices.astype(np.int32), problem.x_data)
        X, table = as_matrix(rows, len(squares)), as_matrix(old, len(squares)).astype(float)
        for label, w in enumerate(table):
            own = slice(*pairs.indptr[label : label + 2])
            places = pairs.rows[own]
            costs = problem.costs[places] * problem.label_costs[label]
            offsets = problem.offsets[own] if len(problem.offsets) else np.zeros(len(places))
            target = np.where(np.arange(len(places)) < pairs.n_relevant[label], 1.0, -1.0)
            firm = 1 + (certainty[label] - 1) * squares + np.maximum(w, 0)
            inside = np.column_stack([X[places], np.ones(len(places))])
            start = np.append(w, bias[label])
            found, curvature = _minimise(
                inside, target, costs, offsets, np.append(firm, certainty[label]), start, problem
            )
            touched = (X[places] != 0).any(axis=0)
            w[:] = np.where(touched & (np.abs(found[:-1]) < problem.prune), 0, found[:-1])
            bias[label] = found[-1]
            certainty[label] += curvature.sum()
        weights = sparse.csr_matrix(table.astype(np.float32))
        return np.diff(weights.indptr), weights.indices, weights.data

    def turn_weights(
        self, parts: tuple[np.ndarray, ...], n_features: int, label_type: type
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        starts, lengths, indices, values = parts
        labels = np.repeat(np.arange(len(starts)), lengths)
        places = np.concatenate([s + np.arange(n) for s, n in zip(starts, lengths, strict=True)])
        places = places.astype(np.int64)
        order = np.argsort(indices[places], kind="stable")
        counts = np.bincount(indices[places], minlength=n_features)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return indptr, labels[order].astype(label_type), values[places][order]

    def index_weights(self, weights: Any) -> None:
        return None

    def score_lists(
        self,
        rows: Csr,
        weights: Any,
        listed: np.ndarray,
        n_threads: int = 1,
        tables: None = None,
    ) -> np.ndarray:
        shape = (len(weights.indptr) - 1, len(weights.bias))
        by_feature = Csr(weights.indptr, weights.indices.astype(np.int32), weights.values)
        table = as_matrix(by_feature, shape[1]) * weights.scale
        scores = as_matrix(rows, shape[0]) @ table + weights.bias
        return np.take_along_axis(scores, listed, axis=1).astype(np.float32)

    def mix_lists(self, listed: np.ndarray, scores: Any, mixture: Any) -> np.ndarray:
        (low, high, middle), (own, other, more) = mixture.knots, scores
        terms = [np.ones_like(own), own, np.maximum(own - low, 0), np.maximum(own - high, 0)]
        terms += [other, np.maximum(other - middle, 0), *np.moveaxis(more, 2, 0)]
        table = mixture.coefficients[listed]
        return np.einsum("ijk,kij->ij", table, np.array(terms)).astype(np.float32)

    def match_names(self, rows: Csr, postings: Any, n_labels: int) -> NameMatches:
        d, names = len(postings.indptr) - 1, postings.names.astype(np.int32)
        X, n_names = as_matrix(rows, d), len(postings.owners)
        best = np.zeros((2, len(X), n_labels), np.float32)
        shares, cosines = (
            present @ as_matrix(Csr(postings.indptr, names, weights), n_names)
            for present, weights in ((X != 0, postings.shares), (X, postings.cosines))
        )
        for part, by_name in zip(best, (shares, cosines), strict=True):
            counts = np.where(shares >= 0.3, by_name, 0)
            np.maximum.at(part, (slice(None), postings.owners), counts)
        where, labels = np.nonzero(best[0])
        indptr = np.searchsorted(where, np.arange(len(X) + 1))
        return NameMatches(indptr, labels.astype(np.int32), *best[:, where, labels])

    def best_names(self, matches: NameMatches, size: int) -> np.ndarray:
        found = np.full((len(matches.indptr) - 1, size), -1, np.int32)
        keys = matches.shares + matches.cosines + (matches.shares > 0.9)
        for row in range(len(found)):
            part = slice(matches.indptr[row], matches.indptr[row + 1])
            best = matches.labels[part][np.argsort(-keys[part], kind="stable")[:size]]
            found[row, : len(best)] = best
        return found

    def score_names(self, matches: NameMatches, listed: np.ndarray, n_labels: int) -> np.ndarray:
        shape = (len(listed), n_labels)
        share, cosine = (
            np.take_along_axis(
                sparse.csr_matrix((values, matches.labels, matches.indptr), shape).toarray(),
                listed,
                axis=1,
            )
            for values in (matches.shares, matches.cosines)
        )
        numbers = (share > 0, share, share > 0.9, cosine, np.maximum(cosine - 0.2, 0))
        return np.stack(numbers, axis=2).astype(np.float32)

    def join_lists(
        self,
        listed: np.ndarray,
        scores: np.ndarray,
        found: np.ndarray,
        hidden: np.ndarray,
        params: Any,
    ) -> None:
        for row, best in enumerate(found):
            new = [label for label in best if label >= 0 and label not in listed[row]]
            order = np.argsort(scores[row], kind="stable")
            weak = [place for place in order if listed[row, place] not in best][: len(new)]
            listed[row, weak] = new = new[: len(weak)]
            scores[row, weak] = params.L[new] @ hidden[row] + params.c[new]
            order = np.argsort(listed[row])
            listed[row], scores[row] = listed[row, order], scores[row, order]

    def count_name_words(
        self, X: Csr, Y: Csr, names: Csr, rows: np.ndarray, n_features: int
    ) -> tuple[np.ndarray, np.ndarray]:
        present = as_matrix(X, n_features)[rows] != 0
        n_labels = len(names.indptr) - 1
        named = as_matrix(Y, n_labels)[rows] @ (as_matrix(names, n_features) != 0) > 0
        return named.sum(axis=0).astype(float), (named & present).sum(axis=0).astype(float)

    def rank_lists(
        self, listed: np.ndarray, scores: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return tuple(np.take_along_axis(table, order, axis=1) for table in (listed, scores))

    def mark_relevant(self, Y: Csr, listed: np.ndarray, n_labels: int) -> np.ndarray:
        return np.take_along_axis(as_matrix(Y, n_labels) > 0, listed, axis=1)
