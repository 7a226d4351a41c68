"""A fitted ranker to the archive and back, its numbers in 4, 2 or 1 byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError, InputError
from rmls.core.numeric import N_BANDS
from rmls.core.options import check_choice, check_number, check_numbers, check_whole, is_auto
from rmls.core.resources import cut_blocks
from rmls.core.sparse import BLOCK, check_csr
from rmls.kernels.arrays import ACTIVATIONS, N_TERMS, Params, SparseWeights
from rmls.kernels.backend import Vectors, get_backend
from rmls.models.ranker.combination import N_ENDS, N_NAME_COLUMNS, Combination, Frequencies
from rmls.models.ranker.label_index import read_index
from rmls.models.ranker.scoring import LabelBlock, Proposer
from rmls.models.ranker.sources import Background, Silent, Source

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

PRECISIONS: dict[str, Any] = {"float32": np.float32, "int16": np.int16, "int8": np.int8}
# Vectors propose, and the combination knows them as they are rounded: a byte does. Weights decide.
AUTO_WEIGHTS, AUTO_VECTORS = "int16", "int8"
MAX_FLOAT = np.finfo(np.float32).max
PACKED_ROWS = 2_048  # that stay in the cache while they are rounded
NUMBERS = ("shortlist_recall", "index_recall", "unlisted", "tail")


def ranker_state(model: RMLSRanker) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the fitted state as plain values and arrays."""
    scorer, precision = model._scorer, model.precision
    vectors, index = scorer.proposer.vectors, scorer.proposer.index
    weights = scorer.blocks[0].weights
    L, kept = vectors.params.L, weights.values.dtype == PRECISIONS.get(precise(precision))
    if not kept or not np.array_equal(round_vectors(L, precision), L):
        raise InputError(f"precision was changed to {precision!r} after fit; fit the model again.")
    arrays = pack_vectors("features", vectors.params.W, precision)
    arrays |= pack_vectors("labels", L, precision)
    arrays |= {"feature_bias": vectors.params.b, "label_bias": vectors.params.c}
    arrays |= {f"weights_{name}": array for name, array in weights._asdict().items()}
    arrays |= {"theta": model.combination_.theta, "knots": model.combination_.knots}
    arrays |= index.arrays()
    if scorer.proposer.sources:
        arrays |= _sources_state(model)
    fitted: dict[str, Any] = {name: getattr(model, f"{name}_") for name in NUMBERS}
    arrays["positives"] = model._frequencies.positives
    if model._frequencies.trusted is not None:
        arrays["trusted"] = model._frequencies.trusted
    if model._background is not None:
        fitted["background"] = True
        arrays |= {f"background_{name}": part for name, part in vars(model._background).items()}
    if len(scorer.blocks) > 1 or model.former_labels_:
        from rmls.models.ranker.live.archive import live_state

        live, added = live_state(model)
        fitted, arrays = fitted | live, arrays | added
    fitted |= {
        "activation": vectors.activation,
        "n_components": int(vectors.params.L.shape[1]),
        "n_iter": model.n_iter_,
        "n_probe": index.n_probe,
        "shortlist_size": scorer.proposer.size,
        "sources": [source.kind for source in scorer.proposer.sources],
        "lift": model.combination_.lift,
        "top": model.combination_.top,
        "total_weight": model._frequencies.total,
        "seconds": model.seconds_,
    }
    return fitted, arrays


