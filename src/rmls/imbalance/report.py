"""`describe`: all imbalance statistics of a data set in one report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.frequency import GROUP_NAMES, group_labels
from rmls.core.resources import on_one_thread
from rmls.core.sparse import as_label_csr, label_counts
from rmls.imbalance import statistics

N_SHOWN = 5


@dataclass(frozen=True)
class GroupSummary:
    """One line of the head/torso/tail table.

    Attributes
    ----------
    name : str
    n_labels : int
    label_share, positive_share : float
        Its share of all labels and of all label assignments.
    min_count, max_count : int
        Minimum and maximum number of rows of a label in the group; 0 for an empty group.

    Examples
    --------
    >>> summarise_groups(np.array([6, 2, 1, 1]))[0]
    GroupSummary(name='head', n_labels=1, label_share=0.25, positive_share=0.6, min_count=6,
    max_count=6)
    """

    name: str
    n_labels: int
    label_share: float
    positive_share: float
    min_count: int
    max_count: int


@dataclass(frozen=True)
class ImbalanceReport:
    """Imbalance statistics of a data set; see `describe`.

    Attributes
    ----------
    n_samples, n_labels, n_positives : int
        Rows, labels, and label assignments.
    n_unused_labels, n_empty_rows : int
        Labels that no row has, and rows without a label.
    n_label_sets : int
        Distinct label sets.
    cardinality, density : float
    mean_imbalance_ratio, max_imbalance_ratio : float
        Over the labels that occur; ``nan`` where none does.
    mean_ir, cvir, scumble : float
    groups : tuple of GroupSummary
    most_frequent, least_frequent : tuple of (str, int)
        Names and counts of a few labels that occur, most and least frequent first.
    label_counts : ndarray of int64, shape (n_labels,)
    row_sizes : ndarray of int64, shape (n_samples,)

    Examples
    --------
    >>> report = describe([[1, 0], [1, 1], [1, 0]])
    >>> report.mean_ir, report.as_dict()["groups"]["tail"]["n_labels"]
    (2.0, 1)
    """

    n_samples: int
    n_labels: int
    n_positives: int
    n_unused_labels: int
    n_empty_rows: int
    n_label_sets: int
    cardinality: float
    density: float
    mean_imbalance_ratio: float
    max_imbalance_ratio: float
    mean_ir: float
    cvir: float
    scumble: float
    groups: tuple[GroupSummary, ...]
    most_frequent: tuple[tuple[str, int], ...]
    least_frequent: tuple[tuple[str, int], ...]
    label_counts: NDArray[np.int64] = field(repr=False, compare=False)
    row_sizes: NDArray[np.int64] = field(repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON; undefined values are None.

        The arrays `label_counts` and `row_sizes` are left out.
        """
        result: dict[str, Any] = {}
        for name, value in vars(self).items():
            # JSON has neither nan nor inf.
            if isinstance(value, float) and not math.isfinite(value):
                result[name] = None
            elif not isinstance(value, np.ndarray):
                result[name] = value
        result["groups"] = {group.name: _without_name(group) for group in self.groups}
        for name in ("most_frequent", "least_frequent"):
            result[name] = [list(pair) for pair in getattr(self, name)]
        return result

    def _repr_html_(self) -> str:
        from rmls.imbalance.shown import imbalance_html

        return imbalance_html(self)

    def __str__(self) -> str:
        return "\n".join([*_summary_lines(self), "", *_group_lines(self), "", *_label_lines(self)])


