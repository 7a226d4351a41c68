"""Exact one-vs-rest: the classifiers of all labels on all rows, most of which hardly matter.

Near the solution one or two pairs of a label and a row in a hundred violate the margin, and only
those count. So the labels first learn from their own rows and a sample of all others, in dense
products; then all pairs are looked at, those that violate the margin are listed, and Newton steps
go over the listed ones alone. That is repeated until the gradient over all pairs is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rmls.kernels.arrays import Pairs, Problem
from rmls.kernels.gpu import cluster
from rmls.kernels.gpu.draws import put as on_device
from rmls.kernels.gpu.memory import free_bytes
from rmls.kernels.gpu.newton import CG, solve
from rmls.kernels.gpu.pairs import ListedPairs, Rows, SharedRows

# Matrix units want round sizes.
SAMPLED_ROWS, COUNTED_ROWS = 2_000, 1_000
# Scores above which a row is listed, by label. Those below -1 are inside the margin, and a step
# may bring them back; those above -1 leave violators to the sample while there are too many.
THRESHOLDS = (-1.1, -1.03, -1.01, -1.003, -1.001, -1.0, -0.98, -0.95, -0.9, -0.8, -0.6, -0.3)
EXACT = THRESHOLDS.index(-1.0)
MAX_ROUNDS, COARSE_ROUNDS = 20, 1
# Newton steps from the sample, while violators are missing, and when all are listed.
START_STEPS, COARSE_STEPS, STEPS = 4, 2, 2
COARSE_CG = (6, 0.3)
# Pairs that are listed, and non-zero features of them, about; and of a label, at least.
LISTED_PAIRS, LISTED_NUMBERS, LISTED_ROWS = 24_000_000, 400_000_000, 700
# Numbers in the weights of the labels that are solved together.
BLOCK_NUMBERS = 1 << 29
# Of every weight: itself, gradient, direction, what conjugate gradients keep, and its share of
# pairs.
WEIGHT_BYTES = 64
MAX_PAIRS = 1 << 28


def train_all(
    problem: Problem, relevant: Pairs, n_features: int, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (n_features, n_labels) and biases of all labels, block by block.

    Every process of a cluster trains its share of the labels.
    """

    def put(array: Any) -> Any:
        return on_device(array, device)

    indices = problem.x_indices.astype(np.int32)
    X = Rows.of(put(problem.x_indptr), put(indices), put(problem.x_data), n_features)
    m, row_costs = len(relevant.n_relevant), put(problem.costs)
    weights, bias = np.empty((n_features, m), np.float32), np.empty(m, np.float32)
    size = max(1, int(min(BLOCK_NUMBERS, free_bytes(device) / WEIGHT_BYTES)) // X.width)
    mine, end_of_mine = cluster.share_of(np.zeros(m, np.int64))
    for first in range(mine, end_of_mine, size):
        last = min(first + size, end_of_mine)
        begin, end = int(relevant.indptr[first]), int(relevant.indptr[last])
        indptr = put(relevant.indptr[first : last + 1] - begin)
        costs = (put(problem.label_costs[first:last]), row_costs)
        given = (indptr, put(relevant.rows[begin:end].astype(np.int32, copy=False)))
        W = train_block(X, given, costs, float(problem.tolerance))
        weights[:, first:last] = W[:, :n_features].T.cpu().numpy()
        bias[first:last] = W[:, -1].cpu().numpy()
    if cluster.place()[1] == 1:
        return weights, bias
    shares = cluster.gather((weights[:, mine:end_of_mine], bias[mine:end_of_mine]))
    parts = tuple(zip(*shares, strict=True))
    return np.concatenate(parts[0], axis=1), np.concatenate(parts[1])


def train_block(X: Rows, relevant: Any, costs: Any, tolerance: float, seed: int = 0) -> Any:
    """Return the weights of some labels, the bias last.

    Parameters
    ----------
    X : Rows
    relevant : (indptr, rows)
        The relevant rows of every label, on the device.
    costs : (label_costs, row_costs)
        A pair costs the product of both.
    tolerance : float
        A label is finished when the norm of its gradient is below this part of that at zero
        weights, times the share of its rarer class: LIBLINEAR's rule.
    """
    indptr, rows = relevant
    n, m, device = X.n_rows, len(indptr) - 1, indptr.device
    W = torch.zeros((m, X.width), device=device)
    W[:, -1] = -1.0
    limit = gradient_limits(X, relevant, costs, tolerance)
    labels = torch.repeat_interleave(torch.arange(m, device=device), indptr.diff())
    own = (labels * n + rows.long()).sort().values
    sample = Sample.of(X, own, costs, seed)
    solve(W, sample.parts(), limit, START_STEPS)
    live = torch.arange(m, device=device)
    for number in range(MAX_ROUNDS):
        part = W[live]
        coarse = number < COARSE_ROUNDS
        thresholds = choose_thresholds(part, X, sample.counted, indptr.diff()[live], coarse)
        found: list[Any] = [list_pairs(part, X, own, live, costs, thresholds)]
        exact = thresholds <= -1
        if not bool(exact.all()):
            found.append(sample.below(part, live, thresholds))
        # Far from the solution a rough direction serves as well.
        effort = (COARSE_STEPS, COARSE_CG) if coarse else (STEPS, CG)
        norms = solve(part, found, limit[live], *effort)
        W[live] = part
        live = live[(norms > limit[live]) | ~exact]
        if len(live) == 0:
            break
    return W


def gradient_limits(X: Rows, relevant: Any, costs: Any, tolerance: float) -> Any:
    """Return the norm of the gradient at which every label is finished."""
    (indptr, rows), (label_costs, row_costs) = relevant, costs
    m, n = len(indptr) - 1, X.n_rows
    labels = torch.repeat_interleave(torch.arange(m, device=indptr.device), indptr.diff())
    # At w = 0 the gradient is -2 sum_i c_i t_i x_i: all rows with -1, the relevant ones twice back.
    total = torch.zeros(X.width, device=indptr.device)
    owner, column, value = X.expand(torch.arange(n, device=indptr.device))
    total.index_add_(0, column, 2 * row_costs[owner] * value)
    gradient = total.repeat(m, 1)
    ones = torch.ones(len(rows), device=indptr.device)
    ListedPairs(X, labels.to(torch.int32), rows, ones, ones, m).add(
        -4 * row_costs[rows.long()], gradient
    )
    count = indptr.diff().to(torch.float32)
    share = torch.minimum(count, n - count).clamp(min=1.0) / n
    return tolerance * share * label_costs * gradient.norm(dim=1)


class Sample:
    """Rows that stand for all others: a dense table, the targets of all labels, and the costs."""

    def __init__(self, table: Any, targets: Any, costs: Any, rest: Any, counted: Any) -> None:
        self.table, self.targets, self.costs = table, targets, costs
        self.rest, self.counted = rest, counted

    @classmethod
    def of(cls, X: Rows, own: Any, costs: Any, seed: int) -> Sample:
        """Draw the rows; ``own`` are the relevant pairs of all labels."""
        n, device, (label_costs, row_costs) = X.n_rows, own.device, costs
        m = len(label_costs)
        size = min(SAMPLED_ROWS, n)
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(n, generator=generator).to(device)
        sample, counted = order[:size], order[-COUNTED_ROWS:]
        place = torch.full((n,), -1, dtype=torch.int64, device=device)
        place[sample] = torch.arange(size, device=device)
        labels, rows = own // n, own % n
        drawn = place[rows]
        targets = torch.full((m, size), -1.0, device=device)
        targets[labels[drawn >= 0], drawn[drawn >= 0]] = 1.0
        shared = (n / size) * label_costs[:, None] * row_costs[sample][None, :]
        labels, rows = labels[drawn < 0], rows[drawn < 0]
        cost = label_costs[labels] * row_costs[rows]
        given = (labels.to(torch.int32), rows.to(torch.int32), torch.ones_like(cost), cost, m)
        return cls(X.dense(sample), targets, shared, ListedPairs(X, *given), X.dense(counted))

    def products(self, W: Any) -> Any:
        """Return the scores of the sample."""
        return SharedRows(self.table, self.targets, self.costs).products(W)

    def parts(self) -> list[Any]:
        """Return a problem that stands for the whole: all relevant pairs, and the sample."""
        share = len(self.table) / self.rest.X.n_rows
        costs = torch.where(self.targets > 0, share * self.costs, self.costs)
        return [SharedRows(self.table, self.targets, costs), self.rest]

    def below(self, W: Any, live: Any, thresholds: Any) -> SharedRows:
        """Return what stands for the irrelevant pairs that are not listed."""
        # A threshold of -1 or less lists every violator of its label.
        listed = self.products(W) > thresholds[:, None]
        listed |= (thresholds <= -1)[:, None] | (self.targets[live] > 0)
        costs = torch.where(listed, 0.0, self.costs[live])
        return SharedRows(self.table, self.targets[live], costs)


def choose_thresholds(W: Any, X: Rows, counted: Any, n_relevant: Any, coarse: bool) -> Any:
    """Return for every label the lowest threshold that does not list too many of its rows.

    Rows that nothing was learned from tell how many there would be.
    """
    scores = SharedRows(counted, None, None).products(W)
    room = min(LISTED_PAIRS, LISTED_NUMBERS * X.n_rows // max(len(X.data), 1)) / max(len(W), 1)
    room = (4.0 * n_relevant).clamp(min=max(room, LISTED_ROWS)) * (len(counted) / X.n_rows)
    known = THRESHOLDS if coarse else THRESHOLDS[: EXACT + 1]
    chosen = torch.full_like(W[:, 0], known[-1])
    for threshold in known[-2::-1]:
        fits = (scores > threshold).sum(dim=1) <= room
        chosen = torch.where(fits, threshold, chosen)
    return chosen


def list_pairs(W: Any, X: Rows, own: Any, live: Any, costs: Any, thresholds: Any) -> ListedPairs:
    """Return the relevant pairs of the live labels, and others that violate the margin."""
    n, (label_costs, row_costs) = X.n_rows, costs
    # own holds label * n + row of all labels; that of the live ones, by their new numbers.
    number = torch.full((len(label_costs),), -1, dtype=torch.int64, device=W.device)
    number[live] = torch.arange(len(live), device=W.device)
    mine = number[own // n]
    mine = (mine * n + own % n)[mine >= 0]
    keys = torch.cat([find_violators(W, X, thresholds), mine]).sort().values
    first = torch.ones_like(keys, dtype=torch.bool)
    first[1:] = keys[1:] != keys[:-1]
    keys = keys[first]
    place = torch.searchsorted(mine, keys).clamp(max=max(len(mine) - 1, 0))
    is_own = mine[place] == keys if len(mine) else torch.zeros_like(keys, dtype=torch.bool)
    labels, rows = keys // n, keys % n
    cost = label_costs[live][labels] * row_costs[rows]
    kept = cost > 0
    targets = torch.where(is_own, 1.0, -1.0)
    given = (labels.to(torch.int32)[kept], rows.to(torch.int32)[kept], targets[kept], cost[kept])
    return ListedPairs(X, *given, len(live))


def find_violators(W: Any, X: Rows, thresholds: Any) -> Any:
    """Return ``label * n + row`` of all pairs whose score is above the label's threshold."""
    if W.is_cuda:
        from rmls.kernels.gpu.fused_pairs import find_above

        return find_above(W, X, thresholds, MAX_PAIRS)
    owner, column, value = X.expand(torch.arange(X.n_rows, device=W.device))
    scores = torch.zeros((X.n_rows, len(W)), device=W.device)
    scores.index_add_(0, owner, value[:, None] * W.T[column])
    found = (thresholds[:, None] < scores.T).nonzero()
    return found[:, 0] * X.n_rows + found[:, 1]
