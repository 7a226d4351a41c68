"""True labels in the columns of a model: those that it has never seen are missed, not lost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import RmlsWarning

if TYPE_CHECKING:
    from rmls.core.ranking import Ranking


class Matched(NamedTuple):
    """True labels in the columns of a model; labels it does not know stand behind.

    Attributes
    ----------
    Y : CSR matrix of int32 ones
    train_counts : ndarray of int64
        Training rows of every column; none for unknown labels.
    names : sequence or None
        Name of every column, where the caller knows them.
    """

    Y: sparse.csr_matrix
    train_counts: NDArray[np.int64]
    names: Sequence[Any] | None = None

    def widen_sets(self, sets: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return predicted sets with columns for the unknown labels, all empty."""
        parts = (sets.data, sets.indices, sets.indptr)
        return sparse.csr_matrix(parts, shape=(sets.shape[0], self.Y.shape[1]))

    def widen_ranking(self, ranking: Ranking) -> Ranking:
        """Return a ranking of all labels, in which unknown ones are never ranked."""
        return replace(ranking, n_labels=int(self.Y.shape[1]))

    def widen_dense(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return scores or probabilities with columns of zeros for the unknown labels."""
        return np.pad(values, ((0, 0), (0, int(self.Y.shape[1]) - values.shape[1])))


def with_unknown(
    Y: sparse.csr_matrix,
    unknown: Sequence[Any],
    counts: ArrayLike,
    whose: str = "y",
    n_labels: int | None = None,
) -> Matched:
    """Return labels that were matched, with one warning where some of them are unknown.

    Parameters
    ----------
    Y : CSR matrix, shape (n_samples, n_known + n_unknown)
    unknown : sequence
        The names of its last columns.
    counts : array-like of int, shape (n_known,)
        Training rows of the known labels.
    whose : str
        What the warning calls the data.
    n_labels : int, optional
        How many labels these have; by default those that occur.

    Warns
    -----
    RmlsWarning
        That labels unknown to the model count as never predicted.
    """
    if unknown:
        size = len(np.unique(Y.indices)) if n_labels is None else n_labels
        which = ", ".join(str(name) for name in unknown[:3]) + (", …" if len(unknown) > 3 else "")
        warnings.warn(
            f"{len(unknown)} of the {size} labels of {whose} are unknown to the model "
            f"({which}); they count as never predicted.",
            RmlsWarning,
            stacklevel=4,
        )
    padded = np.concatenate([np.asarray(counts, np.int64), np.zeros(len(unknown), np.int64)])
    return Matched(Y, padded)
