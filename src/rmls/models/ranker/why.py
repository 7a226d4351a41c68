"""Questions about a fitted ranker: why a label, what it looks for, what is like it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import shown
from rmls.core.lean.learn import check_is_fitted
from rmls.core.options import check_choice, check_whole
from rmls.core.resources import keeps_to_n_jobs
from rmls.kernels.backend import Vectors
from rmls.models.ranker.explanation import (
    Explanation,
    FeaturePart,
    FeatureWeight,
    SimilarLabel,
    SimilarRow,
)
from rmls.models.ranker.pair_parts import (
    Pair,
    label_vectors,
    label_weights,
    pair_scores,
    split_score,
)
from rmls.models.shared.training_set import read_features

if TYPE_CHECKING:
    from rmls.models.ranker.kept_rows import KeptRows
    from rmls.models.ranker.ranker import RMLSRanker
    from rmls.models.ranker.scoring import ListScorer

GRADIENTS = ("path", "point")
# Names that a wrong one is compared with, and how many near ones are told.
MAX_COMPARED, N_NEAR = 50_000, 3


class Explains:
    """Mixin of the ranker: what it is made of, and what is behind its scores."""

    _scorer: ListScorer
    _kept_rows: KeptRows | None = None

    @property
    def representation_(self) -> Vectors:
        """The vectors that propose."""
        return self._scorer.proposer.vectors

    @property
    def shortlist_size_(self) -> int:
        """Number of labels on every list."""
        return self._scorer.size

    @property
    def n_weights_(self) -> int:
        """Number of weights of all classifiers."""
        return sum(len(block.weights.values) for block in self._scorer.blocks)

    @keeps_to_n_jobs
    def explain(self, x: Any, label: Any = None, k: int = 5, *, gradient: str = "path") -> Any:
        """Return the parts that the score of a label adds up to.

        Parameters
        ----------
        x : array-like, sparse matrix or table of one row
        label : str or int, optional
            The label to explain, listed for the row or not. Without it the best ``k`` are.
        k : int, default=5
        gradient : {"path", "point"}, default="path"
            How features are made responsible for what the vectors say. ``"path"`` is the mean
            gradient on the way from an empty row to this one, times the features: nothing is left
            over. ``"point"`` is the gradient at this row, what a little more of a feature would
            change; the remainder is stated.

        Returns
        -------
        Explanation, or a list of them, best first

        Examples
        --------
        >>> from rmls import RMLSRanker
        >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
        >>> model = RMLSRanker(8).fit(X, [["tax"], ["law"], ["law", "tax"], []])
        >>> found = model.explain([1, 0, 0], "tax")
        >>> found.listed, abs(found.total - found.score) < 1e-5
        (True, True)
        >>> [entry.label for entry in model.explain([0, 1, 0], k=1)]
        ['law']
        """
        model = _fitted(self)
        check_whole("k", k, 1)
        check_choice("gradient", gradient, GRADIENTS)
        number = None if label is None else find_label(model._space.names, label)
        found = self._explain_row(read_row(model, x), number, k, path=gradient == "path")
        if label is not None:
            return found[0]
        from rmls.core.show.fragments import Listed

        return Listed(found)

    @keeps_to_n_jobs
    def _explain_row(
        self, X: sparse.csr_matrix, label: int | None, k: int, *, path: bool
    ) -> list[Explanation]:
        return explain_row(cast("RMLSRanker", self), X, label, k, path=path)

    def top_features(self, label: Any, k: int = 20) -> list[FeatureWeight]:
        """Return the features with the largest weights in the classifier of a label.

        Parameters
        ----------
        label : str or int
        k : int, default=20
            At most so many that speak for the label, largest first, and behind them at most so
            many that speak against it, the strongest first.

        Examples
        --------
        >>> from rmls import RMLSRanker
        >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
        >>> model = RMLSRanker(8).fit(X, [["tax"], ["law"], ["law", "tax"], []])
        >>> [entry.feature for entry in model.top_features("tax", k=1) if entry.weight > 0]
        [0]
        """
        model = _fitted(self)
        check_whole("k", k, 1)
        number = find_label(model._space.names, label)
        features, weights = label_weights(model._scorer, number)
        order = np.argsort(-weights, kind="stable")
        raising, lowering = order[weights[order] > 0][:k], order[weights[order] < 0][::-1][:k]
        names = feature_names(model, features)
        return [FeatureWeight(names[at], float(weights[at])) for at in (*raising, *lowering)]

    @keeps_to_n_jobs
    def similar_labels(self, label: Any, k: int = 10) -> list[SimilarLabel]:
        """Return the labels whose vectors are the most similar to that of a label.

        Labels without training rows have learned none and are left out.

        Parameters
        ----------
        label : str or int
        k : int, default=10

        Examples
        --------
        >>> from rmls import RMLSRanker
        >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
        >>> model = RMLSRanker(8).fit(X, [["tax"], ["law"], ["law", "tax"], ["sea"]])
        >>> len(model.similar_labels("tax"))
        2
        """
        model = _fitted(self)
        check_whole("k", k, 1)
        number = find_label(model._space.names, label)
        known = np.asarray(model.label_counts_) > 0
        if not known[number]:
            raise InputError(
                f"{shown(label)} has no training rows, so there is no vector of it to compare."
            )
        cosines = _cosines(label_vectors(model._scorer), number)
        known[number] = False
        cosines[~known] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, int(known.sum()))]
        names = model._space.names
        return [SimilarLabel(names[at], float(cosines[at])) for at in best.tolist()]

    @keeps_to_n_jobs
    def similar_rows(self, x: Any, label: Any, k: int = 5) -> list[SimilarRow]:
        """Return the training rows with a label that are the most similar to a row.

        The model must have been fitted with ``keep_rows=True``.

        Parameters
        ----------
        x : array-like, sparse matrix or table of one row
        label : str or int
        k : int, default=5

        Examples
        --------
        >>> from rmls import RMLSRanker
        >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
        >>> model = RMLSRanker(8, keep_rows=True)
        >>> model = model.fit(X, [["tax"], ["law"], ["law", "tax"], []])
        >>> [entry.row for entry in model.similar_rows([1, 0, 0], "tax")]
        [0, 2]
        """
        model = _fitted(self)
        check_whole("k", k, 1)
        if self._kept_rows is None:
            raise InputError(
                "the model has no training rows; fit it with keep_rows=True "
                "(rmls train --keep-rows)."
            )
        number = find_label(model._space.names, label)
        row = model._rows(read_row(model, x)).X
        return self._kept_rows.nearest(row, number, k, model._space.names)


def _fitted(model: Any) -> RMLSRanker:
    check_is_fitted(model)
    fitted: RMLSRanker = model
    return fitted


def read_row(model: RMLSRanker, x: Any) -> sparse.csr_matrix:
    """Return one row of features, however it comes."""
    if not sparse.issparse(x) and not hasattr(x, "columns") and np.ndim(x) == 1:
        x = [x] if isinstance(x, list | tuple) else np.asarray(x).reshape(1, -1)
    X = read_features(model, x)
    if X.shape[0] != 1:
        raise InputError(f"one row can be explained at a time; got {X.shape[0]}.")
    return X


def find_label(names: Sequence[Any], label: Any) -> int:
    """Return the number of a label, or say which ones have a similar name.

    Examples
    --------
    >>> find_label(["tax", "law"], "law")
    1
    >>> find_label(["tax", "law"], "taxi")
    Traceback (most recent call last):
    rmls.core.errors.InputError: the model has no label 'taxi'; did you mean 'tax'?
    """
    if label in names:
        return names.index(label)
    wanted = str(label)
    texts = [str(name) for name in names]
    if wanted in texts:
        return texts.index(wanted)
    # A comparison takes some microseconds, and there may be millions of names.
    likely = texts if len(texts) <= MAX_COMPARED else _same_start(texts, wanted)
    by_key = {text.lower(): text for text in likely}
    near = get_close_matches(wanted.lower(), by_key, n=N_NEAR)
    known = " or ".join(shown(by_key[key]) for key in near)
    end = f"; did you mean {known}?" if near else "."
    raise InputError(f"the model has no label {shown(label)}{end}")


def _same_start(texts: list[str], wanted: str) -> list[str]:
    start = wanted[:2].lower()
    return [text for text in texts if text[:2].lower() == start][:MAX_COMPARED]


def explain_row(
    model: RMLSRanker, X: sparse.csr_matrix, label: int | None, k: int, *, path: bool
) -> list[Explanation]:
    """Return the explanations of a row as it was read: of a label, or of the best ones."""
    rows = model._rows(X)
    pairs = pair_scores(model._scorer, rows, label, k)
    names = feature_names(model, rows.X.indices)
    found = []
    for pair in pairs:
        parts = split_score(pair, path=path)
        columns = (pair.x, parts.classifier, parts.vectors, parts.named)
        total = parts.classifier + parts.vectors + parts.named
        order = np.argsort(-total, kind="stable").tolist()
        numbers = list(zip(*(column.tolist() for column in columns), strict=True))
        score = parts.total if pair.score is None else pair.score
        found.append(
            Explanation(
                label=model._space.names[pair.label],
                score=score,
                probability=_probability(model, X, pair, score),
                listed=pair.score is not None,
                prior=parts.prior,
                boost=parts.boost,
                features=tuple(FeaturePart(names[at], *numbers[at]) for at in order),
                names=parts.names,
                dense=parts.dense,
                remainder=parts.remainder,
            )
        )
    return found


def feature_names(model: RMLSRanker, columns: NDArray[Any]) -> list[Any]:
    """Return what columns are called; their numbers where they have no names."""
    names = getattr(model, "feature_names_in_", None)
    return [int(column) if names is None else str(names[column]) for column in columns.tolist()]


def _probability(model: RMLSRanker, X: sparse.csr_matrix, pair: Pair, score: float) -> float:
    if model._space.is_single:
        # That of a class depends on the scores of all.
        scores = model._score_block(model._scaled(X))
        return float(model._class_probabilities(scores)[0, pair.label])
    label = np.array([pair.label], np.int32)
    return float(model._entry_probabilities(np.array([score], np.float32), label)[0])


def _cosines(vectors: NDArray[np.float32], number: int) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1).astype(np.float64)
    products = (vectors @ vectors[number]).astype(np.float64)
    scale = lengths * lengths[number]
    return np.asarray(products / np.where(scale > 0, scale, 1))
