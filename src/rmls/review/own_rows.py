"""Training rows that a model was judged on before it learned from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.core.sparse import as_feature_csr, as_label_csr, label_counts, row_prints
from rmls.datasets.tables import TextTable
from rmls.models.ranker.combination import Frequencies
from rmls.models.ranker.combination import HeldOut as ScoredRows
from rmls.models.ranker.ranker import RMLSRanker
from rmls.review.held_out import HeldOut, Rows, Trained, inner_estimator, read_trained


def read_own_rows(model: Any, data: Rows) -> tuple[HeldOut, Trained]:
    """Return the rows that a model held out by itself, and what it knew when it scored them.

    Parameters
    ----------
    model : RMLSRanker, or a TextRanker around one
        As it was fitted, not as it is read back.
    data : TextTable or Dataset
        All rows that it was fitted to, in their order.
    """
    estimator = inner_estimator(model)
    held: ScoredRows | None = getattr(estimator, "_held_out", None)
    if held is None or not isinstance(estimator, RMLSRanker):
        raise InputError(
            f"{type(estimator).__name__} has no rows of its own that it was judged on: they are "
            "held out by RMLSRanker, from 30 rows on, and not saved; give held-out rows."
        )
    n_labels = len(estimator.classes_)
    X, Y, _ = read_trained(model, data, n_labels)
    if Y.shape[0] != estimator.n_samples_ or _differ(Y[held.rows], held.truth):
        raise InputError("these are not the rows that the model was fitted to, in their order.")
    trained = Trained(X, Y, _masks(X, Y, held))
    seen = np.stack([label_counts(Y[mask]) for mask in trained.masks])
    listed = _ranked(estimator, held, seen, trained)
    sets = estimator._fitted_rule(estimator.decision).keep(listed).to_sets()
    rows = HeldOut(
        X[held.rows],
        sparse.csr_matrix(Y[held.rows]),
        np.asarray(estimator.label_counts_),
        int(estimator.n_samples_),
        [str(name) for name in estimator.classes_.tolist()],
        listed,
        sets,
        data.take(held.rows.tolist()) if isinstance(data, TextTable) else None,
        np.repeat(np.arange(len(held.part_rows)), held.part_rows),
        seen,
        held.rows,
        is_own=True,
        n_known=n_labels,
    )
    return rows, trained


def _ranked(
    estimator: RMLSRanker, held: ScoredRows, seen: NDArray[np.int64], trained: Trained
) -> Ranking:
    """Return the lists of held-out rows, ranked by what each model knew of the labels."""
    parts, begin, learned = [], 0, estimator.combination_
    if np.all(estimator.label_counts_ > 0):
        # Names would find the labels of which all rows were held out. A label that comes with a new
        # row for the first time is not even listed: nobody has told the model that there is such.
        learned = replace(learned, unseen=None)
    for counts, mask, size in zip(seen, trained.masks, held.part_rows, strict=True):
        # How often a label occurs in the held-out rows must not tell how it is ranked there.
        frequencies = Frequencies(counts.astype(np.float64), float(np.count_nonzero(mask)))
        ranks, logits = learned.mixture(frequencies, estimator.tail_), learned.mixture(frequencies)
        listed = held.ranking(ranks).take(np.arange(begin, begin + size))
        boost = ranks.coefficients[:, 0] - logits.coefficients[:, 0]
        # The model takes its own boost away before it looks up probabilities.
        raised = listed.scores + (estimator._boost - boost)[listed.labels]
        chances = estimator._entry_probabilities(raised, listed.labels)
        rest = np.full(size, estimator.unlisted_, np.float32)
        parts.append(replace(listed, rest=rest, probabilities=chances))
        begin += size
    return Ranking.stack(parts)


def _differ(one: sparse.csr_matrix, other: sparse.csr_matrix) -> bool:
    return bool(abs(one - other).nnz)


def _masks(X: Any, Y: Any, held: ScoredRows) -> list[Any]:
    """Return the rows that each model has seen: all but its own part, copies of these included."""
    prints = row_prints(as_feature_csr(X), as_label_csr(Y))
    parts = np.split(held.rows, np.cumsum(held.part_rows)[:-1])
    return [~np.isin(prints, prints[part]) for part in parts]
