"""The seam between models and devices: the few operations a backend offers.

`RMLS`, `RMLSRanker` and what they share get a backend from ``device=`` and call nothing else that
is heavy. A backend takes and returns the NumPy arrays of `rmls.kernels.arrays`; what it keeps on a
device meanwhile is its own business. `Vectors` are parameters with the device they score on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.numeric import NewtonSteps
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
    Visits,
    WeightTables,
)

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]


class Passes(Protocol):
    """Training of vectors that is under way."""

    def run(
        self, visits: Visits, tick: Callable[[float], None] | None = None
    ) -> tuple[float, float]:
        """Make the visits of a pass; returns summed loss and weight of the measured ones."""
        ...

    def pull(self) -> None:
        """Write the parameters and accumulators to the arrays that the training started from."""
        ...


class Selection(Protocol):
    """Memory of rows that are shown the scores of one group of labels after another."""

    def offer(self, scores: Floats, labels: Labels, rows: NDArray[np.int64]) -> None:
        """Show the scores of some labels, each of them once, to some rows."""
        ...

    def take(self) -> tuple[Labels, Floats]:
        """Return the best labels of every row and their scores, in the order of the labels."""
        ...


class Backend(Protocol):
    """What a device computes for a model."""

    def build_alias(self, shares: NDArray[np.float64]) -> NDArray[np.uint32]:
        """Return the alias table from which a sampler draws labels by their shares."""
        ...

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
    ) -> Passes:
        """Return the training of these parameters on these rows."""
        ...

    def loss_slopes(
        self, loss: int, scores: Floats, target: int, focus: tuple[np.float32, ...]
    ) -> Floats:
        """Return the derivative of a loss in every score; the target is 1 or -1."""
        ...

    def hidden(self, rows: Csr, params: Params, activation: str) -> Floats:
        """Return ``activation(x W + b)`` of every row."""
        ...

    def scores(self, hidden: Floats, vectors: Floats, bias: Floats) -> Floats:
        """Return ``h . l_j + c_j`` of every row and label, dense."""
        ...

    def best_labels(
        self, hidden: Floats, vectors: Floats, bias: Floats, k: int
    ) -> tuple[Labels, Floats]:
        """Return the ``k`` labels of every row with the best ``h . l_j + c_j``, by label."""
        ...

    def best_leading(
        self, hidden: Floats, vectors: Floats, bias: Floats, leading: Leading, k: int
    ) -> tuple[Labels, Floats]:
        """Return nearly the same: the best by all of those that lead by a part of the vectors."""
        ...

    def select(self, n_rows: int, k: int) -> Selection:
        """Return an empty memory of the best ``k`` labels of some rows."""
        ...

    def best_of_rows(self, scores: Floats, k: int, n_threads: int) -> tuple[Labels, Floats]:
        """Return the best ``k`` columns of every row of a table, best first."""
        ...

    def pair_rows(
        self,
        Y: Csr,
        listed: Labels,
        n_labels: int,
        zeros: Callable[..., Any] = np.zeros,
        part: tuple[int, int] | None = None,
    ) -> Pairs:
        """Return for every label the rows that have it and the rows that list it.

        ``zeros`` makes the array of the rows, the largest one. Given a ``part``, the first of some
        labels and the one after the last, all others get no rows.
        """
        ...

    def products_at(self, pairs: Pairs, vectors: Floats, hidden: Floats, n_threads: int) -> Floats:
        """Return ``h_i . l_j`` for every pair of a label j and one of its rows i."""
        ...

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
        """Train the classifiers of some labels from ``duals``, which are moved in place.

        ``tick`` is called with the share of the labels that is done, from any thread. ``labels``
        are all by default, and rise.

        Returns
        -------
        lengths, indices, values, bias : ndarray
            Number of weights of every one of the labels; their features and values, label by label;
            the bias of every one.
        """
        ...

    def solve_all(
        self, problem: Problem, relevant: Pairs, n_features: int, n_threads: int
    ) -> tuple[Floats, Floats]:
        """Train the classifier of every label on all rows: one-vs-rest by the squared hinge.

        ``relevant`` are the rows of every label. Returns weights of shape (n_features, n_labels)
        and biases.
        """
        ...

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
        """Let the classifiers of some labels, by label in ``old``, learn from new rows.

        ``squares`` is the mean square of every feature. ``bias`` and ``certainty``, of every label,
        are moved in place. Labels without pairs stay as they are.

        Returns
        -------
        lengths, indices, values : ndarray
            The weights of all labels, label by label.
        """
        ...

    def turn_weights(
        self, parts: tuple[NDArray[Any], ...], n_features: int, label_type: type
    ) -> tuple[NDArray[np.int64], NDArray[Any], Floats]:
        """Return weights by feature; parts are starts, lengths, features and weights by label."""
        ...

    def index_weights(self, weights: SparseWeights) -> WeightTables | None:
        """Return what finds weights of single labels sooner, if anything does."""
        ...

    def score_lists(
        self,
        rows: Csr,
        weights: SparseWeights,
        listed: Labels,
        n_threads: int = 1,
        tables: WeightTables | None = None,
    ) -> Floats:
        """Return ``w_j . x + b_j`` for the listed labels of every row.

        ``tables`` is what `index_weights` has returned, if it was asked.
        """
        ...

    def mix_lists(self, listed: Labels, scores: ListScores, mixture: Mixture) -> Floats:
        """Return the combination of the scores of every listed label."""
        ...

    def count_name_words(
        self, X: Csr, Y: Csr, names: Csr, rows: NDArray[np.int64], n_features: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows with a label that names every word, and those that hold the word, too."""
        ...

    def match_names(self, rows: Csr, postings: NamePostings, n_labels: int) -> NameMatches:
        """Return the labels whose names stand in every row."""
        ...

    def best_names(self, matches: NameMatches, size: int) -> Labels:
        """Return the labels whose names match a row best; -1 where there are no more."""
        ...

    def score_names(self, matches: NameMatches, listed: Labels, n_labels: int) -> Floats:
        """Return five numbers on how the name of every listed label matches the row."""
        ...

    def join_lists(
        self, listed: Labels, scores: Floats, found: Labels, hidden: Floats, params: Params
    ) -> None:
        """Put found labels, with scores, in the place of those with the lowest; in place."""
        ...

    def fit_logistic(
        self,
        design: Floats,
        total: Floats,
        positive: Floats,
        ridge: float,
        steps: NewtonSteps,
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Return the coefficients of a logistic regression, see `rmls.core.numeric`."""
        ...

    def rank_lists(self, listed: Labels, scores: Floats, k: int) -> tuple[Labels, Floats]:
        """Return the best ``k`` of the listed labels of every row, best first."""
        ...

    def mark_relevant(self, Y: Csr, listed: Labels, n_labels: int) -> NDArray[np.bool_]:
        """Return which of the listed labels of every row are relevant."""
        ...


DEVICES = {
    "cpu": "rmls.kernels.cpu.backend:CpuBackend",
    "cuda": "rmls.kernels.gpu.device:open_cuda",
    "auto": "rmls.kernels.gpu.device:AutoBackend",
}
"""Where the backend of every device is found; it is imported on first use."""

_OPEN: dict[str, Backend] = {}


def get_backend(device: Any) -> Backend:
    """Return the backend of a device.

    Examples
    --------
    >>> get_backend("tpu")
    Traceback (most recent call last):
    rmls.core.errors.InputError: device must be 'cpu' or 'cuda' or 'auto'; got 'tpu'.
    """
    if not isinstance(device, str) or device not in DEVICES:
        known = " or ".join(repr(name) for name in DEVICES)
        raise InputError(f"device must be {known}; got {device!r}.")
    place = DEVICES[device]
    if place not in _OPEN:
        module, _, name = place.partition(":")
        _OPEN[place] = getattr(import_module(module), name)()
    return _OPEN[place]


def device_here(device: Any) -> Any:
    """Return the device that a model was saved with, or the CPU where that device is not there."""
    if device == "cuda":
        try:
            get_backend(device)
        except InputError:
            return "cpu"
    return device


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that cannot be written to.

    What a model holds is so when it was loaded: kernels that are always given it like that are
    compiled once, not for fresh models and for loaded ones.
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def csr_arrays(matrix: sparse.csr_matrix) -> Csr:
    """Return the arrays of a CSR matrix in the types of the kernels."""
    return Csr(
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )


@dataclass(frozen=True)
class Vectors:
    """Scores ``activation(x W + b) . l_j + c_j`` of normalised rows.

    Attributes
    ----------
    params : Params
        ``W`` (n_features, k), ``b`` (k,), ``L`` (n_labels, k) and ``c`` (n_labels,), float32.
    activation : str
    device : str
    """

    params: Params
    activation: str
    device: str = "cpu"

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.params.L)

    def hidden(self, X: sparse.csr_matrix) -> Floats:
        """Return the vectors of rows."""
        return get_backend(self.device).hidden(csr_arrays(X), self.params, self.activation)

    def scores(self, hidden: Floats) -> Floats:
        """Return the scores of all labels, dense."""
        return get_backend(self.device).scores(hidden, self.params.L, self.params.c)

    def best(self, hidden: Floats, k: int) -> tuple[NDArray[np.int32], Floats]:
        """Return the best ``k`` labels of every row and their scores, in the order of labels."""
        return get_backend(self.device).best_labels(hidden, self.params.L, self.params.c, k)


def join_vectors(parts: list[Vectors]) -> Vectors:
    """Return vectors whose scores are the mean of the scores of the parts.

    Examples
    --------
    >>> one = np.ones((1, 1), np.float32)
    >>> parts = [Vectors(Params(one, one[0], a * one, one[0]), "linear") for a in (1, 3)]
    >>> joined = join_vectors(parts)
    >>> joined.scores(joined.hidden(sparse.csr_matrix(one))).tolist()
    [[5.0]]
    """
    if len(parts) == 1:
        return parts[0]
    # Side by side, inner products add up: the share in L makes a mean of the sum.
    share = np.float32(1 / len(parts))
    params = Params(
        np.concatenate([part.params.W for part in parts], axis=1),
        np.concatenate([part.params.b for part in parts]),
        np.concatenate([share * part.params.L for part in parts], axis=1),
        np.asarray(np.mean([part.params.c for part in parts], axis=0), dtype=np.float32),
    )
    return Vectors(params, parts[0].activation, parts[0].device)
