"""Compute many metrics at once, in total and by head, torso and tail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.frequency import GROUP_NAMES, group_labels, propensities
from rmls.core.ranking import Ranking
from rmls.core.resources import on_one_thread
from rmls.core.sparse import as_label_csr
from rmls.metrics._counts import WHOLE, HitTable, Mask, SetCounts, count_hits, count_sets
from rmls.metrics._inputs import (
    as_ranking,
    check_k,
    check_shape,
    check_train_counts,
    check_truth,
)
from rmls.metrics._named import Columns, to_columns
from rmls.metrics._pairs import ListedPairs, list_pairs
from rmls.metrics.groups import measure_restricted
from rmls.metrics.registry import METRICS, Metric, Needs, get_metric
from rmls.metrics.reliability import brier_score, expected_calibration_error
from rmls.metrics.report import EvaluationReport


@on_one_thread
def evaluate(
    Y_true: Any,
    Y_pred: Any = None,
    ranking: Any = None,
    *,
    probabilities: Any = None,
    label_names: Any = None,
    names: str | Iterable[str] | None = None,
    ks: Sequence[int] = (1, 3, 5),
    train_counts: ArrayLike | None = None,
    n_train: int | None = None,
    by_group: bool = True,
    empty: float = 0.0,
) -> EvaluationReport:
    """Compare predicted label sets, a ranking, or both with the true label sets.

    Parameters
    ----------
    Y_true : matrix of 0/1 (array-like, frame or sparse), or lists of label names
        Of shape (n_samples, n_labels).
    Y_pred : the same, optional
        Predicted sets, for the set metrics. Lists and frames are matched by name.
    ranking : Ranking, sparse matrix or array of scores, shape (n_samples, n_labels), optional
        For the metrics of the best k labels.
    probabilities : Ranking, sparse matrix or array, shape (n_samples, n_labels), optional
        Adds ``ece`` and ``brier``, whatever ``names`` are; `rmls.metrics.reliability` says what
        becomes of pairs that are not listed.
    label_names : sequence, optional
        Names of the columns of a ranking, of probabilities and of ``train_counts``, such as
        ``model.classes_``, where ``Y_true`` holds lists of names. Labels that are not among them
        count as never predicted.
    names : str or iterable of str, optional
        Which metrics, as in `get_metric`; ``"precision@k"`` stands for all of ``ks``. By
        default every metric that the arguments allow; those of whole rankings only where all
        labels are listed.
    ks : sequence of int, default (1, 3, 5)
    train_counts : array-like of int, shape (n_labels,), optional
        Positive training rows of every label; needed for groups and for psp@k.
    n_train : int, optional
        Number of training rows; needed for psp@k.
    by_group : bool, default True
        Also report head, torso and tail, where ``train_counts`` is given;
        `rmls.metrics.groups` says how a metric is restricted to a group.
    empty : float, default 0.0
        Value of a row with nothing to predict; see the metrics.

    Returns
    -------
    EvaluationReport

    Examples
    --------
    >>> report = evaluate([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 1]], names=["f1", "micro_f1"])
    >>> report.as_dict()
    {'example_f1': 0.75, 'micro_f1': 0.6666666666666666}
    >>> evaluate([["tax"], ["law", "tax"]], [["tax"], ["law"]], names="f1")["f1"].__round__(3)
    0.833
    >>> report = evaluate([[1, 0], [0, 1]], ranking=[[0.9, 0.1], [0.8, 0.2]], ks=[1, 2])
    >>> report["p@1"], report["recall@2"]
    (0.5, 1.0)
    """
    given = Columns(Y_true, Y_pred, ranking, probabilities, train_counts)
    Y_true, Y_pred, ranking, probabilities, train_counts = to_columns(given, label_names)
    true = check_truth(Y_true)
    predictions = _check_predictions(true, Y_pred, ranking)
    if not predictions and probabilities is None:
        raise InputError("evaluate needs predictions; pass Y_pred=, ranking= or both.")
    counts = check_train_counts(train_counts, true.shape[1])
    options: dict[str, Any] = {"empty": empty}
    if counts is not None and n_train is not None:
        # Of the training set: test counts would reward what a test set happens to hold.
        options["propensity"] = propensities(counts, n_train)
    metrics = []
    if predictions or names is not None:
        metrics = _select(names, ks, set(predictions), "propensity" in options)
        if names is None and not _lists_all(predictions.get("ranking")):
            metrics = [metric for metric in metrics if not metric.whole]
    masks = _group_masks(counts) if by_group else {}
    columns = _measure(metrics, true, predictions, masks, options)
    if probabilities is not None:
        _add_reliability(columns, list_pairs(true, probabilities), masks)
    return EvaluationReport(columns.pop("all"), columns, *true.shape)


def _check_predictions(true: sparse.csr_matrix, Y_pred: Any, ranking: Any) -> dict[Needs, Any]:
    predictions: dict[Needs, Any] = {}
    if Y_pred is not None:
        predictions["sets"] = as_label_csr(Y_pred, "Y_pred")
        check_shape("Y_pred", predictions["sets"].shape, true.shape)
    if ranking is not None:
        predictions["ranking"] = as_ranking(ranking, true.shape)
    return predictions


def _lists_all(ranking: Ranking | None) -> bool:
    return ranking is not None and len(ranking.labels) == ranking.n_samples * ranking.n_labels


def _group_masks(counts: Any) -> dict[str, Mask]:
    if counts is None:
        return {}
    assigned = group_labels(counts)
    return {name: assigned == position for position, name in enumerate(GROUP_NAMES)}


def _select(
    names: str | Iterable[str] | None, ks: Sequence[int], given: set[Needs], propensity: bool
) -> list[Metric]:
    """Return the metrics to compute, each once, with k filled in."""
    for k in ks:
        check_k(k)
    if names is None:
        chosen = [m for m in METRICS.values() if m.needs in given]
        chosen = [m for m in chosen if propensity or "propensity" not in m.options]
    else:
        chosen = [get_metric(name) for name in ([names] if isinstance(names, str) else names)]
        for metric in chosen:
            _check_needs(metric, given, propensity)
    if not chosen or (any(m.takes_k and m.k is None for m in chosen) and not len(ks)):
        raise InputError("nothing to compute; names and ks need at least one entry.")
    open_k = ((m, ks if m.takes_k and m.k is None else [m.k]) for m in chosen)
    filled = [m if k is None else m.at(k) for m, wanted in open_k for k in wanted]
    return list({m.name: m for m in filled}.values())


def _check_needs(metric: Metric, given: set[Needs], propensity: bool) -> None:
    if metric.needs not in given:
        argument = "Y_pred=" if metric.needs == "sets" else "ranking="
        raise InputError(f"{metric.name} is computed from {argument}, which was not given.")
    if "propensity" in metric.options and not propensity:
        raise InputError(f"{metric.name} needs train_counts= and n_train= of the training set.")


def _measure(
    metrics: list[Metric],
    true: sparse.csr_matrix,
    predictions: dict[Needs, Any],
    masks: dict[str, Mask],
    options: dict[str, Any],
) -> dict[str, dict[str, float]]:
    """Return the values of every group by metric, those of all labels under ``"all"``."""
    labels: dict[str, Mask | None] = {"all": None, **masks}
    found: dict[str, dict[str, float | None]] = {name: {} for name in labels}
    for counts, sharing in _count(metrics, true, predictions):
        for name, mask in labels.items():
            part = counts.restrict(mask)
            found[name].update({m.name: _value(m, part, options) for m in sharing})
    return {name: _in_order(metrics, values) for name, values in found.items()}


def _add_reliability(
    columns: dict[str, dict[str, float]], pairs: ListedPairs, masks: dict[str, Mask]
) -> None:
    """Add calibration error and Brier score to every group that has pairs."""
    for name, values in columns.items():
        part = pairs.restrict(masks.get(name))
        found = {
            "ece": expected_calibration_error(None, part),
            "brier": brier_score(None, part),
        }
        values.update({key: value for key, value in found.items() if not np.isnan(value)})


def _in_order(metrics: list[Metric], values: dict[str, float | None]) -> dict[str, float]:
    ordered = ((metric.name, values[metric.name]) for metric in metrics)
    return {name: value for name, value in ordered if value is not None}


def _count(
    metrics: list[Metric], true: sparse.csr_matrix, predictions: dict[Needs, Any]
) -> Iterator[tuple[SetCounts | HitTable, list[Metric]]]:
    """Yield the counts of the sets, then those of the best k for every k, with their metrics."""
    from_sets = [m for m in metrics if m.needs == "sets"]
    if from_sets:
        yield count_sets(true, predictions["sets"]), from_sets
    ranked = [m for m in metrics if m.needs == "ranking"]
    lengths = sorted({m.k or WHOLE for m in ranked}, reverse=True)
    if lengths:
        # Counted for the largest k; smaller ones are cut from that table.
        table = count_hits(true, predictions["ranking"], lengths[0])
        for k in lengths:
            yield table.top(k), [m for m in ranked if (m.k or WHOLE) == k]


def _value(metric: Metric, counts: SetCounts | HitTable, options: dict[str, Any]) -> float | None:
    accepted = {name: value for name, value in options.items() if name in metric.options}
    if counts.group is None:
        return metric(counts.true, counts, **accepted)
    return measure_restricted(metric, counts, accepted) if counts.group.any() else None
