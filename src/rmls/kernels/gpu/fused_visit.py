"""The first three kernels of a batch: vectors of visits, slopes of their labels, gradients.

Vectors and gradients are sums of rows of parameters: a program adds up some components of one
visit. Slopes are made label by label, whatever visit it belongs to, so that programs are alike.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _tanh(x):
    # Of 2 sigmoid(2 x) - 1, which loses no digits that float32 has.
    return 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0


@triton.jit
def _slope_of_loss(score, target, LOSS: tl.constexpr):
    if LOSS == 0:
        return -target / (1.0 + tl.exp(target * score))
    if LOSS == 1:
        return score - 0.5 * (target + 1.0)
    return -2.0 * target * tl.maximum(1.0 - target * score, 0.0)


@triton.jit
def _value_of_loss(score, target, LOSS: tl.constexpr):
    margin = target * score
    if LOSS == 0:
        return tl.log(1.0 + tl.exp(-tl.abs(margin))) + tl.maximum(-margin, 0.0)
    if LOSS == 1:
        error = score - 0.5 * (target + 1.0)
        return 0.5 * error * error
    gap = tl.maximum(1.0 - margin, 0.0)
    return gap * gap


@triton.jit
def _uniform(key, position):
    # splitmix64 of the key and the position, its upper 24 bits.
    z = key ^ ((position + 1).to(tl.uint64) * 0x9E3779B97F4A7C15)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    z = z ^ (z >> 31)
    return (z >> 40).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08


@triton.jit
def _add_rows(
    table, indptr, indices, values, visit, cs, real,
    K: tl.constexpr, COLUMNS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Return the sum of the rows of a visit times their values, some columns of it."""
    tile = tl.arange(0, TILE)
    start, stop = tl.load(indptr + visit), tl.load(indptr + visit + 1)
    total = tl.zeros([TILE, COLUMNS], tl.float32)
    index = tl.load(indices + start + tile, mask=start + tile < stop, other=0)
    for at in range(start, stop, TILE):
        there = at + tile < stop
        both = there[:, None] & real[None, :]
        place = index.to(tl.int64)[:, None] * K + cs[None, :]
        part = tl.load(table + place, mask=both, other=0.0)
        value = tl.load(values + at + tile, mask=there, other=0.0)
        # The next rows are named while these are on their way.
        after = at + TILE + tile
        index = tl.load(indices + after, mask=after < stop, other=0)
        total += value[:, None] * part
    return tl.sum(total, axis=0)


