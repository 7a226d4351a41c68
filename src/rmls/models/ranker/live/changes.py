"""The changes of a fitted ranker, each of them all or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import check_names, shown
from rmls.models.ranker.label_words import LabelWords, read_label_words
from rmls.models.ranker.live.blocks import LabelParts, as_csr, change_labels, later_block
from rmls.models.ranker.live.learning import NewRows, learn_examples, learn_rows
from rmls.models.ranker.live.newcomers import append_labels, weigh_words
from rmls.models.ranker.live.tables import (
    drop_labels,
    find_labels,
    finish_change,
    former,
    read_label_list,
    read_label_pairs,
    set_names,
    start_change,
    widen,
)
from rmls.models.ranker.scoring import LabelBlock
from rmls.models.shared.new_rows import read_new_rows

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

Places = NDArray[np.int64]


def widen_features(model: RMLSRanker, n_new: int) -> None:
    """Put features behind those that the model knows; nothing is known of them."""
    changed = start_change(model)
    finish_change(model, changed, widen(changed, n_new))


@dataclass(frozen=True)
class Given:
    """What a method was given, as it was given."""

    X: Any = None
    y: Any = None
    sample_weight: Any = None
    label_names: Any = None
    label_text: Any = None
    rejected: Any = None


def learn(model: RMLSRanker, given: Given) -> None:
    """Learn from further rows; labels that are new are added."""
    changed = start_change(model)
    rows = read_new_rows(changed, given.X, given.y, given.sample_weight, given.label_names)
    for name in rows.unknown:
        if name in model.former_labels_:
            raise InputError(former(model, name))
    blocks, n_known = list(model._scorer.blocks), model._space.n_labels
    if rows.unknown:
        words = read_words(model, rows.unknown, given.label_text)
        blocks = append_labels(changed, blocks, rows.unknown, words)
    fresh = np.arange(n_known, changed._space.n_labels)
    rejected = None
    if given.rejected is not None:
        rejected = _read_rejected(changed, rows.Y, given.rejected)
    new = NewRows(changed._rows(rows.X), rows.Y, rows.weights, rejected, fresh)
    finish_change(model, changed, learn_rows(changed, blocks, new))


def _read_rejected(model: RMLSRanker, Y: sparse.csr_matrix, given: Any) -> sparse.csr_matrix:
    rejected, unknown = model._space.read_truth(given)
    for name in unknown:
        if name in model.former_labels_:
            raise InputError(former(model, name))
        raise InputError(f"rejected has the label {shown(name)}, which the model does not have.")
    if rejected.shape[0] != Y.shape[0]:
        raise InputError(f"rejected has {rejected.shape[0]} rows but X has {Y.shape[0]}.")
    both = sparse.coo_matrix(Y.multiply(rejected))
    if both.nnz:
        name = shown(model._space.names[both.col[0]])
        raise InputError(f"the label {name} of row {both.row[0]} is in y and rejected.")
    return rejected


def read_words(model: RMLSRanker, names: list[Any], label_text: Any) -> LabelWords | None:
    """Return what labels are called in the features of a model."""
    if label_text is None:
        return None
    n_features = int(model.n_features_in_) - int(model.dense_columns)
    known = getattr(model, "feature_names_in_", None)
    return read_label_words(
        label_text, names, n_features, None if known is None else known[:n_features]
    )


def add(model: RMLSRanker, labels: Sequence[Any], label_text: Any, X: Any, y: Any) -> None:
    """Add labels by what they are called and by rows that show them."""
    names = check_names(read_label_list(labels))
    if X is None and y is not None:
        raise InputError("y was given without X; both are needed to show labels.")
    if not names:
        return
    known = set(model._space.names)
    for name in names:
        if name in known:
            raise InputError(f"the model has the label {shown(name)} already.")
    changed = start_change(model)
    # A label that was retired may come back, as a new one.
    changed.former_labels_ = {
        name: what for name, what in model.former_labels_.items() if name not in names
    }
    words = read_words(model, names, label_text)
    blocks = append_labels(changed, list(model._scorer.blocks), names, words)
    fresh = np.arange(len(known), len(known) + len(names))
    if X is not None:
        blocks = _show(changed, blocks, fresh, fresh, Given(X, y))
    finish_change(model, changed, blocks)


def _show(
    changed: RMLSRanker, blocks: list[LabelBlock], labels: Places, fresh: Places, given: Given
) -> list[LabelBlock]:
    """Let later labels learn from rows; of those that are fresh nothing else is known."""
    rows = read_new_rows(changed, given.X, given.y)
    for name in rows.unknown:
        if name in changed.former_labels_:
            raise InputError(former(changed, name))
        raise InputError(f"y has the label {shown(name)}, which is not being added.")
    if not rows.Y[:, labels].nnz:
        raise InputError("y has none of the labels that are being added.")
    new = NewRows(changed._rows(rows.X), rows.Y, rows.weights, None, fresh)
    return learn_examples(changed, blocks, new, labels)


def retire(model: RMLSRanker, labels: Sequence[Any]) -> None:
    """Take labels out."""
    places = find_labels(model, labels)
    changed = start_change(model)
    gone = {model._space.names[place]: "was retired" for place in places}
    changed.former_labels_ = {**model.former_labels_, **gone}
    if len(places):
        finish_change(model, changed, drop_labels(changed, places))


def rename(model: RMLSRanker, names: Mapping[Any, Any], label_text: Any = None) -> None:
    """Call labels something else."""
    names = read_label_pairs(names, "names must be a mapping of labels to new names")
    places = find_labels(model, names)
    changed = start_change(model)
    renamed = list(model._space.names)
    for place, name in zip(places, names.values(), strict=True):
        renamed[place] = name
    set_names(changed, renamed)
    gone = {old: f"is called {shown(new)} now" for old, new in names.items() if old != new}
    kept = {name: what for name, what in model.former_labels_.items() if name not in renamed}
    changed.former_labels_ = {**kept, **{old: w for old, w in gone.items() if old not in renamed}}
    words = read_words(model, [renamed[place] for place in places], label_text)
    blocks = list(model._scorer.blocks)
    if words is not None:
        blocks = [_call(changed, block, places, words) for block in blocks]
    finish_change(model, changed, blocks)


def _call(changed: RMLSRanker, block: LabelBlock, places: Places, words: LabelWords) -> LabelBlock:
    """Give some labels of a block other names as evidence."""
    parts = LabelParts.of(block)
    own = np.flatnonzero((places >= block.first) & (places < block.first + len(parts)))
    if not len(own) or not any(source.kind == "names" for source in block.proposer.sources):
        return block
    labels = places[own] - block.first
    others = np.setdiff1d(np.arange(len(parts)), labels)
    names = parts.names.take(others, len(parts)).at(others)
    new = weigh_words(changed, words).take(own, len(places)).at(labels)
    return change_labels(block, replace(parts, names=names.append(new, 0)), changed.precision)


def merge(model: RMLSRanker, into: Mapping[Any, Any]) -> None:
    """Let labels become part of others."""
    what = "into must be a mapping of labels to the labels that take them up"
    into = read_label_pairs(into, what)
    sources, targets = find_labels(model, into), find_labels(model, into.values(), once=False)
    for place in np.intersect1d(sources, targets):
        name = shown(model._space.names[place])
        raise InputError(f"the label {name} cannot be merged and take up another one at once.")
    changed = start_change(model)
    parts = [LabelParts.of(block) for block in model._scorer.blocks]
    for source, target in zip(sources, targets, strict=True):
        _merge(changed, parts, int(source), int(target))
    if changed._kept_rows is not None:
        place = np.arange(model._space.n_labels)
        place[sources] = targets
        changed._kept_rows = changed._kept_rows.renumbered(place)
    changed._scorer = replace(
        model._scorer,
        blocks=tuple(
            change_labels(block, part, changed.precision)
            for block, part in zip(model._scorer.blocks, parts, strict=True)
        ),
    )
    gone = {old: f"was merged into {shown(new)}" for old, new in into.items()}
    changed.former_labels_ = {**model.former_labels_, **gone}
    finish_change(model, changed, drop_labels(changed, sources))


def _merge(changed: RMLSRanker, parts: list[LabelParts], source: int, target: int) -> None:
    """Add what is known of one label to what is known of another."""
    (i, own), (j, other) = (_locate(parts, place) for place in (target, source))
    into, gone = parts[i], parts[j].take(np.array([other]))
    positives = changed._frequencies.positives.copy()
    share = float(positives[source] / max(positives[source] + positives[target], 1e-12))
    indptr = np.zeros(len(into) + 1, np.int64)
    indptr[own + 1 :] = 1
    moved = as_csr([1.0], [0], indptr, 1)
    bias, vectors, vector_bias = (
        array.copy() for array in (into.bias, into.vectors, into.vector_bias)
    )
    # Margins of 1 and -1: the sum plus 1 is at least 1 where either is, and -1 where none is.
    bias[own] += gone.bias[0] + 1.0
    vectors[own] += share * (gone.vectors[0] - vectors[own])
    vector_bias[own] += share * (gone.vector_bias[0] - vector_bias[own])
    names = into.names.append(gone.names.at(np.array([own])), 0)
    weights = sparse.csr_matrix(into.weights + moved @ gone.weights)
    parts[i] = LabelParts(vectors, vector_bias, weights, bias, names, into.scale)
    positives[target] += positives[source]
    changed._frequencies = replace(changed._frequencies, positives=positives)
    counts = changed.label_counts_.copy()
    counts[target] = min(counts[target] + counts[source], changed.n_samples_)
    changed.label_counts_ = counts
    assert changed._background is not None
    certainty = changed._background.certainty.copy()
    certainty[target] += certainty[source] - 1
    changed._background = replace(changed._background, certainty=certainty)


def _locate(parts: list[LabelParts], place: int) -> tuple[int, int]:
    """Return the block of a label, and its number there."""
    for number, part in enumerate(parts):
        if place < len(part):
            return number, place
        place -= len(part)
    raise AssertionError("labels belong to blocks")


def split(model: RMLSRanker, label: Any, into: Sequence[Any], given: Given) -> None:
    """Replace a label by several, which start from what was known of it."""
    (place,) = find_labels(model, [label])
    label = model._space.names[place]
    names = [] if isinstance(into, str) else check_names(read_label_list(into))
    if len(names) < 2:
        raise InputError(f"the label {shown(label)} must be split into at least two labels.")
    known = set(model._space.names)
    for name in names:
        if name in known:
            raise InputError(f"the model has the label {shown(name)} already.")
    changed = start_change(model)
    words = read_words(model, names, given.label_text)
    blocks = append_labels(changed, list(model._scorer.blocks), names, words)
    labels = np.arange(len(known), len(known) + len(names))
    blocks[-1] = _inherit(changed, blocks, int(place), len(names))
    if given.X is not None:
        blocks = _show(changed, blocks, labels, labels[:0], given)
    changed._set_scorer(*blocks)
    kept = {name: what for name, what in model.former_labels_.items() if name not in names}
    became = " and ".join(shown(name) for name in names)
    changed.former_labels_ = {**kept, label: f"was split into {became}"}
    finish_change(model, changed, drop_labels(changed, np.array([place])))


def _inherit(changed: RMLSRanker, blocks: list[LabelBlock], place: int, count: int) -> LabelBlock:
    """Return the last block whose last labels know what another label knows."""
    parts = [LabelParts.of(block) for block in blocks]
    number, own = _locate(parts, place)
    heirs, last = parts[number].take(np.full(count, own)), parts[-1]
    before = last.take(np.arange(len(last) - count))
    parts[-1] = replace(before.append(heirs), names=last.names)
    positives = changed._frequencies.positives.copy()
    # Each is taken to have its part of the rows.
    positives[-count:] = positives[place] / count
    changed._frequencies = replace(changed._frequencies, positives=positives)
    assert changed._background is not None
    certainty = changed._background.certainty.copy()
    certainty[-count:] = certainty[place]
    changed._background = replace(changed._background, certainty=certainty)
    counts = changed.label_counts_.copy()
    counts[-count:] = counts[place] // count
    changed.label_counts_ = counts
    return later_block(blocks[0], parts[-1], changed.precision, blocks[-1].first)
