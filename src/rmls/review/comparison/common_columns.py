"""What two models say about the same rows, in columns of the same labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import check_names, match_columns
from rmls.core.ranking import Ranking
from rmls.core.sparse import as_label_csr
from rmls.datasets import Dataset
from rmls.datasets.tables import TextTable
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.text.text_ranker import TextRanker
from rmls.review.held_out import inner_estimator
from rmls.review.quality import Prediction

# The longest list that a figure looks at.
DEPTH = 5
# Where only common labels count, a list is searched for five of them down to here.
DEEPEST = 1000

Ints = NDArray[np.int64]


class Side(NamedTuple):
    """One of the two models: its name, itself, and its rows."""

    name: str
    model: Any
    X: Any


class Truth(NamedTuple):
    """True labels in the columns of the first model, unknown ones behind, and all names.

    ``by_place`` says that labels have no names of their own: columns are what they are.
    """

    Y: sparse.csr_matrix
    names: list[Any]
    by_place: bool


@dataclass(frozen=True)
class CommonColumns:
    """Truth and both predictions in the same columns.

    Attributes
    ----------
    Y : CSR matrix of 0/1
    names : list
        Of all columns.
    counts : ndarray of int64, shape (n_labels,)
        Training rows of every label: the larger number of the two models.
    n_train : int
        The larger number of training rows.
    first, second : Prediction
    known : tuple of two ndarray of bool, shape (n_labels,)
        Which labels each model knows.
    """

    Y: sparse.csr_matrix
    names: list[Any]
    counts: Ints
    n_train: int
    first: Prediction
    second: Prediction
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]]


def read_sides(
    first: Side, second: Side, truth: Truth, decision: Any, *, only_common: bool
) -> CommonColumns:
    """Ask both models, and bring what they say into the same columns.

    Labels that one model does not know are never predicted by it; with ``only_common`` they count
    for neither, and do not stand in the way of others on the lists.
    """
    models = [inner_estimator(side.model) for side in (first, second)]
    targets, names = _targets(models, truth)
    known = _known(targets, len(names))
    keep = known[0] & known[1] if only_common else np.ones(len(names), np.bool_)
    if not keep.any():
        raise InputError(f"{first.name} and {second.name} have no label in common.")
    counts = np.zeros(len(names), np.int64)
    predictions = []
    for side, model, target in zip((first, second), models, targets, strict=True):
        counts[target] = np.maximum(counts[target], model.label_counts_)
        predictions.append(_predict(side, model, target, keep, decision))
    Y = sparse.csr_matrix(
        (truth.Y.data, truth.Y.indices, truth.Y.indptr), (truth.Y.shape[0], len(names))
    )
    n_train = max(int(model.n_samples_) for model in models)
    return CommonColumns(
        _only(Y, keep),
        names,
        counts * keep,
        n_train,
        predictions[0],
        predictions[1],
        (known[0], known[1]),
    )


def read_truth(model: Any, X: Any, Y: Any, label_names: Sequence[Any] | None) -> Truth:
    """Return true labels in the columns of a model, whatever they are given as."""
    estimator = inner_estimator(model)
    if Y is None and isinstance(X, Dataset):
        Y, label_names = X.Y, X.label_names
    if Y is None and isinstance(X, TextTable):
        Y = X.labels
    if Y is None:
        raise InputError("give the true labels of the rows; both models are compared with them.")
    classes = estimator.classes_.tolist()
    if label_names is not None:
        own, matrix = check_names(label_names), as_label_csr(Y)
        if _are_texts(classes):
            matrix, unknown = match_columns(matrix, own, classes)
            return Truth(matrix, [*classes, *unknown], False)
        if matrix.shape[1] != len(classes):
            raise InputError(
                f"Y has {matrix.shape[1]} labels but the first model was trained on {len(classes)} "
                "without names."
            )
        return Truth(matrix, own, False)
    matrix, unknown = estimator._space.read_truth(Y)
    is_matrix = sparse.issparse(Y) or getattr(Y, "ndim", 1) == 2
    return Truth(matrix, [*classes, *unknown], is_matrix and not hasattr(Y, "columns"))


def feature_rows(model: Any, X: Any) -> Any:
    """Return rows as the estimator of a model takes them; texts become numbers once."""
    if isinstance(X, Dataset):
        X = X.X
    if not isinstance(model, TextRanker):
        if isinstance(X, TextTable):
            raise InputError(f"{type(model).__name__} takes rows of numbers, no texts.")
        return X
    if isinstance(X, TextTable):
        features = model.features_
        by_name = features.column_roles_.by_name or features.vectors is not None
        X = X.columns if by_name else X.texts
    return model.features_.transform(X)


def _are_texts(names: Sequence[Any]) -> bool:
    return all(isinstance(name, str) for name in names)


def _targets(models: list[MultiLabelEstimator], truth: Truth) -> tuple[list[Ints], list[Any]]:
    """Return the common column of every label of each model, and the names of the columns."""
    names = list(truth.names)
    one = names[: len(models[0].classes_)]
    other = models[1].classes_.tolist()
    first = np.arange(len(one), dtype=np.int64)
    if one == other:
        return [first, first], names
    listed = all(model._space.container in ("names", "single") for model in models)
    if not listed and not (_are_texts(one) and _are_texts(other)):
        if len(one) != len(other):
            raise InputError(
                f"the models know {len(one)} and {len(other)} labels, and not both have names for "
                "them; labels of different models are matched by name."
            )
        # One of them was trained without names: columns are the same labels, as for `evaluate`.
        return [first, first], names
    if truth.by_place:
        raise InputError(
            "the models do not know the same labels, and the columns of Y have no names; give "
            "label_names."
        )
    place = {name: column for column, name in enumerate(names)}
    for name in other:
        if name not in place:
            place[name] = len(names)
            names.append(name)
    return [first, np.array([place[name] for name in other], dtype=np.int64)], names


def _known(targets: list[Ints], n_labels: int) -> list[NDArray[np.bool_]]:
    found = []
    for target in targets:
        mask = np.zeros(n_labels, np.bool_)
        mask[target] = True
        found.append(mask)
    return found


def _predict(
    side: Side, model: MultiLabelEstimator, target: Ints, keep: NDArray[np.bool_], decision: Any
) -> Prediction:
    X = feature_rows(side.model, side.X)
    wanted = keep[target]
    ranking = _rank(model, X, wanted)
    sets = model.predict_sets(X, decision)
    labels = target[ranking.labels].astype(np.int32)
    moved = sparse.csr_matrix(
        (sets.data.copy(), target[sets.indices], sets.indptr.copy()), (sets.shape[0], len(keep))
    )
    moved.sort_indices()
    ranked = replace(ranking, labels=labels, n_labels=len(keep), names=None)
    return Prediction(side.name, ranked, _only(moved, keep))


def _rank(model: MultiLabelEstimator, X: Any, wanted: NDArray[np.bool_]) -> Ranking:
    """Return the best labels that are wanted; where some are not, lists are followed further."""
    ranking = model.rank(X, DEPTH)
    if wanted.all():
        return ranking
    ranking = ranking.where(wanted[ranking.labels])
    depth, enough = DEPTH, min(DEPTH, int(wanted.sum()))
    while depth < min(DEEPEST, len(wanted)):
        short = np.flatnonzero(ranking.lengths < enough)
        if not len(short):
            break
        # Only rows that lack some: most have five common labels among the first few.
        depth = 4 * depth
        deeper = model.rank(_take(X, short), min(depth, DEEPEST))
        deeper = deeper.where(wanted[deeper.labels]).top(DEPTH)
        order = np.arange(ranking.n_samples)
        order[short] = ranking.n_samples + np.arange(len(short))
        ranking = Ranking.stack([ranking, deeper]).take(order)
    return ranking


def _take(X: Any, rows: Ints) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]


def _only(matrix: sparse.csr_matrix, keep: NDArray[np.bool_]) -> sparse.csr_matrix:
    """Return a 0/1 matrix without the entries of labels that do not count."""
    if keep.all():
        return matrix
    inside = keep[matrix.indices]
    bounds = np.concatenate([[0], np.cumsum(inside)])[matrix.indptr]
    parts = (matrix.data[inside], matrix.indices[inside], bounds)
    return sparse.csr_matrix(parts, shape=matrix.shape)
