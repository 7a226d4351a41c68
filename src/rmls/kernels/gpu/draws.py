"""The labels of all visits of a pass, drawn at once: the same as `rmls.kernels.cpu.sgd` draws.

The draws of a visit are the outputs of splitmix64 started at its key, so that the t-th of them is a
function of key and t: all draws of all visits are made side by side, and those that a visit would
have refused are taken out. Visits want different numbers of labels, so that everything is one flat
array of (visit, label) in the order of the draws. 64-bit numbers are signed here and wrap around.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from rmls.kernels.arrays import MAX_TRIES, UNIFORM, Objective, Sampler

GOLDEN = 0x9E3779B97F4A7C15 - 2**64
MULTIPLIERS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
LOW = 0xFFFFFFFF
# Draws for every wanted label at first; visits that refused more of them draw again.
SPARE, SPARE_DRAWS = 1.1, 8
# Up to so many cells, rows x labels are marked in a table; beyond, they are looked up.
TABLE_CELLS = 1 << 31


class Labelled(NamedTuple):
    """Relevant labels of the rows, on the device; ``table`` has a mark for every pair, if small."""

    indptr: Any
    indices: Any
    n_labels: int
    keys: Any
    table: Any


class Drawn(NamedTuple):
    """The labels of some visits, visit by visit, relevant ones first.

    ``shift`` is the log rate of every label with ``log_q``; ``share`` the weight of an irrelevant
    label of every visit.
    """

    indptr: Any
    labels: Any
    n_relevant: Any
    shift: Any
    share: Any


def put(array: Any, device: str) -> Any:
    """Return a NumPy array on a device; PyTorch does not take arrays that cannot be written to."""
    array = np.ascontiguousarray(array)
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def mix(z: Any) -> Any:
    """Return the splitmix64 finaliser of 64-bit numbers."""
    z = (z ^ shifted(z, 30)) * MULTIPLIERS[0]
    z = (z ^ shifted(z, 27)) * MULTIPLIERS[1]
    return z ^ shifted(z, 31)


def shifted(z: Any, bits: int) -> Any:
    """Return ``z >> bits`` of the number without a sign that the bits of ``z`` stand for."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def below(z: Any, bound: int) -> Any:
    """Return uniform integers in ``[0, bound)`` from the high halves of 64 random bits."""
    return (shifted(z, 32) * bound) >> 32


def pick(alias: Any, z: Any) -> Any:
    """Return the labels that 64 random bits choose from an alias table."""
    column = below(z, len(alias))
    own = (z & LOW) < alias[column, 0]
    return torch.where(own, column, alias[column, 1])


def mark_labels(indptr: Any, indices: Any, n_labels: int) -> Labelled:
    """Return the relevant labels of rows in a form that answers whether a label is one of them."""
    n_rows = len(indptr) - 1
    rows = torch.repeat_interleave(torch.arange(n_rows, device=indptr.device), indptr.diff())
    keys = rows * n_labels + indices
    table = None
    if n_rows * n_labels <= TABLE_CELLS // (1 if indptr.is_cuda else 32):
        table = torch.zeros(n_rows * n_labels, dtype=torch.bool, device=indptr.device)
        table[keys] = True
    else:
        keys = keys.sort().values
    return Labelled(indptr, indices, n_labels, keys, table)


def are_relevant(Y: Labelled, rows: Any, labels: Any) -> Any:
    """Tell which of the pairs of a row and a label are relevant."""
    keys = rows * Y.n_labels + labels
    if Y.table is not None:
        return Y.table[keys]
    if len(Y.keys) == 0:
        return torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(Y.keys, keys).clamp_(max=len(Y.keys) - 1)
    return Y.keys[place] == keys


