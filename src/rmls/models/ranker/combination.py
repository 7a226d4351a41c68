"""How the scores of the representation and of the sparse weights become one: learned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.propensity import propensities
from rmls.kernels import cpu

N_BANDS = 5
N_TERMS = 6
RIDGE = 1.0
NEWTON_STEPS = 30
MOST_MOVE = 5.0
PRECISION_AT = (1, 3, 5)
TAIL_COST = 0.001
TAIL_STEPS = 7

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Frequencies:
    """How often the labels occur in the training rows.

    Attributes
    ----------
    positives : ndarray of float64, shape (n_labels,)
        Weight of the rows that have the label.
    total : float
        Weight of all rows.
    """

    positives: NDArray[np.float64]
    total: float

    @classmethod
    def of(cls, Y: sparse.csr_matrix, weights: NDArray[np.float64]) -> Frequencies:
        """Count the labels of weighted rows."""
        return cls(np.asarray(weights @ Y, dtype=np.float64), float(weights.sum()))

    def rarity(self) -> NDArray[np.float64]:
        """Return the logarithm of the inverse propensity, 0 for the most frequent label."""
        inverse = 1 / propensities(self.positives, max(1, round(self.total)))
        return np.asarray(np.log(inverse / inverse.min()))


@dataclass(frozen=True)
class HeldOut:
    """Scores of the listed labels of rows that the model was not trained on.

    Attributes
    ----------
    labels : ndarray of int32, shape (n_rows, size)
    own, other : ndarray of float32, shape (n_rows, size)
        Scores of the sparse weights and of the representation.
    truth : CSR matrix of shape (n_rows, n_labels)
        Relevant labels of every row, listed or not.
    weights : ndarray of float64, shape (n_rows,)
    """

    labels: NDArray[np.int32]
    own: Floats
    other: Floats
    truth: sparse.csr_matrix
    weights: NDArray[np.float64]

    @classmethod
    def stack(cls, parts: list[HeldOut]) -> HeldOut:
        """Put the rows of several parts below one another."""
        labels, own, other, weights = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("labels", "own", "other", "weights")
        )
        truth = sparse.vstack([part.truth for part in parts], format="csr")
        return cls(labels, own, other, truth, weights)

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Which of the listed labels are relevant."""
        out = np.zeros(self.labels.shape, dtype=bool)
        arrays = (self.truth.indptr.astype(np.int64), self.truth.indices.astype(np.int32))
        cpu.mark_relevant(*arrays, self.labels, self.truth.shape[1], out)
        return out

    @property
    def recall(self) -> float:
        """Share of the relevant labels that are listed."""
        total = float(self.weights @ np.diff(self.truth.indptr))
        return float(self.weights @ self.relevant.sum(axis=1)) / total if total else 1.0

    @property
    def unlisted(self) -> float:
        """Mean number of relevant labels of a row that are not listed."""
        missing = np.diff(self.truth.indptr) - self.relevant.sum(axis=1)
        return float(self.weights @ missing) / float(self.weights.sum())

    def combined(self, mixture: cpu.Mixture) -> NDArray[np.float32]:
        """Return the combined scores of the listed labels."""
        out = np.empty_like(self.own)
        cpu.mix_listed(self.labels, self.own, self.other, mixture, out)
        return out


@dataclass(frozen=True)
class Combination:
    """A logit, piecewise linear in both scores, whose coefficients follow the label's frequency.

    Attributes
    ----------
    theta : ndarray of float64, shape (5, 6)
        Coefficients at five frequencies, evenly spaced in the logarithm from 1 to the largest;
        labels in between get the mean of the two nearest.
    knots : ndarray of float32, shape (3,)
        Where the lines bend: two in the score of the weights, one in that of the representation.
    """

    theta: NDArray[np.float64]
    knots: Floats

    def mixture(self, frequencies: Frequencies, tail: float = 0.0) -> cpu.Mixture:
        """Return the coefficients of every label, with rare labels favoured by ``tail``."""
        table = bands(frequencies.positives) @ self.theta
        table[:, 0] += tail * frequencies.rarity()
        return cpu.Mixture(table.astype(np.float32), self.knots)


