"""Labels that the very same rows have: the vector of one of them is learned, for all.

Where most labels are rare, many come in one row only, some of them in the same one, and many come
in none. Vectors that are learned from rows cannot tell such labels apart. Equal vectors are learned
once, and a search looks at them once (`rmls.models.ranker.label_index`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.labels import LabelSpace
from rmls.core.sparse import as_label_csr, fingerprints
from rmls.kernels.backend import Vectors
from rmls.models.shared.training_set import TrainingSet


@dataclass(frozen=True)
class Twins:
    """Kinds of labels; labels of one kind are in the same rows.

    Attributes
    ----------
    kinds : ndarray of int32, shape (n_labels,)
        The kind of every label; kinds are numbered by their first labels.
    firsts : ndarray of int64, shape (n_kinds,)
        The first label of every kind.

    Examples
    --------
    >>> twins = Twins.of(sparse.csr_matrix([[1, 0, 1, 0, 0], [0, 1, 0, 0, 0]]))
    >>> twins.kinds.tolist(), twins.firsts.tolist()
    ([0, 1, 0, 2, 2], [0, 1, 3])
    """

    kinds: NDArray[np.int32]
    firsts: NDArray[np.int64]

    @classmethod
    def of(cls, Y: sparse.csr_matrix) -> Twins:
        """Find the kinds of labels."""
        prints = fingerprints(as_label_csr(Y).T.tocsr())
        _, firsts, kinds = np.unique(prints, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order))
        return cls(numbers[kinds], firsts[order].astype(np.int64))

    def merge(self, space: LabelSpace, data: TrainingSet) -> tuple[LabelSpace, TrainingSet]:
        """Return the labels and the rows with one label of every kind."""
        if len(self.firsts) == len(self.kinds):
            return space, data
        names = [space.names[first] for first in self.firsts]
        return replace(space, names=names), replace(data, Y=as_label_csr(data.Y[:, self.firsts]))

    def spread(self, vectors: Vectors) -> Vectors:
        """Return the vectors of all labels from those of the kinds."""
        params = vectors.params
        own = params._replace(L=params.L[self.kinds], c=params.c[self.kinds])
        return replace(vectors, params=own)
