"""A fitted ranker to the archive and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError, InputError
from rmls.core.options import check_choice, check_number, check_whole
from rmls.kernels import cpu
from rmls.models.ranker.classifiers import index_type
from rmls.models.ranker.combination import N_BANDS, N_TERMS, Combination, Frequencies
from rmls.models.ranker.label_index import LabelClusters
from rmls.models.ranker.precision import PRECISIONS, pack_vectors, unpack_vectors
from rmls.models.ranker.representation import Representation
from rmls.models.shared.estimator import restore_normalizer

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

NUMBERS = ("shortlist_recall", "index_recall", "unlisted", "tail")


def ranker_arrays(model: RMLSRanker) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the fitted state as plain values and arrays."""
    vectors, precision = model.representation_, model.precision
    if model.weights_.values.dtype != PRECISIONS.get(precision):
        raise InputError(f"precision was changed to {precision!r} after fit; fit the model again.")
    arrays: dict[str, NDArray[Any]] = dict(model._normalizer.as_arrays())
    arrays |= pack_vectors("features", vectors.features, precision)
    arrays |= pack_vectors("labels", vectors.labels, precision)
    arrays |= {"feature_bias": vectors.feature_bias, "label_bias": vectors.label_bias}
    arrays |= {f"weights_{name}": array for name, array in model.weights_._asdict().items()}
    arrays |= {"theta": model.combination_.theta, "knots": model.combination_.knots}
    index = model.index_
    if index is not None:
        arrays |= {"cluster_indptr": index.indptr, "cluster_labels": index.labels}
    arrays["positives"] = model._frequencies.positives
    fitted: dict[str, Any] = {name: getattr(model, f"{name}_") for name in NUMBERS}
    fitted |= {
        "normalizer": model._normalizer.mode,
        "activation": vectors.activation,
        "n_components": int(vectors.labels.shape[1]),
        "n_iter": model.n_iter_,
        "n_probe": None if index is None else index.n_probe,
        "total_weight": model._frequencies.total,
        "seconds": model.seconds_,
    }
    return fitted, arrays


def read_ranker(model: RMLSRanker, fitted: dict[str, Any], archive: Archive) -> None:
    """Set the fitted state of a ranker from what `ranker_arrays` returned."""
    d, m, k = int(model.n_features_in_), model._space.n_labels, int(fitted["n_components"])
    check_choice("activation", fitted["activation"], cpu.ACTIVATIONS)
    model._check_options()
    for name in NUMBERS:
        check_number(name, fitted[name], positive=False)
        setattr(model, f"{name}_", float(fitted[name]))
    if not isinstance(fitted["seconds"], dict):
        raise InputError("seconds is not a dictionary")
    model.seconds_ = fitted["seconds"]
    check_whole("n_iter", fitted["n_iter"], 1)
    model.n_iter_ = fitted["n_iter"]
    check_number("total_weight", fitted["total_weight"], positive=True)
    model._normalizer = restore_normalizer(fitted["normalizer"], archive, d)
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
    model.representation_ = Representation(
        unpack_vectors(archive, "features", (d, k)),
        arrays["feature_bias"],
        unpack_vectors(archive, "labels", (m, k)),
        arrays["label_bias"],
        fitted["activation"],
    )
    model.index_ = _read_index(archive, model.representation_, fitted["n_probe"])
    model._frequencies = Frequencies(arrays["positives"], float(fitted["total_weight"]))
    model.combination_ = Combination(arrays["theta"], arrays["knots"])
    model.weights_ = _read_weights(archive, d, m, PRECISIONS[model.precision])


def _read_weights(archive: Archive, d: int, m: int, dtype: Any) -> cpu.SparseWeights:
    """Read the sparse weights, refusing parts that do not belong together; they stay on disk."""
    kinds: dict[str, tuple[Any, tuple[int | None]]] = {
        "indptr": (np.int64, (d + 1,)),
        "indices": (index_type(m), (None,)),
        "values": (dtype, (None,)),
        "scale": (np.float32, (m,)),
        "bias": (np.float32, (m,)),
    }
    check_arrays(archive, {f"weights_{name}": kind for name, kind in kinds.items()})
    weights = cpu.SparseWeights(*(archive.arrays[f"weights_{name}"] for name in kinds))
    indptr, indices = weights.indptr, weights.indices
    good = indptr[0] == 0 and indptr[-1] == len(indices) == len(weights.values)
    good = good and bool((np.diff(indptr) >= 0).all())
    if not good or (len(indices) and int(indices.max()) >= m):
        raise ArchiveError(f"{archive.path} is damaged: the weights are not a sparse matrix.")
    return weights


def _read_index(
    archive: Archive, representation: Representation, n_probe: Any
) -> LabelClusters | None:
    """Read the clusters of labels, if there are any."""
    if n_probe is None:
        return None
    check_whole("n_probe", n_probe, 1)
    m = len(representation.labels)
    check_arrays(
        archive, {"cluster_indptr": (np.int64, (None,)), "cluster_labels": (np.int32, (m,))}
    )
    indptr, labels = archive.arrays["cluster_indptr"], archive.arrays["cluster_labels"]
    good = len(indptr) > 1 and indptr[0] == 0 and indptr[-1] == m and (np.diff(indptr) > 0).all()
    if not good or not np.array_equal(np.sort(labels), np.arange(m)):
        raise ArchiveError(f"{archive.path} is damaged: the clusters do not hold every label once.")
    return LabelClusters.from_order(representation, indptr, labels, n_probe)
