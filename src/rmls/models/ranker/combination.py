"""How the scores of the vectors, the sparse weights and further sources become one: learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.frequency import propensities
from rmls.core.numeric import N_BANDS, NewtonSteps, bands, sigmoid
from rmls.core.ranking import Ranking
from rmls.kernels.arrays import N_TERMS, ListScores, Mixture
from rmls.kernels.backend import csr_arrays, get_backend
from rmls.models.shared.training_set import TrainingSet

# Weights of a label with three rows deserve less trust than those of a frequent one, so that five
# frequencies have coefficients of their own (docs/research/ranker.md). What names and other sources
# say is worth has two: at 1 row, and at the largest frequency.
N_ENDS = 2
# Columns of a source of names: any match, share of the name, whole name, cosine, cosine above .2.
N_NAME_COLUMNS = 5
# The logit of a label without rows whose name is not in the text: never before one that is.
UNNAMED = -12.0
# What names are worth without rows, about as learned elsewhere, where matches are too few to learn.
PLAIN_UNSEEN = (6.0, 3.0, 0.0, 5.0, 0.0)
PLAIN_SLOPES = (-1.0, 3.0, 0.0, 5.0, 0.0)
# Labels with fewer rows are told apart by the rows that their scores were learned from.
RARE = 20.0
# Keeps the coefficients of a band without pairs at 0, and all of them finite.
RIDGE = 1.0
STEPS = NewtonSteps(max_steps=30, max_move=5.0, tolerance=1e-3)
# Of so many pairs and more, one in eight of those that hardly matter stands for all eight.
MANY_PAIRS, EASY_SHARE = 30_000, 1 / 8
PRECISION_AT = (1, 3, 5)
# A tenth of a point of precision.
TAIL_COST = 0.001
# Halvings: a boost is found to 1/128 of the largest.
BOOST_STEPS = 7
# Of the largest column: a nearly empty one would have a coefficient that the ridge hardly holds.
MIN_SCALE, MAX_COEFFICIENT = 1e-3, 1e30

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
    trusted : ndarray of float64, shape (n_labels,), optional
        Rows whose scores are trusted as theirs, where more: labels shown by a few examples.
    """

    positives: NDArray[np.float64]
    total: float
    trusted: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, data: TrainingSet) -> Frequencies:
        """Count the labels of weighted rows."""
        return cls(data.positives(), float(data.weights.sum()))

    @property
    def top(self) -> float:
        """The largest frequency, 1 at least."""
        return float(self.positives.max(initial=1.0))

    def rarity(self, top: float | None = None) -> NDArray[np.float64]:
        """Return the logarithm of the inverse propensity, 0 for a label with ``top`` rows."""
        # Only differences count in a ranking.
        most = self.top if top is None else top
        inverse = 1 / propensities(np.append(self.positives, most), max(1, round(self.total)))
        return np.asarray(np.log(inverse[:-1] / inverse[-1]))


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
    device : str
    rows : ndarray of int64, shape (n_rows,)
        Numbers of the rows in the training set.
    part_rows : tuple of int
        Rows of the parts that were put below one another: each was scored by another model, which
        was trained on all rows but these.
    more : ndarray of float32, shape (n_rows, size, n_columns), optional
        What further sources say; a source of names comes first.
    counts : ndarray of float32, shape (n_rows, size), optional
        Weight of the rows with the label in the training of this part; without it, in all rows.
    has_names : bool
        Whether the first of the further sources is one of names.
    """

    labels: NDArray[np.int32]
    own: Floats
    other: Floats
    truth: sparse.csr_matrix
    weights: NDArray[np.float64]
    device: str = "cpu"
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    part_rows: tuple[int, ...] = ()
    more: Floats | None = None
    counts: Floats | None = None
    has_names: bool = False

    @classmethod
    def stack(cls, parts: list[HeldOut]) -> HeldOut:
        """Put the rows of several parts below one another."""
        labels, own, other, weights, rows = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("labels", "own", "other", "weights", "rows")
        )
        truth = sparse.vstack([part.truth for part in parts], format="csr")
        sizes = tuple(len(part.rows) for part in parts)
        held = cls(labels, own, other, truth, weights, parts[0].device, rows, sizes)
        more, counts = (
            None
            if getattr(parts[0], name) is None
            else np.concatenate([getattr(part, name) for part in parts])
            for name in ("more", "counts")
        )
        return replace(held, more=more, counts=counts, has_names=parts[0].has_names)

    @property
    def scores(self) -> ListScores:
        """All scores of the listed labels."""
        more = no_more(self.labels) if self.more is None else self.more
        return ListScores(self.own, self.other, more)

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Which of the listed labels are relevant."""
        truth = csr_arrays(self.truth)
        return get_backend(self.device).mark_relevant(truth, self.labels, self.truth.shape[1])

    @property
    def n_more(self) -> int:
        """Number of columns of further sources."""
        return 0 if self.more is None else int(self.more.shape[2])

    @property
    def recall(self) -> float:
        """Share of the relevant labels that are listed."""
        total = float(self.weights @ np.diff(self.truth.indptr))
        return float(self.weights @ self.relevant.sum(axis=1)) / total if total else 1.0

    @property
    def unlisted(self) -> float:
        """Mean number of relevant labels of a row that are not listed."""
        # Expected F needs the size of the truth, of which a shortlist shows a part only.
        missing = np.diff(self.truth.indptr) - self.relevant.sum(axis=1)
        return float(self.weights @ missing) / float(self.weights.sum())

    def combined(self, mixture: Mixture) -> NDArray[np.float32]:
        """Return the combined scores of the listed labels."""
        return get_backend(self.device).mix_lists(self.labels, self.scores, mixture)

    def parts(self, frequencies: Frequencies) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield the rows that one model scored, and what it learned each of their labels from."""
        start = 0
        for n_rows in self.part_rows or (len(self.labels),):
            rows, start = slice(start, start + n_rows), start + n_rows
            learned = frequencies.positives.copy()
            if self.counts is not None:
                learned[self.labels[rows]] = self.counts[rows]
            yield rows, learned

    def ranking(self, mixture: Mixture) -> Ranking:
        """Return the listed labels by their combined scores."""
        combined, size = self.combined(mixture), self.labels.shape[1]
        best = get_backend(self.device).rank_lists(self.labels, combined, size)
        return Ranking.from_table(*best, self.truth.shape[1])


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
    slopes : ndarray of float64, shape (2, n_columns)
        Coefficients of further sources at 1 row and at the largest frequency.
    unseen : ndarray of float64, shape (n_columns,), optional
        Coefficients of further sources for labels without rows, where names are among them.
    lift : float
        Added to the logit of a label without rows where labels are ranked.
    top : float or None
        The largest frequency in the training: labels that come, go or grow later do not move the
        others. None is the largest that there is.
    """

    theta: NDArray[np.float64]
    knots: Floats
    slopes: NDArray[np.float64] = field(default_factory=lambda: np.zeros((N_ENDS, 0)))
    unseen: NDArray[np.float64] | None = None
    lift: float = 0.0
    top: float | None = None

    def mixture(self, frequencies: Frequencies, tail: float | None = None) -> Mixture:
        """Return the coefficients of every label; those that rank have a ``tail`` of 0 or more."""
        positives = frequencies.positives
        top = frequencies.top if self.top is None else self.top
        trust = np.maximum(positives, 0.0 if frequencies.trusted is None else frequencies.trusted)
        near, ends = bands(trust, top), bands(trust, top, N_ENDS)
        table = np.hstack([near @ self.theta, ends @ self.slopes])
        # Neither weights nor vectors have learned anything of labels without rows.
        table[positives == 0] = 0.0
        table[positives == 0, 0] = UNNAMED
        if self.unseen is not None:
            table[positives == 0, N_TERMS:] = self.unseen
        if tail is not None:
            # A constant on the logit multiplies the odds: by (1 / propensity)^tail, what PSP@k
            # rewards at 1.
            table[:, 0] += tail * frequencies.rarity(top)
            table[positives == 0, 0] += self.lift
        # A boost of any size leaves room for a sum in float32.
        table = np.clip(table, -MAX_COEFFICIENT, MAX_COEFFICIENT)
        return Mixture(table.astype(np.float32), self.knots)


