"""MLSMOTE: new rows between rows of rare labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.options import Option, choice, positive, store_params, whole
from rmls.imbalance.minority import count_share, find_sides
from rmls.imbalance.resampling import Changes, Csr, Indices, Resampler

# Rows of the output that are made at a time: labels of all voters are counted before the vote.
BLOCK = 1 << 14
Counts = NDArray[np.int64]

VOTES: dict[str, Callable[[Counts, Counts], NDArray[np.bool_]]] = {
    "ranking": lambda counts, voters: 2 * counts > voters,
    "union": lambda counts, voters: counts > 0,
    "intersection": lambda counts, voters: counts == voters,
}
"""Whether a label is given to a new row: from the rows that have it and the rows that vote."""


class MLSMOTE(Resampler):
    """Make new rows of the minority labels, between a row and one of its neighbours (MLSMOTE).

    For every label with IRLbl above MeanIR, every row that has it is a seed once. The seed's k
    nearest rows (Euclidean) are looked for among the rows of the same label, and one of them is
    drawn as reference. Every feature of the new row lies between seed and reference, at a point
    drawn for this feature. The new row has the labels that more than half of the seed and its
    neighbours have ("ranking") [1]_.

    Parameters
    ----------
    n_neighbors : int, default=5
        The paper's k; all other rows of the label where it has fewer.
    labels : {"ranking", "union", "intersection"}, default="ranking"
        Labels of a new row: those of more than half of the seed and its neighbours, of any of them,
        or of all of them. The paper compares the three and recommends the first.
    sampling_strategy : float, default=1.0
        New rows for every row of a minority label; 1 in the paper. Of a fraction, the rows that are
        a seed once more are drawn.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        For every row of the output the row of ``X`` that it is, or that was its seed.
    n_synthetic_ : int
        New rows; they come last.

    Notes
    -----
    What the paper leaves open: labels, bags and neighbours are those of the rows as they were
    given, so that no new row is the seed of another and the order of the labels does not matter;
    "more than half" is strict, as in the R package of the authors [2]_; a label with a single row
    has no neighbours and gets no new row; of equally near rows the choice does not depend on their
    order. All features are taken for numbers, as they are: scale them before. The paper's rule for
    nominal features, the most frequent value of the neighbours, has no place in a matrix of
    numbers; a binary feature gets a value in between where seed and reference differ.

    Rows are compared through an inverted index of each bag: for a label with c rows, time is in
    O(c² + sum over features of squared entries in the bag); nothing is kept but the k neighbours.
    Memory is that of the output.

    References
    ----------
    .. [1] Charte, Rivera, del Jesus and Herrera, "MLSMOTE: approaching imbalanced multilabel
       learning through synthetic instance generation", Knowledge-Based Systems 89, 2015.
    .. [2] Dávila, Charte, del Jesus and Rivera, "mldr.resampling: resampling algorithms for
       multi-label datasets", CRAN, 2023.

    Examples
    --------
    >>> X = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [4.0], [5.0]])
    >>> Y = [["law"]] * 6 + [["law", "tax"], ["tax"]]
    >>> X_new, Y_new = MLSMOTE().fit_resample(X, Y)
    >>> Y_new[8:], bool((4 <= X_new[8:]).all() and (X_new[8:] <= 5).all())
    ([['tax'], ['tax']], True)
    """

    _options: ClassVar[dict[str, Option]] = {
        "n_neighbors": whole(1),
        "labels": choice(*VOTES),
        "sampling_strategy": positive(),
    }

    n_synthetic_: int

    n_neighbors: int
    labels: str
    sampling_strategy: float

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        labels: str = "ranking",
        sampling_strategy: float = 1.0,
        random_state: Any = 0,
    ) -> None:
        store_params(self, locals())

    def _fit_resample(self, X: Csr, Y: Csr, rows: Indices, generator: Generator) -> Changes:
        by_label = Y[:, find_sides(Y).minority].tocsc()
        by_label = by_label[:, np.diff(by_label.indptr) > 1]
        members, start = by_label.indices.astype(np.int64), by_label.indptr.astype(np.int64)
        # A new row has the features of two, of 12 bytes each.
        count_share(self.sampling_strategy, len(members), 16 + 24 * X.nnz / max(X.shape[0], 1))
        chosen = self._draw_seeds(len(members), generator)
        near = _search(X, rows, start, members, self.n_neighbors)
        made, labels = [X[:0]], [Y]
        for block in _blocks(chosen):
            seeds, neighbours = members[block], near[block]
            labels.append(self._vote(Y, seeds, neighbours))
            # The padding stands behind the neighbours: the first n_near places can be drawn.
            n_near = (neighbours >= 0).sum(axis=1)
            pick = (generator.random(len(seeds)) * n_near).astype(np.int64)
            references = neighbours[np.arange(len(seeds)), pick]
            made.append(_interpolate(X, rows[seeds], rows[references], generator))
        self.n_synthetic_ = len(chosen)
        return Changes(
            np.ones(Y.shape[0], bool),
            members[chosen],
            sparse.vstack(labels, format="csr"),
            sparse.vstack(made, format="csr"),
        )

    def _draw_seeds(self, n_members: int, generator: Generator) -> Indices:
        """Return which members of the bags are a seed, once for every new row."""
        whole = int(self.sampling_strategy)
        more = count_share(self.sampling_strategy - whole, n_members)
        everyone = np.arange(n_members, dtype=np.int64)
        extra = generator.choice(n_members, more, replace=False) if more else everyone[:0]
        times = np.full(n_members, whole)
        times[extra] += 1
        return np.repeat(everyone, times)

    def _vote(self, Y: Csr, seeds: Indices, near: Indices) -> Csr:
        """Return the labels of new rows, from those of the seeds and their neighbours."""
        # A 0/1 matrix, new rows by voting rows, times Y counts the votes of every label.
        voters = np.column_stack([seeds, near])
        there = voters >= 0
        n_voters = there.sum(axis=1)
        indptr = np.concatenate([[0], np.cumsum(n_voters)])
        ones = np.ones(int(indptr[-1]), np.int32)
        shape = (len(seeds), Y.shape[0])
        counts: Csr = sparse.csr_matrix((ones, voters[there], indptr), shape=shape) @ Y
        of_row = np.repeat(n_voters, np.diff(counts.indptr))
        counts.data = VOTES[self.labels](counts.data, of_row).astype(np.int32)
        counts.eliminate_zeros()
        return counts


def _blocks(chosen: Indices) -> Iterator[Indices]:
    for start in range(0, len(chosen), BLOCK):
        yield chosen[start : start + BLOCK]


def _search(X: Csr, rows: Indices, start: Indices, members: Indices, k: int) -> Indices:
    """Return the neighbours of every member inside its bag, numbered like the members; -1 pads."""
    from rmls.kernels.cpu.imbalance import bag_neighbours as kernels

    sizes = np.diff(start)
    near = np.full((len(members), min(k, int(sizes.max(initial=1)) - 1)), kernels.NONE, np.int64)
    if not near.size:
        return near
    there = rows[members]
    # One index serves all bags in turn: it has room for the largest.
    entries = int(np.add.reduceat(np.diff(X.indptr)[there], start[:-1]).max())
    index = kernels.Index(
        np.empty(X.shape[1], np.int64),
        np.zeros(X.shape[1], np.int64),
        np.empty(entries, np.int64),
        np.empty(entries, np.float64),
    )
    squares = np.zeros(X.shape[0])
    used = np.unique(there)
    squares[used] = X[used].astype(np.float64).power(2).sum(axis=1).A1
    features = kernels.Csr(X.indptr, X.indices, X.data)
    kernels.nearest_in_bags(features, squares, start, there, index, near)
    # The extra last place is index -1: padding maps to itself.
    canonical = np.empty(len(rows) + 1, np.int64)
    canonical[rows], canonical[kernels.NONE] = np.arange(len(rows)), kernels.NONE
    return canonical[near]


def _interpolate(X: Csr, seeds: Indices, references: Indices, generator: Generator) -> Csr:
    """Return rows between seeds and references; every feature moves by a share of its own."""
    base = X[seeds]
    step = X[references] - base
    # x + u (r - x) with u drawn for every stored difference, in the order of the features.
    step.sort_indices()
    step.data *= generator.random(len(step.data)).astype(step.dtype)
    made: Csr = base + step
    made.eliminate_zeros()
    return made
