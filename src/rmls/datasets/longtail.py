"""Long-tailed sparse data of any size, made from a seed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.resources import require_memory
from rmls.datasets.dataset import Dataset

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Share of labels drawn from the row's own topic; words that speak for a topic; share of the
# words without noise that speak for the topic and not for a label.
TOPIC_SHARE = 0.7
TOPIC_WORDS = 30
TOPIC_WORD_SHARE = 0.3
# Rounds in which labels that came twice are drawn again; what is left then stays empty.
REDRAWS = 6
# At the peak, measured.
DRAW_BYTES = 72


class _Topics(NamedTuple):
    """Labels sorted by topic: `order[start[t]:start[t + 1]]` are the labels of topic ``t``."""

    of_label: Ints
    order: Ints
    start: Ints
    cumulative: Floats


def make_longtail(
    n: int,
    d: int,
    m: int,
    *,
    labels_per_row: float = 5.0,
    features_per_row: float = 50.0,
    exponent: float = 1.0,
    n_topics: int | None = None,
    words_per_label: int = 5,
    noise: float = 0.3,
    test_size: float = 0.2,
    random_state: int = 0,
) -> Dataset:
    """Make bag-of-words data whose label frequencies follow a power law.

    Parameters
    ----------
    n, d, m : int
        Numbers of rows, features (words) and labels.
    labels_per_row : float, default=5.0
        Mean number of labels of a row.
    features_per_row : float, default=50.0
        Mean number of words drawn for a row; repeated draws become counts.
    exponent : float, default=1.0
        The label of popularity rank ``r`` is drawn with weight ``r ** -exponent``.
    n_topics : int, optional
        Number of groups of labels that occur together; by default the root of ``m``.
    words_per_label : int, default=5
        Number of words that speak for a label.
    noise : float, default=0.3
        Share of words that tell nothing about the labels.
    test_size : float, default=0.2
        Share of the rows behind the training part.
    random_state : int, default=0

    Returns
    -------
    Dataset

    Notes
    -----
    Every label has a positive row if there is room for all labels, in the training part if so.

    Examples
    --------
    >>> data = make_longtail(200, 300, 40, labels_per_row=3.0); data
    Dataset('longtail': 200 rows (160 train + 40 test), 300 features, 40 labels)
    >>> int(data.Y.sum(axis=0).min()) >= 1
    True
    """
    _check_sizes(n=n, d=d, m=m, words_per_label=words_per_label)
    _check_shares(noise=noise, test_size=test_size)
    _check_positive(labels_per_row=labels_per_row, features_per_row=features_per_row)
    # Every draw passes through a few arrays of 8 bytes a number.
    draws = n * (labels_per_row + features_per_row) + m * words_per_label + d
    require_memory(int(DRAW_BYTES * draws), f"{n:,} rows of {m:,} labels", "make fewer of them")
    rng = np.random.default_rng(random_state)
    n_train = max(1, n - round(n * test_size))
    topics = _make_topics(rng, m, exponent, n_topics)
    Y, row_topic = _draw_labels(rng, topics, n, n_train, labels_per_row)
    X = _draw_words(rng, Y, row_topic, d, features_per_row, words_per_label, noise)
    return Dataset(X, Y, n_train=n_train, name="longtail")


def _make_topics(
    rng: np.random.Generator, m: int, exponent: float, n_topics: int | None
) -> _Topics:
    wanted = round(m**0.5) if n_topics is None else n_topics
    wanted = min(max(1, wanted), m)
    weight = rng.permutation(np.arange(1, m + 1, dtype=np.float64) ** -exponent)
    # The first labels cover every topic once, so that no topic is empty.
    of_label = np.concatenate([np.arange(wanted), rng.integers(wanted, size=m - wanted)])
    order = np.argsort(of_label, kind="stable")
    start = np.searchsorted(of_label[order], np.arange(wanted + 1))
    # In the order of topics, so that a topic is an interval and a draw one binary search.
    cumulative = np.concatenate([[0.0], np.cumsum(weight[order])])
    return _Topics(of_label, order, start.astype(np.int64), cumulative)


def _draw_labels(
    rng: np.random.Generator, topics: _Topics, n: int, n_train: int, labels_per_row: float
) -> tuple[sparse.csr_matrix, Ints]:
    m = len(topics.order)
    # One label is sure where the mean allows it; the Poisson number is what comes on top.
    certain = 1 if labels_per_row >= 1 else 0
    lengths = np.minimum(certain + rng.poisson(labels_per_row - certain, size=n), m)
    slot_row = np.repeat(np.arange(n), lengths)
    seeds = _seed_slots(rng, m, int(lengths[:n_train].sum()), len(slot_row))
    slot_label = np.full(len(slot_row), -1, dtype=np.int64)
    slot_label[seeds] = rng.permutation(m)[: len(seeds)]

    row_topic = _topics_at(topics, rng.random(n) * topics.cumulative[-1])
    row_topic[slot_row[seeds]] = topics.of_label[slot_label[seeds]]
    # A pair of row and label as one number: sets of pairs are sorted arrays.
    taken = np.sort(slot_row[seeds] * m + slot_label[seeds])
    open_rows = slot_row[slot_label < 0]
    for _ in range(REDRAWS):
        if not len(open_rows):
            break
        drawn = open_rows * m + _labels_for(rng, topics, row_topic[open_rows])
        fresh = np.setdiff1d(drawn, taken)
        taken = np.union1d(taken, fresh)
        missing = np.bincount(open_rows, minlength=n) - np.bincount(fresh // m, minlength=n)
        open_rows = np.repeat(np.arange(n), missing)
    ones = np.ones(len(taken), dtype=np.int32)
    return sparse.csr_matrix((ones, (taken // m, taken % m)), shape=(n, m)), row_topic


def _seed_slots(rng: np.random.Generator, m: int, n_train_slots: int, n_slots: int) -> Ints:
    """Choose one slot per label, or none when the rows have no room for all labels."""
    room = n_train_slots if n_train_slots >= m else n_slots
    if room < m:
        return np.empty(0, dtype=np.int64)
    return rng.choice(room, size=m, replace=False)


def _labels_for(rng: np.random.Generator, topics: _Topics, row_topic: Ints) -> Ints:
    """Draw one label per given topic, mostly from it and otherwise from all labels."""
    inside = rng.random(len(row_topic)) < TOPIC_SHARE
    low = np.where(inside, topics.cumulative[topics.start[row_topic]], 0.0)
    last = topics.cumulative[-1]
    high = np.where(inside, topics.cumulative[topics.start[row_topic + 1]], last)
    # Inverse of the cumulative weights, on the interval of the topic or on all of it.
    at = low + rng.random(len(row_topic)) * (high - low)
    return topics.order[_positions(topics.cumulative, at)]


def _topics_at(topics: _Topics, at: Floats) -> Ints:
    return topics.of_label[topics.order[_positions(topics.cumulative, at)]]


def _positions(cumulative: Floats, at: Floats) -> Ints:
    found = np.searchsorted(cumulative, at, side="right") - 1
    # Rounding may put a draw at the very end.
    return np.minimum(found, len(cumulative) - 2).astype(np.int64)


def _draw_words(
    rng: np.random.Generator,
    Y: sparse.csr_matrix,
    row_topic: Ints,
    d: int,
    features_per_row: float,
    words_per_label: int,
    noise: float,
) -> sparse.csr_matrix:
    n = Y.shape[0]
    row = np.repeat(np.arange(n), np.maximum(1, rng.poisson(features_per_row, size=n)))
    kind = rng.random(len(row))
    lengths = np.diff(Y.indptr).astype(np.int64)
    word = _background_words(rng, d, len(row))

    # One uniform number decides: noise, the topic of the row, or one of its labels.
    about_label = (kind >= noise) & (lengths[row] > 0)
    about_topic = about_label & (kind < noise + (1 - noise) * TOPIC_WORD_SHARE)
    about_label &= ~about_topic

    topic_words = rng.integers(d, size=(int(row_topic.max()) + 1, TOPIC_WORDS))
    chosen = rng.integers(TOPIC_WORDS, size=int(about_topic.sum()))
    word[about_topic] = topic_words[row_topic[row[about_topic]], chosen]

    rows = row[about_label]
    pick = Y.indptr[rows] + (rng.random(len(rows)) * lengths[rows]).astype(np.int64)
    own = Y.indices[pick].astype(np.int64) * words_per_label
    own += rng.integers(words_per_label, size=len(rows))
    # Label j owns the words j w to j w + w - 1, shuffled; labels share some where d is small.
    word[about_label] = rng.permutation(d)[own % d]

    key, count = np.unique(row * d + word, return_counts=True)
    return sparse.csr_matrix((count.astype(np.float32), (key // d, key % d)), shape=(n, d))


def _background_words(rng: np.random.Generator, d: int, size: int) -> Ints:
    # Zipf: the word of rank r has weight 1 / r.
    cumulative = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, d + 1))])
    ranks = _positions(cumulative, rng.random(size) * cumulative[-1])
    return np.asarray(rng.permutation(d)[ranks], dtype=np.int64)


def _check_sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        if int(size) != size or size < 1:
            raise InputError(f"{name} must be a whole number of at least 1; got {size}.")


def _check_positive(**means: float) -> None:
    for name, mean in means.items():
        if not mean > 0:
            raise InputError(f"{name} must be positive; got {mean}.")


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0.0 <= share < 1.0:
            raise InputError(f"{name} must lie in [0, 1); got {share}.")