def combine(
    held: HeldOut, frequencies: Frequencies, tail: float | None, n_threads: int = 1
) -> tuple[Combination, float]:
    """Learn the combination and, where none is given, how much rare labels are boosted."""
    learned = fit_combination(held, frequencies, n_threads)
    if not held.has_names or learned.unseen is not None:
        return learned, choose_tail(held, learned, frequencies) if tail is None else tail
    from rmls.models.ranker.unseen import choose_lift, with_unseen

    learned = with_unseen(learned, held, frequencies, n_threads)
    if tail is not None:
        return learned, tail
    tail = choose_tail(held, learned, frequencies)
    return replace(learned, lift=choose_lift(held, learned, frequencies, tail)), tail


def plain_combination(n_more: int = 0, has_names: bool = False) -> Combination:
    """Return the combination that is used where no row can be held out."""
    # Twice the classifier's score and a little of the representation's, for every frequency.
    theta = np.tile(np.array([0.0, 2.0, 0.0, 0.0, 0.2, 0.0]), (N_BANDS, 1))
    slopes, unseen = np.zeros((N_ENDS, n_more)), None
    if has_names:
        # Most for labels of few rows.
        unseen = np.zeros(n_more)
        unseen[:N_NAME_COLUMNS] = PLAIN_UNSEEN
        slopes[0, :N_NAME_COLUMNS] = PLAIN_SLOPES
    return Combination(theta, np.zeros(3, np.float32), slopes, unseen)