def read_ranker(
    model: RMLSRanker, fitted: dict[str, Any], archive: Archive
) -> tuple[LabelBlock, ...]:
    """Set the fitted values of a ranker; returns what proposes and what decides."""
    n_dense = int(model.dense_columns)
    d, m = int(model.n_features_in_) - n_dense, model._space.n_labels
    if d < 1:
        raise InputError("all columns are dense ones")
    n_added = fitted.get("n_added", 0)
    check_whole("n_added", n_added, 0)
    # Labels of the training; those added later come behind them.
    n_first = m - n_added
    if n_first < 1:
        raise InputError("all labels were added later")
    check_whole("n_components", fitted["n_components"], 1)
    k = int(fitted["n_components"])
    check_choice("activation", fitted["activation"], ACTIVATIONS)
    _read_numbers(model, fitted)
    check_arrays(
        archive,
        {
            "feature_bias": (np.float32, (k,)),
            "label_bias": (np.float32, (n_first,)),
            "positives": (np.float64, (m,)),
            "theta": (np.float64, (N_BANDS, N_TERMS)),
            "knots": (np.float32, (3,)),
        },
    )
    arrays = archive.arrays
    if "trusted" in arrays:
        check_arrays(archive, {"trusted": (np.float64, (m,))})
    counts = (arrays["positives"], float(fitted["total_weight"]), arrays.get("trusted"))
    model._frequencies = Frequencies(*counts)
    # Archives of version 0.1 have none.
    sizes = (d, n_dense, n_first)
    sources = _read_sources(fitted.get("sources", []), archive, sizes, precise(model.precision))
    model.combination_ = _read_combination(model, fitted, archive, sources)
    params = Params(
        unpack_vectors(archive, "features", (d, k)),
        arrays["feature_bias"],
        unpack_vectors(archive, "labels", (n_first, k)),
        arrays["label_bias"],
    )
    if fitted.get("background"):
        model._background = _read_background(archive, d, k, m)
    # The means of the clusters are computed again from the vectors, so that both always agree.
    vectors = Vectors(params, fitted["activation"], model.device)
    index = read_index(archive, vectors, fitted["n_probe"])
    weights = read_weights(archive, d, n_first, PRECISIONS[precise(model.precision)])
    # Archives of version 0.1 have a number as the option and none here.
    size = fitted.get("shortlist_size", model.shortlist_size)
    check_whole("shortlist_size", size, 1)
    model.former_labels_ = {}
    block = LabelBlock(Proposer(vectors, index, min(int(size), n_first), sources), weights)
    if not n_added and "former_labels" not in fitted:
        return (block,)
    from rmls.models.ranker.live.archive import read_live

    return block, *read_live(model, fitted, archive, block)


def _read_combination(
    model: RMLSRanker, fitted: dict[str, Any], archive: Archive, sources: tuple[Source, ...]
) -> Combination:
    slopes, unseen = _read_slopes(archive, sources)
    # Archives of version 0.1 have neither.
    lift, top = fitted.get("lift", 0.0), fitted.get("top", model._frequencies.top)
    check_number("lift", lift, positive=False)
    check_number("top", top, positive=True)
    theta, knots = archive.arrays["theta"], archive.arrays["knots"]
    return Combination(theta, knots, slopes, unseen, float(lift), float(top))


def _read_numbers(model: RMLSRanker, fitted: dict[str, Any]) -> None:
    """Set the plain numbers of a ranker."""
    for name in NUMBERS:
        check_number(name, fitted[name], positive=False)
        setattr(model, f"{name}_", float(fitted[name]))
    if not isinstance(fitted["seconds"], dict):
        raise InputError("seconds is not a dictionary")
    check_numbers("seconds", list(fitted["seconds"].values()))
    model.seconds_ = fitted["seconds"]
    check_whole("n_iter", fitted["n_iter"], 1)
    model.n_iter_ = fitted["n_iter"]
    check_number("total_weight", fitted["total_weight"], positive=True)


def _sources_state(model: RMLSRanker) -> dict[str, NDArray[Any]]:
    """Return the arrays of further sources and of what they are worth."""
    combination = model.combination_
    arrays: dict[str, NDArray[Any]] = {"slopes": combination.slopes}
    if combination.unseen is not None:
        arrays["unseen"] = combination.unseen
    for source in model._scorer.proposer.sources:
        arrays |= source.arrays()
    return arrays


def _read_sources(
    kinds: Any, archive: Archive, sizes: tuple[int, int, int], precision: str
) -> tuple[Source, ...]:
    n_features, n_dense, n_labels = sizes
    # Names come first; dense columns may go without a source, after Ctrl-C.
    known: tuple[list[str], ...] = ([], ["names"], ["silent"])
    if kinds not in (*known, *([*some, "dense"] for some in known if n_dense)):
        raise InputError(f"sources must be a list of known kinds; got {repr(kinds)[:60]}")
    sources: list[Source] = []
    if "names" in kinds:
        from rmls.models.ranker.names import read_names

        sources.append(read_names(archive, n_features, n_labels))
    if "silent" in kinds:
        sources.append(Silent(N_NAME_COLUMNS))
    if "dense" in kinds:
        from rmls.models.ranker.dense import read_dense

        sources.append(read_dense(archive, n_dense, n_labels, precision))
    return tuple(sources)


