"""The step of a batch in plain PyTorch: any device, any loss; what the fused kernels must equal.

Where every label is looked at, no list of labels is needed: scores of the batch with a chunk of
labels become slopes, and two more products are the gradients of both sides. The matrix of all
scores is never formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from rmls.kernels.arrays import UNIFORM, Objective
from rmls.kernels.gpu.draws import GOLDEN, mix, repeat, shifted
from rmls.kernels.gpu.plan import Groups, Layout

LOGISTIC, SQUARED, SQUARED_HINGE = 0, 1, 2
TANH, RELU = 0, 2
MAX_LOGIT = 40.0
# Scores with all labels that exist at once.
SCORES = 1 << 25


class Model(NamedTuple):
    """Parameters and accumulators on a device."""

    params: Any
    sums: Any
    label_weight: Any
    max_label_norm: Any


class Steps(NamedTuple):
    """How a batch moves a row: by its summed gradient, or as visits one by one would have.

    ``alone`` stands for the second; then no step is longer than ``longest`` times the rate in root
    mean square.
    """

    alone: bool
    longest: float


def losses_and_slopes(loss: int, scores: Any, targets: Any, focus: Any) -> tuple[Any, Any]:
    """Return value and derivative of a loss at every score; targets are 1 and -1."""
    if loss == LOGISTIC:
        return torch.nn.functional.softplus(-targets * scores), -targets * torch.sigmoid(
            -targets * scores
        )
    if loss == SQUARED:
        error = scores - 0.5 * (targets + 1)
        return 0.5 * error * error, error
    if loss == SQUARED_HINGE:
        gap = (1 - targets * scores).clamp(min=0)
        return gap * gap, -2 * targets * gap
    return focused(scores, targets, focus)


def focused(scores: Any, targets: Any, focus: Any) -> tuple[Any, Any]:
    """Return value and slope of the asymmetric loss; see `rmls.kernels.cpu.sgd.arithmetic`."""
    relevant, irrelevant, margin = (float(each) for each in focus)
    scores = scores.clamp(-MAX_LOGIT, MAX_LOGIT)
    p, other = torch.sigmoid(scores), torch.sigmoid(-scores)
    log_p, scale = torch.nn.functional.logsigmoid(scores), other**relevant
    values, slopes = -scale * log_p, scale * (relevant * p * log_p - other)
    u = p - margin
    hard = u > 0
    u = torch.where(hard, u, 0.5)
    left = other + margin
    # log(1 - u) from whichever of u and 1 - u is small.
    log_left = torch.where(u < 0.5, torch.log1p(-u), left.log())
    scale = u**irrelevant
    down = scale * p * other * (1 / left - irrelevant * log_left / u)
    is_relevant = targets > 0
    values = torch.where(is_relevant, values, torch.where(hard, -scale * log_left, 0.0))
    return values, torch.where(is_relevant, slopes, torch.where(hard, down, 0.0))


def thin_slopes(slopes: Any, floors: Any, keys: Any, positions: Any) -> Any:
    """Round small slopes at random to 0 or their floor, keeping their mean."""
    random = shifted(mix(keys ^ ((positions + 1) * GOLDEN)), 40).to(torch.float32) * 2.0**-24
    rounded = torch.where(random * floors >= slopes.abs(), 0.0, floors * slopes.sign())
    return torch.where(slopes.abs() >= floors, slopes, rounded)


def make_step(model: Model, layout: Layout, objective: Objective, steps: Steps, batch: int) -> Any:
    """Move the parameters by one batch; returns the loss of every visit of it."""
    first = batch * layout.batch_size
    last = min(first + layout.batch_size, layout.n_visits)
    L, c, drawn = model.params.L, model.params.c, layout.drawn
    h = represent(model, layout, objective, first, last)
    start, stop = int(drawn.indptr[first]), int(drawn.indptr[last])
    visit, position = repeat(drawn.indptr[first : last + 1].long().diff())
    labels = drawn.labels[start:stop].long()
    vectors = L[labels]
    scores = (h[visit] * vectors).sum(dim=1) + c[labels]
    if drawn.shift is not None:
        scores = scores - drawn.shift[start:stop]
    is_relevant = position < drawn.n_relevant[first:last][visit]
    weights = layout.weights[first:last]
    scale = torch.where(
        is_relevant,
        weights[visit] * model.label_weight[labels],
        (weights * drawn.share[first:last])[visit],
    )
    targets = torch.where(is_relevant, 1.0, -1.0)
    values, slopes = losses_and_slopes(objective.loss, scores, targets, objective.focus)
    floors = scale * float(objective.gradient_floor)
    keys = layout.keys[first:last][visit]
    slopes = thin_slopes(scale * slopes, floors, keys, position)
    back = torch.zeros_like(h).index_add_(0, visit, slopes[:, None] * vectors)
    back = back * activation_slope(h, objective.activation)
    placed = torch.empty_like(slopes)
    ours = layout.labels.starts[layout.labels.batches[batch]]
    placed[layout.places[start:stop].long() - ours] = slopes
    move_labels(model, layout, objective, steps, batch, (placed, h))
    move_features(model, layout, objective, steps, batch, back)
    return values.new_zeros(len(h)).index_add_(0, visit, scale * values)


def represent(model: Model, layout: Layout, objective: Objective, first: int, last: int) -> Any:
    """Return the vectors of some visits."""
    W, b, x = model.params.W, model.params.b, layout.x
    owner, _ = repeat(x.indptr[first : last + 1].long().diff())
    entries = slice(int(x.indptr[first]), int(x.indptr[last]))
    terms = x.data[entries][:, None] * W[x.indices[entries].long()]
    h = b.repeat(last - first, 1).index_add_(0, owner, terms)
    return activate(h, objective.activation)


def activate(h: Any, activation: int) -> Any:
    """Return the activation of every number."""
    if activation == TANH:
        return torch.tanh(h)
    return h.clamp(min=0) if activation == RELU else h


def activation_slope(h: Any, activation: int) -> Any:
    """Return the derivative of the activation, from its output."""
    if activation == TANH:
        return 1 - h * h
    return (h > 0).to(h.dtype) if activation == RELU else torch.ones_like(h)


class Gradients(NamedTuple):
    """Summed gradients of some rows, summed squares of the visits' own, and how many these are.

    ``visits`` counts those of slope 0 too, which move nothing but pay the penalty.
    """

    rows: Any
    total: Any
    squares: Any
    count: Any
    visits: Any


def collect(
    groups: Groups, layout: Layout, batch: int, values: Any, vectors: Any, decay: float
) -> Gradients:
    """Sum up what the visits of a batch add to every row: their values times their vectors.

    Without ``decay`` a row whose values are all 0 is not touched.
    """
    begin, end = (int(at) for at in groups.batches[batch : batch + 2])
    starts = groups.starts[begin : end + 1].long()
    owner, _ = repeat(starts.diff())
    visits = groups.visits[starts[0] : starts[-1]].long() - batch * layout.batch_size
    terms = values[:, None] * vectors[visits]
    total, squares = (terms.new_zeros((end - begin, terms.shape[1])) for _ in range(2))
    count = terms.new_zeros((end - begin, 1))
    total.index_add_(0, owner, terms)
    squares.index_add_(0, owner, terms * terms)
    count.index_add_(0, owner, (values != 0).to(terms.dtype)[:, None])
    sizes = starts.diff().to(terms.dtype)[:, None]
    kept = (count if decay == 0 else sizes)[:, 0] > 0
    rows = groups.rows[begin:end].long()
    return Gradients(rows[kept], total[kept], squares[kept], count[kept], sizes[kept])


def move_rows(
    theta: Any, sums: Any, found: Gradients, rate: Any, decay: float, steps: Steps
) -> Any:
    """Take the AdaGrad step of some rows of ``theta``, with an accumulator a row or a number.

    Visits one by one would divide the t-th gradient by ``sqrt(a + t s)``, with s the mean square
    of one: n of them go ``2 n / (sqrt(a + (n + 1/2) s) + sqrt(a + s / 2))`` times their mean.
    The penalty is due at every visit, also where the slope was rounded to 0.
    """
    rows, total, squares, count, visits = found
    old, start = theta[rows], sums[rows]
    by_row = sums.shape[1] == 1 and theta.shape[1] > 1
    if not steps.alone:
        push = total if by_row else total + decay * old
        grown = start + ((push * push).mean(dim=1, keepdim=True) if by_row else push * push)
        step = rate / grown.sqrt()
        moved = old - step * (push + decay * old if by_row else push)
    else:
        added = squares.mean(dim=1, keepdim=True) if by_row else squares
        grown, half = start + added, added / count.clamp(min=1) / 2
        step = 2 * rate / ((grown + half).sqrt() + (start + half).sqrt())
        size = (total * total).mean(dim=1, keepdim=True).sqrt() if by_row else total.abs()
        step = step * (steps.longest * rate / (step * size).clamp(min=1e-30)).clamp(max=1.0)
        moved = (1 - step * decay * visits).clamp(min=0) * old - step * total
    theta[rows], sums[rows] = moved, grown


def move_labels(
    model: Model, layout: Layout, objective: Objective, steps: Steps, batch: int, seen: Any
) -> None:
    """Move the labels of a batch; ``seen`` are slopes in the order of the groups, and vectors."""
    slopes, h = seen
    rate, decay = layout.rates[batch], 2 * float(objective.l2)
    found = collect(layout.labels, layout, batch, slopes, h, decay)
    move_rows(model.params.L, model.sums.L, found, rate, decay, steps)
    if objective.intercept:
        ones = torch.ones((len(h), 1), device=h.device)
        numbers = collect(layout.labels, layout, batch, slopes, ones, 0.0)
        move_rows(model.params.c[:, None], model.sums.c[:, None], numbers, rate, 0.0, steps)
    bound_norms(model, found.rows)


def bound_norms(model: Model, rows: Any) -> None:
    """Bring the vectors of some labels within their bounds, if there are any."""
    if model.max_label_norm is not None:
        vectors = model.params.L[rows]
        squares = (vectors * vectors).sum(dim=1)
        bound = model.max_label_norm[rows]
        factor = (bound / squares.clamp(min=1e-30)).clamp(max=1.0).sqrt()
        model.params.L[rows] = vectors * factor[:, None]


def move_features(
    model: Model, layout: Layout, objective: Objective, steps: Steps, batch: int, back: Any
) -> None:
    """Move the features of a batch and any bias against the gradients ``back`` of its visits."""
    rate, decay = layout.rates[batch], 2 * float(objective.l2)
    groups = layout.features
    begin, end = (int(groups.starts[at]) for at in groups.batches[batch : batch + 2])
    found = collect(groups, layout, batch, layout.values[begin:end], back, decay)
    move_rows(model.params.W, model.sums.W, found, rate, decay, steps)
    if not objective.intercept:
        return
    total, squares = back.sum(dim=0, keepdim=True), (back * back).sum(dim=0, keepdim=True)
    one = torch.zeros(1, dtype=torch.int64, device=back.device)
    count = torch.full((1, 1), float(len(back)), device=back.device)
    bias = Gradients(one, total, squares, count, count)
    move_rows(model.params.b[None], model.sums.b[None], bias, rate, 0.0, steps)


def is_dense(objective: Objective, steps: Steps) -> bool:
    """Tell whether all labels are looked at in matrices.

    Slopes are not rounded there, which only saves time elsewhere and costs time here. Batches that
    must move as on the CPU round them if they were asked to.
    """
    every = objective.all_negatives and objective.sampler.kind == UNIFORM
    exact = steps.alone or float(objective.gradient_floor) == 0
    return bool(every and exact and not objective.sampler.log_q)


def make_dense_step(
    model: Model, layout: Layout, objective: Objective, steps: Steps, batch: int
) -> Any:
    """Move the parameters by one batch; returns the loss of every visit of it."""
    first = batch * layout.batch_size
    last = min(first + layout.batch_size, layout.n_visits)
    drawn, L = layout.drawn, model.params.L
    h = represent(model, layout, objective, first, last)
    owner, _ = repeat(drawn.indptr[first : last + 1].long().diff())
    labels = drawn.labels[int(drawn.indptr[first]) : int(drawn.indptr[last])].long()
    weights = layout.weights[first:last]
    others = (weights * drawn.share[first:last])[:, None]
    back, losses = torch.zeros_like(h), torch.zeros_like(weights)
    rate, decay = layout.rates[batch], 2 * float(objective.l2)
    size = max(1, SCORES // len(h))
    with fast_products(h):
        for start in range(0, len(L), size):
            rows = torch.arange(start, min(start + size, len(L)), device=h.device)
            here = (labels >= start) & (labels < start + size)
            place = (owner[here], labels[here] - start)
            own = weights[owner[here]] * model.label_weight[labels[here]]
            scores = torch.addmm(model.params.c[rows], h, L[start : start + size].T)
            slopes = _slopes(objective, scores, others, (place, own), losses)
            back += slopes @ L[start : start + size]
            _move_chunk(model, objective, steps, (rows, slopes, h), rate, decay)
    back = back * activation_slope(h, objective.activation)
    move_features(model, layout, objective, steps, batch, back)
    return losses


def _slopes(objective: Objective, scores: Any, others: Any, relevant: Any, losses: Any) -> Any:
    """Return the slopes of all scores; adds their losses to those of the visits."""
    place, own = relevant
    values, slopes = losses_and_slopes(
        objective.loss, scores[place], torch.ones_like(own), objective.focus
    )
    right, up = own * values, own * slopes
    values, slopes = losses_and_slopes(
        objective.loss, scores, scores.new_full((), -1.0), objective.focus
    )
    values, slopes = values * others, slopes * others
    values[place], slopes[place] = right, up
    losses += values.sum(dim=1)
    return slopes


def _move_chunk(
    model: Model, objective: Objective, steps: Steps, seen: Any, rate: Any, decay: float
) -> None:
    """Move some labels, all of which every visit of the batch has looked at."""
    rows, slopes, h = seen
    squared = slopes * slopes
    by_row = model.sums.L.shape[1] == 1 and h.shape[1] > 1
    # Squares of the visits' own gradients: by row their mean, and the same in every column.
    squares = squared.T @ ((h * h).mean(dim=1, keepdim=True) if by_row else h * h)
    count = (slopes != 0).sum(dim=0).to(h.dtype)[:, None]
    visits = torch.full_like(count, float(len(h)))
    found = Gradients(rows, slopes.T @ h, squares, count, visits)
    move_rows(model.params.L, model.sums.L, found, rate, decay, steps)
    if objective.intercept:
        total = slopes.sum(dim=0)[:, None]
        numbers = Gradients(rows, total, squared.sum(dim=0)[:, None], count, visits)
        move_rows(model.params.c[:, None], model.sums.c[:, None], numbers, rate, 0.0, steps)
    bound_norms(model, rows)


@contextmanager
def fast_products(like: Any) -> Iterator[None]:
    """Let matrix units make products of float32 from ten bits of every factor."""
    if not like.is_cuda:
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