@triton.jit(do_not_specialize=["first"])
def represent_kernel(
    first, x_indptr, x_indices, x_data, W, b, h_out, square_h,
    K: tl.constexpr, COLUMNS: tl.constexpr, TILE: tl.constexpr, BLOCKS: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Write some components of the vector of every visit, and their squares."""
    local, block = tl.program_id(0), tl.program_id(1)
    cs = block * COLUMNS + tl.arange(0, COLUMNS)
    real = cs < K
    h = _add_rows(W, x_indptr, x_indices, x_data, first + local, cs, real, K, COLUMNS, TILE)
    h += tl.load(b + cs, mask=real, other=0.0)
    if ACTIVATION == 0:
        h = _tanh(h)
    elif ACTIVATION == 2:
        h = tl.maximum(h, 0.0)
    h = tl.where(real, h, 0.0)
    tl.store(h_out + local * K + cs, h, mask=real)
    tl.store(square_h + local * BLOCKS + block, tl.sum(h * h, axis=0) / K)


@triton.jit(do_not_specialize=["first"])
def back_kernel(
    first, e_indptr, e_labels, e_slopes, L, h_in, back_out, square_back,
    e_losses, losses_out,
    K: tl.constexpr, COLUMNS: tl.constexpr, TILE: tl.constexpr, BLOCKS: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Write some components of the gradient in the vector of every visit, and its loss."""
    local, block = tl.program_id(0), tl.program_id(1)
    cs = block * COLUMNS + tl.arange(0, COLUMNS)
    real = cs < K
    h = tl.load(h_in + local * K + cs, mask=real, other=0.0)
    back = _add_rows(L, e_indptr, e_labels, e_slopes, first + local, cs, real, K, COLUMNS, TILE)
    if ACTIVATION == 0:
        back *= 1.0 - h * h
    elif ACTIVATION == 2:
        back = tl.where(h > 0, back, 0.0)
    tl.store(back_out + local * K + cs, back, mask=real)
    tl.store(square_back + local * BLOCKS + block, tl.sum(back * back, axis=0) / K)
    if block == 0:
        start, stop = tl.load(e_indptr + first + local), tl.load(e_indptr + first + local + 1)
        tile = tl.arange(0, 64)
        loss = tl.zeros([64], tl.float32)
        for at in range(start, stop, 64):
            loss += tl.load(e_losses + at + tile, mask=at + tile < stop, other=0.0)
        tl.store(losses_out + first + local, tl.sum(loss, axis=0))


@triton.jit
def _thin(slope, limit, key, position):
    """Round small slopes to 0 or the limit at random, with the same mean."""
    rounded = tl.where(slope > 0, limit, -limit)
    rounded = tl.where(_uniform(key, position) * limit >= tl.abs(slope), 0.0, rounded)
    return tl.where(tl.abs(slope) >= limit, slope, rounded)


@triton.jit(do_not_specialize=["first", "n_here"])
def score_kernel(
    first, n_here, programs, weights_ptr, keys_ptr, share_ptr, n_relevant_ptr,
    e_indptr, e_visits, e_labels, e_places, e_shift, label_weight, L, c,
    h, e_slopes, slopes, e_losses, floor,
    K: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr,
    LOSS: tl.constexpr, SHIFTED: tl.constexpr,
):  # fmt: skip
    """Write slope and loss of every chosen label; slopes also to where the label looks for them."""
    ks = tl.arange(0, BK)
    real = ks < K
    tile = tl.arange(0, TILE)
    begin, end = tl.load(e_indptr + first), tl.load(e_indptr + first + n_here)
    for at in range(begin + tl.program_id(0) * TILE, end, programs * TILE):
        entry = at + tile
        there = entry < end
        label = tl.load(e_labels + entry, mask=there, other=0).to(tl.int64)
        visit = tl.load(e_visits + entry, mask=there, other=first)
        both = there[:, None] & real[None, :]
        part = tl.load(L + label[:, None] * K + ks[None, :], mask=both, other=0.0)
        seen = tl.load(h + (visit - first)[:, None] * K + ks[None, :], mask=both, other=0.0)
        place = tl.load(e_places + entry, mask=there, other=0)
        bias = tl.load(c + label, mask=there, other=0.0)
        weight = tl.load(weights_ptr + visit, mask=there, other=0.0)
        own = weight * tl.load(label_weight + label, mask=there, other=0.0)
        other = weight * tl.load(share_ptr + visit, mask=there, other=0.0)
        key = tl.load(keys_ptr + visit, mask=there, other=0).to(tl.uint64, bitcast=True)
        position = entry - tl.load(e_indptr + visit, mask=there, other=0)
        relevant = position < tl.load(n_relevant_ptr + visit, mask=there, other=0)
        score = tl.sum(part * seen, axis=1) + bias
        if SHIFTED:
            score -= tl.load(e_shift + entry, mask=there, other=0.0)
        target = tl.where(relevant, 1.0, -1.0)
        scale = tl.where(there, tl.where(relevant, own, other), 0.0)
        slope = scale * _slope_of_loss(score, target, LOSS)
        slope = _thin(slope, scale * floor, key, position)
        tl.store(slopes + place, slope, mask=there)
        tl.store(e_slopes + entry, slope, mask=there)
        tl.store(e_losses + entry, scale * _value_of_loss(score, target, LOSS), mask=there)
