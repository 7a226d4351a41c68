"""From scores to probabilities: one curve, a bias for each label, own curves for frequent ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.numeric import (
    N_GROUPS,
    bend_curve,
    curve_bands,
    estimate_deviation,
    fit_biases,
    fit_curve,
    fit_line,
    half_octaves,
    measure_misfit,
)
from rmls.core.options import check_choice
from rmls.core.ranking import Ranking
from rmls.core.resources import on_one_thread
from rmls.core.sparse import as_label_csr, check_sparse
from rmls.kernels.backend import read_only

METHODS = ("auto", "temperature", "platt", "isotonic")
# Fewer positives would let a free curve follow their noise.
OWN_CURVE_POSITIVES = 100
# A priori a label is within 40% of the odds of its curve, two times out of three: with more room
# chance becomes a bias, and labels are predicted that came more often than they will.
BIAS_DEVIATION = 0.35
Floats = NDArray[np.float64]

# Two tables of float32: 8 MB, unless 24 bins a label are more.
MAX_COUNTS = 1 << 20
MAX_BINS, MIN_BINS = 256, 24
# What float32 can divide by, and hold.
MIN_STEP, MAX_SCORE = 1e-30, float(np.finfo(np.float32).max)
# Of the range of the first block, on both sides; what lies beyond goes to the outermost bins.
MARGIN = 0.1


@dataclass(frozen=True)
class Calibration:
    """A map from the scores of a model to probabilities.

    Attributes
    ----------
    low, step : float
        Grid of scores on which the curves are given.
    slope : float
        How curves go on beyond the grid.
    curves : ndarray of float32, shape (n_curves, n_points)
        Logits; the first curve serves every label without one of its own.
    curve_of : ndarray of int32, shape (n_labels,)
    bias : ndarray of float32, shape (n_labels,)
        Added to the logit.

    Examples
    --------
    >>> counts = ScoreCounts.covering([[-3.0], [3.0]])
    >>> counts.add([[-1.0]] * 8 + [[1.0]] * 8, [[0]] * 6 + [[1]] * 2 + [[0]] * 2 + [[1]] * 6)
    >>> calibration = fit_calibration(counts, "platt")
    >>> calibration.probabilities([[-1.0], [1.0]]).round(2).ravel().tolist()
    [0.25, 0.75]
    """

    low: float
    step: float
    slope: float
    curves: NDArray[np.float32]
    curve_of: NDArray[np.int32]
    bias: NDArray[np.float32]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.bias)

    def probabilities(
        self, scores: ArrayLike, labels: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return the probabilities of a dense block of scores, (n_rows, n_labels).

        ``labels`` are the numbers of the columns, where they are not all labels.
        """
        from rmls.kernels.cpu.decide.blocks import to_probabilities

        block = np.ascontiguousarray(scores, dtype=np.float32)
        columns = np.arange(self.n_labels) if labels is None else labels
        if block.ndim != 2 or block.shape[1] != len(columns):
            raise InputError(
                f"scores have shape {block.shape}, but the calibration is for "
                f"{len(columns)} labels."
            )
        out = np.empty_like(block)
        to_probabilities(block, columns, *self._numbers(), out)
        return out

    def of_entries(
        self, scores: NDArray[np.float32], labels: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """Return the probabilities of some scores, each with the number of its label."""
        from rmls.kernels.cpu.decide.blocks import entries_to_probabilities

        flat = np.ascontiguousarray(scores, dtype=np.float32).ravel()
        out = np.empty_like(flat)
        entries_to_probabilities(flat, np.ravel(labels), *self._numbers(), out)
        return out.reshape(np.shape(scores))

    def apply(self, ranking: Ranking) -> Ranking:
        """Return a ranking by probability: its scores are the probabilities, sorted anew."""
        from rmls.kernels.cpu.decide.blocks import order_rows

        if ranking.n_labels != self.n_labels:
            raise InputError(
                f"the ranking is of {ranking.n_labels} labels, but the calibration is for "
                f"{self.n_labels} labels."
            )
        found = self.of_entries(ranking.scores, ranking.labels)
        order = np.empty(len(found), dtype=np.int64)
        order_rows(ranking.indptr, ranking.labels, found, order)
        labels, sorted_ = ranking.labels[order], found[order]
        return Ranking(
            ranking.indptr, labels, sorted_, ranking.n_labels, None, sorted_, ranking.names
        )

    def _numbers(self) -> tuple[Any, ...]:
        scalars = (np.float32(self.low), np.float32(self.step))
        arrays = map(read_only, (self.curves, self.curve_of, self.bias))
        return (*scalars, *arrays, np.float32(self.slope))


@on_one_thread
def fit_calibration(
    counts: ScoreCounts, method: str = "auto", label_counts: ArrayLike | None = None
) -> Calibration:
    """Fit the map from scores to probabilities to counts of held-out scores.

    Parameters
    ----------
    counts : ScoreCounts
        Of rows that the model was not trained on.
    method : {"auto", "temperature", "platt", "isotonic"}, default="auto"
        ``"platt"``: a straight line, in logits, for all labels. ``"temperature"``: a line, and a
        bias for each label, shrunk the more the fewer rows tell about it. ``"isotonic"``: any
        rising curve instead of the line, and one of its own for every label with at least 100
        held-out positives. ``"auto"``: the rising curve, moved and bent with the frequency of the
        label, and the biases.
    label_counts : array-like of shape (n_labels,), optional
        Training rows of every label; without them all labels share the curve.

    Notes
    -----
    The bias of a label has a normal prior of deviation 0.35 or less: one without positives keeps
    its curve. Rising curves are centred isotonic regression in logits: straight between the means
    of the pooled blocks, so that they keep the order of the scores.

    Examples
    --------
    >>> counts = ScoreCounts.covering([[-3.0], [3.0]])
    >>> counts.add([[-1.0]] * 8 + [[1.0]] * 8, [[0]] * 6 + [[1]] * 2 + [[0]] * 2 + [[1]] * 6)
    >>> fit_calibration(counts, "platt").probabilities([[1.0]]).round(2).tolist()
    [[0.75]]
    """
    check_choice("calibration", method, METHODS)
    centres = counts.centres
    total, positive = (c.sum(axis=0, dtype=np.float64) for c in (counts.total, counts.positive))
    if not positive.any():
        raise InputError("calibration needs held-out rows with labels; there are none.")
    # Logits slope s + offset: the fallback of the curve where bins are empty, and beyond the grid.
    slope, offset = fit_line(centres, total, positive)
    line = slope * centres + offset
    rising = method in ("auto", "isotonic")
    curve = fit_curve(centres, total, positive, line) if rising else line
    bias = np.zeros(counts.n_labels)
    curves, curve_of = [curve], np.zeros(counts.n_labels, dtype=np.int32)
    if method == "auto" and label_counts is not None:
        groups = counts.by_frequency(label_counts) if counts.groups is None else counts.groups
        curves, curve_of = curves_by_frequency(curve, groups, label_counts)
    if method != "platt":
        # One number a label is what few rows can support; the shape of the curve is shared.
        bias = _fit_biases(curves, curve_of, counts)
    if method == "isotonic":
        for label in np.flatnonzero(counts.positive.sum(axis=1) >= OWN_CURVE_POSITIVES):
            own = (counts.total[label].astype(float), counts.positive[label].astype(float))
            curve_of[label] = len(curves)
            # Bins without pairs follow the common curve with the bias that the label had.
            curves.append(fit_curve(centres, *own, curve + bias[label]))
            bias[label] = 0.0
    return Calibration(
        float(centres[0]),
        counts.step,
        float(slope),
        np.asarray(curves, dtype=np.float32),
        curve_of,
        bias.astype(np.float32),
    )


def _fit_biases(curves: list[Floats], curve_of: NDArray[np.int32], counts: ScoreCounts) -> Floats:
    parts = [np.flatnonzero(curve_of == number) for number in range(len(curves))]
    tables = [(counts.total[own], counts.positive[own]) for own in parts]
    pairs = list(zip(curves, tables, strict=True))
    deviation = BIAS_DEVIATION
    # Of folds, what one has too many of a label the others have too few: their sum says too little
    # of how much labels differ.
    if counts.n_models == 1:
        misfit = np.hstack([measure_misfit(curve, *table) for curve, table in pairs])
        deviation = estimate_deviation(misfit[0], misfit[1], BIAS_DEVIATION)
    bias = np.zeros(counts.n_labels)
    for own, (curve, table) in zip(parts, pairs, strict=True):
        bias[own] = fit_biases(curve, *table, deviation)
    return bias


def curves_by_frequency(
    curve: Floats, groups: Floats, label_rows: ArrayLike
) -> tuple[list[Floats], NDArray[np.int32]]:
    """Return the common curve and those of frequencies, and the curve of every label.

    Rare labels are scored by vectors and weights of few rows, which are too sure or not sure
    enough of them all alike. Labels without rows keep the common curve.
    """
    rows = np.asarray(label_rows, dtype=np.float64)
    known, top = np.flatnonzero(groups[0].any(axis=1)), float(rows.max(initial=1.0))
    places, curve_of = np.unique(half_octaves(rows), return_inverse=True)
    if not len(known):
        return [curve], np.zeros(len(rows), dtype=np.int32)
    near, wanted = (curve_bands(each, top) for each in (known, places))
    bent = bend_curve(curve, groups[:, known], near, wanted)
    return [curve, *bent], np.where(rows > 0, curve_of + 1, 0).astype(np.int32)


@dataclass
class ScoreCounts:
    """How often the labels get a score, and how often they are relevant then.

    Memory is that of the bins, whatever the number of rows: at most a million bins, or 24 a label.

    Attributes
    ----------
    low, step : float
        Bin b of a label holds scores from ``low + b * step``.
    total, positive : ndarray of float32, shape (n_labels, n_bins)
        Weight of all pairs of row and label, and of the relevant ones.
    groups : ndarray of float64, shape (2, n_groups, n_bins), optional
        Both by the rows that labels had in the training of the model that scored them.
    n_models : int
        How many models scored the rows, where that is known.

    Examples
    --------
    >>> counts = ScoreCounts.covering([[-2.0, 2.0]])
    >>> counts.add([[-1.0, 1.0], [0.5, -2.0]], [[0, 1], [1, 0]])
    >>> float(counts.total.sum()), counts.positive.sum(axis=1).tolist()
    (4.0, [1.0, 1.0])
    """

    low: float
    step: float
    total: NDArray[np.float32]
    positive: NDArray[np.float32]
    groups: Floats | None = None
    n_models: int = 0

    @classmethod
    def covering(cls, scores: Any) -> ScoreCounts:
        """Return empty counts for scores that lie about where those of a first block lie.

        Parameters
        ----------
        scores : array-like or sparse matrix of shape (n_rows, n_labels)
        """
        check_sparse(scores, "scores")
        block: Any = scores if sparse.issparse(scores) else np.asarray(scores, dtype=np.float32)
        values = sparse.csr_matrix(block).data if sparse.issparse(scores) else block
        if block.ndim != 2 or not values.size:
            raise InputError("bins are laid over a block of scores (rows × labels) that has some.")
        low, high = float(values.min()), float(values.max())
        _check_finite(low, high)
        # Bins wide enough for float32 to tell apart, where all scores are nearly equal.
        margin = MARGIN * (high - low) + 1e-4 * max(abs(low), abs(high)) or 1e-3
        n_labels = int(block.shape[1])
        n_bins = int(np.clip(MAX_COUNTS // n_labels, MIN_BINS, MAX_BINS))
        step = max((high - low + 2 * margin) / n_bins, MIN_STEP)
        low = max(low - margin, -MAX_SCORE)
        empty = np.zeros((2, n_labels, n_bins), dtype=np.float32)
        return cls(low, step, empty[0], empty[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.total)

    @property
    def centres(self) -> Floats:
        """Score in the middle of every bin."""
        return np.asarray(self.low + self.step * (np.arange(self.total.shape[1]) + 0.5))

    def empty(self) -> ScoreCounts:
        """Return counts of nothing, in the same bins."""
        total, positive = np.zeros_like(self.total), np.zeros_like(self.total)
        return ScoreCounts(self.low, self.step, total, positive)

    def join(self, part: ScoreCounts, label_rows: ArrayLike) -> None:
        """Add the counts of rows by a model that learned each label from so many rows.

        New rows are to a label what rows were that had no part in its number: with all rows
        counted, a rare label seems to come as often as it did in the training.
        """
        self.total += part.total
        self.positive += part.positive
        found = part.by_frequency(label_rows)
        self.groups = found if self.groups is None else self.groups + found
        self.n_models += 1

    def by_frequency(self, label_rows: ArrayLike) -> Floats:
        """Return the counts of all labels of about 1 row, 1.4, 2, 2.8, 4, and so on."""
        rows = np.asarray(label_rows, dtype=np.float64)
        # Of labels that a model knows nothing of nothing is learned.
        labels = np.flatnonzero(rows > 0)
        entries = (np.ones(len(labels)), (half_octaves(rows[labels]), labels))
        # A matrix of ones adds up the labels of each group.
        adds = sparse.csr_matrix(entries, shape=(N_GROUPS, self.n_labels))
        return np.stack([adds @ self.total, adds @ self.positive])

    def add(self, scores: Any, Y: Any, weights: ArrayLike | None = None) -> None:
        """Count a block of scores; ``Y`` says which labels are relevant.

        Parameters
        ----------
        scores : array-like or sparse matrix of shape (n_rows, n_labels)
            Of a sparse matrix the stored entries count, zeros among them, and no others.
        Y : array-like or sparse matrix of 0/1, shape (n_rows, n_labels)
        weights : array-like of shape (n_rows,), optional
        """
        check_sparse(scores, "scores")
        listed = sparse.issparse(scores)
        block: Any = sparse.csr_matrix(scores) if listed else np.asarray(scores, dtype=np.float32)
        truth = as_label_csr(Y)
        if block.shape != truth.shape or block.shape[1] != self.n_labels:
            raise InputError(
                f"scores of shape {block.shape} and labels of shape {truth.shape} do not fit "
                f"{self.n_labels} labels."
            )
        rows = np.ones(block.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        if rows.shape != block.shape[:1]:
            raise InputError(f"weights of shape {rows.shape} do not fit {block.shape[0]} rows.")
        if listed:
            self._add_entries(block, truth, rows)
        else:
            self._add_block(np.ascontiguousarray(block), truth, rows)

    def _add_block(
        self, block: NDArray[np.float32], truth: sparse.csr_matrix, weights: Floats
    ) -> None:
        from rmls.kernels.cpu.decide.blocks import count_block

        if block.size:
            _check_finite(float(block.min()), float(block.max()))
        count_block(
            block,
            truth.indptr.astype(np.int64),
            truth.indices.astype(np.int64),
            weights.astype(np.float32),
            np.float32(self.low),
            np.float32(self.step),
            self.total,
            self.positive,
        )

    def _add_entries(
        self, listed: sparse.csr_matrix, truth: sparse.csr_matrix, weights: Floats
    ) -> None:
        if not listed.nnz:
            return
        _check_finite(float(listed.data.min()), float(listed.data.max()))
        rows = np.repeat(np.arange(listed.shape[0], dtype=np.int64), np.diff(listed.indptr))
        true_rows = np.repeat(np.arange(truth.shape[0], dtype=np.int64), np.diff(truth.indptr))
        # (row, label) as one number: membership without a dense matrix.
        relevant = np.isin(
            rows * self.n_labels + listed.indices, true_rows * self.n_labels + truth.indices
        )
        n_bins = self.total.shape[1]
        places = np.clip((listed.data - self.low) / self.step, 0, n_bins - 1).astype(np.int64)
        # (label, bin) as one number: a single count fills the table.
        index = listed.indices.astype(np.int64) * n_bins + places
        for counts, chosen in ((self.total, slice(None)), (self.positive, relevant)):
            added = np.bincount(index[chosen], weights[rows][chosen], counts.size)
            counts += added.reshape(counts.shape).astype(np.float32)


def _check_finite(*values: float) -> None:
    if not np.isfinite(values).all():
        raise InputError("scores must be finite numbers to be counted.")
