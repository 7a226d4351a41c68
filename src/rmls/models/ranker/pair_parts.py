"""The score of a row and a label as a sum of parts, exact in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.kernels.arrays import N_TERMS, NamePostings, SparseWeights
from rmls.kernels.backend import get_backend
from rmls.models.ranker.combination import N_NAME_COLUMNS
from rmls.models.ranker.scoring import LabelBlock, ListScorer
from rmls.models.ranker.sources import Rows, Source

Doubles = NDArray[np.float64]

# Below, the slope between two inputs of an activation is that at one of them.
SAME_INPUT = 1e-9


class Pair(NamedTuple):
    """What a model knows of one row and one label.

    Attributes
    ----------
    label : int
    score, other : float or None
        The score that ranks, and that of the vectors in it; None where the label is not listed.
    x : ndarray of shape (n_in_row,)
        The features that the row has.
    own, own_bias
        Their weights in the classifier of the label, and its bias.
    W, b, L, c
        Vectors of these features and of the label; biases.
    activation : str
    names : ndarray of shape (n_in_row,)
        The share of every feature in the name of the label.
    more : ndarray of shape (n_columns,)
        What further sources say; those of names come first.
    n_names : int
        Columns of names.
    coefficients, knots
        Of the combination, without the boost.
    boost : float
    """

    label: int
    score: float | None
    other: float | None
    x: Doubles
    own: Doubles
    own_bias: float
    W: Doubles
    b: Doubles
    L: Doubles
    c: float
    activation: str
    names: Doubles
    more: Doubles
    n_names: int
    coefficients: Doubles
    knots: Doubles
    boost: float


class Parts(NamedTuple):
    """Parts that add up to a score; the first three belong to the features of the row."""

    classifier: Doubles
    vectors: Doubles
    named: Doubles
    prior: float
    boost: float
    names: float
    dense: float
    remainder: float

    @property
    def total(self) -> float:
        """Their sum."""
        ends = (self.prior, self.boost, self.names, self.dense, self.remainder)
        return float(self.classifier.sum() + self.vectors.sum() + sum(ends))


# -- what is read from a scorer: nothing else of explanations looks into one ----------------------


def pair_scores(scorer: ListScorer, rows: Rows, label: int | None, k: int) -> list[Pair]:
    """Return what a scorer knows of one normalised row and a label, or the best ``k`` listed."""
    found, combined = scorer.score(rows, scorer.mixture)
    scores = zip(combined[0].tolist(), found.scores[0].tolist(), strict=True)
    listed = dict(zip(found.labels[0].tolist(), scores, strict=True))
    if label is None:
        backend = get_backend(scorer.proposer.vectors.device)
        best, _ = backend.rank_lists(found.labels, combined, min(k, len(listed)))
        wanted = [int(each) for each in best[0]]
    else:
        wanted = [label]
    more = _more(scorer, rows, found.labels, wanted)
    return [
        _read_pair(scorer, rows, each, listed.get(each, (None, None)), said)
        for each, said in zip(wanted, more, strict=True)
    ]


def label_weights(scorer: ListScorer, label: int) -> tuple[NDArray[np.int64], Doubles]:
    """Return the features that the classifier of a label has weights for, and the weights."""
    block = scorer.block_of(label)
    weights, own = block.weights, label - block.first
    places = np.flatnonzero(np.asarray(weights.indices) == own)
    features = np.searchsorted(weights.indptr, places, side="right") - 1
    values = weights.values[places].astype(np.float64) * float(weights.scale[own])
    return features.astype(np.int64), values


def label_vectors(scorer: ListScorer) -> NDArray[np.float32]:
    """Return the vectors of all labels."""
    return np.concatenate([block.proposer.vectors.params.L for block in scorer.blocks])


def _read_pair(
    scorer: ListScorer,
    rows: Rows,
    label: int,
    scores: tuple[float | None, float | None],
    more: Doubles,
) -> Pair:
    block, features = scorer.block_of(label), rows.X.indices
    vectors, own = block.proposer.vectors, label - block.first
    params, boosted = vectors.params, scorer.mixture.coefficients[label].astype(np.float64)
    coefficients = scorer.logits.coefficients[label].astype(np.float64)
    names = _names_source(block)
    return Pair(
        label=label,
        score=scores[0],
        other=scores[1],
        x=rows.X.data.astype(np.float64),
        own=_weights_at(block.weights, features, own),
        own_bias=float(block.weights.bias[own]),
        W=params.W[features].astype(np.float64),
        b=params.b.astype(np.float64),
        L=params.L[own].astype(np.float64),
        c=float(params.c[own]),
        activation=vectors.activation,
        names=np.zeros(len(features))
        if names is None
        else _name_shares(names.postings, features, own),  # type: ignore[attr-defined]
        more=more,
        n_names=0 if names is None else N_NAME_COLUMNS,
        coefficients=coefficients,
        knots=scorer.mixture.knots.astype(np.float64),
        boost=float(boosted[0] - coefficients[0]),
    )


def _names_source(block: LabelBlock) -> Source | None:
    sources = block.proposer.sources
    return sources[0] if sources and sources[0].kind == "names" else None


def _more(scorer: ListScorer, rows: Rows, listed: NDArray[np.int32], wanted: list[int]) -> Doubles:
    """Return what further sources say of some labels, each seen beside the listed ones."""
    said: dict[int, Doubles] = {}
    for block in scorer.blocks:
        own = [label for label in wanted if scorer.block_of(label) is block]
        if own:
            said |= dict(zip(own, _said(block, rows, listed[0], own), strict=True))
    return np.array([said[label] for label in wanted])


def _said(block: LabelBlock, rows: Rows, listed: NDArray[np.int32], wanted: list[int]) -> Doubles:
    proposer, stop = block.proposer, block.first + block.proposer.vectors.n_labels
    if not proposer.sources:
        return np.zeros((len(wanted), 0))
    # Dense columns compare a label with the best one of the list.
    beside = listed[(listed >= block.first) & (listed < stop)]
    labels = np.union1d(beside, wanted).astype(np.int32)
    found = proposer.more(proposer.look(rows), labels[None] - np.int32(block.first))[0]
    return np.asarray(found[np.searchsorted(labels, wanted)], np.float64)


def _weights_at(weights: SparseWeights, features: NDArray[np.int32], label: int) -> Doubles:
    """Return the weights of some features for one label."""
    place, entry = _find(weights.indptr, weights.indices, features, lambda labels: labels == label)
    found = np.zeros(len(features))
    found[place] = weights.values[entry].astype(np.float64) * float(weights.scale[label])
    return found


def _name_shares(postings: NamePostings, features: NDArray[np.int32], label: int) -> Doubles:
    """Return the share of every feature in the name of a label that the row matches best."""
    owners = np.asarray(postings.owners)
    place, entry = _find(
        postings.indptr, postings.names, features, lambda names: owners[names] == label
    )
    names, number = np.unique(postings.names[entry], return_inverse=True)
    shares = np.zeros((max(len(names), 1), len(features)))
    np.add.at(shares, (number, place), postings.shares[entry])
    return np.asarray(shares[shares.sum(axis=1).argmax()])


def _find(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    features: NDArray[np.int32],
    wanted: Callable[[NDArray[Any]], NDArray[np.bool_]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return places in ``features`` and entries of a CSR pattern by feature that are wanted."""
    # Plain arrays: every slice of one that is mapped from a file is made slowly.
    pointer, pattern = np.asarray(indptr), np.asarray(indices)
    starts, stops = pointer[features], pointer[features + 1]
    parts = [pattern[i:j] for i, j in zip(starts.tolist(), stops.tolist(), strict=True)]
    hits = np.flatnonzero(wanted(np.concatenate([pattern[:0], *parts])))
    ends = np.cumsum(stops - starts)
    place = np.searchsorted(ends, hits, side="right")
    return place, hits + (stops - ends)[place]


