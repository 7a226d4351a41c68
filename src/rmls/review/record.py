"""What is kept with a model of a review: its figures, without the examples."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.frequency import GROUP_NAMES, group_labels
from rmls.models.shared.quality_record import Figure, Group, LabelCounts, Point, QualityRecord
from rmls.review.held_out import HeldOut
from rmls.review.quality import GROUPS, METRICS, Quality

if TYPE_CHECKING:
    from rmls.report.charts.calibration import Curve

# Of six digits the last ones are chance already.
DIGITS = 6
NUMBERS = (
    *("value", "low", "high"),
    *("baseline", "baseline_low", "baseline_high"),
    "without_repeats",
)

Ints = NDArray[np.int64]


def make_record(
    rows: HeldOut,
    quality: Quality,
    without_leaks: Quality | None,
    reliability: Curve | None,
    calibration_error: float,
) -> QualityRecord:
    """Return what is kept of a review."""
    counts = np.stack(
        [
            np.bincount(matrix.indices, minlength=rows.Y.shape[1])
            for matrix in map(sparse.csr_matrix, (rows.Y, rows.sets, rows.Y.multiply(rows.sets)))
        ]
    )
    method, *others = quality.methods
    return QualityRecord(
        method,
        others[0] if others else None,
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
        rows.n_rows,
        rows.n_train,
        len(rows.seen) if rows.is_own else 0,
        None if np.isnan(calibration_error) else round(float(calibration_error), DIGITS),
        _figures(quality, without_leaks),
        _groups(rows, counts),
        [] if reliability is None else _points(reliability),
        _labels(rows, counts),
    )


def _figures(quality: Quality, without_leaks: Quality | None) -> list[Figure]:
    method, *others = quality.methods
    found = []
    for metric in METRICS:
        for group in GROUPS:
            own = quality.values.get((method, metric, group))
            if own is None:
                continue
            baseline = quality.values.get((others[0], metric, group)) if others else None
            fresh = without_leaks and without_leaks.values.get((method, metric, group))
            numbers = [*own, *(baseline or (None,) * 3), fresh.value if fresh else None]
            rounded = [None if each is None else round(each, DIGITS) for each in numbers]
            figure = dict(zip(NUMBERS, rounded, strict=True))
            found.append(Figure(metric, group, **figure))  # type: ignore[arg-type]
    return found


def _groups(rows: HeldOut, counts: Ints) -> list[Group]:
    """Return head, torso and tail as the models that judged had seen them."""
    group_of = group_labels(np.rint(rows.seen.mean(axis=0)).astype(np.int64))
    measured = counts.sum(axis=0) > 0
    found = []
    for number, name in enumerate(GROUP_NAMES):
        inside = measured & (group_of == number)
        true, predicted, right = counts[:, inside].sum(axis=1).tolist()
        if inside.any():
            found.append(Group(name, int(inside.sum()), true, predicted, right))
    return found


def _points(curve: Curve) -> list[Point]:
    bins = zip(curve.predicted, curve.observed, curve.pairs, strict=True)
    return [
        Point(round(stated, DIGITS), round(true, DIGITS), int(count))
        for stated, true, count in bins
        if stated is not None and true is not None
    ]


def _labels(rows: HeldOut, counts: Ints) -> LabelCounts:
    kept = np.flatnonzero(counts.sum(axis=0))
    names = [rows.names[label] for label in kept.tolist()]
    return LabelCounts(names, *counts[:, kept].tolist())