def no_more(labels: NDArray[np.int32]) -> Floats:
    """Return what no further source says of the listed labels."""
    return np.zeros((*labels.shape, 0), np.float32)


def fit_combination(held: HeldOut, frequencies: Frequencies, n_threads: int = 1) -> Combination:
    """Fit the combination to held-out rows by logistic regression.

    Where no listed label is relevant, or every one, the plain combination is returned.
    """
    counts = frequencies.positives[held.labels]
    if held.counts is not None:
        # Rare labels by what their scores were learned from: a label whose last row was held out
        # has none there. A frequent one has as many anyway, and the more of them in the held-out
        # part the fewer in the other, which must not be learned from.
        counts = np.where(counts < RARE, held.counts, counts)
    counts, relevant = counts.ravel(), held.relevant.ravel()
    known = counts > 0
    right = relevant & known
    if not right.any() or relevant[known].all():
        return plain_combination(held.n_more, held.has_names)
    # Quantiles of relevant pairs: nearly all pairs are irrelevant and would put every bend below.
    bends = [*np.quantile(held.own.ravel()[right], (0.2, 0.6))]
    knots = np.array([*bends, np.quantile(held.other.ravel()[right], 0.5)], np.float32)
    use, weights = _choose_pairs(held, known, knots)
    near = bands(counts[use], frequencies.top)
    # Neighbours in frequency see the same two bands: the regression looks at no other columns.
    order = np.argsort((near > 0).argmax(axis=1).astype(np.uint8), kind="stable")
    use, weights, near = use[order], weights[order], near[order]
    relevant = relevant[use]
    own, other = held.own.ravel()[use], held.other.ravel()[use]
    terms = np.empty((len(own), N_TERMS), np.float32)
    terms[:, 0], terms[:, 1], terms[:, 4] = 1.0, own, other
    np.maximum(own - knots[0], 0, out=terms[:, 2])
    np.maximum(own - knots[1], 0, out=terms[:, 3])
    np.maximum(other - knots[2], 0, out=terms[:, 5])
    # 30 columns: every term times the nearness to every band, so that one regression fits all;
    # and what further sources say, times the nearness to both ends.
    design = _times(near, terms)
    if held.more is not None:
        more = held.more.reshape(-1, held.n_more)[use]
        design = np.hstack([design, _times(bands(counts[use], frequencies.top, N_ENDS), more)])
    theta = regress(design, relevant, weights, (n_threads, held.device), out=design)
    shared, slopes = np.split(theta, [N_BANDS * N_TERMS])
    # Labels of such frequencies may come later: what holds for the nearest holds for them.
    found = np.flatnonzero(near.any(axis=0))
    nearest = found[np.abs(np.arange(N_BANDS)[:, None] - found).argmin(axis=1)]
    table = shared.reshape(N_BANDS, N_TERMS)[nearest]
    return Combination(table, knots, slopes.reshape(N_ENDS, -1))


