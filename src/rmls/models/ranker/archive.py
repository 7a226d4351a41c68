"""A fitted ranker to the archive and back, its numbers in 4, 2 or 1 byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError, InputError
from rmls.core.options import check_choice, check_number, check_whole
from rmls.core.sparse import are_within, is_row_pointer
from rmls.kernels.arrays import ACTIVATIONS, Params, SparseWeights
from rmls.kernels.backend import Vectors
from rmls.models.ranker.combination import N_BANDS, N_TERMS, Combination, Frequencies
from rmls.models.ranker.label_index import read_index
from rmls.models.ranker.scoring import Proposer

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

PRECISIONS: dict[str, Any] = {"float32": np.float32, "int16": np.int16, "int8": np.int8}
# Symmetric: -128 stays unused, so that a vector and its negative are stored alike.
MAX_INT8 = 127
NUMBERS = ("shortlist_recall", "index_recall", "unlisted", "tail")


def ranker_state(model: RMLSRanker) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the fitted state as plain values and arrays."""
    scorer, precision = model._scorer, model.precision
    vectors, index = scorer.proposer.vectors, scorer.proposer.index
    if scorer.weights.values.dtype != PRECISIONS.get(precision):
        raise InputError(f"precision was changed to {precision!r} after fit; fit the model again.")
    arrays = pack_vectors("features", vectors.params.W, precision)
    arrays |= pack_vectors("labels", vectors.params.L, precision)
    arrays |= {"feature_bias": vectors.params.b, "label_bias": vectors.params.c}
    arrays |= {f"weights_{name}": array for name, array in scorer.weights._asdict().items()}
    arrays |= {"theta": model.combination_.theta, "knots": model.combination_.knots}
    arrays |= index.arrays()
    arrays["positives"] = model._frequencies.positives
    fitted: dict[str, Any] = {name: getattr(model, f"{name}_") for name in NUMBERS}
    fitted |= {
        "activation": vectors.activation,
        "n_components": int(vectors.params.L.shape[1]),
        "n_iter": model.n_iter_,
        "n_probe": index.n_probe,
        "total_weight": model._frequencies.total,
        "seconds": model.seconds_,
    }
    return fitted, arrays


def read_ranker(
    model: RMLSRanker, fitted: dict[str, Any], archive: Archive
) -> tuple[Proposer, SparseWeights]:
    """Set the fitted values of a ranker; returns what proposes and what decides."""
    d, m, k = int(model.n_features_in_), model._space.n_labels, int(fitted["n_components"])
    check_choice("activation", fitted["activation"], ACTIVATIONS)
    for name in NUMBERS:
        check_number(name, fitted[name], positive=False)
        setattr(model, f"{name}_", float(fitted[name]))
    if not isinstance(fitted["seconds"], dict):
        raise InputError("seconds is not a dictionary")
    model.seconds_ = fitted["seconds"]
    check_whole("n_iter", fitted["n_iter"], 1)
    model.n_iter_ = fitted["n_iter"]
    check_number("total_weight", fitted["total_weight"], positive=True)
    check_arrays(
        archive,
        {
            "feature_bias": (np.float32, (k,)),
            "label_bias": (np.float32, (m,)),
            "positives": (np.float64, (m,)),
            "theta": (np.float64, (N_BANDS, N_TERMS)),
            "knots": (np.float32, (3,)),
        },
    )
    arrays = archive.arrays
    model._frequencies = Frequencies(arrays["positives"], float(fitted["total_weight"]))
    model.combination_ = Combination(arrays["theta"], arrays["knots"])
    params = Params(
        unpack_vectors(archive, "features", (d, k)),
        arrays["feature_bias"],
        unpack_vectors(archive, "labels", (m, k)),
        arrays["label_bias"],
    )
    # The means of the clusters are computed again from the vectors, so that both always agree.
    vectors = Vectors(params, fitted["activation"], model.device)
    index = read_index(archive, vectors, fitted["n_probe"])
    weights = _read_weights(archive, d, m, PRECISIONS[model.precision])
    return Proposer(vectors, index, model._list_size()), weights