def choose_labels(
    Y: Labelled, rows: Any, keys: Any, objective: Objective, tables: Any, dense: bool = False
) -> Drawn:
    """Return the labels of the visits of ``rows``; ``tables`` are the sampler's, on the device.

    With ``dense`` all others are looked at anyway, and are not listed.
    """
    sampler = objective.sampler
    n_relevant = Y.indptr[rows + 1] - Y.indptr[rows]
    wanted = wanted_draws(n_relevant, Y.n_labels, objective)
    share = torch.ones(len(rows), dtype=torch.float32, device=rows.device)
    count = wanted
    if sampler.kind == UNIFORM:
        if objective.all_negatives:
            # Equation (8) of the paper: 1/C = wanted / |N|.
            count = Y.n_labels - n_relevant
            share = (wanted / count.clamp(min=1)).to(torch.float32)
        if dense:
            indptr, own = join_labels(Y, rows, n_relevant, rows[:0], rows[:0])
            return Drawn(indptr, own, n_relevant, None, share)
        visits, labels = draw_uniform(Y, rows, keys, count, n_relevant)
    elif sampler.distinct:
        rest = rest_of_shares(Y, rows, tables.label_shift)
        tries = expected_tries(sampler, tables, wanted, rest).to(torch.int64)
        tries = torch.where(wanted > 0, tries, 0)
        draws = Draws(Y, rows, keys, tables.alias, distinct=True)
        every = torch.arange(len(rows), device=rows.device)
        visits, labels = draws.make(every, tries, torch.full_like(tries, Y.n_labels))
    else:
        visits, labels = draw_weighted(Y, rows, keys, wanted, tables, sampler.union)
    drawn = join_labels(Y, rows, n_relevant, visits, labels)
    shift = log_rates(Y, rows, drawn, wanted, objective, tables) if sampler.log_q else None
    return Drawn(drawn[0], drawn[1], n_relevant, shift, share)


def wanted_draws(n_relevant: Any, n_labels: int, objective: Objective) -> Any:
    """Return how many irrelevant labels visits of rows with so many labels ask for.

    With ``union`` these are draws, of which some bring the same label.
    """
    ratio = objective.negatives_per_positive
    wanted = (n_relevant.to(torch.float64) * ratio + 0.5).to(torch.int64)
    most = (n_labels - n_relevant) * (MAX_TRIES if objective.sampler.union else 1)
    return torch.minimum(wanted.clamp(min=objective.min_negatives), most)


def repeat(counts: Any) -> tuple[Any, Any]:
    """Return for every one of ``counts`` things its owner and its number among the owner's."""
    owners = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    starts = counts.cumsum(0) - counts
    return owners, torch.arange(len(owners), device=counts.device) - starts[owners]


class Draws:
    """Draws of visits that refuse relevant labels and, if ``distinct``, what they drew before."""

    def __init__(self, Y: Labelled, rows: Any, keys: Any, alias: Any, distinct: bool) -> None:
        self.Y, self.rows, self.keys, self.alias, self.distinct = Y, rows, keys, alias, distinct

    def make(self, visits: Any, tries: Any, wanted: Any) -> tuple[Any, Any]:
        """Make ``tries`` draws for every visit; returns those kept, at most ``wanted`` of each."""
        owner, number = repeat(tries)
        visit = visits[owner]
        random = mix(self.keys[visit] + (number + 1) * GOLDEN)
        m, alias = self.Y.n_labels, self.alias
        label = below(random, m) if alias is None else pick(alias, random)
        good = ~are_relevant(self.Y, self.rows[visit], label)
        if self.distinct:
            good &= are_first(owner, label, self.Y.n_labels)
        # How many of a visit's draws are kept up to this one.
        total = torch.cat([good.new_zeros(1, dtype=torch.int64), good.cumsum(0)])
        kept = total[1:] - total[tries.cumsum(0) - tries][owner]
        good &= kept <= wanted[owner]
        return visit[good], label[good]

    def until(self, visits: Any, tries: Any, wanted: Any, limit: Any) -> tuple[Any, Any]:
        """Draw until every visit has as many labels as are ``wanted``, or has drawn ``limit``."""
        parts = []
        while len(visits):
            tries = torch.minimum(tries, limit)
            visit, label = self.make(visits, tries, wanted)
            found = torch.bincount(visit, minlength=len(self.rows))[visits]
            short = (found < wanted) & (tries < limit)
            if not short.any():
                parts.append((visit, label))
                break
            # All draws of a visit again, and as many more: a draw is a function of its number.
            done = torch.ones(len(self.rows), dtype=torch.bool, device=visits.device)
            done[visits[short]] = False
            parts.append((visit[done[visit]], label[done[visit]]))
            visits, tries, wanted, limit = (
                each[short] for each in (visits, 2 * tries, wanted, limit)
            )
        if not parts:
            return visits, visits
        visit, label = (torch.cat(each) for each in zip(*parts, strict=True))
        if len(parts) == 1:
            return visit, label
        order = visit.argsort(stable=True)
        return visit[order], label[order]


