"""Imbalance statistics in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmls.core.show.fragments import fragment, grid, heading, number, paragraph

if TYPE_CHECKING:
    from rmls.imbalance.report import ImbalanceReport


def imbalance_html(report: ImbalanceReport) -> str:
    """Return the figures of a data set, its head, torso and tail, and a few labels."""
    title = f"{report.n_samples:,} rows, {report.n_labels:,} labels"
    figures = {
        "labels per row": number(report.cardinality, 2),
        "density": f"{report.density:.3g}",
        "mean imbalance ratio": number(report.mean_imbalance_ratio, 1),
        "largest imbalance ratio": number(report.max_imbalance_ratio, 1),
        "MeanIR": number(report.mean_ir, 1),
        "CVIR": number(report.cvir, 2),
        "SCUMBLE": number(report.scumble, 2),
        "rows without a label": f"{report.n_empty_rows:,}",
        "labels without a row": f"{report.n_unused_labels:,}",
        "distinct label sets": f"{report.n_label_sets:,}",
    }
    groups = [
        [
            group.name,
            f"{group.n_labels:,}",
            f"{group.label_share:.1%}",
            f"{group.positive_share:.1%}",
            f"{group.min_count:,} to {group.max_count:,}" if group.n_labels else "–",
        ]
        for group in report.groups
    ]
    columns = ["group", "labels", "of labels", "of assignments", "rows of a label"]
    return fragment(
        heading(title),
        grid(["", ""], [list(pair) for pair in figures.items()]),
        grid(columns, groups),
        paragraph(f"most frequent: {_named(report.most_frequent)}"),
        paragraph(f"least frequent: {_named(report.least_frequent)}"),
    )


def _named(pairs: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in pairs) or "–"
