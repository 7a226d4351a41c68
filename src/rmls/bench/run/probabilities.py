"""How honest the probabilities of a trained model are, in one pass over the test rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.bench.run.records import Calibration, Reliability
from rmls.bench.study.data import Parts
from rmls.core.frequency import GROUP_NAMES, group_labels
from rmls.core.sparse import label_counts

# Close together where rare labels are: nearly all pairs have small probabilities.
EDGES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# Every pair is scored: this bounds the time of the measurement.
MAX_PAIRS = 500_000_000
# 32 MB of float64 at a time.
BLOCK_PAIRS = 4_000_000
MIN_PAIRS = 30
"""Below it a calibration error tells about the sample, not about the model."""


def measure_probabilities(
    model: Any, parts: Parts, predicted: list[sparse.csr_matrix]
) -> tuple[Reliability | None, list[Calibration | None]]:
    """Return the reliability over all rows and labels, and the calibration of predicted sets.

    Parameters
    ----------
    model : estimator
    parts : Parts
    predicted : list of csr_matrix of 0/1, shape (n_test, n_labels)
        The predicted sets of each decision rule.

    Returns
    -------
    reliability : Reliability or None
        None where the method gives no probabilities, or there are too many pairs to look at.
    calibrations : list of Calibration or None
        One for each of ``predicted``; None as above.
    """
    n_samples, n_labels = parts.Y_test.shape
    if not hasattr(model, "predict_proba") or n_samples * n_labels > MAX_PAIRS:
        return None, [None] * len(predicted)
    counts = _PairCounts()
    chosen: list[list[NDArray[np.float64]]] = [[] for _ in predicted]
    for rows, probabilities in _blocks(model, parts.X_test, n_labels):
        counts.add(probabilities, parts.Y_test[rows])
        for values, sets in zip(chosen, predicted, strict=True):
            values.append(probabilities[sets[rows].nonzero()])
    tail = group_labels(label_counts(parts.Y_train)) == GROUP_NAMES.index("tail")
    brier = counts.squares / (n_samples * n_labels)
    calibrations: list[Calibration | None] = []
    for values, sets in zip(chosen, predicted, strict=True):
        # nonzero() goes row by row, as the blocks did, so values and places agree.
        given = sparse.csr_matrix((np.concatenate(values), sets.nonzero()), shape=sets.shape)
        ece, ece_tail = (_error(parts.Y_test, given, labels) for labels in (None, tail))
        calibrations.append(Calibration(ece=ece, ece_tail=ece_tail, brier=brier))
    return counts.reliability(), calibrations


def _blocks(
    model: Any, X: sparse.csr_matrix, n_labels: int
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    size = max(1, BLOCK_PAIRS // n_labels)
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        found = np.asarray(model.predict_proba(X[rows]), dtype=np.float64)
        # A share of float32 weights may end a rounding error above 1.
        yield rows, np.clip(found, 0.0, 1.0)


def _error(
    Y: sparse.csr_matrix, probabilities: sparse.csr_matrix, labels: NDArray[np.bool_] | None
) -> float | None:
    from rmls.metrics import expected_calibration_error

    listed = probabilities.indices
    n_pairs = len(listed) if labels is None else np.count_nonzero(labels[listed])
    if n_pairs < MIN_PAIRS:
        return None
    return expected_calibration_error(Y, probabilities, labels=labels)


class _PairCounts:
    """Pairs, sums of probabilities and true pairs by predicted probability; squared errors."""

    def __init__(self) -> None:
        self.n_bins = len(EDGES) - 1
        self.pairs, self.predicted, self.observed = np.zeros((3, self.n_bins))
        self.squares = 0.0

    def add(self, probabilities: NDArray[np.float64], Y: sparse.csr_matrix) -> None:
        """Count a block of rows."""
        true_pairs = Y.nonzero()
        # side="right": a bin holds its lower edge, and the last one also holds 1.
        bins = np.searchsorted(EDGES, probabilities, side="right") - 1
        bins = np.clip(bins, 0, self.n_bins - 1)
        self.pairs += np.bincount(bins.ravel(), minlength=self.n_bins)
        self.predicted += np.bincount(bins.ravel(), probabilities.ravel(), self.n_bins)
        self.observed += np.bincount(bins[true_pairs], minlength=self.n_bins)
        # Brier: the sum of (p - y)², where y is 1 for the true pairs and 0 for all others.
        differences = probabilities.copy()
        differences[true_pairs] -= 1
        self.squares += float(np.vdot(differences, differences))

    def reliability(self) -> Reliability:
        """Return the points of the reliability curve."""
        return Reliability(
            edges=list(EDGES),
            pairs=[int(count) for count in self.pairs],
            predicted=_ratios(self.predicted, self.pairs),
            observed=_ratios(self.observed, self.pairs),
        )


def _ratios(sums: Any, counts: Any) -> list[float | None]:
    return [float(s / n) if n else None for s, n in zip(sums, counts, strict=True)]
