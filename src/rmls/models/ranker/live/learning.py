"""New rows for a fitted ranker: its classifiers, its later labels, its probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.numeric import sigmoid
from rmls.core.resources import count_threads, for_blocks
from rmls.decide import Calibration
from rmls.kernels.arrays import DUAL_LOSSES, Csr, Pairs, Problem
from rmls.kernels.backend import csr_arrays, get_backend
from rmls.models.ranker.live.blocks import LabelParts, as_csr, change_labels, later_block
from rmls.models.ranker.live.newcomers import VectorMaker
from rmls.models.ranker.scoring import LabelBlock
from rmls.models.ranker.sources import Background, Rows
from rmls.models.ranker.trainer import ClassifierOptions

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

# The mean of all rows stands for so many rows without a new label.
BACKGROUND_COST = 20.0
# Features that the mean of all rows is known by.
USUAL_FEATURES = 1_000
# Rows from which the probabilities of a model were learned, about: new ones count against these.
KNOWN_ROWS = 2_000.0
# What the slope and the offset of the correction may be, in logits.
MAX_SLOPE, MAX_OFFSET, NEWTON_STEPS = 2.0, 3.0, 20

Floats = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class NewRows:
    """Rows to learn from.

    Attributes
    ----------
    rows : Rows
        Normalised.
    Y : CSR matrix of shape (n_rows, n_labels)
    weights : ndarray of float64, shape (n_rows,)
    rejected : CSR matrix of shape (n_rows, n_labels), optional
        The labels that are known to be wrong; nothing is known of others. Without it every label
        that a row does not have is wrong.
    fresh : ndarray of int64
        Labels that the model has only just got.
    """

    rows: Rows
    Y: sparse.csr_matrix
    weights: NDArray[np.float64]
    rejected: sparse.csr_matrix | None
    fresh: Places

    def columns(self, first: int, stop: int) -> NewRows:
        """Return the rows with some of the labels, one after the other."""
        fresh = self.fresh[(self.fresh >= first) & (self.fresh < stop)] - first
        rejected = None if self.rejected is None else self.rejected[:, first:stop]
        return replace(self, Y=self.Y[:, first:stop], rejected=rejected, fresh=fresh)


def learn_rows(changed: RMLSRanker, blocks: list[LabelBlock], new: NewRows) -> list[LabelBlock]:
    """Let a copy of a model learn from rows; returns the blocks that know them."""
    blocks = _introduce(changed, blocks, new)
    changed._set_scorer(*blocks)
    listed, logits = _look(changed, new.rows)
    if new.rejected is None:
        # Before they are learned: rows that the model has not seen.
        _calibrate(changed, listed, logits, new)
        new = replace(new, rejected=_as_matrix(listed, new.Y.shape[1]))
    positives = new.weights @ new.Y
    frequencies = changed._frequencies
    changed._frequencies = replace(
        frequencies,
        positives=frequencies.positives + positives,
        total=frequencies.total + float(new.weights.sum()),
    )
    changed.label_counts_ = changed.label_counts_ + np.diff(new.Y.tocsc().indptr)
    if changed._kept_rows is not None:
        changed._kept_rows = changed._kept_rows.append(new.rows.X, new.Y, changed.n_samples_)
    changed.n_samples_ += new.Y.shape[0]
    updater = Updater.of(changed)
    return [updater.update(block, new) for block in blocks]


def learn_examples(
    changed: RMLSRanker, blocks: list[LabelBlock], new: NewRows, labels: Places
) -> list[LabelBlock]:
    """Let some later labels of a copy of a model learn from rows; all others stay as they are."""
    blocks = _introduce(changed, blocks, new)
    changed._set_scorer(*blocks)
    listed, _ = _look(changed, new.rows)
    wrong = _as_matrix(listed, new.Y.shape[1])
    new = replace(new, Y=_only(new.Y, labels), rejected=_only(wrong, labels))
    frequencies, others = changed._frequencies, np.delete(changed._frequencies.positives, labels)
    positives = frequencies.positives + new.weights @ new.Y
    # Examples were chosen: how many there are does not say how frequent a label is.
    trusted = (
        np.zeros_like(positives) if frequencies.trusted is None else frequencies.trusted.copy()
    )
    trusted[new.fresh] = others[others > 0].mean() if others.any() else 1.0
    changed._frequencies = replace(frequencies, positives=positives, trusted=trusted)
    changed.label_counts_ = changed.label_counts_ + np.diff(new.Y.tocsc().indptr)
    updater = Updater.of(changed)
    return [*blocks[:-1], updater.update(blocks[-1], new)]


def _introduce(changed: RMLSRanker, blocks: list[LabelBlock], new: NewRows) -> list[LabelBlock]:
    """Give fresh labels the vectors that their rows suggest: rows like these then list them."""
    if not len(new.fresh):
        return blocks
    *others, block = blocks
    parts, fresh = LabelParts.of(block), new.fresh - block.first
    hidden = block.proposer.vectors.hidden(new.rows.X)
    Y = sparse.csr_matrix(new.Y[:, new.fresh].multiply(new.weights[:, None]), dtype=np.float64)
    vectors, bias = parts.vectors.copy(), parts.vector_bias.copy()
    vectors[fresh], bias[fresh] = VectorMaker.of(changed).make(hidden, Y)
    parts = replace(parts, vectors=vectors, vector_bias=bias)
    return [*others, later_block(block, parts, changed.precision, block.first)]


def _look(changed: RMLSRanker, rows: Rows) -> tuple[NDArray[np.int32], Floats]:
    """Return the lists of rows, and the logits of what is on them."""
    scorer, n_rows = changed._scorer, int(rows.X.shape[0])
    listed = np.empty((n_rows, scorer.size), np.int32)
    logits = np.empty(listed.shape, np.float32)

    def work(start: int, stop: int) -> None:
        found, logits[start:stop] = scorer.score(rows.part(start, stop), scorer.logits)
        listed[start:stop] = found.labels

    block_rows = scorer.proposer.index.block_rows
    for_blocks(work, n_rows, block_rows, count_threads(changed.n_jobs))
    return listed, logits


def _only(Y: sparse.csr_matrix, labels: Places) -> sparse.csr_matrix:
    """Return the entries of some columns."""
    kept = np.zeros(Y.shape[1], np.float32)
    kept[labels] = 1.0
    found = sparse.csr_matrix((Y.data * kept[Y.indices], Y.indices, Y.indptr), Y.shape)
    found.eliminate_zeros()
    return found


def _as_matrix(listed: NDArray[np.int32], n_labels: int) -> sparse.csr_matrix:
    n_rows, size = listed.shape
    indptr = np.arange(0, n_rows * size + 1, size)
    ones = np.ones(listed.size, np.float32)
    return sparse.csr_matrix((ones, listed.ravel(), indptr), (n_rows, n_labels))


@dataclass
class Updater:
    """Updates the classifiers and the later vectors of blocks.

    Attributes
    ----------
    options : ClassifierOptions
    background : Background
        Its certainty is moved.
    positives : ndarray of float64, shape (n_labels,)
        Weight of the rows of every label, the new ones among them.
    maker : VectorMaker
    precision : str
    n_threads : int
    """

    options: ClassifierOptions
    background: Background
    positives: NDArray[np.float64]
    maker: VectorMaker
    precision: str
    n_threads: int

    @classmethod
    def of(cls, changed: RMLSRanker) -> Updater:
        """Return the updater of a copy of a model."""
        assert changed._background is not None
        certainty = changed._background.certainty.copy()
        changed._background = replace(changed._background, certainty=certainty)
        return cls(
            ClassifierOptions.of(changed),
            changed._background,
            changed._frequencies.positives,
            VectorMaker.of(changed),
            changed.precision,
            count_threads(changed.n_jobs),
        )

    def update(self, block: LabelBlock, new: NewRows) -> LabelBlock:
        """Return a block that has learned from rows."""
        stop = block.first + block.proposer.vectors.n_labels
        own = new.columns(block.first, stop)
        if not block.first:
            return change_labels(block, self._learn(block, own, slice(0, stop)), self.precision)
        # Vectors first: the classifiers may be given what these say.
        hidden = block.proposer.vectors.hidden(own.rows.X)
        before = np.maximum(self.positives[block.first : stop] - own.weights @ own.Y, 0.0)
        parts = self._move_vectors(LabelParts.of(block), hidden, own, before)
        block = later_block(block, parts, self.precision, block.first)
        parts = self._learn(block, own, slice(block.first, stop))
        return later_block(block, parts, self.precision, block.first)

    def _learn(self, block: LabelBlock, new: NewRows, part: slice) -> LabelParts:
        parts, device = LabelParts.of(block), block.proposer.vectors.device
        assert new.rejected is not None
        # One row more: the mean of all, which has none of the fresh labels.
        X = sparse.vstack([new.rows.X, usual_row(self.background)], format="csr")
        ones = np.ones(len(new.fresh), np.float32)
        last = as_csr(ones, new.fresh, [0, len(ones)], len(parts))
        wrong = sparse.vstack([new.rejected, last], format="csr")
        nobody = as_csr([], [], [0, 0], len(parts))
        pairs = pair_rows(sparse.vstack([new.Y, nobody], format="csr"), wrong)
        costs = np.append(new.weights, BACKGROUND_COST)
        problem = self._problem(X, costs, self.positives[part])
        if self.options.offset:
            hidden = block.proposer.vectors.hidden(X)
            vectors = block.proposer.vectors.params
            offsets = get_backend(device).products_at(pairs, vectors.L, hidden, self.n_threads)
            offsets += np.repeat(vectors.c, np.diff(pairs.indptr))
            problem = problem._replace(offsets=offsets * np.float32(self.options.offset))
        bias, certainty = parts.bias.copy(), self.background.certainty[part]
        # A fresh label knows nothing, not even that it is rare.
        bias[new.fresh] = 0.0
        lengths, indices, values = get_backend(device).update_classifiers(
            problem,
            pairs,
            csr_arrays(parts.weights),
            self.background.squares,
            bias,
            certainty,
            self.n_threads,
        )
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        weights = as_csr(values, indices, indptr, X.shape[1])
        return replace(parts, weights=weights, bias=bias)

    def _problem(
        self, X: sparse.csr_matrix, costs: NDArray[np.float64], positives: NDArray[np.float64]
    ) -> Problem:
        options, rows = self.options, csr_arrays(X)
        label_costs = options.C / np.maximum(positives, 1.0) ** options.cost_power
        nothing = np.zeros(0, np.float32)
        return Problem(
            rows.indptr,
            rows.indices.view(np.uint32),
            rows.data,
            nothing,
            costs.astype(np.float32),
            label_costs.astype(np.float32),
            np.zeros(0, dtype=bool),
            nothing,
            DUAL_LOSSES.index(options.loss),
            np.float32(options.tolerance),
            options.max_epochs,
            np.float32(options.prune),
        )

    def _move_vectors(
        self, parts: LabelParts, hidden: Floats, new: NewRows, before: NDArray[np.float64]
    ) -> LabelParts:
        """Return later labels with vectors that their rows, old and new, suggest."""
        Y = sparse.csr_matrix(new.Y.multiply(new.weights[:, None]), dtype=np.float64)
        added = np.asarray(Y.sum(axis=0)).ravel()
        touched = np.flatnonzero(added)
        if not len(touched):
            return parts
        made, bias = self.maker.make(hidden, Y[:, touched])
        share = (added / np.maximum(added + before, 1e-12))[touched].astype(np.float32)
        vectors, vector_bias = parts.vectors.copy(), parts.vector_bias.copy()
        vectors[touched] += share[:, None] * (made - vectors[touched])
        vector_bias[touched] += share * (bias - vector_bias[touched])
        return replace(parts, vectors=vectors, vector_bias=vector_bias)


def usual_row(background: Background) -> sparse.csr_matrix:
    """Return the mean of all rows, without features that hardly any has."""
    mean = background.mean
    n_kept = min(USUAL_FEATURES, len(mean))
    kept = np.sort(np.argpartition(-np.abs(mean), n_kept - 1)[:n_kept])
    return as_csr(mean[kept], kept, [0, n_kept], len(mean))


def pair_rows(Y: sparse.csr_matrix, wrong: sparse.csr_matrix) -> Pairs:
    """Return for every label the rows that have it, and behind these those for which it is wrong.

    Examples
    --------
    >>> pairs = pair_rows(sparse.csr_matrix([[1, 0], [0, 0]]), sparse.csr_matrix([[1, 1], [1, 0]]))
    >>> pairs.indptr.tolist(), pairs.rows.tolist(), pairs.n_relevant.tolist()
    ([0, 2, 3], [0, 1, 0], [1, 0])
    """
    right = sparse.csr_matrix(Y, dtype=np.float32)
    # What is right is not wrong, wherever it is listed.
    both = sparse.csr_matrix(right * 2 + sparse.csr_matrix(wrong, dtype=np.float32)).tocsc()
    is_right = both.data >= 2
    labels = np.repeat(np.arange(both.shape[1]), np.diff(both.indptr))
    order = np.lexsort((both.indices, ~is_right, labels))
    n_relevant = np.bincount(labels[is_right], minlength=both.shape[1])
    rows = both.indices[order].astype(np.int32)
    return Pairs(both.indptr.astype(np.int64), rows, n_relevant.astype(np.int64))


def _calibrate(
    changed: RMLSRanker, listed: NDArray[np.int32], logits: Floats, new: NewRows
) -> None:
    """Correct the probabilities by what they were for the new rows, as far as these are many."""
    calibration = changed._calibration
    # Of labels that were not there nothing is known.
    known = changed._frequencies.positives[listed] > 0
    if calibration is None or not known.any():
        return
    truth = Csr(*csr_arrays(sparse.csr_matrix(new.Y)))
    backend = get_backend(changed.device)
    relevant = backend.mark_relevant(truth, listed, new.Y.shape[1])[known]
    if not relevant.any():
        return
    chances = calibration.of_entries(logits[known], listed[known]).astype(np.float64)
    chances = np.clip(chances, 1e-7, 1 - 1e-7)
    weights = np.broadcast_to(new.weights[:, None], listed.shape)[known]
    stated = np.log(chances / (1 - chances))
    slope, offset = fit_correction(stated, relevant, weights, float(new.weights.sum()))
    changed._calibration = _corrected(calibration, slope, offset)


def fit_correction(
    stated: NDArray[np.float64],
    relevant: NDArray[np.bool_],
    weights: NDArray[np.float64],
    n_rows: float,
) -> tuple[float, float]:
    """Return slope and offset that bring stated logits to the truth, shrunk to 1 and 0.

    The rows that taught the model its probabilities are taken to confirm these: as many pairs
    like the new ones as ``KNOWN_ROWS`` rows have.

    Examples
    --------
    >>> stated = np.repeat([-1.0, 1.0], 500)
    >>> slope, offset = fit_correction(stated, stated > 0, np.ones(1000), 10.0)
    >>> round(slope, 3), round(abs(offset), 3)
    (1.007, 0.0)
    """
    columns = np.stack([stated, np.ones_like(stated)], axis=1)
    trust = KNOWN_ROWS / max(n_rows, 1e-12)
    expected = sigmoid(stated)
    target = (relevant + trust * expected) / (1 + trust)
    theta = np.array([1.0, 0.0])
    for _ in range(NEWTON_STEPS):
        chances = sigmoid(columns @ theta)
        gradient = columns.T @ (weights * (chances - target))
        curvature = (columns * (weights * chances * (1 - chances))[:, None]).T @ columns
        curvature.flat[::3] += 1e-9
        move = np.linalg.solve(curvature, gradient)
        theta -= np.clip(move, -1.0, 1.0)
        if np.abs(move).max() < 1e-6:
            break
    slope = float(np.clip(theta[0], 1 / MAX_SLOPE, MAX_SLOPE))
    return slope, float(np.clip(theta[1], -MAX_OFFSET, MAX_OFFSET))


def _corrected(calibration: Calibration, slope: float, offset: float) -> Calibration:
    """Return the curves with every logit at ``slope`` times itself plus ``offset``."""
    return replace(
        calibration,
        slope=calibration.slope * slope,
        curves=(calibration.curves * np.float32(slope) + np.float32(offset)).astype(np.float32),
        bias=(calibration.bias * np.float32(slope)).astype(np.float32),
    )
