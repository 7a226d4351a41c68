"""The last two kernels of a batch: every row of parameters moves by what its visits say.

Most rows have a visit or two: a warp takes one of them. Rows that many visits touch are left to
programs that look at several visits at once; both kinds run side by side.
"""

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
def _take_step(
    theta, sums, row, old, start, total, elements, added, count, due, bound,
    rate, decay, longest,
    K: tl.constexpr, BK: tl.constexpr,
    ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr, BOUNDED: tl.constexpr,
):  # fmt: skip
    """Move one row by the sum of its gradients; ``due`` visits pay the penalty."""
    ks = tl.arange(0, BK)
    real = ks < K
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


@triton.jit
def _square_of(squares, visit, BLOCKS: tl.constexpr):
    """Return the mean square of a visit's vector, from those of its parts."""
    return tl.sum(tl.load(squares + visit * BLOCKS + tl.arange(0, BLOCKS)), axis=0)


@triton.jit
def _squares_of(squares, visits, BLOCKS: tl.constexpr):
    """The same of several visits."""
    places = squares + visits[:, None] * BLOCKS + tl.arange(0, BLOCKS)[None, :]
    return tl.sum(tl.load(places), axis=1)


@triton.jit
def _move_light(
    theta, sums, job, first, visits, values, vectors, squares, bound, rate, decay, longest,
    K: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr,
    ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr, BOUNDED: tl.constexpr,
):  # fmt: skip
    """Move a row of few visits; returns it, the sum of values, their squares and number."""
    ks = tl.arange(0, BK)
    real = ks < K
    row = tl.load(job).to(tl.int64)
    begin, end, visit = tl.load(job + 1), tl.load(job + 2), tl.load(job + 3) - first
    # All that a row of one visit needs is on its way at once.
    old = tl.load(theta + row * K + ks, mask=real, other=0.0)
    vector = tl.load(vectors + visit * K + ks, mask=real, other=0.0)
    value = tl.load(values + begin)
    square = _square_of(squares, visit, BLOCKS)
    if ELEMENTWISE:
        start = tl.load(sums + row * K + ks, mask=real, other=1.0)
    else:
        start = tl.load(sums + row)
    total = value * vector
    elements = total
    if ELEMENTWISE:
        elements = total * total
    added, numbers, number_squares = value * value * square, value, value * value
    count = (value != 0).to(tl.float32)
    for at in range(begin + 1, end):
        visit = tl.load(visits + at) - first
        value = tl.load(values + at)
        part = value * tl.load(vectors + visit * K + ks, mask=real, other=0.0)
        total += part
        if ELEMENTWISE:
            elements += part * part
        else:
            added += value * value * _square_of(squares, visit, BLOCKS)
        numbers += value
        number_squares += value * value
        count += (value != 0).to(tl.float32)
    # The penalty is due at every visit, also where the slope was rounded to 0.
    due = count
    if decay > 0:
        due = (end - begin).to(tl.float32)
    if due > 0:
        _take_step(
            theta, sums, row, old, start, total, elements, added, count, due, bound,
            rate, decay, longest, K, BK, ELEMENTWISE, ALONE, BOUNDED,
        )  # fmt: skip
    return row, numbers, number_squares, count


@triton.jit
def _move_heavy(
    theta, sums, job, first, visits, values, vectors, squares, bound, rate, decay, longest,
    K: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr, TILE: tl.constexpr,
    ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr, BOUNDED: tl.constexpr,
):  # fmt: skip
    """The same for a row of many visits, twice ``TILE`` of which are looked at together."""
    ks = tl.arange(0, BK)
    real = ks < K
    tile = tl.arange(0, TILE)
    row = tl.load(job).to(tl.int64)
    begin, end = tl.load(job + 1), tl.load(job + 2)
    old = tl.load(theta + row * K + ks, mask=real, other=0.0)
    if ELEMENTWISE:
        start = tl.load(sums + row * K + ks, mask=real, other=1.0)
    else:
        start = tl.load(sums + row)
    total = tl.zeros([TILE, BK], tl.float32)
    elements = total
    added = tl.zeros([TILE], tl.float32)
    numbers, number_squares, count = added, added, added
    for at in range(begin, end, 2 * TILE):
        # Two tiles at a time: both are on their way before the first is used.
        one, two = at + tile, at + TILE + tile
        a = tl.load(visits + one, mask=one < end, other=first) - first
        b = tl.load(visits + two, mask=two < end, other=first) - first
        u = tl.load(values + one, mask=one < end, other=0.0)
        v = tl.load(values + two, mask=two < end, other=0.0)
        both = (one < end)[:, None] & real[None, :]
        x = tl.load(vectors + a[:, None] * K + ks[None, :], mask=both, other=0.0)
        both = (two < end)[:, None] & real[None, :]
        y = tl.load(vectors + b[:, None] * K + ks[None, :], mask=both, other=0.0)
        x, y = u[:, None] * x, v[:, None] * y
        total += x + y
        if ELEMENTWISE:
            elements += x * x + y * y
        else:
            added += u * u * _squares_of(squares, a, BLOCKS) + v * v * _squares_of(
                squares, b, BLOCKS
            )
        numbers += u + v
        number_squares += u * u + v * v
        count += (u != 0).to(tl.float32) + (v != 0).to(tl.float32)
    n_live = tl.sum(count, axis=0)
    due = n_live
    if decay > 0:
        due = (end - begin).to(tl.float32)
    if due > 0:
        _take_step(
            theta, sums, row, old, start, tl.sum(total, axis=0), tl.sum(elements, axis=0),
            tl.sum(added, axis=0), n_live, due, bound,
            rate, decay, longest, K, BK, ELEMENTWISE, ALONE, BOUNDED,
        )  # fmt: skip
    return row, tl.sum(numbers, axis=0), tl.sum(number_squares, axis=0), n_live


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