def are_first(owner: Any, label: Any, n_labels: int) -> Any:
    """Tell which draws bring a label that their visit has not drawn before."""
    keys, order = (owner * n_labels + label).sort(stable=True)
    first = torch.ones_like(keys, dtype=torch.bool)
    first[1:] = keys[1:] != keys[:-1]
    return torch.empty_like(first).index_put_((order,), first)


def draw_uniform(Y: Labelled, rows: Any, keys: Any, count: Any, n_relevant: Any) -> Any:
    """Draw ``count`` distinct irrelevant labels for every visit, uniformly."""
    draws, m = Draws(Y, rows, keys, None, distinct=True), Y.n_labels
    n_irrelevant = m - n_relevant
    few = 2 * count <= n_irrelevant
    # Where most labels are wanted, those to leave out are drawn.
    drawn = torch.where(few, count, n_irrelevant - count)
    visits = torch.arange(len(rows), device=rows.device)[drawn > 0]
    drawn = drawn[visits]
    left = (n_irrelevant[visits] - drawn).clamp(min=1)
    # A draw is kept with the share of the labels that are left at the end, at least.
    tries = (drawn * (m / left) * SPARE).to(torch.int64) + SPARE_DRAWS
    found = draws.until(visits, tries, drawn, torch.full_like(tries, 1 << 40))
    if bool(few.all()):
        return found
    visit, label = found
    some = few[visit]
    others = torch.arange(len(rows), device=rows.device)[~few]
    rest = leave_out(Y, rows, others, visit[~some], label[~some])
    visit, label = (torch.cat(pair) for pair in zip((visit[some], label[some]), rest, strict=True))
    order = visit.argsort(stable=True)
    return visit[order], label[order]


def leave_out(Y: Labelled, rows: Any, visits: Any, visit: Any, label: Any) -> tuple[Any, Any]:
    """Return all labels of some visits but the relevant ones and those given."""
    place = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
    place[visits] = torch.arange(len(visits), device=rows.device)
    wanted = torch.ones((len(visits), Y.n_labels), dtype=torch.bool, device=rows.device)
    wanted[place[visit], label] = False
    owner, number = repeat((Y.indptr[rows + 1] - Y.indptr[rows])[visits])
    wanted[owner, Y.indices[Y.indptr[rows[visits]][owner] + number].long()] = False
    owner, label = wanted.nonzero(as_tuple=True)
    return visits[owner], label


def draw_weighted(
    Y: Labelled, rows: Any, keys: Any, wanted: Any, tables: Any, union: bool
) -> tuple[Any, Any]:
    """Draw ``wanted`` irrelevant labels for every visit by their shares, with replacement.

    Of a ``union`` a label is kept once, where it was drawn first.
    """
    draws = Draws(Y, rows, keys, tables.alias, distinct=False)
    visits = torch.arange(len(rows), device=rows.device)[(wanted > 0) & some_irrelevant(Y, rows)]
    wanted = wanted[visits]
    rest = rest_of_shares(Y, rows, tables.label_shift)[visits]
    tries = (wanted / rest * SPARE).clamp(max=1e12).to(torch.int64) + SPARE_DRAWS
    visit, label = draws.until(visits, tries, wanted, MAX_TRIES * wanted)
    if not union:
        return visit, label
    first = are_first(visit, label, Y.n_labels)
    return visit[first], label[first]


def some_irrelevant(Y: Labelled, rows: Any) -> Any:
    """Tell which rows lack a label."""
    return Y.indptr[rows + 1] - Y.indptr[rows] < Y.n_labels


