"""Rows of a store that memory has no room for: they go to a scratch file, normalised, in order.

A ranker wants its rows compact: each distinct one once, in the order of the fingerprints, scaled.
In memory that is a copy; here it is a file that is gone with the process. A store whose rows lie
like that already is not copied. What is as large as the rows, the lists and the variables of the
classifiers, lies in files beside it. In memory remain the vectors, the weights, the labels of the
rows, and some 60 bytes a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy import sparse

from rmls.core.disk.scratch import Scratch
from rmls.core.options import is_auto
from rmls.core.resources import available_memory
from rmls.core.sparse import is_mapped, over_arrays, row_blocks, take_rows
from rmls.core.words import count, size
from rmls.features.normalize import Normalizer, fit_normalizer
from rmls.models.ranker.scoring import PAIR_BYTES
from rmls.models.ranker.sources import SHARE_IN_MEMORY
from rmls.models.shared.progress import stage
from rmls.models.shared.training_set import TrainingSet

# A value and a feature.
ENTRY_BYTES = 8
# The feature again, in two bytes where they suffice, for the classifiers.
NUMBER_BYTES, SHORT_NUMBERS = 2, 1 << 16
BLOCK_ENTRIES = 1 << 21
# Labels of a list that "auto" makes of many rows.
LISTED = 150


def needs_disk(model: Any, data: TrainingSet) -> bool:
    """Tell whether rows and lists would take more of the memory than they should.

    Rows with dense columns stay in memory: these are no small part of them.
    """
    room = available_memory()
    if room is None or model.dense_columns:
        return False
    return _needed(model, data) > SHARE_IN_MEMORY * room


def _needed(model: Any, data: TrainingSet) -> int:
    """Return the bytes of normalised rows and of their lists."""
    return ENTRY_BYTES * _count_entries(data) + _needed_beside(model, data)


def _needed_beside(model: Any, data: TrainingSet) -> int:
    """Return the bytes of all but the rows themselves."""
    longest = LISTED if is_auto(model.shortlist_size) else int(model.shortlist_size)
    lists = PAIR_BYTES * data.n_rows * min(longest, data.n_labels)
    return lists + (NUMBER_BYTES * _count_entries(data) if data.n_features <= SHORT_NUMBERS else 0)


def _count_entries(data: TrainingSet) -> int:
    return int(np.diff(data.X.indptr)[data.rows].sum(dtype=np.int64))


def lay_out_on_disk(model: Any, data: TrainingSet) -> TrainingSet:
    """Return the rows normalised and compact, in scratch files."""
    normalizer = fit_normalizer(data.X, model.normalize, data.rows, data.weights)
    if normalizer.mode == "standardize":
        # Centring fills the zeros: such rows are refused where memory has no room for them.
        return cast(TrainingSet, model._normalized(data).compact())
    model._normalizer = normalizer
    scratch, rows = _make_scratch(model), count(data.n_rows, "row")
    is_ready = _is_ready(data, normalizer)
    needed = _needed_beside(model, data) if is_ready else _needed(model, data)
    scratch.require(needed, f"training on {rows} that memory has no room for")
    with stage("rows") as shown:
        shown.tick(0.0, f"{size(needed)} with their lists in {scratch.folder}")
        X = data.X if is_ready else _copy(data, normalizer, scratch, shown.tick)
    observed = None if data.observed is None else data.observed[data.rows]
    rest = {"Y": data.labels, "rows": np.arange(data.n_rows), "observed": observed}
    return replace(data, X=X, scratch=scratch, **rest)  # type: ignore[arg-type]


def _is_ready(data: TrainingSet, normalizer: Normalizer) -> bool:
    """Tell whether rows lie as a training wants them: scaled, distinct, in order, none too many."""
    return (
        normalizer.mode == "none"
        and data.n_rows == data.X.shape[0]
        and is_mapped(data.X)
        and np.array_equal(data.rows, np.arange(data.n_rows))
    )


def _make_scratch(model: Any) -> Scratch:
    """Return room on disk; that of a cluster has names, by which its nodes find it."""
    if model.cluster is None:
        return Scratch()
    from rmls.cluster import current_keeper
    from rmls.core.disk.named import NamedScratch

    return NamedScratch(current_keeper().folder)


def _copy(
    data: TrainingSet, normalizer: Normalizer, scratch: Scratch, tick: Callable[[float], None]
) -> sparse.csr_matrix:
    """Return the rows of a set, normalised, in their order, in files."""
    lengths = np.diff(data.X.indptr)[data.rows]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    values = scratch.zeros(int(indptr[-1]), np.float32)
    indices = scratch.zeros(int(indptr[-1]), np.int32)
    X = over_arrays(values, indices, indptr, data.n_features)
    for block in row_blocks(X, BLOCK_ENTRIES):
        # Every way of scaling but centring keeps the places of the entries.
        part = normalizer.apply(take_rows(data.X, data.rows[block]))
        place = slice(indptr[block.start], indptr[block.stop])
        values[place], indices[place] = part.data, part.indices
        tick(block.stop / data.n_rows)
    return X
