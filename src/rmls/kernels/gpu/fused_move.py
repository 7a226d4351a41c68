"""The second kernel of a batch: every row of parameters moves by what its visits say."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _step_length(start, added, count, size, rate, longest, ALONE: tl.constexpr):
    """Return the step of AdaGrad; see `plain_step.move_rows`."""
    if ALONE:
        half = 0.5 * added / tl.maximum(count, 1.0)
        step = 2.0 * rate / (tl.sqrt(start + added + half) + tl.sqrt(start + half))
        return step * tl.minimum(longest * rate / tl.maximum(step * size, 1e-30), 1.0)
    return rate / tl.sqrt(start + added)


@triton.jit
def _collect(
    begin, end, first, visits, values, vectors, squares,
    K: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr, ELEMENTWISE: tl.constexpr,
):  # fmt: skip
    """Return what visits add to a row: sum, squares by element and by row, and of the values."""
    ks = tl.arange(0, BK)
    real = ks < K
    tile = tl.arange(0, TILE)
    total = tl.zeros([TILE, BK], tl.float32)
    elements = tl.zeros([TILE, BK], tl.float32)
    added = tl.zeros([TILE], tl.float32)
    numbers = tl.zeros([TILE], tl.float32)
    number_squares = tl.zeros([TILE], tl.float32)
    count = tl.zeros([TILE], tl.float32)
    for at in range(begin, end, TILE):
        place = at + tile
        there = place < end
        visit = tl.load(visits + place, mask=there, other=0) - first
        value = tl.load(values + place, mask=there, other=0.0)
        there = there & (value != 0)
        both = there[:, None] & real[None, :]
        part = tl.load(vectors + visit[:, None] * K + ks[None, :], mask=both, other=0.0)
        part = value[:, None] * part
        total += part
        if ELEMENTWISE:
            elements += part * part
        else:
            added += value * value * tl.load(squares + visit, mask=there, other=0.0)
        numbers += value
        number_squares += value * value
        count += there.to(tl.float32)
    return (
        tl.sum(total, axis=0),
        tl.sum(elements, axis=0),
        tl.sum(added, axis=0),
        tl.sum(numbers, axis=0),
        tl.sum(number_squares, axis=0),
        tl.sum(count, axis=0),
    )


@triton.jit
def _move_row(
    theta, sums, row, begin, end, first, visits, values, vectors, squares, bound,
    rate, decay, longest,
    K: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr,
    ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr, BOUNDED: tl.constexpr,
):  # fmt: skip
    """Move one row by what its visits say; returns their sum, sum of squares and number."""
    ks = tl.arange(0, BK)
    real = ks < K
    # On its way while the visits are looked at.
    old = tl.load(theta + row * K + ks, mask=real, other=0.0)
    if ELEMENTWISE:
        start = tl.load(sums + row * K + ks, mask=real, other=1.0)
    else:
        start = tl.load(sums + row)
    total, elements, added, numbers, number_squares, count = _collect(
        begin, end, first, visits, values, vectors, squares, K, BK, TILE, ELEMENTWISE
    )
    # The penalty is due at every visit, also where the slope was rounded to 0.
    due = count
    if decay > 0:
        due = (end - begin).to(tl.float32)
    if due > 0:
        if ELEMENTWISE:
            if ALONE:
                step = _step_length(start, elements, count, tl.abs(total), rate, longest, True)
                new = tl.maximum(1.0 - step * decay * due, 0.0) * old - step * total
            else:
                total += decay * old
                elements = total * total
                new = old - rate * total / tl.sqrt(start + elements)
            tl.store(sums + row * K + ks, start + elements, mask=real)
        else:
            mean = tl.sum(total * total, axis=0) / K
            if ALONE:
                step = _step_length(start, added, count, tl.sqrt(mean), rate, longest, True)
                new = tl.maximum(1.0 - step * decay * due, 0.0) * old - step * total
            else:
                added = mean
                step = rate / tl.sqrt(start + added)
                new = (1.0 - step * decay) * old - step * total
            tl.store(sums + row, start + added)
        if BOUNDED:
            square = tl.sum(tl.where(real, new * new, 0.0), axis=0)
            new *= tl.sqrt(tl.minimum(tl.load(bound + row) / tl.maximum(square, 1e-30), 1.0))
        tl.store(theta + row * K + ks, new, mask=real)
    return numbers, number_squares, count


@triton.jit
def _move_number(c, sum_c, row, total, squares, count, rate, longest, ALONE: tl.constexpr):
    """Move the bias of one label."""
    if count > 0:
        start = tl.load(sum_c + row)
        if not ALONE:
            squares = total * total
        step = _step_length(start, squares, count, tl.abs(total), rate, longest, ALONE)
        tl.store(c + row, tl.load(c + row) - step * total)
        tl.store(sum_c + row, start + squares)


@triton.jit
def _move_bias(
    job, n_here, back, b, sum_b, rate, longest,
    K: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, ALONE: tl.constexpr,
):  # fmt: skip
    """Move some components of the bias of the rows' vectors."""
    cs = job * COLUMNS + tl.arange(0, COLUMNS)
    real = cs < K
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    elements = tl.zeros([ROWS, COLUMNS], tl.float32)
    for at in range(0, n_here, ROWS):
        vs = at + tl.arange(0, ROWS)
        both = (vs < n_here)[:, None] & real[None, :]
        part = tl.load(back + vs[:, None] * K + cs[None, :], mask=both, other=0.0)
        total += part
        elements += part * part
    move, added = tl.sum(total, axis=0), tl.sum(elements, axis=0)
    if not ALONE:
        added = move * move
    start = tl.load(sum_b + cs, mask=real, other=1.0)
    old = tl.load(b + cs, mask=real, other=0.0)
    count = n_here.to(tl.float32)
    step = _step_length(start, added, count, tl.abs(move), rate, longest, ALONE)
    tl.store(b + cs, old - step * move, mask=real)
    tl.store(sum_b + cs, start + added, mask=real)


