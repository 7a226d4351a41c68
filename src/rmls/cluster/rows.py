"""The rows of a training, shared with all nodes once and looked at by every stage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.cluster.engine import Engine, Shared


@dataclass
class SharedRows:
    """Compact rows of a training; each array travels when the first stage asks for it.

    Attributes
    ----------
    engine : Engine
    X, Y : CSR matrix
    dense : ndarray or None
        Columns beside those of ``X``.
    """

    engine: Engine
    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    dense: Any = None
    _shared: dict[str, Shared] = field(default_factory=dict)
    _labels: list[Shared] = field(default_factory=list)

    @property
    def entries(self) -> Shared:
        """Where the entries of every row of ``X`` stand, and their values."""
        X = self.X
        return self._once("entries", lambda: (X.indptr.astype(np.int64), _plain(X.data)))

    @property
    def columns(self) -> Shared:
        """The features of the entries."""
        return self._once("columns", lambda: self.X.indices.astype(np.int32, copy=False))

    @property
    def labels(self) -> Shared:
        """The labels of the rows, as a pattern."""
        if not self._labels:
            pattern = self.Y.indptr.astype(np.int64), self.Y.indices.astype(np.int32, copy=False)
            self._labels.append(self.engine.share(pattern))
        return self._labels[0]

    @property
    def beside(self) -> Shared:
        """The dense columns, or None."""
        return self._once("beside", lambda: self.dense)

    def with_labels(self, Y: sparse.csr_matrix) -> SharedRows:
        """Return these rows with other labels; all else travels once for both."""
        return self if Y is self.Y else replace(self, Y=Y, _labels=[])

    def numbers(self, array: NDArray[Any]) -> Shared:
        """Return the features of the entries in the type of the classifiers."""
        return self._once("numbers", lambda: array)

    def _once(self, name: str, make: Any) -> Shared:
        if name not in self._shared:
            self._shared[name] = self.engine.share(make())
        return self._shared[name]


def _plain(values: NDArray[Any]) -> NDArray[np.float32]:
    return values.astype(np.float32, copy=False)
