"""Labels that came later, and what became of former ones, in the archive of a ranker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.labels import check_texts
from rmls.models.ranker.archive import (
    PRECISIONS,
    pack_vectors,
    precise,
    read_weights,
    unpack_vectors,
)
from rmls.models.ranker.live.blocks import LabelParts, NameParts, later_block, weights_by_label
from rmls.models.ranker.names import read_names
from rmls.models.ranker.scoring import LabelBlock

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

ADDED = "added_"


def live_state(model: RMLSRanker) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the later block and the former labels as plain values and arrays."""
    fitted: dict[str, Any] = {
        "former_labels": [[name, what] for name, what in model.former_labels_.items()]
    }
    if len(model._scorer.blocks) == 1:
        return fitted, {}
    (block,) = model._scorer.blocks[1:]
    params = block.proposer.vectors.params
    arrays = pack_vectors("labels", params.L, model.precision) | {"label_bias": params.c}
    arrays |= {f"weights_{name}": array for name, array in block.weights._asdict().items()}
    for source in block.proposer.sources:
        arrays |= source.arrays()
    named = {f"{ADDED}{name}": array for name, array in arrays.items()}
    return fitted | {"n_added": len(params.c)}, named


def read_live(
    model: RMLSRanker, fitted: dict[str, Any], archive: Archive, first: LabelBlock
) -> list[LabelBlock]:
    """Set the former labels of a ranker; returns the block of later ones, if there are any."""
    model.former_labels_ = _read_former(fitted.get("former_labels", []))
    n_added = int(fitted.get("n_added", 0))
    if not n_added:
        return []
    d, k = first.proposer.vectors.params.W.shape
    prefix = {
        name.removeprefix(ADDED): array
        for name, array in archive.arrays.items()
        if name.startswith(ADDED)
    }
    own = Archive(archive.path, archive.manifest, prefix)
    check_arrays(own, {"label_bias": (np.float32, (n_added,))})
    weights = read_weights(own, d, n_added, PRECISIONS[precise(model.precision)])
    names = NameParts.none(d)
    if "name_indptr" in prefix:
        names = NameParts.of(read_names(own, d, n_added).postings)
    vectors = unpack_vectors(own, "labels", (n_added, k))
    known = (weights_by_label(weights), np.asarray(weights.bias), names, np.asarray(weights.scale))
    parts = LabelParts(vectors, prefix["label_bias"], *known)
    n_first = first.proposer.vectors.n_labels
    return [later_block(first, parts, model.precision, n_first)]


def _read_former(pairs: Any) -> dict[Any, str]:
    good = isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str) for pair in pairs
    )
    if not good or not all(isinstance(name, str | int | float) for name, _ in pairs):
        raise InputError("the former labels are no list of pairs")
    check_texts([text for pair in pairs for text in map(str, pair)], "label", "")
    return dict(pairs)