# -- from a pair to parts -------------------------------------------------------------------------


def split_score(pair: Pair, *, path: bool = True) -> Parts:
    """Return parts that add up to the score of a pair.

    A line with bends is shared by what it is a function of through its mean slope between the
    value without any feature and the value of the row. So is the activation of the vectors along
    a ``path``; its slope at the row leaves a remainder. So does the single precision of the inner
    product that ranks.
    """
    t, x = pair.coefficients, pair.x
    weighted = x * pair.own
    start, stop = pair.own_bias, pair.own_bias + float(weighted.sum())
    own_slope = mean_slope(t[1:4], pair.knots[:2], start, stop)
    before = _activate(pair.b, pair.activation)
    inner = pair.b + x @ pair.W
    change = float(pair.L @ (_activate(inner, pair.activation) - before))
    empty = pair.c + float(pair.L @ before)
    if pair.other is not None:
        # Slopes of hundreds, of frequencies without such pairs, make a rounded inner product count.
        change = pair.other - empty
    other_slope = mean_slope(t[4:6], pair.knots[2:], empty, empty + change)
    slopes = activation_slopes(pair.b, inner, pair.activation, path=path)
    moved = x * (pair.W @ (pair.L * slopes))
    said = t[N_TERMS:] * pair.more
    names = float(said[: pair.n_names].sum())
    share = pair.names.sum()
    return Parts(
        classifier=own_slope * weighted,
        vectors=other_slope * moved,
        named=pair.names * (names / share if share else 0.0),
        prior=float(t[0])
        + line_value(t[1:4], pair.knots[:2], start)
        + line_value(t[4:6], pair.knots[2:], empty),
        boost=pair.boost,
        names=names,
        dense=float(said[pair.n_names :].sum()),
        remainder=other_slope * (change - float(moved.sum())),
    )


def line_value(slopes: Doubles, knots: Doubles, at: float) -> float:
    """Return ``s0 z + s1 max(z - k1, 0) + ...`` at a place z.

    Examples
    --------
    >>> line_value(np.array([1.0, 2.0]), np.array([3.0]), 5.0)
    9.0
    """
    return float(slopes[0] * at + slopes[1:] @ np.maximum(at - knots, 0))


def mean_slope(slopes: Doubles, knots: Doubles, start: float, stop: float) -> float:
    """Return the mean slope of the same line between two places.

    Examples
    --------
    >>> mean_slope(np.array([1.0, 2.0]), np.array([3.0]), 1.0, 5.0)
    2.0
    """
    if start == stop:
        above: Doubles = (start > knots).astype(np.float64)
    else:
        above = (np.maximum(stop - knots, 0) - np.maximum(start - knots, 0)) / (stop - start)
    return float(slopes[0] + slopes[1:] @ above)


def _activate(inner: Doubles, activation: str) -> Doubles:
    if activation == "linear":
        return inner
    return np.tanh(inner) if activation == "tanh" else np.maximum(inner, 0)


def activation_slopes(start: Doubles, stop: Doubles, activation: str, *, path: bool) -> Doubles:
    """Return the slopes of an activation at ``stop``, or their mean on the way from ``start``."""
    if activation == "linear":
        return np.ones_like(stop)
    at_stop = 1 - np.tanh(stop) ** 2 if activation == "tanh" else (stop > 0).astype(np.float64)
    if not path:
        return np.asarray(at_stop)
    way = stop - start
    moved = np.abs(way) > SAME_INPUT
    risen = _activate(stop, activation) - _activate(start, activation)
    return np.where(moved, risen / np.where(moved, way, 1), at_stop)
