"""The first kernel of a batch: every visit looks at its features and its labels."""

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
def _represent(
    row, x_indptr, x_indices, x_data, W, b,
    K: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Return the vector of a row."""
    ks = tl.arange(0, BK)
    real = ks < K
    tile = tl.arange(0, TILE)
    total = tl.zeros([TILE, BK], tl.float32)
    stop = tl.load(x_indptr + row + 1)
    for at in range(tl.load(x_indptr + row), stop, TILE):
        there = at + tile < stop
        feature = tl.load(x_indices + at + tile, mask=there, other=0).to(tl.int64)
        value = tl.load(x_data + at + tile, mask=there, other=0.0)
        both = there[:, None] & real[None, :]
        part = tl.load(W + feature[:, None] * K + ks[None, :], mask=both, other=0.0)
        total += value[:, None] * part
    h = tl.load(b + ks, mask=real, other=0.0) + tl.sum(total, axis=0)
    if ACTIVATION == 0:
        h = _tanh(h)
    elif ACTIVATION == 2:
        h = tl.maximum(h, 0.0)
    return tl.where(real, h, 0.0)


@triton.jit
def _thin(slope, limit, key, position):
    """Round small slopes to 0 or the limit at random, with the same mean."""
    rounded = tl.where(slope > 0, limit, -limit)
    rounded = tl.where(_uniform(key, position) * limit >= tl.abs(slope), 0.0, rounded)
    return tl.where(tl.abs(slope) >= limit, slope, rounded)


@triton.jit
def _look_at_labels(
    h, visit, start, stop, weight, other_weight, key, n_relevant, floor,
    e_labels, e_places, e_shift, label_weight, L, c, slopes_out,
    K: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr,
    LOSS: tl.constexpr, SHIFTED: tl.constexpr,
):  # fmt: skip
    """Write the slopes of the labels of a visit; returns the gradient in h and the loss."""
    ks = tl.arange(0, BK)
    real = ks < K
    tile = tl.arange(0, TILE)
    back = tl.zeros([TILE, BK], tl.float32)
    loss = tl.zeros([TILE], tl.float32)
    for at in range(start, stop, TILE):
        entry = at + tile
        there = entry < stop
        label = tl.load(e_labels + entry, mask=there, other=0).to(tl.int64)
        place = tl.load(e_places + entry, mask=there, other=0)
        both = there[:, None] & real[None, :]
        part = tl.load(L + label[:, None] * K + ks[None, :], mask=both, other=0.0)
        score = tl.sum(part * h[None, :], axis=1) + tl.load(c + label, mask=there, other=0.0)
        if SHIFTED:
            score -= tl.load(e_shift + entry, mask=there, other=0.0)
        position = entry - start
        relevant = position < n_relevant
        target = tl.where(relevant, 1.0, -1.0)
        own = weight * tl.load(label_weight + label, mask=there, other=0.0)
        scale = tl.where(there, tl.where(relevant, own, other_weight), 0.0)
        loss += scale * _value_of_loss(score, target, LOSS)
        slope = scale * _slope_of_loss(score, target, LOSS)
        slope = _thin(slope, scale * floor, key, position)
        tl.store(slopes_out + place, slope, mask=there)
        back += slope[:, None] * part
    return tl.sum(back, axis=0), tl.sum(loss, axis=0)


@triton.jit(do_not_specialize=["first", "n_visits"])
def visit_kernel(
    rows_ptr, weights_ptr, keys_ptr, share_ptr, n_relevant_ptr, first, n_visits,
    x_indptr, x_indices, x_data,
    e_indptr, e_labels, e_places, e_shift, label_weight,
    W, b, L, c,
    h_out, back_out, square_h, square_back, slopes_out, losses_out, floor,
    K: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr,
    LOSS: tl.constexpr, ACTIVATION: tl.constexpr, SHIFTED: tl.constexpr,
):  # fmt: skip
    """Write the vector of every visit, the gradient in it, their squares, slopes and losses."""
    local = tl.program_id(0)
    visit = first + local
    if visit < n_visits:
        ks = tl.arange(0, BK)
        real = ks < K
        row = tl.load(rows_ptr + visit)
        start, stop = tl.load(e_indptr + visit), tl.load(e_indptr + visit + 1)
        weight = tl.load(weights_ptr + visit)
        other_weight = weight * tl.load(share_ptr + visit)
        key = tl.load(keys_ptr + visit).to(tl.uint64, bitcast=True)
        n_relevant = tl.load(n_relevant_ptr + visit)
        h = _represent(row, x_indptr, x_indices, x_data, W, b, K, BK, TILE, ACTIVATION)
        back, loss = _look_at_labels(
            h, visit, start, stop, weight, other_weight, key, n_relevant, floor,
            e_labels, e_places, e_shift, label_weight, L, c, slopes_out,
            K, BK, TILE, LOSS, SHIFTED,
        )  # fmt: skip
        if ACTIVATION == 0:
            back *= 1.0 - h * h
        elif ACTIVATION == 2:
            back = tl.where(h > 0, back, 0.0)
        tl.store(h_out + local * K + ks, h, mask=real)
        tl.store(back_out + local * K + ks, back, mask=real)
        tl.store(square_h + local, tl.sum(h * h, axis=0) / K)
        tl.store(square_back + local, tl.sum(back * back, axis=0) / K)
        tl.store(losses_out + visit, loss)
