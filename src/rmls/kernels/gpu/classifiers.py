"""Classifiers on the pairs that lists propose: what `rmls.kernels.cpu.ranker.dual` solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rmls.kernels.arrays import Pairs, Problem
from rmls.kernels.gpu import cluster
from rmls.kernels.gpu.draws import put as on_device
from rmls.kernels.gpu.memory import free_bytes
from rmls.kernels.gpu.newton import solve
from rmls.kernels.gpu.pairs import ListedPairs, Rows

# Numbers in the weights of the labels that are solved together.
BLOCK_NUMBERS = 1 << 30
# Of every weight: itself, gradient, direction, and what conjugate gradients keep.
WEIGHT_BYTES = 48
NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
STEPS = 6
# Of the pull of a label's own rows at the start: what is left of the gradient at the end.
TOLERANCE = 0.02


def solve_listed(
    problem: Problem,
    pairs: Pairs,
    duals: np.ndarray,
    n_features: int,
    device: str,
    tick: Callable[[float], None] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """Train the classifier of every label from ``duals``, which are moved in place.

    Every process of a cluster trains its share of the labels.
    """

    def put(array: Any) -> Any:
        return on_device(array, device)

    indices = problem.x_indices.astype(np.int32)
    X = Rows.of(put(problem.x_indptr), put(indices), put(problem.x_data), n_features)
    costs, m = put(problem.costs), len(pairs.n_relevant)
    bias, done = np.zeros(m, np.float32), [NOTHING]
    size = max(1, int(min(BLOCK_NUMBERS, free_bytes(device) / WEIGHT_BYTES)) // X.width)
    mine, end_of_mine = cluster.share_of(np.diff(pairs.indptr))
    for first in range(mine, end_of_mine, size):
        last = min(first + size, end_of_mine)
        begin, end = int(pairs.indptr[first]), int(pairs.indptr[last])
        lengths = np.diff(pairs.indptr[first : last + 1])
        number = np.arange(end - begin) - np.repeat(pairs.indptr[first:last] - begin, lengths)
        is_own = put(number < np.repeat(pairs.n_relevant[first:last], lengths))
        labels = put(np.repeat(np.arange(last - first, dtype=np.int32), lengths))
        rows = put(pairs.rows[begin:end].astype(np.int32, copy=False))
        cost = put(problem.label_costs[first:last])[labels.long()] * costs[rows.long()]
        offsets = put(problem.offsets[begin:end]) if len(problem.offsets) else None
        targets = torch.where(is_own, 1.0, -1.0)
        whole = ListedPairs(X, labels, rows, targets, cost, last - first, offsets)
        W, moved, known = solve_block(whole, put(duals[begin:end]))
        duals[begin:end] = moved.cpu().numpy()
        bias[first:last] = W[:, -1].cpu().numpy()
        done.append(gather_weights(W, known, float(problem.prune)))
        if tick is not None:
            tick((last - mine) / (end_of_mine - mine))
    solved = [np.concatenate(each) for each in zip(*done, strict=True)]
    begin, end = int(pairs.indptr[mine]), int(pairs.indptr[end_of_mine])
    shares = cluster.gather([*solved, bias[mine:end_of_mine], duals[begin:end]])
    lengths, found, values, bias, moved = (
        np.concatenate(each) for each in zip(*shares, strict=True)
    )
    duals[...] = moved
    return lengths, found.astype(problem.x_indices.dtype), values, bias


def solve_block(pairs: ListedPairs, duals: Any) -> tuple[Any, Any, Any]:
    """Return weights, dual variables and which labels have a relevant row of positive cost."""
    m, device = pairs.n_labels, duals.device
    own = torch.where(pairs.targets > 0, pairs.costs, 0.0)
    pull = pairs.sums(own)
    known = pull > 0
    W = torch.zeros((m, pairs.X.width), device=device)
    # w = sum_i a_i t_i x_i takes up the last solution; a label without one starts at the margin
    # of its irrelevant rows.
    pairs.add(duals * pairs.targets, W)
    fresh = pairs.sums(duals) <= 0
    W[fresh, -1] = -1.0
    used = (pairs.costs > 0) & known[pairs.labels.long()]
    kept = pairs.take(used)
    solve(W, [kept], TOLERANCE * 2 * pull, STEPS)
    W[~known] = 0.0
    W[~known, -1] = -1.0
    # At the solution a_i is half the slope of the loss in the margin.
    gaps = (1 - kept.targets * kept.margins(W)).clamp(min=0)
    moved = torch.zeros_like(duals)
    moved[used] = 2 * kept.costs * gaps
    return W, moved, known


def gather_weights(W: Any, known: Any, prune: float) -> tuple[Any, Any, Any]:
    """Return number, features and values of the weights of every label that are large enough."""
    # The bias is the last; no row has the columns between it and the features.
    weights = W[:, :-1]
    large = (weights.abs() >= prune) & (weights != 0) & known[:, None]
    _, features = large.nonzero(as_tuple=True)
    lengths = large.sum(dim=1)
    return (
        lengths.cpu().numpy(),
        features.to(torch.int32).cpu().numpy(),
        weights[large].cpu().numpy(),
    )
