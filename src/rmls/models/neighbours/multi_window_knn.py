"""Multiple-window kNN: every label asks its own recent positives and negatives."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import Option, check_number, flag, positive, store_params, whole
from rmls.core.resources import Indices, count_threads, keeps_to_n_jobs, map_on_threads
from rmls.core.sparse import fingerprints
from rmls.decide import Rule, make_rule
from rmls.features import unit_rows
from rmls.kernels.backend import csr_arrays
from rmls.kernels.cpu.methods.windows import Stream, Windows, open_windows, vote_in_windows
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.evidence import SAMPLE_ROWS, ScoredRows
from rmls.models.shared.sparse_archive import read_csr, sparse_state
from rmls.models.shared.training_set import TrainingSet, read_more_rows

NEVER = np.float32(1.0)
UNDECIDED = np.float32(0.5)
# 256 MB of float32.
MAX_SCORES = 1 << 26
"""Scores that are held at once to find thresholds."""
BLOCK_SCORES = 1 << 22
FEW_ROWS = 2_000


class MultiWindowKNN(MultiLabelEstimator):
    """Let the nearest rows vote inside two windows a label: recent positives, recent negatives.

    For a rare label the last rows of a stream hold hardly a positive. Here every label has a window
    of its ``window`` most recent positives and one of its most recent negatives, so many that the
    two stand in the wanted ``ratio``; its neighbours are searched in the two together. Thresholds
    are set batch by batch: each label is predicted for as many rows of a batch as had it
    (Spyromitros-Xioufis, Spiliopoulou, Tsoumakas and Vlahavas, "Dealing with concept drift and
    class imbalance in multi-label stream classification", IJCAI 2011).

    Parameters
    ----------
    n_neighbors : int, default=11
        Neighbours that vote.
    window : int, default=200
        Positives a label at most.
    ratio : float, default=0.5
        Positives per negative in the windows; a small number lets all negatives in.
    recent : bool, default=False
        What `fit` takes for the order of arrival: False an order that depends on the content of
        the rows alone, so that their order is no matter; True the order in which they are given,
        the last one being the most recent. `partial_fit` always takes them as they come.
    decision : str, float or Rule, default="round"
        How `predict` cuts; ``"round"`` takes the threshold of each label.
    normalize, n_jobs
        As for `KNN`.

    Attributes
    ----------
    thresholds_ : ndarray of float32, shape (n_labels,)
        Scores are counted from them.
    frequencies_ : ndarray of float32, shape (n_labels,)
        Share of all rows so far that had the label.

    Notes
    -----
    Similarity and votes are those of `KNN`: the cosine, weighted votes, and one more vote for the
    frequency of the label in all rows so far, which is also the score where no row of the windows
    is similar. With windows for all rows the scores are those of `KNN`, unless rows tie for the
    last place among the neighbours: the earlier one votes here, in `KNN` an order of their features
    decides, because there the order of the rows must not matter.
    In `fit` equal rows count once, with their weights added, where the first of them stands.
    `fit` sets the thresholds on its last rows, up to 10,000, each without its own vote;
    `partial_fit` on the new rows before they are learned, for the labels that occur there. A label
    without a positive is not predicted. All labels share one inverted index; windows are not lists
    but places where they begin. To score a row costs O(z n) at most for the products with the n
    rows kept, for z non-zeros, and one look at every row of every window: O(m w (1 + 1 / ratio))
    for windows of w positives. Rows in no window are forgotten.

    Examples
    --------
    >>> X, Y = [[1, 0], [2, 1], [0, 1], [1, 2]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> MultiWindowKNN(1).fit(X, Y).predict([[3, 1]]).tolist()
    [[1, 0]]
    """

    thresholds_: NDArray[np.float32]
    frequencies_: NDArray[np.float32]
    _windows: Windows

    n_neighbors: int
    window: int
    ratio: float
    recent: bool

    _options: ClassVar[dict[str, Option]] = {
        "n_neighbors": whole(1),
        "window": whole(1),
        "ratio": positive(),
        "recent": flag(),
    }

    def __init__(
        self,
        n_neighbors: int = 11,
        *,
        window: int = 200,
        ratio: float = 0.5,
        recent: bool = False,
        normalize: str = "auto",
        decision: str | float | Rule = "round",
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())

    # -- fitting ---------------------------------------------------------------------------------

    def _fit(self, data: TrainingSet) -> ScoredRows:
        arrival = data.rows if self.recent else fingerprints(data.features)
        self._take_in(data.take(np.argsort(arrival, kind="stable")))
        # Kept for those who switch rules; a part of the rows will do.
        return ScoredRows(self, data, sample_rows=FEW_ROWS)

    def _take_in(self, data: TrainingSet) -> None:
        """Learn from rows in the order of their arrival."""
        unit, Y = unit_rows(self._normalized(data).features), data.labels
        self.thresholds_ = np.full(data.n_labels, NEVER)
        self.frequencies_, self._seen = np.zeros(data.n_labels, np.float32), 0.0
        self._count(data)
        self._keep(unit, Y, data.weights.astype(np.float32))
        n_asked = min(SAMPLE_ROWS, MAX_SCORES // max(int((self._windows.held > 0).sum()), 1))
        asked = np.arange(max(0, self._unit.shape[0] - max(n_asked, 1)), self._unit.shape[0])
        self._set_thresholds(self._unit[asked], self._labels[asked], asked)

    @keeps_to_n_jobs
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> MultiWindowKNN:
        """Take in further rows, the last one being the most recent.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : sequence, optional
            All label names or classes, needed in the first call when ``y`` holds names or classes
            and not all of them occur.

        Notes
        -----
        The first call fixes the normalisation and the labels, and sets the thresholds as `fit`
        does; later ones set them on the new rows before these are learned.
        """
        first = not hasattr(self, "_windows")
        data = read_more_rows(self, X, y, classes, sample_weight, first=first)
        if first:
            self._take_in(data)
            evidence = ScoredRows(self, data, sample_rows=FEW_ROWS)
            self._fit_rules(make_rule(self.decision), evidence)
            return self
        unit, Y = unit_rows(self._scaled(data.features)), data.labels
        # Before the rows are learned: they are what new rows will be like.
        self._set_thresholds(unit, Y, np.full(data.n_rows, -1))
        self._count(data)
        self._keep(
            sparse.vstack([self._unit, unit], format="csr"),
            sparse.vstack([self._labels, Y], format="csr"),
            np.concatenate([self._weights, data.weights.astype(np.float32)]),
        )
        return self

    def _count(self, data: TrainingSet) -> None:
        """Bring the frequencies of the labels up to date."""
        sums = self._seen * self.frequencies_.astype(np.float64) + data.positives()
        self._seen += float(data.weights.sum())
        self.frequencies_ = (sums / max(self._seen, 1e-300)).astype(np.float32)

    def _keep(
        self, unit: sparse.csr_matrix, Y: sparse.csr_matrix, weights: NDArray[np.float32]
    ) -> None:
        """Open the windows on rows in their order, and keep those that are in one."""
        windows = self._open(Y, weights)
        # The earliest negative window keeps everything that follows it.
        first = int(windows.first_negative.min())
        kept = np.zeros(len(weights), dtype=bool)
        kept[first:] = True
        entry_rows = np.repeat(np.arange(len(weights)), np.diff(Y.indptr))
        kept[entry_rows[entry_rows >= windows.first_positive[Y.indices]]] = True
        self._unit, self._labels = unit[kept], sparse.csr_matrix(Y[kept], dtype=np.float32)
        self._weights = weights[kept]
        self._arrange()

    def _open(self, Y: sparse.csr_matrix, weights: NDArray[np.float32]) -> Windows:
        by_label = sparse.csc_matrix(Y)
        by_label.sort_indices()
        n_labels = int(Y.shape[1])
        starts = (np.empty(n_labels, np.int64), np.empty(n_labels, np.int64))
        found = Windows(*starts, np.zeros(n_labels, np.float32))
        arrays = (by_label.indptr.astype(np.int64), by_label.indices.astype(np.int64))
        open_windows(*arrays, weights, float(self.window), float(self.ratio), found)
        return found

    def _arrange(self) -> None:
        """Prepare what scoring looks up in the rows that are kept."""
        self._windows = self._open(self._labels, self._weights)
        transposed = [sparse.csr_matrix(matrix.T) for matrix in (self._unit, self._labels)]
        for matrix in transposed:
            matrix.sort_indices()
        by_feature, by_label = (csr_arrays(matrix) for matrix in transposed)
        self._stream = Stream(by_feature, by_label, self._weights, self.frequencies_)

    def _set_thresholds(
        self, unit: sparse.csr_matrix, Y: sparse.csr_matrix, left_out: Indices
    ) -> None:
        """Set the threshold of every label of the rows so that as many get it as have it."""
        if self._space.is_single:
            self.thresholds_[:] = UNDECIDED
            return
        truth = sparse.csc_matrix(Y)
        counts = np.diff(truth.indptr)
        some = np.flatnonzero((counts > 0) & (self._windows.held > 0))
        size = max(1, BLOCK_SCORES // max(self._space.n_labels, 1))
        n_rows = int(unit.shape[0])
        scores = np.empty((len(some), n_rows), np.float32)
        for start in range(0, n_rows, size):
            block = slice(start, min(start + size, n_rows))
            scores[:, block] = self._vote(unit[block], left_out[block])[:, some].T
        for place, label in enumerate(some):
            self.thresholds_[label] = _cut(scores[place], int(counts[label]))

    # -- scores ----------------------------------------------------------------------------------

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        scores = self._vote(unit_rows(X), np.full(int(X.shape[0]), -1))
        return scores - self.thresholds_

    def _vote(self, unit: sparse.csr_matrix, left_out: Indices) -> NDArray[np.float32]:
        """Return the votes of the neighbours in every label's windows, dense."""
        n_rows = int(unit.shape[0])
        out = np.zeros((n_rows, self._space.n_labels), np.float32)
        queries = csr_arrays(unit)
        arrays = (queries, self._stream, self._windows, int(self.n_neighbors))

        def work(part: Indices) -> list[None]:
            vote_in_windows(*arrays, left_out, (int(part[0]), int(part[-1]) + 1), out)
            return []

        map_on_threads(work, np.arange(n_rows), count_threads(self.n_jobs))
        return out

    # -- archive ---------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {"weights": self._weights, "thresholds": self.thresholds_}
        arrays |= {"frequencies": self.frequencies_}
        arrays |= sparse_state("rows", self._unit) | sparse_state("labels", self._labels)
        return {"seen": self._seen}, arrays

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        d, m = int(self.n_features_in_), self._space.n_labels
        of_labels = dict.fromkeys(("thresholds", "frequencies"), (np.float32, (m,)))
        check_arrays(archive, {"weights": (np.float32, (None,)), **of_labels})
        self._weights = archive.arrays["weights"]
        if self._weights.min(initial=0) < 0:
            raise InputError("some rows have a negative weight")
        check_number("seen", fitted["seen"], positive=False)
        self.thresholds_ = np.array(archive.arrays["thresholds"])
        self.frequencies_, self._seen = archive.arrays["frequencies"], float(fitted["seen"])
        self._unit = read_csr(archive, "rows", (len(self._weights), d))
        self._labels = read_csr(archive, "labels", (len(self._weights), m))
        self._arrange()


def _cut(scores: NDArray[np.float32], count: int) -> float:
    """Return a threshold that ``count`` of the scores reach, or as nearly so as ties allow.

    Examples
    --------
    >>> scores = np.float32([0.75, 0.25, 0.25, 0.25, 0.0])
    >>> [_cut(scores, count) for count in (1, 2, 3, 4)]
    [0.5, 0.5, 0.125, 0.125]
    """
    ranked = np.sort(scores.astype(np.float64))
    value = ranked[len(ranked) - min(count, len(ranked))]
    low, high = np.searchsorted(ranked, value), np.searchsorted(ranked, value, side="right")
    n_with, n_without = len(ranked) - low, len(ranked) - high
    # A run of ties is taken as a whole or not at all, whichever count is nearer.
    if n_with - count < count - n_without:
        return float(value + (ranked[low - 1] if low else 0.0)) / 2
    return float(value + (ranked[high] if n_without else NEVER)) / 2
