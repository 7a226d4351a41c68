"""What a fitted ranker keeps of every label outside its blocks: names, counts, decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.labels import check_names, plain_name, shown
from rmls.decide import MacroF1
from rmls.kernels.arrays import SparseWeights
from rmls.models.ranker.combination import Frequencies
from rmls.models.ranker.live.blocks import keep_labels
from rmls.models.ranker.names import NameIndex
from rmls.models.ranker.scoring import LabelBlock
from rmls.models.ranker.sources import Background
from rmls.models.ranker.why import find_label
from rmls.models.shared.training_set import share_names

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

Places = NDArray[np.int64]


def start_change(model: RMLSRanker) -> RMLSRanker:
    """Return a copy of a fitted model to change; it shares its arrays with the model.

    A change that fails on its way leaves the model as it was.
    """
    changed = copy(model)
    if changed._background is None:
        changed._background = _no_background(model)
    return changed


def finish_change(model: RMLSRanker, changed: RMLSRanker, blocks: Sequence[LabelBlock]) -> None:
    """Set the blocks of the changed copy and make the model equal to it."""
    changed._set_scorer(*blocks)
    share_names(changed)
    model.__dict__.clear()
    model.__dict__.update(changed.__dict__)


def read_label_list(labels: Any) -> list[Any]:
    """Return labels that were given as a list of their names."""
    if isinstance(labels, str):
        raise InputError(f"labels must be a list of names; got the text {shown(labels)}.")
    if not isinstance(labels, Iterable):
        raise InputError(f"labels must be a list of names; got {shown(labels)}.")
    return [plain_name(name) for name in labels]


def read_label_pairs(pairs: Any, what: str) -> dict[Any, Any]:
    """Return names that were given for labels."""
    if not isinstance(pairs, Mapping):
        raise InputError(f"{what}; got {type(pairs).__name__}.")
    return {plain_name(label): plain_name(name) for label, name in pairs.items()}


def find_labels(model: RMLSRanker, labels: Any, *, once: bool = True) -> Places:
    """Return the numbers of labels by their names, each of them at most ``once``."""
    place = {name: number for number, name in enumerate(model._space.names)}
    places: list[int] = []
    seen: set[int] = set()
    for name in read_label_list(labels):
        if name not in place:
            if name in model.former_labels_:
                raise InputError(former(model, name))
            # A number may be written as a text; else the sentence has near names.
            name = model._space.names[find_label(model._space.names, name)]
        if once and place[name] in seen:
            raise InputError(f"the label {shown(name)} is named twice.")
        seen.add(place[name])
        places.append(place[name])
    return np.array(places, dtype=np.int64)


def former(model: RMLSRanker, name: Any) -> str:
    """Return what became of a label that the model had once."""
    return f"the label {shown(name)} {model.former_labels_[name]}."


def set_names(changed: RMLSRanker, names: list[Any]) -> None:
    """Give all labels new names, each of them another one."""
    if changed._space.is_single:
        raise InputError(
            "the model has one class for every row; labels come and go where rows have label sets."
        )
    names = check_names(names)
    changed._space = replace(changed._space, names=names)
    changed.classes_ = changed._space.classes


def keep_tables(changed: RMLSRanker, kept: Places) -> None:
    """Leave out all but some labels, everywhere but in the blocks."""
    if changed._kept_rows is not None:
        place = np.full(len(changed._space.names), -1, np.int64)
        place[kept] = np.arange(len(kept))
        changed._kept_rows = changed._kept_rows.renumbered(place)
    set_names(changed, [changed._space.names[place] for place in kept])
    _each_table(changed, lambda values, _: np.asarray(values)[kept])


def append_tables(changed: RMLSRanker, names: list[Any], positives: NDArray[np.float64]) -> None:
    """Put labels behind the others, everywhere but in the blocks."""
    set_names(changed, [*changed._space.names, *names])
    count = len(names)

    def append(values: NDArray[Any], like: float) -> NDArray[Any]:
        return np.concatenate([values, np.full(count, like, values.dtype)])

    _each_table(changed, append)
    changed.label_counts_[-count:] = np.ceil(positives)
    changed._frequencies.positives[-count:] = positives


def _each_table(changed: RMLSRanker, change: Any) -> None:
    """Change every table with one value a label; the second argument is that of a new label."""
    changed.label_counts_ = change(changed.label_counts_, 0)
    frequencies = changed._frequencies
    trusted = None if frequencies.trusted is None else change(frequencies.trusted, 0.0)
    positives = change(frequencies.positives, 0.0)
    changed._frequencies = Frequencies(positives, frequencies.total, trusted)
    assert changed._background is not None
    certainty = change(changed._background.certainty, 1.0)
    changed._background = replace(changed._background, certainty=certainty)
    if changed._calibration is not None:
        bias, curve_of = changed._calibration.bias, changed._calibration.curve_of
        # The common curve, which serves all labels that have none of their own.
        changed._calibration = replace(
            changed._calibration, bias=change(bias, 0.0), curve_of=change(curve_of, 0)
        )
    rule = changed._rules.get(MacroF1.name)
    if isinstance(rule, MacroF1) and rule.thresholds is not None:
        usual = float(np.median(rule.thresholds))
        rules = {**changed._rules, rule.name: MacroF1(change(rule.thresholds, usual))}
        changed._rules = rules


def drop_labels(changed: RMLSRanker, dropped: Places) -> list[LabelBlock]:
    """Leave out some labels; returns the blocks without them."""
    scorer = changed._scorer
    kept = np.setdiff1d(np.arange(scorer.n_labels), dropped)
    first_labels = scorer.proposer.vectors.n_labels
    if not (kept < first_labels).any():
        raise InputError("a model needs at least one of the labels that it was trained with.")
    blocks: list[LabelBlock] = []
    for block in scorer.blocks:
        stop = block.first + block.proposer.vectors.n_labels
        own = kept[(kept >= block.first) & (kept < stop)] - block.first
        if len(own) == block.proposer.vectors.n_labels:
            blocks.append(block)
        elif len(own):
            blocks.append(keep_labels(block, own, changed.precision))
    first = 0
    for number, block in enumerate(blocks):
        blocks[number] = replace(block, first=first)
        first += block.proposer.vectors.n_labels
    keep_tables(changed, kept)
    return blocks


def widen(changed: RMLSRanker, n_new: int) -> list[LabelBlock]:
    """Put features behind those that a model knows; nothing is known of them."""
    normalizer = changed._normalizer
    if normalizer is not None and any(len(part) for part in normalizer.as_arrays().values()):
        raise InputError(f"features cannot be added where they are scaled by {normalizer.mode!r}.")
    W = changed._scorer.proposer.vectors.params.W
    W = np.concatenate([W, np.zeros((n_new, W.shape[1]), np.float32)])
    background = changed._background
    assert background is not None
    wider = {
        name: np.concatenate([getattr(background, name), np.zeros(n_new, np.float32)])
        for name in ("mean", "squares", "shares")
    }
    changed._background = replace(background, **wider)
    changed.n_features_in_ += n_new
    if changed._kept_rows is not None:
        changed._kept_rows = changed._kept_rows.widened(n_new)
    return [_widen_block(block, W, n_new) for block in changed._scorer.blocks]


def _widen_block(block: LabelBlock, W: NDArray[np.float32], n_new: int) -> LabelBlock:
    proposer, weights = block.proposer, block.weights

    def longer(indptr: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([indptr, np.repeat(indptr[-1:], n_new)])

    vectors = replace(proposer.vectors, params=proposer.vectors.params._replace(W=W))
    sources = tuple(
        replace(source, postings=source.postings._replace(indptr=longer(source.postings.indptr)))
        if isinstance(source, NameIndex)
        else source
        for source in proposer.sources
    )
    index: Any = proposer.index
    if index.n_probe is None:
        index = replace(index, vectors=vectors)
    proposer = replace(proposer, vectors=vectors, index=index, sources=sources)
    wider: SparseWeights = weights._replace(indptr=longer(weights.indptr))
    return replace(block, proposer=proposer, weights=wider)


def _no_background(model: RMLSRanker) -> Background:
    """Return what is assumed of the rows of a model that does not say: archives of version 0.1."""
    params = model._scorer.proposer.vectors.params
    d, k = params.W.shape
    zeros, positives = np.zeros(d, np.float32), model._frequencies.positives
    # About as many rows list a label as have it, and each has a say of about 2.
    certainty = (1 + 4 * positives).astype(np.float32)
    return Background(
        zeros, zeros, zeros, np.zeros(k, np.float32), np.eye(k, dtype=np.float32), certainty
    )