def _read_weights(archive: Archive, d: int, m: int, dtype: Any) -> SparseWeights:
    """Read the sparse weights, refusing parts that do not belong together; they stay on disk."""
    kinds: dict[str, tuple[Any, tuple[int | None]]] = {
        "indptr": (np.int64, (d + 1,)),
        "indices": (index_type(m), (None,)),
        "values": (dtype, (None,)),
        "scale": (np.float32, (m,)),
        "bias": (np.float32, (m,)),
    }
    check_arrays(archive, {f"weights_{name}": kind for name, kind in kinds.items()})
    weights = SparseWeights(*(archive.arrays[f"weights_{name}"] for name in kinds))
    indices = weights.indices
    good = is_row_pointer(weights.indptr, d, len(indices)) and len(indices) == len(weights.values)
    if not good or not are_within(indices, m):
        raise ArchiveError(f"{archive.path} is damaged: the weights are not a sparse matrix.")
    return weights


def index_type(n_columns: int) -> type:
    """Return the type of feature or label numbers: two bytes where they suffice."""
    return np.uint16 if n_columns <= 1 << 16 else np.uint32


def round_vectors(vectors: NDArray[np.float32], precision: str) -> NDArray[np.float32]:
    """Return the vectors as they will be read back, rounded to the precision.

    Examples
    --------
    >>> round_vectors(np.float32([[1.0, 0.3]]), "int8").tolist()
    [[1.0, 0.296875]]
    """
    if precision == "float32":
        return vectors
    packed = pack_vectors("v", vectors, precision)
    return _unpacked(packed["v"], packed.get("v_scale"))


def pack_vectors(
    name: str, vectors: NDArray[np.float32], precision: str
) -> dict[str, NDArray[Any]]:
    """Return the arrays that hold the vectors: 4, 2 or 1 byte a number.

    Two bytes are a float16. One byte is a whole number times a power of two for every row, so that
    vectors that were rounded once are packed without loss.
    """
    if precision == "float32":
        return {name: vectors}
    if precision == "int16":
        return {name: vectors.astype(np.float16)}
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    # A power of two divides and multiplies without rounding: what was packed once packs the same.
    scale = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest / MAX_INT8, 1.0))))
    scale = scale.astype(np.float32)
    return {
        name: np.rint(vectors / scale[:, None]).astype(np.int8),
        f"{name}_scale": scale,
    }


def unpack_vectors(archive: Archive, name: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Read vectors that `pack_vectors` wrote, of whatever precision."""
    stored = archive.arrays.get(name)
    if stored is not None and stored.dtype == np.int8:
        check_arrays(archive, {name: (np.int8, shape), f"{name}_scale": (np.float32, shape[:1])})
        return _unpacked(stored, archive.arrays[f"{name}_scale"])
    check_arrays(archive, {name: (np.floating, shape)})
    assert stored is not None
    if stored.dtype not in (np.float16, np.float32):
        raise ArchiveError(f"{archive.path} is damaged: the array {name!r} has {stored.dtype}.")
    return _unpacked(stored, None)


def _unpacked(stored: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[np.float32]:
    dense: NDArray[np.float32] = np.asarray(stored, dtype=np.float32)
    return dense if scale is None else dense * scale[:, None]


def quantize(weights: SparseWeights, precision: str) -> SparseWeights:
    """Store the weights in fewer bytes: whole numbers times a scale for every label.

    Examples
    --------
    >>> one = np.zeros(1, np.float32)
    >>> values = np.float32([1.0, -0.5])
    >>> full = SparseWeights(np.array([0, 1, 2]), np.uint16([0, 0]), values, one + 1, one)
    >>> quantize(full, "int8").values.tolist()
    [127, -64]
    """
    if precision == "float32":
        return weights
    dtype = PRECISIONS[precision]
    # A scale for every label: the small weights of one are not drowned by the large of another.
    largest = np.zeros(len(weights.bias), np.float32)
    np.maximum.at(largest, weights.indices, np.abs(weights.values))
    scale = np.where(largest > 0, largest / np.iinfo(dtype).max, 1.0).astype(np.float32)
    whole = np.rint(weights.values / scale[weights.indices]).astype(dtype)
    return weights._replace(values=whole, scale=scale)
