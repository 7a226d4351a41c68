"""A block of labels in parts that can be taken, put behind one another and changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.kernels.arrays import NamePostings, SparseWeights
from rmls.kernels.backend import Vectors
from rmls.models.ranker.archive import index_type, quantize, round_vectors
from rmls.models.ranker.combination import N_NAME_COLUMNS
from rmls.models.ranker.dense import DenseIndex
from rmls.models.ranker.label_index import ClusterIndex, ExactIndex, LeadingIndex
from rmls.models.ranker.names import NameIndex
from rmls.models.ranker.scoring import LabelBlock, Proposer
from rmls.models.ranker.sources import Silent, Source

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

# Labels of a later block that are listed for a row, beside the lists of the others.
MAX_LATER = 50


@dataclass(frozen=True)
class NameParts:
    """The words of names, name by name, and the label of each.

    Attributes
    ----------
    shares, cosines : CSR matrix of shape (n_names, n_features), of one pattern
    owners : ndarray of int32, shape (n_names,)
    """

    shares: sparse.csr_matrix
    cosines: sparse.csr_matrix
    owners: NDArray[np.int32]

    @classmethod
    def none(cls, n_features: int) -> NameParts:
        """Return the names of labels that have none."""
        empty = as_csr([], [], [0], n_features)
        return cls(empty, empty, np.zeros(0, np.int32))

    @classmethod
    def of(cls, postings: NamePostings) -> NameParts:
        """Return names word by word as words name by name."""
        shape = (len(postings.indptr) - 1, len(postings.owners))
        shares, cosines = (
            sparse.csr_matrix((values, postings.names, postings.indptr), shape).T.tocsr()
            for values in (postings.shares, postings.cosines)
        )
        return cls(shares, cosines, np.asarray(postings.owners))

    @property
    def postings(self) -> NamePostings:
        """The same, word by word."""
        by_word, other = self.shares.tocsc(), self.cosines.tocsc()
        return NamePostings(
            by_word.indptr.astype(np.int64),
            by_word.indices.astype(np.int32),
            by_word.data.astype(np.float32),
            other.data.astype(np.float32),
            self.owners,
        )

    def take(self, labels: Places, n_labels: int) -> NameParts:
        """Return the names of some labels of ``n_labels``, which are numbered anew."""
        place = np.full(n_labels, -1, np.int32)
        place[labels] = np.arange(len(labels))
        owners = place[self.owners]
        kept = np.flatnonzero(owners >= 0)
        return NameParts(self.shares[kept], self.cosines[kept], owners[kept])

    def at(self, labels: Places) -> NameParts:
        """Return the names with other numbers of their labels."""
        return replace(self, owners=labels[self.owners].astype(np.int32))

    def append(self, other: NameParts, n_labels: int) -> NameParts:
        """Return these names and those of further labels, which come behind ``n_labels``."""
        return NameParts(
            sparse.vstack([self.shares, other.shares], format="csr"),
            sparse.vstack([self.cosines, other.cosines], format="csr"),
            np.concatenate([self.owners, other.owners + np.int32(n_labels)]),
        )


@dataclass(frozen=True)
class LabelParts:
    """What a block knows of its labels, label by label.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n_labels, k)
    vector_bias : ndarray of float32, shape (n_labels,)
    weights : CSR matrix of shape (n_labels, n_features)
    bias : ndarray of float32, shape (n_labels,)
    names : NameParts
    scale : ndarray of float32, shape (n_labels,)
        What whole numbers were multiplied by to become the weights.
    """

    vectors: Floats
    vector_bias: Floats
    weights: sparse.csr_matrix
    bias: Floats
    names: NameParts
    scale: Floats

    @classmethod
    def of(cls, block: LabelBlock) -> LabelParts:
        """Take a block apart."""
        params = block.proposer.vectors.params
        names = next((s for s in block.proposer.sources if isinstance(s, NameIndex)), None)
        weights = weights_by_label(block.weights)
        return cls(
            params.L,
            params.c,
            weights,
            np.asarray(block.weights.bias),
            NameParts.none(weights.shape[1]) if names is None else NameParts.of(names.postings),
            np.asarray(block.weights.scale),
        )

    def __len__(self) -> int:
        return len(self.bias)

    def take(self, labels: Places) -> LabelParts:
        """Return some of the labels."""
        return LabelParts(
            self.vectors[labels],
            self.vector_bias[labels],
            self.weights[labels],
            self.bias[labels],
            self.names.take(labels, len(self)),
            self.scale[labels],
        )

    def append(self, other: LabelParts) -> LabelParts:
        """Return these labels and further ones behind them."""
        return LabelParts(
            np.concatenate([self.vectors, other.vectors]),
            np.concatenate([self.vector_bias, other.vector_bias]),
            sparse.vstack([self.weights, other.weights], format="csr"),
            np.concatenate([self.bias, other.bias]),
            self.names.append(other.names, len(self)),
            np.concatenate([self.scale, other.scale]),
        )

    def build_weights(self, precision: str) -> SparseWeights:
        """Return the classifiers as they score."""
        turned = self.weights.tocsc()
        labels: NDArray[Any] = turned.indices.astype(index_type(len(self)))
        parts = (turned.indptr.astype(np.int64), labels, turned.data)
        made = quantize(SparseWeights(*parts, np.ones(len(self), np.float32), self.bias), precision)
        if precision == "float32":
            return made
        # Weights that were rounded before stay what they are: the largest says so.
        most = np.float32(np.iinfo(made.values.dtype).max)
        largest = np.zeros(len(self), np.float32)
        np.maximum.at(largest, made.indices, np.abs(made.values) * made.scale[made.indices])
        scale = np.where(largest == self.scale * most, self.scale, made.scale)
        return made._replace(scale=scale.astype(np.float32))


def as_csr(data: Any, indices: Any, indptr: Any, n_columns: int) -> sparse.csr_matrix:
    """Return a matrix of float32 from its arrays."""
    arrays = (np.asarray(data, np.float32), np.asarray(indices, np.int32), np.asarray(indptr))
    return sparse.csr_matrix(arrays, (len(arrays[2]) - 1, n_columns))


def weights_by_label(weights: SparseWeights) -> sparse.csr_matrix:
    """Return the weights of every label as they count, one row a label."""
    shape = (len(weights.indptr) - 1, len(weights.bias))
    values = weights.values.astype(np.float32) * weights.scale[weights.indices]
    by_feature = sparse.csr_matrix(
        (values, weights.indices.astype(np.int32), weights.indptr), shape
    )
    return by_feature.T.tocsr()


def keep_labels(block: LabelBlock, labels: Places, precision: str) -> LabelBlock:
    """Return the block of some of its labels, in their order."""
    parts, proposer = LabelParts.of(block).take(labels), block.proposer
    index = _like(proposer.index, labels)
    sources = tuple(_keep_source(source, parts, labels) for source in proposer.sources)
    return _build(block, parts, precision, index, sources)


def later_block(
    first_block: LabelBlock, parts: LabelParts, precision: str, n_first: int
) -> LabelBlock:
    """Return the block of labels that come after ``n_first`` others, with lists of their own."""
    sources = tuple(
        NameIndex(parts.names.postings, len(parts))
        if source.n_columns == N_NAME_COLUMNS
        else Silent(source.n_columns)
        for source in first_block.proposer.sources
    )
    size = min(MAX_LATER, len(parts))
    proposer = replace(first_block.proposer, size=size)
    template = LabelBlock(proposer, first_block.weights, n_first)
    rounded = replace(parts, vectors=round_vectors(parts.vectors, precision))
    return _build(template, rounded, precision, ExactIndex, sources)


def change_labels(block: LabelBlock, parts: LabelParts, precision: str) -> LabelBlock:
    """Return the block with something else known of its labels."""
    sources = tuple(
        replace(source, postings=parts.names.postings) if isinstance(source, NameIndex) else source
        for source in block.proposer.sources
    )
    index = _like(block.proposer.index, np.arange(len(parts)))
    if parts.vectors is not block.proposer.vectors.params.L:
        parts = replace(parts, vectors=round_vectors(parts.vectors, precision))
    return _build(block, parts, precision, index, sources)


def _build(
    block: LabelBlock, parts: LabelParts, precision: str, index: Any, sources: tuple[Source, ...]
) -> LabelBlock:
    old = block.proposer.vectors
    params = old.params._replace(L=parts.vectors, c=parts.vector_bias)
    vectors = replace(old, params=params)
    size = min(block.proposer.size, len(parts))
    proposer = Proposer(vectors, index(vectors), size, sources)
    return LabelBlock(proposer, parts.build_weights(precision), block.first)


def _like(index: Any, labels: Places) -> Any:
    """Return what makes an index like an old one, with some of the labels."""
    if isinstance(index, ClusterIndex):
        return _ClustersOf(index, labels)
    if isinstance(index, LeadingIndex):
        return partial(LeadingIndex.of, cut_rows=index.cut_rows, cut_labels=index.cut_labels)
    return ExactIndex


@dataclass(frozen=True)
class _ClustersOf:
    """Makes the index of the clusters of an old one, with some of the labels."""

    index: ClusterIndex
    labels: Places

    def __call__(self, vectors: Vectors) -> ClusterIndex:
        place = np.full(len(self.index.labels), -1, np.int32)
        place[self.labels] = np.arange(len(self.labels))
        found = place[self.index.labels]
        sizes = np.add.reduceat(found >= 0, self.index.indptr[:-1])
        indptr = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
        return ClusterIndex.of(vectors, indptr, found[found >= 0], self.index.n_probe)


def _keep_source(source: Source, parts: LabelParts, labels: Places) -> Source:
    if isinstance(source, NameIndex):
        return replace(source, postings=parts.names.postings, n_labels=len(parts))
    if isinstance(source, DenseIndex):
        kept = {
            name: getattr(source, name)[labels] for name in ("vectors", "bias", "shifts", "norms")
        }
        return replace(source, **kept)
    return source