@triton.jit(do_not_specialize=["batch", "first", "n_here"])
def move_kernel(
    batch, first, n_here,
    l_batches, l_rows, l_starts, l_visits, slopes,
    f_batches, f_rows, f_starts, f_visits, f_values,
    h, back, square_h, square_back,
    W, b, L, c, sum_W, sum_b, sum_L, sum_c, bound, rates,
    decay, longest, programs,
    K: tl.constexpr, BK: tl.constexpr, TILE: tl.constexpr,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr,
    ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr, BOUNDED: tl.constexpr,
    INTERCEPT: tl.constexpr, N_BIAS: tl.constexpr,
):  # fmt: skip
    """Move the bias, the labels and the features of one batch, one job after another.

    ``N_BIAS`` jobs move the bias of the rows' vectors, none without an intercept.
    """
    rate = tl.load(rates + batch)
    l_first, f_first = tl.load(l_batches + batch), tl.load(f_batches + batch)
    n_labels = tl.load(l_batches + batch + 1) - l_first
    n_features = tl.load(f_batches + batch + 1) - f_first
    for job in range(tl.program_id(0), N_BIAS + n_labels + n_features, programs):
        if job < N_BIAS:
            _move_bias(job, n_here, back, b, sum_b, rate, longest, K, COLUMNS, ROWS, ALONE)
        elif job < N_BIAS + n_labels:
            group = l_first + job - N_BIAS
            row = tl.load(l_rows + group).to(tl.int64)
            total, squares, count = _move_row(
                L, sum_L, row, tl.load(l_starts + group), tl.load(l_starts + group + 1), first,
                l_visits, slopes, h, square_h, bound, rate, decay, longest,
                K, BK, TILE, ELEMENTWISE, ALONE, BOUNDED,
            )  # fmt: skip
            if INTERCEPT:
                _move_number(c, sum_c, row, total, squares, count, rate, longest, ALONE)
        else:
            group = f_first + job - N_BIAS - n_labels
            row = tl.load(f_rows + group).to(tl.int64)
            _move_row(
                W, sum_W, row, tl.load(f_starts + group), tl.load(f_starts + group + 1), first,
                f_visits, f_values, back, square_back, bound, rate, decay, longest,
                K, BK, TILE, ELEMENTWISE, ALONE, False,
            )  # fmt: skip