def plain_combination() -> Combination:
    """Return the combination that is used where no row can be held out."""
    theta = np.tile(np.array([0.0, 2.0, 0.0, 0.0, 0.2, 0.0]), (N_BANDS, 1))
    return Combination(theta, np.zeros(3, np.float32))


def bands(positives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how near every label is to each of the five frequencies; rows sum to 1.

    Examples
    --------
    >>> bands(np.array([1.0, 4.0, 256.0])).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    logs = np.log2(np.maximum(positives, 1.0))
    top = max(float(logs.max(initial=0.0)), 1.0)
    place = logs / top * (N_BANDS - 1)
    return np.asarray(np.maximum(1 - np.abs(place[:, None] - np.arange(N_BANDS)), 0.0))


def fit_combination(held: HeldOut, frequencies: Frequencies) -> Combination:
    """Fit the combination to held-out rows by logistic regression.

    Where no listed label is relevant, or every one, the plain combination is returned.
    """
    relevant = held.relevant.ravel()
    if not relevant.any() or relevant.all():
        return plain_combination()
    own, other, labels = held.own.ravel(), held.other.ravel(), held.labels.ravel()
    knots = np.array(
        [*np.quantile(own[relevant], (0.2, 0.6)), np.quantile(other[relevant], 0.5)], np.float32
    )
    terms = np.empty((len(own), N_TERMS), np.float32)
    terms[:, 0], terms[:, 1], terms[:, 4] = 1.0, own, other
    np.maximum(own - knots[0], 0, out=terms[:, 2])
    np.maximum(own - knots[1], 0, out=terms[:, 3])
    np.maximum(other - knots[2], 0, out=terms[:, 5])
    near = bands(frequencies.positives).astype(np.float32)[labels]
    design = (near[:, :, None] * terms[:, None, :]).reshape(len(own), -1)
    weights = np.repeat(held.weights, held.labels.shape[1])
    theta = regress(design, relevant, weights.astype(np.float32))
    return Combination(theta.reshape(N_BANDS, N_TERMS), knots)


def usual_tail(held: HeldOut, combination: Combination, frequencies: Frequencies) -> float:
    """Return how much rare labels can be favoured at the usual cost in expected precision.

    The precision expected at k is the mean probability of the k best labels, by the combination:
    the cost of a power is then free of the noise of the labels that the rows happen to have.
    """
    logits = held.combined(combination.mixture(frequencies))
    probabilities = 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))
    rarity = frequencies.rarity().astype(np.float32)[held.labels]

    def expected(tail: float) -> float:
        best = np.argsort(-(logits + np.float32(tail) * rarity), axis=1, kind="stable")
        kept = np.take_along_axis(probabilities, best[:, : max(PRECISION_AT)], axis=1)
        depths = [held.weights @ kept[:, :k].mean(axis=1) for k in PRECISION_AT]
        return float(np.mean(depths) / held.weights.sum())

    least = expected(0.0) - TAIL_COST
    if expected(1.0) >= least:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(TAIL_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) >= least else (low, middle)
    return low


def regress(design: Floats, relevant: NDArray[np.bool_], weights: Floats) -> NDArray[np.float64]:
    """Return the coefficients of a logistic regression with a small ridge on scaled columns."""
    scale = np.sqrt(np.einsum("ij,ij->j", design, design) / len(design)).astype(np.float64)
    scale[scale == 0] = 1.0
    scaled = design / scale.astype(np.float32)
    theta = np.zeros(design.shape[1])
    target = weights * relevant
    for _ in range(NEWTON_STEPS):
        p = 0.5 * (1 + np.tanh(0.5 * (scaled @ theta.astype(np.float32))))
        gradient = (scaled.T @ (weights * p - target)).astype(np.float64) + RIDGE * theta
        curved = scaled * (weights * p * (1 - p))[:, None]
        hessian = (curved.T @ scaled).astype(np.float64) + RIDGE * np.eye(len(theta))
        move = np.linalg.solve(hessian, gradient)
        theta -= move * min(1.0, MOST_MOVE / max(float(np.abs(move).max()), 1e-12))
        if np.abs(move).max() < 1e-3:
            break
    return np.asarray(theta / scale)
