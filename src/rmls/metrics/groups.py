"""Any metric restricted to a group of labels, such as the tail.

How depends on the metric's ``group_rule``:

``labels``
    Only the group's labels, true and predicted, are looked at.
``rows``
    The same, averaged over the rows with a true or predicted label of the group. The other
    rows would only say how rare the group is.
``hits``
    Only the group's labels count as true; the ranking stays whole. The groups' precision@k
    therefore sums to the total.
``true_rows``
    The same, averaged over the rows with a true label of the group.
``others_out``
    True labels of other groups are taken out of the ranking, because each of them would count as a
    label that is false: a perfect ranking is perfect in every group. Averaged over the rows with
    a true label of the group, without those where nothing is left of the list of a metric that
    looks at its first label only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rmls.metrics._counts import WHOLE, HitTable, Mask, SetCounts, count_hits, count_sets
from rmls.metrics.registry import Metric


def measure_group(
    metric: Metric, true: sparse.csr_matrix, prediction: Any, group: Mask, **options: Any
) -> float | None:
    """Compute ``metric`` for the labels marked in ``group``.

    Parameters
    ----------
    metric : Metric
        With its k set, where it takes one.
    true : csr_matrix of 0/1, shape (n_samples, n_labels)
    prediction : csr_matrix of 0/1 or Ranking
        As ``metric.needs`` says.
    group : ndarray of bool, shape (n_labels,)
    **options
        Keyword arguments of the metric.

    Returns
    -------
    float or None
        None where the group has no label, or no row to average over.

    Examples
    --------
    >>> from rmls.core.sparse import as_label_csr
    >>> from rmls.metrics import get_metric
    >>> true, predicted = as_label_csr([[1, 0], [1, 1]]), as_label_csr([[1, 0], [1, 0]])
    >>> measure_group(get_metric("f1"), true, predicted, np.array([False, True]))
    0.0
    """
    if not group.any():
        return None
    if metric.needs == "sets":
        return measure_restricted(metric, count_sets(true, prediction).restrict(group), options)
    table = count_hits(true, prediction, metric.k or WHOLE)
    return measure_restricted(metric, table.restrict(group), options)


def measure_restricted(
    metric: Metric, counts: SetCounts | HitTable, options: dict[str, Any]
) -> float | None:
    """Compute ``metric`` from counts that are restricted to a group already."""
    if metric.group_rule in ("labels", "hits"):
        return metric(counts.true, counts, **options)
    rows = counts.touched_rows
    if metric.group_rule == "others_out" and isinstance(counts, HitTable):
        listed, counts = counts.ranking.lengths > 0, counts.without_others
        if not metric.whole:
            # The first label that counts stands further down than the list goes.
            rows &= ~listed | (counts.ranking.lengths > 0)
    if not rows.any():
        return None
    # Rows that the group does not touch would be counted as empty: they have no weight.
    return metric(counts.true, counts, sample_weight=rows.astype(np.float64), **options)