def _read_background(archive: Archive, d: int, k: int, m: int) -> Background:
    """Read what training rows are like; archives of version 0.1 do not say."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("mean", "squares", "shares"), (d,))
    shapes |= {"hidden": (k,), "spread": (k, k), "certainty": (m,)}
    check_arrays(
        archive, {f"background_{name}": (np.float32, shape) for name, shape in shapes.items()}
    )
    background = Background(*(archive.arrays[f"background_{name}"] for name in shapes))
    lowest = {"squares": 0.0, "shares": 0.0, "certainty": 1.0}
    for name, least in lowest.items():
        if getattr(background, name).min(initial=least) < least:
            raise InputError(f"the array 'background_{name}' holds numbers below {least:g}")
    return background


def _read_slopes(
    archive: Archive, sources: tuple[Source, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    n_columns = sum(source.n_columns for source in sources)
    if not n_columns:
        return np.zeros((N_ENDS, 0)), None
    shapes: dict[str, Any] = {"slopes": (np.float64, (N_ENDS, n_columns))}
    if "unseen" in archive.arrays:
        shapes["unseen"] = (np.float64, (n_columns,))
    check_arrays(archive, shapes)
    return archive.arrays["slopes"], archive.arrays.get("unseen")


def read_weights(archive: Archive, d: int, m: int, dtype: Any) -> SparseWeights:
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
    check_csr(weights.values, weights.indices, weights.indptr, (d, m), "weights")
    return weights


def index_type(n_columns: int) -> type:
    """Return the type of feature or label numbers: two bytes where they suffice."""
    return np.uint16 if n_columns <= 1 << 16 else np.uint32


def feature_numbers(X: sparse.csr_matrix, zeros: Any = np.zeros) -> NDArray[Any]:
    """Return the features of all entries in the type that suffices for them."""
    wanted = index_type(X.shape[1])
    if wanted is np.uint32:
        # None is negative: the same bits.
        return np.asarray(X.indices.view(np.uint32))
    numbers: NDArray[Any] = zeros(len(X.indices), wanted)
    for start in range(0, len(numbers), BLOCK):
        numbers[start : start + BLOCK] = X.indices[start : start + BLOCK]
    return numbers


def precise(precision: str, auto: str = AUTO_WEIGHTS) -> str:
    """Return the precision of weights, or that of vectors, where it is left open."""
    return auto if is_auto(precision) else precision


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


def pack_vectors(name: str, vectors: NDArray[np.float32], precision: str) -> dict[str, Any]:
    """Return the arrays that hold the vectors: 4, 2 or 1 byte a number.

    One or two bytes are a whole number times a power of two for every row, so that vectors that
    were rounded once are packed without loss.
    """
    precision = precise(precision, AUTO_VECTORS)
    if precision == "float32":
        return {name: vectors}
    scale, packed = np.empty(len(vectors), np.float32), np.empty(vectors.shape, precision)
    for start, stop in cut_blocks(len(vectors), PACKED_ROWS):
        packed[start:stop], scale[start:stop] = _in_steps(vectors[start:stop], packed.dtype)
    if precision == "int16":
        with np.errstate(over="ignore"):
            half: NDArray[np.float16] = vectors.astype(np.float16)
        # In version 0.1 they were a float16: what was read as such stays what it is.
        if (half == vectors).all() and (_unpacked(packed, scale) != vectors).any():
            return {name: half}
    return {name: packed, f"{name}_scale": scale}


def _in_steps(vectors: NDArray[np.float32], dtype: Any) -> tuple[Any, Any]:
    """Return some vectors in whole numbers, and what a step is worth in each of them."""
    largest = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float64)
    # Symmetric: the lowest number stays unused, so that a vector and its negative are stored alike.
    steps = np.where(largest > 0, largest / np.iinfo(dtype).max, 1.0)
    # A power of two divides and multiplies without rounding: what was packed once packs the same.
    scale = np.maximum(np.exp2(np.ceil(np.log2(steps))), np.finfo(np.float32).tiny)
    whole = vectors / scale.astype(np.float32)[:, None]
    return np.rint(whole, out=whole), scale


def unpack_vectors(archive: Archive, name: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Read vectors that `pack_vectors` wrote, of whatever precision."""
    stored = archive.arrays.get(name)
    if stored is not None and stored.dtype in (np.int8, np.int16):
        kind = (stored.dtype.type, shape)
        check_arrays(archive, {name: kind, f"{name}_scale": (np.float32, shape[:1])})
        return _unpacked(stored, archive.arrays[f"{name}_scale"])
    check_arrays(archive, {name: (np.floating, shape)})
    assert stored is not None
    if stored.dtype not in (np.float16, np.float32):
        raise ArchiveError(f"{archive.path} is damaged: the array {name!r} has {stored.dtype}.")
    return _unpacked(stored, None)


