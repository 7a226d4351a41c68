"""Variational EM for BMLPL: one sweep is a regression, a shape update and an allocation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.kernels.cpu.methods import poisson
from rmls.kernels.cpu.methods.weighted_ridge import Design, improve_ridge

Floats = NDArray[np.float32]

# The intercept has this prior precision: next to none.
INTERCEPT_PENALTY = 0.01
# Rate of the exponential prior of the shapes, and the range they are kept in.
SHAPE_RATE = 1.0
SHAPE_RANGE = (1e-4, 1e3)
# Below 1, a topic is absent from many rows and strong in few.
START_SHAPE = 0.5
# A sweep need not finish them: the next one goes on from here.
SHAPE_STEPS = 2
# Topics with a smaller share of a label's expected count are left to the floor.
MIN_SHARE = 1e-5


@dataclass
class TopicEM:
    """Parameters of the model and expected counts of the training rows.

    Attributes
    ----------
    design : Design
        Normalised rows with a column of ones.
    positives : Positives
        Labels are numbered among ``active``, those with a positive row.
    active : ndarray of int, shape (n_active,)
    n_labels : int
    penalty : ndarray of float32, shape (n_features + 1,)
        Prior precisions of the coefficients.
    smoothing : float
        Prior count of every label in every topic.
    coefficients : ndarray of float32, shape (n_features + 1, n_topics)
    shapes : ndarray of float64, shape (n_topics,)
    activation, counts : ndarray of float32, shape (n_samples, n_topics)
    statistics : ndarray of float64, shape (n_active, n_topics)
        Expected counts of labels in topics.
    """

    design: Design
    positives: poisson.Positives
    active: NDArray[np.int64]
    n_labels: int
    penalty: Floats
    smoothing: float
    coefficients: Floats
    shapes: NDArray[np.float64]
    activation: Floats
    counts: Floats
    statistics: NDArray[np.float64]

    def sweep(self, n_steps: int) -> float:
        """Update everything once; return the bound on the log posterior, which never falls.

        Parameters
        ----------
        n_steps : int
            Conjugate-gradient steps of the regressions.
        """
        # Each of the three raises the same bound with the others fixed (EM), so that it never
        # falls.
        self.regress(n_steps)
        self.reshape()
        return self.allocate()

    def regress(self, n_steps: int) -> None:
        """Move the coefficients up the Polya-Gamma bound of the negative-binomial likelihood."""
        curvatures, slopes = np.empty_like(self.counts), np.empty_like(self.counts)
        weights = self.positives.weights
        poisson.regression_targets(
            weights, self.shapes, self.activation, self.counts, curvatures, slopes
        )
        # Given the Polya-Gamma means the bound is quadratic: a weighted ridge regression for each
        # topic.
        improve_ridge(self.design, curvatures, slopes, self.penalty, self.coefficients, n_steps)
        self.activation = self.design.times(self.coefficients)

    def reshape(self) -> None:
        """Take Newton steps of the shapes; each topic keeps the best point visited.

        The objective of a shape is concave and its derivative convex: a step from the left never
        passes the maximum, a step from the right may, and the next one leads back.
        """
        weights = self.positives.weights
        # d/dr of r log(1 + exp(a)), summed over rows, and the rate of the prior of r.
        cost = poisson.softplus_sums(weights, self.activation) + SHAPE_RATE
        trial, best_value = self.shapes, np.full(len(self.shapes), -np.inf)
        best = self.shapes
        for step in range(SHAPE_STEPS + 1):
            value, slope, curvature = poisson.shape_curve(weights, trial, self.counts)
            value, slope = value - trial * cost, slope - cost
            better = value > best_value
            best, best_value = np.where(better, trial, best), np.where(better, value, best_value)
            # At most a factor of 4 a step: a flat curvature cannot throw a shape away.
            if step < SHAPE_STEPS:
                newton = trial - slope / np.minimum(curvature, -1e-12)
                trial = np.clip(np.clip(newton, trial / 4, trial * 4), *SHAPE_RANGE)
        self.shapes = best

    def allocate(self) -> float:
        """Update the expected counts and their sums; return the bound before the new topics."""
        topics, floor = self.topics()
        log_prior = self._log_prior(topics, floor)
        bound: float = poisson.allocate_counts(
            self.positives, self.shapes, self.activation, self.counts, topics, self.statistics
        )
        return bound + log_prior

    def topics(self) -> tuple[Floats, Floats]:
        """Return the most probable topics over the active labels, and over any other label."""
        # The mode under a Dirichlet(1 + smoothing) prior: counts plus smoothing, normalised.
        totals = self.statistics.sum(axis=0) + self.smoothing * self.n_labels
        topics = (self.statistics + self.smoothing) / totals
        return topics.astype(np.float32), (self.smoothing / totals).astype(np.float32)

    def _log_prior(self, topics: Floats, floor: Floats) -> float:
        absent = self.n_labels - len(topics)
        of_topics = np.log(topics).sum(dtype=np.float64) + absent * np.log(floor).sum()
        squares = np.einsum("d,dk,dk->", self.penalty, self.coefficients, self.coefficients)
        return float(self.smoothing * of_topics - 0.5 * squares - SHAPE_RATE * np.sum(self.shapes))

    def sparse_topics(self) -> poisson.SparseTopics:
        """Return the topics with their negligible entries left to the floor, for scoring."""
        topics, floor = self.topics()
        share = MIN_SHARE * self.statistics.sum(axis=1, keepdims=True)
        rows, columns = np.nonzero(self.statistics >= np.maximum(share, 1e-30))
        values = topics[rows, columns]
        # By topic, largest share first, as the kernel that scores expects them.
        order = np.lexsort((rows, -values, columns))
        indptr = np.zeros(len(floor) + 1, dtype=np.int64)
        np.cumsum(np.bincount(columns, minlength=len(floor)), out=indptr[1:])
        labels = self.active[rows[order]].astype(np.int32)
        return poisson.SparseTopics(indptr, labels, values[order], floor)


def start_em(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    weights: NDArray[np.float64],
    n_topics: int,
    *,
    l2: float,
    topic_prior: float,
    spread: float,
    seed: int,
    n_threads: int = 1,
) -> TopicEM:
    """Return the model before its first sweep.

    The topics start from soft groups of rows, the softmax of ``spread`` times a random projection
    of the features. So the start depends on neither the order of the rows nor the numbers of the
    labels.
    """
    # Labels without a row all have the same share: arrays are as wide as the labels that occur.
    active = np.unique(Y.indices).astype(np.int64)
    labels = np.searchsorted(active, Y.indices).astype(np.int32)
    known = sparse.csr_matrix((np.ones(Y.nnz), labels, Y.indptr), shape=(len(weights), len(active)))
    groups = _random_groups(X, n_topics, spread, seed)
    lengths = np.diff(Y.indptr).astype(np.float32)
    n_features = X.shape[1]
    penalty = np.full(n_features + 1, l2, dtype=np.float32)
    penalty[-1] = INTERCEPT_PENALTY
    # A row starts with its number of labels, split among the topics by its group.
    counts = lengths[:, None] * groups
    mean_count = np.maximum(weights @ counts / weights.sum(), 1e-6)
    coefficients = np.zeros((n_features + 1, n_topics), dtype=np.float32)
    # The mean strength of a topic is r exp(b): b starts where that is the mean count.
    coefficients[-1] = np.log(mean_count / START_SHAPE)
    ones = sparse.csr_matrix(np.ones((len(weights), 1), dtype=np.float32))
    design = Design.of(sparse.hstack([X, ones], format="csr", dtype=np.float32), n_threads)
    return TopicEM(
        design=design,
        positives=poisson.Positives(Y.indptr, labels, weights),
        active=active,
        n_labels=Y.shape[1],
        penalty=penalty,
        smoothing=topic_prior / Y.shape[1],
        coefficients=coefficients,
        shapes=np.full(n_topics, START_SHAPE),
        activation=np.tile(coefficients[-1], (len(weights), 1)),
        counts=counts,
        statistics=np.asarray(known.T @ (weights[:, None] * groups)),
    )


def _random_groups(X: sparse.csr_matrix, n_topics: int, spread: float, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((X.shape[1], n_topics), dtype=np.float32)
    groups = np.asarray(X @ directions, dtype=np.float32) * np.float32(spread)
    # A softmax is free of a common shift; this one keeps exp from overflow.
    groups -= groups.max(axis=1, keepdims=True)
    np.exp(groups, out=groups)
    groups /= groups.sum(axis=1, keepdims=True)
    return groups
