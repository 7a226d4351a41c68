"""Which irrelevant labels enter the loss of a row, and at what rate.

The rate of label j in row i is the expected number of times that it enters the loss if it is
irrelevant. Every sampler makes some number of tries t, of which a share q_j hits label j, so that
the rate is ``t q_j``, or ``1 - (1 - q_j)**t`` where a label enters at most once.

Relevant labels are always there, irrelevant ones at the rate r: the loss is lowest at
``s = logit p - log r``. Log-Q takes ``log r`` off the scores in training, of relevant labels too,
so that ``sigmoid(s)`` is p.
"""

from __future__ import annotations

import numpy as np

from rmls.kernels.arrays import IN_BATCH, MAX_TRIES, UNIFORM, WEIGHTED
from rmls.kernels.cpu.linalg.rows import copy_front
from rmls.kernels.cpu.sgd.alias import draw_distinct, draw_union, draw_weighted
from rmls.kernels.cpu.sgd.draw import draw_irrelevant
from rmls.kernels.jit import njit


@njit(cache=True, inline="always")
def wanted_labels(n_relevant, n_labels, ratio, minimum):
    """Return how many irrelevant labels a row with ``n_relevant`` labels asks for."""
    # |S| = alpha |P| of equation (11), but no more than there are irrelevant labels.
    wanted = max(np.int64(ratio * n_relevant + 0.5), minimum)
    return min(wanted, n_labels - n_relevant)


@njit(cache=True, inline="always")
def wanted_draws(n_relevant, n_labels, ratio, minimum):
    """Return how many draws with replacement a row makes; not bounded by the irrelevant labels."""
    draws = max(np.int64(ratio * n_relevant + 0.5), minimum)
    # After 64 draws for every label none is missing, but for one in e^64.
    return min(draws, MAX_TRIES * (n_labels - n_relevant))


@njit(cache=True)
def rest_of_shares(relevant, label_shift):
    """Return the share of all labels but the relevant ones."""
    rest = 1.0
    for label in relevant:
        rest -= np.exp(np.float64(label_shift[label]))
    return max(rest, 1e-9)


@njit(cache=True, error_model="numpy")
def expected_tries(sampler, wanted, rest):
    """Return the draws that a row makes, on average, to get ``wanted`` labels from ``rest``."""
    # Uniform shares are 1 / m and ``rest`` is |N| / m: t q_j = |S| / |N|, the exact rate of draws
    # without replacement.
    if sampler.kind == UNIFORM:
        return wanted / rest
    # Only the share ``rest`` of the tries hits an irrelevant label.
    if sampler.union:
        return np.float64(wanted)
    if sampler.distinct:
        return np.floor(min(sampler.tries[wanted] / rest, MAX_TRIES * wanted) + 0.5)
    return min(wanted / rest, np.float64(MAX_TRIES * wanted))


@njit(cache=True, error_model="numpy")
def log_rate(tries, log_share, distinct):
    """Return the logarithm of the rate at which ``tries`` draws bring in a label.

    0 without any tries: nothing is drawn and nothing is corrected.
    """
    if tries <= 0:
        return np.float32(0.0)
    if distinct:
        # log(1 - (1 - q)^t), exact for tiny shares too.
        share = min(np.exp(np.float64(log_share)), 1.0 - 1e-9)
        return np.float32(np.log(-np.expm1(tries * np.log1p(-share))))
    return np.float32(np.log(tries)) + log_share


@njit(cache=True, error_model="numpy")
def write_shifts(labels, n_relevant, wanted, wanted_without, sampler, shift):
    """Write the log rate of the chosen labels of one row to ``shift``.

    ``wanted_without`` is the number of irrelevant labels that the row would ask for with one
    relevant label fewer: the rate of a relevant label must not depend on its being relevant.
    """
    label_shift, distinct = sampler.label_shift, sampler.distinct or sampler.union
    rest = rest_of_shares(labels[:n_relevant], label_shift)
    tries = expected_tries(sampler, wanted, rest)
    for position in range(n_relevant):
        log_share = label_shift[labels[position]]
        without, left = tries, rest
        # Were the label irrelevant, the row would have one relevant label fewer and its share left.
        if sampler.leave_out and wanted_without > 0:
            left = min(rest + np.exp(np.float64(log_share)), 1.0)
            without = expected_tries(sampler, wanted_without, left)
        shift[position] = log_rate(without, among(log_share, left, sampler), distinct)
    for position in range(n_relevant, len(labels)):
        log_share = among(label_shift[labels[position]], rest, sampler)
        shift[position] = log_rate(tries, log_share, distinct)