@on_one_thread
def describe(Y: Any, label_names: Sequence[str] | None = None) -> ImbalanceReport:
    """Compute the imbalance statistics of a data set.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0/1, shape (n_samples, n_labels)
    label_names : sequence of str, length n_labels, optional
        Otherwise labels are shown by their number.

    Returns
    -------
    ImbalanceReport

    Notes
    -----
    Time and memory are proportional to the positives, the rows and the labels.

    Examples
    --------
    >>> report = describe([[1, 0, 0], [1, 1, 0], [1, 0, 0]], ["sun", "rain", "snow"])
    >>> report.cardinality, report.mean_imbalance_ratio, report.n_unused_labels
    (1.3333333333333333, 1.0, 1)
    >>> report.most_frequent
    (('sun', 3), ('rain', 1))
    """
    matrix = as_label_csr(Y)
    ratios = statistics.imbalance_ratio(matrix)
    counts = label_counts(matrix)
    row_sizes = np.diff(matrix.indptr).astype(np.int64)
    names = _check_names(label_names, len(counts))
    finite = ratios[np.isfinite(ratios)]
    return ImbalanceReport(
        n_samples=int(matrix.shape[0]),
        n_labels=int(matrix.shape[1]),
        n_positives=int(matrix.nnz),
        n_unused_labels=int((counts == 0).sum()),
        n_empty_rows=int((row_sizes == 0).sum()),
        n_label_sets=statistics.count_label_sets(matrix),
        cardinality=statistics.cardinality(matrix),
        density=statistics.density(matrix),
        mean_imbalance_ratio=statistics.mean_imbalance_ratio(matrix),
        max_imbalance_ratio=float(finite.max()) if len(finite) else float("nan"),
        mean_ir=statistics.mean_ir(matrix),
        cvir=statistics.cvir(matrix),
        scumble=statistics.scumble(matrix),
        groups=summarise_groups(counts),
        most_frequent=_pick(counts, names, np.argsort(-counts, kind="stable")),
        least_frequent=_pick(counts, names, np.argsort(counts, kind="stable")),
        label_counts=counts,
        row_sizes=row_sizes,
    )


def summarise_groups(counts: NDArray[np.int64]) -> tuple[GroupSummary, ...]:
    """Return one summary each for head, torso and tail.

    Parameters
    ----------
    counts : ndarray of int, shape (n_labels,)
        Positive rows of each label.

    Examples
    --------
    >>> [group.n_labels for group in summarise_groups(np.array([6, 2, 1, 1]))]
    [1, 1, 2]
    """
    assigned = group_labels(counts)
    total = max(int(counts.sum()), 1)
    summaries = []
    for position, name in enumerate(GROUP_NAMES):
        own = counts[assigned == position]
        low, high = (int(own.min()), int(own.max())) if len(own) else (0, 0)
        shares = len(own) / max(len(counts), 1), int(own.sum()) / total
        summaries.append(GroupSummary(name, len(own), *shares, low, high))
    return tuple(summaries)


def _check_names(label_names: Sequence[str] | None, n_labels: int) -> Sequence[str] | None:
    if label_names is not None and len(label_names) != n_labels:
        raise InputError(
            f"label_names has {len(label_names)} entries but Y has {n_labels} labels; "
            "give one name per label."
        )
    return label_names


def _pick(
    counts: NDArray[np.int64], names: Sequence[str] | None, order: NDArray[np.int64]
) -> tuple[tuple[str, int], ...]:
    shown = order[counts[order] > 0][:N_SHOWN].tolist()
    return tuple((f"label {j}" if names is None else str(names[j]), int(counts[j])) for j in shown)


def _without_name(group: GroupSummary) -> dict[str, Any]:
    return {name: value for name, value in asdict(group).items() if name != "name"}


def _summary_lines(report: ImbalanceReport) -> list[str]:
    rows = {
        "rows": f"{report.n_samples:,} ({report.n_empty_rows:,} without a label)",
        "labels": f"{report.n_labels:,} ({report.n_unused_labels:,} without a row)",
        "distinct label sets": f"{report.n_label_sets:,}",
        "labels per row": f"{report.cardinality:.3f}",
        "density": f"{report.density:.3g}",
        "mean imbalance ratio": f"{report.mean_imbalance_ratio:,.2f}",
        "largest imbalance ratio": f"{report.max_imbalance_ratio:,.2f}",
        "MeanIR": f"{report.mean_ir:,.2f}",
        "CVIR": f"{report.cvir:.3f}",
        "SCUMBLE": f"{report.scumble:.3f}",
    }
    return [f"{name:<24}{value}" for name, value in rows.items()]


def _group_lines(report: ImbalanceReport) -> list[str]:
    lines = [f"{'group':<7}{'labels':>10}{'of labels':>11}{'of positives':>14}  rows per label"]
    for group in report.groups:
        count_range = f"{group.min_count:,} to {group.max_count:,}" if group.n_labels else "-"
        lines.append(
            f"{group.name:<7}{group.n_labels:>10,}{group.label_share:>11.1%}"
            f"{group.positive_share:>14.1%}  {count_range}"
        )
    return lines


def _label_lines(report: ImbalanceReport) -> list[str]:
    lines = []
    for title, pairs in (("most", report.most_frequent), ("least", report.least_frequent)):
        shown = ", ".join(f"{name} ({count:,})" for name, count in pairs) or "-"
        lines.append(f"{title} frequent: {shown}")
    return lines
