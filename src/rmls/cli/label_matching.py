"""The labels of a data set and those of a model: the same columns, whatever their order."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning

if TYPE_CHECKING:
    from rmls.core.ranking import Ranking
    from rmls.datasets import Dataset


class Matched(NamedTuple):
    """True labels in the columns of a model; labels it does not know stand behind."""

    Y: sparse.csr_matrix
    train_counts: NDArray[np.int64]

    def widen_sets(self, sets: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return predicted sets with columns for the unknown labels, all empty."""
        parts = (sets.data, sets.indices, sets.indptr)
        return sparse.csr_matrix(parts, shape=self.Y.shape)

    def widen_ranking(self, ranking: Ranking) -> Ranking:
        """Return a ranking of all labels, in which unknown ones are never ranked."""
        return replace(ranking, n_labels=int(self.Y.shape[1]))


def match_labels(model: Any, dataset: Dataset) -> Matched:
    """Bring the labels of ``dataset`` into the columns of ``model``.

    Labels are matched by name where both sides have distinct names, otherwise by column.

    Warns
    -----
    RmlsWarning
        When the data set has labels that the model does not know; they count as never predicted.
    """
    names, counts = model.classes_.tolist(), np.asarray(model.label_counts_)
    own = dataset.label_names
    by_name = own is not None and _are_distinct_names(names) and _are_distinct_names(own)
    if own is None or not by_name or own == names:
        if dataset.n_labels != len(names):
            raise InputError(
                f"{dataset.name} has {dataset.n_labels} labels but the model was trained on "
                f"{len(names)}; labels are matched by name only where both have names."
            )
        return Matched(dataset.Y, counts)
    position = {name: column for column, name in enumerate(names)}
    unknown = [name for name in own if name not in position]
    if len(unknown) == len(own):
        raise InputError(f"{dataset.name} has no label that the model knows.")
    if unknown:
        warnings.warn(_describe_unknown(dataset, unknown), RmlsWarning, stacklevel=2)
    position.update({name: len(names) + rank for rank, name in enumerate(unknown)})
    target = np.array([position[name] for name in own])
    padded = np.concatenate([counts, np.zeros(len(unknown), dtype=np.int64)])
    return Matched(_move_columns(dataset.Y, target, len(position)), padded)


def _are_distinct_names(names: list[Any]) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _describe_unknown(dataset: Dataset, unknown: list[str]) -> str:
    which = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
    return (
        f"{len(unknown)} of the {dataset.n_labels} labels of {dataset.name} are unknown to the "
        f"model ({which}); they count as never predicted."
    )


def _move_columns(
    Y: sparse.csr_matrix, target: NDArray[np.int64], n_columns: int
) -> sparse.csr_matrix:
    moved = sparse.csr_matrix((Y.data, target[Y.indices], Y.indptr), shape=(Y.shape[0], n_columns))
    moved.sort_indices()
    return moved