@njit(cache=True, inline="always")
def among(log_share, rest, sampler):
    """Return the log share of a label in the draws that count: with ``union`` those of ``rest``."""
    if sampler.union:
        return np.float32(min(log_share - np.log(rest), 0.0))
    return np.float32(log_share)


@njit(cache=True)
def gather_batch(rows, batch, row, distinct, seen, stamp, out):
    """Write the labels of the other rows of a mini-batch that are irrelevant to ``row``.

    ``batch[0]`` counts the rows of the batch and ``batch[1:]`` names them. A label comes once for
    every row that has it, or once if ``distinct``. Returns the number of labels.
    """
    indptr, indices = rows.y_indptr, rows.y_indices
    for position in range(indptr[row], indptr[row + 1]):
        seen[indices[position]] = stamp
    drawn = 0
    for number in range(batch[0]):
        other = batch[number + 1]
        if other == row:
            continue
        for position in range(indptr[other], indptr[other + 1]):
            label = indices[position]
            if seen[label] != stamp:
                out[drawn] = label
                drawn += 1
                if distinct:
                    seen[label] = stamp
    return drawn


@njit(cache=True, error_model="numpy")
def choose_in_batch(rows, row, stamp, sampler, scratch):
    """Write the labels of one visit to ``scratch.labels``, irrelevant ones from the batch.

    Returns the number of labels. Alone in its batch a row has no irrelevant labels; with
    ``log_q`` its relevant ones, of rate 0, have no weight either.
    """
    relevant = rows.y_indices[rows.y_indptr[row] : rows.y_indptr[row + 1]]
    n_relevant, labels = len(relevant), scratch.labels
    others = scratch.batch[0] - 1
    if others <= 0 and sampler.log_q:
        return 0
    copy_front(labels, relevant, n_relevant)
    drawn = gather_batch(
        rows, scratch.batch, row, sampler.distinct, scratch.seen, stamp, labels[n_relevant:]
    )
    if sampler.log_q:
        for position in range(n_relevant + drawn):
            log_share = sampler.label_shift[labels[position]]
            scratch.shift[position] = log_rate(others, log_share, sampler.distinct)
    return n_relevant + drawn


@njit(cache=True, error_model="numpy")
def choose_labels(rows, row, visit, objective, scratch):
    """Write the labels of one visit to ``scratch.labels``, relevant first.

    With ``log_q`` also their log rates to ``scratch.shift``. Returns the number of labels and the
    weight of an irrelevant one.
    """
    sampler, seen, labels = objective.sampler, scratch.seen, scratch.labels
    if sampler.kind == IN_BATCH:
        return choose_in_batch(rows, row, visit.stamp, sampler, scratch), np.float32(1.0)
    relevant = rows.y_indices[rows.y_indptr[row] : rows.y_indptr[row + 1]]
    n_relevant, n_labels = len(relevant), len(seen)
    ratio, minimum = objective.negatives_per_positive, objective.min_negatives
    wanted = wanted_labels(n_relevant, n_labels, ratio, minimum)
    copy_front(labels, relevant, n_relevant)
    out, weight = labels[n_relevant:], np.float32(1.0)
    if sampler.kind == WEIGHTED and wanted == 0:
        drawn = 0
    elif sampler.kind == WEIGHTED and sampler.distinct:
        rest = rest_of_shares(relevant, sampler.label_shift)
        tries = np.int64(expected_tries(sampler, wanted, rest))
        drawn = draw_distinct(visit.key, tries, relevant, sampler.alias, seen, visit.stamp, out)
    elif sampler.kind == WEIGHTED and sampler.union:
        wanted = wanted_draws(n_relevant, n_labels, ratio, minimum)
        drawn = draw_union(visit.key, wanted, relevant, sampler.alias, seen, visit.stamp, out)
    elif sampler.kind == WEIGHTED:
        drawn = draw_weighted(visit.key, wanted, relevant, sampler.alias, seen, visit.stamp, out)
    else:
        count = wanted
        if objective.all_negatives:
            # The cost-sensitive loss that sampling estimates, equation (8): 1/C = wanted / |N|.
            count = n_labels - n_relevant
            weight = np.float32(wanted / max(count, 1))
        drawn = draw_irrelevant(visit.key, count, relevant, seen, visit.stamp, out)
    if sampler.log_q:
        fewer = max(n_relevant - 1, 0)
        without = wanted_labels(fewer, n_labels, ratio, minimum)
        if sampler.union:
            without = wanted_draws(fewer, n_labels, ratio, minimum)
        chosen = labels[: n_relevant + drawn]
        write_shifts(chosen, n_relevant, wanted, without, sampler, scratch.shift)
    return n_relevant + drawn, weight
