"""The arrays that models and backends exchange, and the numbers that stand for names in them.

Every backend takes and returns these; none of them is tied to a device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LOSSES = ("logistic", "squared", "squared_hinge", "focal", "asymmetric")
ACTIVATIONS = ("tanh", "linear", "relu")
DUAL_LOSSES = ("squared_hinge", "logistic")
UNIFORM, WEIGHTED, IN_BATCH = 0, 1, 2
MAX_TRIES = 64
"""Draws of a sampler by frequency, for every label that is wanted."""


class Csr(NamedTuple):
    """The arrays of a CSR matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


class LabelledRows(NamedTuple):
    """Rows to train on: CSR of features, CSR pattern of labels."""

    x_indptr: np.ndarray
    x_indices: np.ndarray
    x_data: np.ndarray
    y_indptr: np.ndarray
    y_indices: np.ndarray


class Params(NamedTuple):
    """Parameters, or their accumulators (``W`` and ``L`` then may have one column)."""

    W: np.ndarray
    b: np.ndarray
    L: np.ndarray
    c: np.ndarray


class Sampler(NamedTuple):
    """How irrelevant labels are drawn; arrays that a kind does not use are empty.

    ``distinct`` keeps a label once (`UNIFORM` always does); ``union`` too, of as many draws as
    labels are wanted (Algorithm 1 of the paper); ``log_q`` corrects the loss for the rates. A
    relevant label is corrected by the rate that it would have in a row with ``leave_out`` (0 or 1)
    relevant labels fewer. ``label_shift`` holds log q_j, ``alias`` the alias table of q and
    ``tries[n]`` the draws that find n different labels.
    """

    kind: int
    distinct: bool
    union: bool
    log_q: bool
    leave_out: int
    label_shift: np.ndarray
    alias: np.ndarray
    tries: np.ndarray


class Objective(NamedTuple):
    """What is minimised: loss and activation codes, sampling, regularisation.

    ``focus`` is that of `arithmetic.focused`; ``max_label_norm`` bounds the squared norm of every
    label vector, and is empty without bounds. ``elementwise`` tells the two forms of AdaGrad apart;
    without ``intercept`` the biases stay where they are.
    """

    loss: int
    activation: int
    focus: tuple[np.float32, np.float32, np.float32]
    negatives_per_positive: float
    min_negatives: int
    all_negatives: bool
    sampler: Sampler
    l2: np.float32
    max_label_norm: np.ndarray
    gradient_floor: np.float32
    label_weight: np.ndarray
    elementwise: bool
    intercept: bool


class Visits(NamedTuple):
    """A pass: row, weight and random key of every visit, and the learning rate at both ends.

    The loss is measured at every ``loss_stride``-th visit.
    """

    rows: np.ndarray
    weights: np.ndarray
    keys: np.ndarray
    first_rate: float
    last_rate: float
    batch_size: int
    loss_stride: int


class Pairs(NamedTuple):
    """The rows of every label, label by label; the relevant ones come first."""

    indptr: np.ndarray
    rows: np.ndarray
    n_relevant: np.ndarray


class Leading(NamedTuple):
    """Label vectors cut to their leading directions, with the bias as the last number.

    ``labels`` is whose they are: those that score well on average come first. A row is cut by the
    product with ``rows``. Of labels with the same vector the first one is there; ``following`` is
    the next of them for every label, -1 behind the last, and empty where all vectors differ.
    """

    rows: np.ndarray
    vectors: np.ndarray
    labels: np.ndarray
    following: np.ndarray


class Problem(NamedTuple):
    """What the labels share: rows, their squared norms and costs, loss and when to stop.

    ``x_indices`` are unsigned; of two dimensions and empty where every row holds all features
    (`rmls.kernels.cpu.linalg.entries`). A row costs ``costs[row]`` times ``label_costs[label]``; a
    row of cost 0 is left out. ``offsets`` belongs to the pairs; empty stands for zeros. ``added``
    marks rows that are new since the last solution, if there was one: then only their variables and
    those above 0 move.
    """

    x_indptr: np.ndarray
    x_indices: np.ndarray
    x_data: np.ndarray
    squares: np.ndarray
    costs: np.ndarray
    label_costs: np.ndarray
    added: np.ndarray
    offsets: np.ndarray
    loss: int
    tolerance: np.float32
    max_epochs: int
    prune: np.float32


class SparseWeights(NamedTuple):
    """Weights by feature as CSR, ``indices`` the labels, unsigned.

    A stored number times ``scale[label]`` is the weight.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    scale: np.ndarray
    bias: np.ndarray


class WeightTables(NamedTuple):
    """Where the weights of features with many of them stand, label by label.

    ``numbers`` is the table of every feature, -1 for none. An entry of a table is about 32 labels:
    a bit for each that has a weight, and above these how many weights come before. ``filled`` is
    the matrix of all weights with its zeros, features x labels, where they are many; else empty.
    """

    numbers: np.ndarray
    entries: np.ndarray
    filled: np.ndarray


class NamePostings(NamedTuple):
    """The names that every word stands in, word by word.

    ``shares`` is the part of the name that the word makes up, ``cosines`` its part of the name's
    vector of length 1; ``owners`` is the label of every name.
    """

    indptr: np.ndarray
    names: np.ndarray
    shares: np.ndarray
    cosines: np.ndarray
    owners: np.ndarray


class NameMatches(NamedTuple):
    """The labels whose names stand in every row, row by row: a CSR pattern with two numbers.

    ``shares`` is the part of the name that is there, ``cosines`` that of the row with the name.
    """

    indptr: np.ndarray
    labels: np.ndarray
    shares: np.ndarray
    cosines: np.ndarray


class ListScores(NamedTuple):
    """What is known of the listed labels of some rows.

    ``own`` and ``other``, of shape (n_rows, size), are the scores of the sparse weights and of the
    vectors; ``more``, of shape (n_rows, size, n_columns), is what further sources say.
    """

    own: np.ndarray
    other: np.ndarray
    more: np.ndarray


# 1, s, max(s - a, 0), max(s - b, 0), r, max(r - c, 0): s of the weights, r of the vectors.
N_TERMS = 6


class Mixture(NamedTuple):
    """A score that is piecewise linear in two others, with coefficients for every label.

    ``coefficients[j]`` = (constant, own, own above knots[0], own above knots[1], other, other above
    knots[2], one for every further number that is known of a row and a label).
    """

    coefficients: np.ndarray
    knots: np.ndarray