@triton.jit(do_not_specialize=["batch", "first"])
def light_kernel(
    batch, first,
    l_batches, l_lights, l_jobs, l_visits, slopes,
    f_batches, f_lights, f_jobs, f_visits, f_values,
    h, back, square_h, square_back,
    W, L, c, sum_W, sum_L, sum_c, bound, rates,
    decay, longest, programs,
    K: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr,
    ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr, BOUNDED: tl.constexpr,
    INTERCEPT: tl.constexpr,
):  # fmt: skip
    """Move the labels and features of one batch that few visits touch, one after another."""
    rate = tl.load(rates + batch)
    l_first, f_first = tl.load(l_lights + batch), tl.load(f_lights + batch)
    n_labels = tl.load(l_batches + batch + 1) - l_first
    n_features = tl.load(f_batches + batch + 1) - f_first
    for job in range(tl.program_id(0), n_labels + n_features, programs):
        if job < n_labels:
            row, total, squares, count = _move_light(
                L, sum_L, l_jobs + 4 * (l_first + job), first, l_visits, slopes, h, square_h,
                bound, rate, decay, longest, K, BK, BLOCKS, ELEMENTWISE, ALONE, BOUNDED,
            )  # fmt: skip
            if INTERCEPT:
                _move_number(c, sum_c, row, total, squares, count, rate, longest, ALONE)
        else:
            _move_light(
                W, sum_W, f_jobs + 4 * (f_first + job - n_labels), first, f_visits, f_values,
                back, square_back, bound, rate, decay, longest, K, BK, BLOCKS,
                ELEMENTWISE, ALONE, False,
            )  # fmt: skip


@triton.jit(do_not_specialize=["batch", "first", "n_here"])
def heavy_kernel(
    batch, first, n_here,
    l_batches, l_lights, l_jobs, l_visits, slopes,
    f_batches, f_lights, f_jobs, f_visits, f_values,
    h, back, square_h, square_back,
    W, b, L, c, sum_W, sum_b, sum_L, sum_c, bound, rates,
    decay, longest, programs,
    K: tl.constexpr, BK: tl.constexpr, BLOCKS: tl.constexpr, TILE: tl.constexpr,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr,
    ELEMENTWISE: tl.constexpr, ALONE: tl.constexpr, BOUNDED: tl.constexpr,
    INTERCEPT: tl.constexpr, N_BIAS: tl.constexpr,
):  # fmt: skip
    """Move the bias of one batch, and the labels and features that many visits touch.

    ``N_BIAS`` jobs move the bias of the rows' vectors, none without an intercept.
    """
    rate = tl.load(rates + batch)
    l_first, f_first = tl.load(l_batches + batch), tl.load(f_batches + batch)
    n_labels = tl.load(l_lights + batch) - l_first
    n_features = tl.load(f_lights + batch) - f_first
    for job in range(tl.program_id(0), N_BIAS + n_labels + n_features, programs):
        if job < N_BIAS:
            _move_bias(job, n_here, back, b, sum_b, rate, longest, K, COLUMNS, ROWS, ALONE)
        elif job < N_BIAS + n_labels:
            row, total, squares, count = _move_heavy(
                L, sum_L, l_jobs + 4 * (l_first + job - N_BIAS), first, l_visits, slopes, h,
                square_h, bound, rate, decay, longest,
                K, BK, BLOCKS, TILE, ELEMENTWISE, ALONE, BOUNDED,
            )  # fmt: skip
            if INTERCEPT:
                _move_number(c, sum_c, row, total, squares, count, rate, longest, ALONE)
        else:
            _move_heavy(
                W, sum_W, f_jobs + 4 * (f_first + job - N_BIAS - n_labels), first, f_visits,
                f_values, back, square_back, bound, rate, decay, longest,
                K, BK, BLOCKS, TILE, ELEMENTWISE, ALONE, False,
            )  # fmt: skip
