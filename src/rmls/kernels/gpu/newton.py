"""Linear classifiers of many labels at once: Newton's method with conjugate gradients.

Label j minimises ``|w|^2 / 2 + sum_i c_ij max(0, 1 - t_ij w . x_i)^2`` over its pairs (squared
hinge; the last weight is the bias). A Newton step of the squared hinge looks only at pairs that
violate the margin, which are few soon. All labels take their steps together; each has its own step
lengths and stops by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rmls.core.numeric import MIN_CURVATURE, NewtonSteps

Floats = NDArray[np.float64]

# Steps of conjugate gradients at most, and what they leave of the gradient.
CG = (15, 0.1)
LINE_STEPS = 3
SHORTEST, LONGEST = 0.05, 2.0


def solve(
    W: Any, parts: list[Any], tolerance: Any, n_steps: int, cg: tuple[int, float] = CG
) -> Any:
    """Take up to ``n_steps`` Newton steps of all labels, in place.

    ``cg`` bounds the steps of conjugate gradients, and what they leave of a gradient.

    Returns the norms of the gradients before the first step. A label whose norm is below
    ``tolerance`` rests.
    """
    scores = [part.margins(W) for part in parts]
    first = None
    for _ in range(n_steps):
        marked = [part.targets * score < 1 for part, score in zip(parts, scores, strict=True)]
        gradient = W.clone()
        for part, score, mark in zip(parts, scores, marked, strict=True):
            part.add(torch.where(mark, 2 * part.costs * (score - part.targets), 0.0), gradient)
        norms = gradient.norm(dim=1)
        first = norms if first is None else first
        live = norms > tolerance
        if not bool(live.any()):
            break
        active = [part.take(mark) for part, mark in zip(parts, marked, strict=True)]
        direction = descend(gradient, active, live, *cg)
        moves = [part.products(direction) for part in parts]
        length = search_line(W, direction, parts, scores, moves) * live
        W += length[:, None] * direction
        for part, score, move in zip(parts, scores, moves, strict=True):
            score += part.spread(length) * move
    return first


def descend(gradient: Any, parts: list[Any], live: Any, n_steps: int, left: float) -> Any:
    """Return ``-H^-1 gradient`` of the live labels, by conjugate gradients; others get 0."""
    curvatures = [2 * part.costs for part in parts]
    rest, direction = -gradient * live[:, None], torch.zeros_like(gradient)
    along, bent = rest.clone(), rest.clone()
    square = (rest * rest).sum(dim=1)
    state = (along, bent, direction, rest, square, left**2 * square, live.float())
    for number in range(n_steps):
        # H p = p + sum of the curved terms; the step before has left p in ``bent``.
        for part, curvature in zip(parts, curvatures, strict=True):
            part.add_curved(curvature, along, bent, state[-1])
        conjugate_step(*state)
        # Looking at the flags stops the device: not after every step.
        if number % 3 == 2 and not bool(state[-1].any()):
            break
    return direction


def conjugate_step(
    along: Any, bent: Any, direction: Any, rest: Any, square: Any, enough: Any, live: Any
) -> None:
    """Take one step of conjugate gradients of every live label, in place."""
    if along.is_cuda:
        from rmls.kernels.gpu import fused_pairs

        fused_pairs.conjugate_step(along, bent, direction, rest, square, enough, live)
        return
    step = live * square / (along * bent).sum(dim=1).clamp(min=1e-30)
    direction.addcmul_(step[:, None], along)
    rest.addcmul_(step[:, None], bent, value=-1)
    new = (rest * rest).sum(dim=1)
    along.mul_((new / square.clamp(min=1e-30))[:, None]).add_(rest)
    bent.copy_(along)
    square.copy_(new)
    live.mul_(new > enough)


def search_line(W: Any, direction: Any, parts: list[Any], scores: Any, moves: Any) -> Any:
    """Return the step length of every label that is best, or nearly: the slope's root by Newton."""
    along, square = (W * direction).sum(dim=1), (direction * direction).sum(dim=1)
    length = torch.ones_like(along)
    for _ in range(LINE_STEPS):
        slope, bend = along + length * square, square.clone()
        for part, score, move in zip(parts, scores, moves, strict=True):
            moved = score + part.spread(length) * move
            cost = torch.where(part.targets * moved < 1, 2 * part.costs, 0.0)
            slope += part.sums(cost * (moved - part.targets) * move)
            bend += part.sums(cost * move * move)
        length = (length - slope / bend.clamp(min=1e-30)).clamp(SHORTEST, LONGEST)
    return length


def fit_logistic(
    design: Any, total: Any, positive: Any, ridge: float, steps: NewtonSteps
) -> Floats:
    """Return the coefficients of a logistic regression, as `rmls.core.numeric.fit_logistic`."""
    theta = np.zeros(design.shape[1])
    diagonal = max(ridge, MIN_CURVATURE) * np.eye(len(theta))
    for _ in range(steps.max_steps):
        p = torch.sigmoid(design @ torch.from_numpy(theta).to(design))
        curved = (design * (total * p * (1 - p))[:, None]).T @ design
        slope = design.T @ (total * p - positive)
        both = torch.cat([slope[None], curved]).cpu().numpy().astype(np.float64)
        move = np.linalg.solve(both[1:] + diagonal, both[0] + ridge * theta)
        length = float(np.abs(move).max())
        theta -= move * min(1.0, steps.max_move / max(length, 1e-12))
        if length < steps.tolerance:
            break
    return theta