def join_labels(Y: Labelled, rows: Any, n_relevant: Any, visits: Any, labels: Any) -> Any:
    """Return the relevant labels of visits and those drawn, visit by visit: indptr and labels."""
    n_drawn = torch.bincount(visits, minlength=len(rows))
    indptr = torch.zeros(len(rows) + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(n_relevant + n_drawn, 0, out=indptr[1:])
    joined = torch.empty(len(visits) + int(n_relevant.sum()), dtype=torch.int32, device=rows.device)
    owner, number = repeat(n_relevant)
    joined[indptr[owner] + number] = Y.indices[Y.indptr[rows][owner] + number]
    # Those drawn come in the order of the visits.
    shift = indptr[:-1] + n_relevant - (n_drawn.cumsum(0) - n_drawn)
    joined[shift[visits] + torch.arange(len(visits), device=rows.device)] = labels.to(torch.int32)
    return indptr, joined


def rest_of_shares(Y: Labelled, rows: Any, label_shift: Any) -> Any:
    """Return the share of all labels but the relevant ones, of every visit."""
    owner, number = repeat(Y.indptr[rows + 1] - Y.indptr[rows])
    shares = label_shift.to(torch.float64)[Y.indices[Y.indptr[rows][owner] + number].long()].exp()
    rest = torch.ones(len(rows), dtype=torch.float64, device=rows.device)
    return rest.index_add_(0, owner, -shares).clamp_(min=1e-9)


def expected_tries(sampler: Sampler, tables: Any, wanted: Any, rest: Any) -> Any:
    """Return the draws that visits make, on average, to get ``wanted`` labels from ``rest``."""
    if sampler.kind == UNIFORM:
        return wanted / rest
    if sampler.union:
        return wanted.to(torch.float64)
    limit = (MAX_TRIES * wanted).to(torch.float64)
    if sampler.distinct:
        return (torch.minimum(tables.tries[wanted] / rest, limit) + 0.5).floor()
    return torch.minimum(wanted / rest, limit)


def log_rate(tries: Any, log_share: Any, distinct: bool) -> Any:
    """Return the logarithm of the rate at which ``tries`` draws bring in a label; 0 without any."""
    if distinct:
        share = log_share.to(torch.float64).exp().clamp(max=1.0 - 1e-9)
        rate = (-torch.expm1(tries * torch.log1p(-share))).log().to(torch.float32)
    else:
        rate = tries.to(torch.float64).log().to(torch.float32) + log_share
    return torch.where(tries > 0, rate, 0.0)


def among(log_share: Any, rest: Any, sampler: Sampler) -> Any:
    """Return log shares in the draws that count: with ``union`` those of ``rest``."""
    if not sampler.union:
        return log_share
    return (log_share.to(torch.float64) - rest.log()).clamp(max=0.0).to(torch.float32)


def log_rates(Y: Labelled, rows: Any, drawn: Any, wanted: Any, objective: Any, tables: Any) -> Any:
    """Return the log rate of every chosen label.

    That of a relevant label must not depend on its being relevant: it is the rate it would have in
    a row with one relevant label fewer.
    """
    sampler, (indptr, labels) = objective.sampler, drawn
    once = sampler.distinct or sampler.union
    n_relevant = Y.indptr[rows + 1] - Y.indptr[rows]
    rest = rest_of_shares(Y, rows, tables.label_shift)
    owner, number = repeat(indptr.diff())
    log_share = tables.label_shift[labels.long()]
    tries = expected_tries(sampler, tables, wanted, rest)[owner]
    shift = log_rate(tries, among(log_share, rest[owner], sampler), once)
    if not sampler.leave_out:
        return shift
    fewer = wanted_draws((n_relevant - 1).clamp(min=0), Y.n_labels, objective)[owner]
    more = (rest[owner] + log_share.to(torch.float64).exp()).clamp(max=1.0)
    without = torch.where(fewer > 0, expected_tries(sampler, tables, fewer, more), tries)
    left = torch.where(fewer > 0, more, rest[owner])
    own = log_rate(without, among(log_share, left, sampler), once)
    return torch.where(number < n_relevant[owner], own, shift)