def _times(near: NDArray[np.float64], terms: Floats) -> Floats:
    """Return every column of one table times every column of the other."""
    product: Floats = near.astype(np.float32)[:, :, None] * terms[:, None, :]
    return product.reshape(len(terms), near.shape[1] * terms.shape[1])


def _choose_pairs(
    held: HeldOut, known: NDArray[np.bool_], knots: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Return the places of the pairs that the regression sees, and what each of them weighs.

    Of many pairs it sees a part of those that are irrelevant, score below the first bends and
    match no name, each for several: their probabilities are near 0 with any coefficients.
    """
    weights = np.repeat(held.weights, held.labels.shape[1]).astype(np.float32)
    if known.sum() < MANY_PAIRS:
        use = np.flatnonzero(known)
        return use, weights[use]
    easy = ~held.relevant & (held.own < knots[0]) & (held.other < knots[2])
    if held.more is not None:
        easy &= ~held.more.any(axis=2)
    drawn = np.random.default_rng(0).random(easy.size, dtype=np.float32) < EASY_SHARE
    use = np.flatnonzero(known & (drawn | ~easy.ravel()))
    weights[easy.ravel()] *= np.float32(1 / EASY_SHARE)
    return use, weights[use]


def choose_tail(held: HeldOut, combination: Combination, frequencies: Frequencies) -> float:
    """Return how much rare labels can be boosted at the accepted cost in expected precision."""
    logits = held.combined(combination.mixture(frequencies))
    rarity = frequencies.rarity().astype(np.float32)
    return largest_boost(held, logits, np.zeros_like(rarity), rarity, TAIL_COST)


def largest_boost(
    held: HeldOut, logits: Floats, before: Floats, boost: Floats, cost: float, most: float = 1.0
) -> float:
    """Return the largest multiple of a boost, up to ``most``, whose cost in precision is accepted.

    The boost is added to logits that were raised by ``before``. The precision expected at k is the
    mean probability of the k best labels: free of the noise of the labels that rows happen to have.
    """
    rank, depth = get_backend(held.device).rank_lists, min(max(PRECISION_AT), logits.shape[1])

    def expected(times: float) -> float:
        # Ranked with the boost, valued without: what the boost costs in expected hits.
        added = before + np.float32(times) * boost
        labels, scores = rank(held.labels, logits + added[held.labels], depth)
        kept = sigmoid(scores.astype(np.float64) - added[labels])
        depths = [held.weights @ kept[:, :k].mean(axis=1) for k in PRECISION_AT]
        return float(np.mean(depths) / held.weights.sum())

    least = expected(0.0) - cost
    if expected(most) >= least:
        return most
    # ``low`` is always a multiple whose cost is accepted.
    low, high = 0.0, most
    for _ in range(BOOST_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) >= least else (low, middle)
    return low


def regress(
    design: Floats, relevant: Any, weights: Floats, place: Any = (1, "cpu"), out: Any = None
) -> NDArray[np.float64]:
    """Return coefficients of a logistic regression; ``place`` is a number of threads, a device.

    ``out`` is memory for the design, scaled; it may be the design itself.
    """
    # Columns of unit mean square: one ridge then weighs alike on counts, scores and bends.
    scale = np.sqrt(np.einsum("ij,ij->j", design, design) / len(design)).astype(np.float64)
    scale = np.maximum(scale, MIN_SCALE * scale.max() or 1.0)
    rows, (n_threads, device) = np.divide(design, scale.astype(np.float32), out=out), place
    fit = get_backend(device).fit_logistic
    theta = fit(rows, weights, weights * relevant, RIDGE, STEPS, n_threads)
    return np.asarray(theta / scale)
