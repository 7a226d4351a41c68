"""Products over pairs of a label and a row as Triton kernels; see `pairs` and `one_vs_rest`."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from rmls.core.errors import InputError

TILE_NUMBERS, LONG_ROW = 2048, 128
# Programs that run at once add to this many labels, about: all adding to one label would wait for
# one another, and the weights of too many do not stay in the cache.
LABEL_GROUPS = 256
LABELS_AT_ONCE = 512
SCAN_FEATURES = 16


@triton.jit(do_not_specialize=["n_pairs"])
def _products_kernel(
    labels, rows, n_pairs, x_indptr, x_indices, x_data, V, out, width,
    PAIRS: tl.constexpr, NUMBERS: tl.constexpr,
):  # fmt: skip
    pair = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    there = pair < n_pairs
    row = tl.load(rows + pair, mask=there, other=0)
    label = tl.load(labels + pair, mask=there, other=0).to(tl.int64)
    start = tl.load(x_indptr + row, mask=there, other=0)
    count = (tl.load(x_indptr + row + 1, mask=there, other=0) - start).to(tl.int32)
    number = tl.arange(0, NUMBERS)
    total = tl.zeros([PAIRS], tl.float32)
    for at in range(0, tl.max(count, axis=0), NUMBERS):
        real = (at + number)[None, :] < count[:, None]
        entry = start[:, None] + at + number[None, :]
        column = tl.load(x_indices + entry, mask=real, other=0)
        value = tl.load(x_data + entry, mask=real, other=0.0)
        weight = tl.load(V + label[:, None] * width + column, mask=real, other=0.0)
        total += tl.sum(value * weight, axis=1)
    tl.store(out + pair, total, mask=there)


@triton.jit(do_not_specialize=["n_pairs", "a_group"])
def _add_kernel(
    labels, rows, n_pairs, a_group, x_indptr, x_indices, x_data, V, values, live, out, width,
    PAIRS: tl.constexpr, NUMBERS: tl.constexpr, CURVED: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    # Neighbouring programs take pairs far apart.
    block = (tl.program_id(0) % GROUPS) * a_group + tl.program_id(0) // GROUPS
    pair = block.to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    there = pair < n_pairs
    label = tl.load(labels + pair, mask=there, other=0).to(tl.int64)
    factor = tl.load(values + pair, mask=there, other=0.0)
    if CURVED:
        there = there & (tl.load(live + label, mask=there, other=0.0) > 0)
    there = there & (factor != 0)
    row = tl.load(rows + pair, mask=there, other=0)
    start = tl.load(x_indptr + row, mask=there, other=0)
    count = (tl.load(x_indptr + row + 1, mask=there, other=0) - start).to(tl.int32)
    number = tl.arange(0, NUMBERS)
    longest = tl.max(count, axis=0)
    if CURVED:
        total = tl.zeros([PAIRS], tl.float32)
        for at in range(0, longest, NUMBERS):
            real = (at + number)[None, :] < count[:, None]
            entry = start[:, None] + at + number[None, :]
            column = tl.load(x_indices + entry, mask=real, other=0)
            value = tl.load(x_data + entry, mask=real, other=0.0)
            weight = tl.load(V + label[:, None] * width + column, mask=real, other=0.0)
            total += tl.sum(value * weight, axis=1)
        factor = factor * total
    for at in range(0, longest, NUMBERS):
        real = (at + number)[None, :] < count[:, None]
        entry = start[:, None] + at + number[None, :]
        column = tl.load(x_indices + entry, mask=real, other=0)
        value = tl.load(x_data + entry, mask=real, other=0.0)
        place = out + label[:, None] * width + column
        tl.atomic_add(place, factor[:, None] * value, mask=real, sem="relaxed")


@triton.jit(do_not_specialize=["n_labels", "n_rows", "room"])
def _above_kernel(
    x_indptr, x_indices, x_data, WT, n_labels, n_rows, thresholds, found, counter, room,
    LABELS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    label = tl.program_id(1) * LABELS + tl.arange(0, LABELS)
    known = label < n_labels
    start = tl.load(x_indptr + row)
    stop = tl.load(x_indptr + row + 1)
    number = tl.arange(0, FEATURES)
    score = tl.zeros([LABELS], tl.float32)
    for at in range(start, stop, FEATURES):
        real = at + number < stop
        column = tl.load(x_indices + at + number, mask=real, other=0).to(tl.int64)
        value = tl.load(x_data + at + number, mask=real, other=0.0)
        both = real[:, None] & known[None, :]
        part = tl.load(WT + column[:, None] * n_labels + label[None, :], mask=both, other=0.0)
        score += tl.sum(value[:, None] * part, axis=0)
    threshold = tl.load(thresholds + label, mask=known, other=0.0)
    above = (known & (score > threshold)).to(tl.int32)
    count = tl.sum(above, axis=0)
    if count > 0:
        first = tl.atomic_add(counter, count.to(tl.int64), sem="relaxed")
        place = first + tl.cumsum(above, axis=0) - above
        key = label.to(tl.int64) * n_rows + row
        tl.store(found + place, key, mask=(above > 0) & (place < room))


@triton.jit
def _conjugate_kernel(
    along, bent, direction, rest, square, enough, live, width, BLOCK: tl.constexpr
):
    label = tl.program_id(0).to(tl.int64)
    if tl.load(live + label) > 0:
        first = label * width
        block = tl.arange(0, BLOCK)
        product = tl.zeros([BLOCK], tl.float32)
        for at in range(0, width, BLOCK):
            place, real = first + at + block, at + block < width
            product += tl.load(along + place, mask=real, other=0.0) * tl.load(
                bent + place, mask=real, other=0.0
            )
        old = tl.load(square + label)
        step = old / tl.maximum(tl.sum(product, axis=0), 1e-30)
        total = tl.zeros([BLOCK], tl.float32)
        for at in range(0, width, BLOCK):
            place, real = first + at + block, at + block < width
            moved = tl.load(direction + place, mask=real, other=0.0)
            moved += step * tl.load(along + place, mask=real, other=0.0)
            left = tl.load(rest + place, mask=real, other=0.0)
            left -= step * tl.load(bent + place, mask=real, other=0.0)
            tl.store(direction + place, moved, mask=real)
            tl.store(rest + place, left, mask=real)
            total += left * left
        new = tl.sum(total, axis=0)
        for at in range(0, width, BLOCK):
            place, real = first + at + block, at + block < width
            left = tl.load(rest + place, mask=real, other=0.0)
            left += new / tl.maximum(old, 1e-30) * tl.load(along + place, mask=real, other=0.0)
            tl.store(along + place, left, mask=real)
            tl.store(bent + place, left, mask=real)
        tl.store(square + label, new)
        tl.store(live + label, tl.where(new > tl.load(enough + label), 1.0, 0.0))


def conjugate_step(
    along: Any, bent: Any, direction: Any, rest: Any, square: Any, enough: Any, live: Any
) -> None:
    """Take one step of conjugate gradients of every live label; ``bent`` is left for the next."""
    _conjugate_kernel[(len(along),)](
        along, bent, direction, rest, square, enough, live, along.shape[1], BLOCK=1024, num_warps=4
    )


def _tile(X: Any) -> tuple[int, int]:
    mean = max(1, len(X.data) // max(X.n_rows, 1))
    numbers = min(max(triton.next_power_of_2(mean), 16), 256)
    # Long rows keep a program busy by themselves.
    return TILE_NUMBERS // numbers // (2 if numbers >= LONG_ROW else 1), numbers


def products(pairs: Any, V: Any) -> Any:
    """Return ``v_j . x_i`` of every pair."""
    out, n_pairs = torch.empty(len(pairs.rows), device=V.device), len(pairs.rows)
    if n_pairs:
        X, (size, numbers) = pairs.X, _tile(pairs.X)
        _products_kernel[(triton.cdiv(n_pairs, size),)](
            pairs.labels, pairs.rows, n_pairs, X.indptr, X.indices, X.data, V, out, X.width,
            PAIRS=size, NUMBERS=numbers, num_warps=4,
        )  # fmt: skip
    return out


def add(pairs: Any, values: Any, out: Any) -> None:
    """Add ``value x_i`` of every pair to the row of ``out`` of its label."""
    _add(pairs, values, values, out, values, curved=False)


def add_curved(pairs: Any, curvature: Any, V: Any, out: Any, live: Any) -> None:
    """Add ``curvature (v_j . x_i) x_i`` of every pair of a live label to ``out``."""
    _add(pairs, curvature, V, out, live, curved=True)


def _add(pairs: Any, values: Any, V: Any, out: Any, live: Any, *, curved: bool) -> None:
    n_pairs = len(pairs.rows)
    if n_pairs:
        X, (size, numbers) = pairs.X, _tile(pairs.X)
        a_group = triton.cdiv(triton.cdiv(n_pairs, size), LABEL_GROUPS)
        _add_kernel[(a_group * LABEL_GROUPS,)](
            pairs.labels, pairs.rows, n_pairs, a_group, X.indptr, X.indices, X.data, V, values,
            live, out, X.width, PAIRS=size, NUMBERS=numbers, CURVED=curved, GROUPS=LABEL_GROUPS,
            num_warps=4,
        )  # fmt: skip


def find_above(W: Any, X: Any, thresholds: Any, room: int) -> Any:
    """Return ``label * n_rows + row`` of all pairs whose score is above the label's threshold."""
    table = W.T.contiguous()
    n_labels = len(W)
    found = torch.empty(min(room, n_labels * X.n_rows), dtype=torch.int64, device=W.device)
    counter = torch.zeros(1, dtype=torch.int64, device=W.device)
    grid = (X.n_rows, triton.cdiv(n_labels, LABELS_AT_ONCE))
    _above_kernel[grid](
        X.indptr, X.indices, X.data, table, n_labels, X.n_rows, thresholds, found, counter,
        len(found), LABELS=LABELS_AT_ONCE, FEATURES=SCAN_FEATURES, num_warps=8,
    )  # fmt: skip
    count = int(counter)
    if count > len(found):
        raise InputError(
            f"{count} pairs of a label and a row violate the margin, more than fit; use a smaller "
            "cost or fewer labels."
        )
    return found[:count]