def _unpacked(stored: NDArray[Any], scale: NDArray[np.float32] | None) -> NDArray[np.float32]:
    if scale is None:
        return np.asarray(stored, dtype=np.float32)
    dense = np.empty(stored.shape, np.float32)
    # A scale near the end of float32 leaves it times 127.
    with np.errstate(over="ignore"):
        for start, stop in cut_blocks(len(dense), PACKED_ROWS):
            part = dense[start:stop]
            np.multiply(stored[start:stop], scale[start:stop, None], out=part)
            np.clip(part, -MAX_FLOAT, MAX_FLOAT, out=part)
    return dense


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
    dtype = PRECISIONS[precise(precision)]
    # A scale for every label: the small weights of one are not drowned by the large of another.
    largest = np.zeros(len(weights.bias), np.float32)
    np.maximum.at(largest, weights.indices, np.abs(weights.values))
    scale = np.where(largest > 0, largest / np.iinfo(dtype).max, 1.0).astype(np.float32)
    whole = np.rint(weights.values / scale[weights.indices]).astype(dtype)
    return weights._replace(values=whole, scale=scale)


def no_weights(n_labels: int, n_features: int, device: str) -> SparseWeights:
    """Return classifiers that say nothing."""
    return LabelWeights(n_labels).by_feature(n_features, device)


class LabelWeights:
    """Sparse weights and a bias for every label, some of which may be put in later."""

    def __init__(self, n_labels: int) -> None:
        self.bias, self.label_type = np.zeros(n_labels, np.float32), index_type(n_labels)
        self.starts, self.lengths = np.zeros((2, n_labels), np.int64)
        self.indices: NDArray[Any] = np.zeros(0, np.uint16)
        self.values = np.zeros(0, np.float32)

    def put(self, labels: NDArray[np.int64], found: tuple[Any, ...]) -> None:
        """Set the weights of some labels: lengths, indices and values by label, and biases."""
        order, stays = np.argsort(self.starts, kind="stable"), np.ones(len(self.starts), dtype=bool)
        stays[labels] = False
        # What these labels had before goes; what others have moves up.
        kept, others = np.repeat(stays[order], self.lengths[order]), order[stays[order]]
        self.lengths[labels], indices, values, self.bias[labels] = found
        self.indices = np.concatenate([self.indices[kept], indices])
        self.values = np.concatenate([self.values[kept], values])
        order = np.concatenate([others, labels])
        self.starts[order] = np.cumsum(self.lengths[order]) - self.lengths[order]

    def by_feature(self, n_features: int, device: str) -> SparseWeights:
        """Return the weights of all labels as they are scored.

        Examples
        --------
        >>> weights = LabelWeights(2)
        >>> parts = np.array([1, 2]), np.uint16([2, 0, 2]), np.float32([5, 6, 7]), np.zeros(2)
        >>> weights.put(np.arange(2), parts)
        >>> found = weights.by_feature(3, "cpu")
        >>> found.indptr.tolist(), found.indices.tolist(), found.values.tolist()
        ([0, 1, 1, 3], [1, 0, 1], [6.0, 5.0, 7.0])
        """
        # A solver writes label by label; scoring reads the features of a row. The transposition is
        # made once here.
        parts, dtype = (self.starts, self.lengths, self.indices, self.values), self.label_type
        turned = get_backend(device).turn_weights(parts, n_features, dtype)
        return SparseWeights(*turned, np.ones(len(self.bias), np.float32), self.bias.copy())
