"""A picture of the imbalance: the label-frequency curve and the labels per row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.files import replacing
from rmls.core.frequency import GROUP_NAMES, group_labels
from rmls.core.optional import import_extra
from rmls.imbalance.report import ImbalanceReport, describe

FORMATS = ("png", "svg", "pdf")
SHADES = ("#d1495b", "#edae49", "#30638e")
INK = "#22313f"
BARS = "#6b7a8f"
# Beyond it a bar stands for several numbers of labels.
MAX_BARS = 60
# Beyond it dots would merge into a thick line.
MAX_DOTS = 200


def plot_imbalance(
    report_or_Y: ImbalanceReport | Any, path: str | os.PathLike[str] | None = None
) -> Any:
    """Draw how often each label occurs and how many labels the rows have.

    Left: rows per label against the label's rank, on logarithmic axes, with head, torso and
    tail shaded. Right: the number of rows for each number of labels.

    Parameters
    ----------
    report_or_Y : ImbalanceReport, or array-like or sparse matrix of 0/1
    path : str or path, optional
        Where to write the picture; the extension png, svg or pdf gives the format. The file
        appears only when it is complete.

    Returns
    -------
    matplotlib.figure.Figure

    Notes
    -----
    Needs matplotlib, the extra ``plots``. Labels that no row has are named in the title but
    not drawn: 0 has no place on a logarithmic axis.

    Examples
    --------
    >>> figure = plot_imbalance([[1, 0, 0], [1, 1, 0], [1, 0, 1]])
    >>> len(figure.axes)
    2
    """
    report = report_or_Y if isinstance(report_or_Y, ImbalanceReport) else describe(report_or_Y)
    target = None if path is None else _check_path(path)
    figure_module = import_extra("matplotlib.figure", "plots", "drawing the imbalance")
    figure = figure_module.Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_frequencies(left, report)
    _draw_row_sizes(right, report)
    if target is not None:
        with replacing(target) as stream:
            figure.savefig(stream, format=target.suffix.lstrip(".").lower(), dpi=150)
    return figure


def _draw_frequencies(axes: Any, report: ImbalanceReport) -> None:
    counts = np.sort(report.label_counts[report.label_counts > 0])[::-1]
    unused = f", {report.n_unused_labels:,} without a row" if report.n_unused_labels else ""
    title = f"{report.n_labels:,} labels{unused}"
    _dress(axes, title, "rank of the label, most frequent first", "rows with the label")
    if not len(counts):
        return
    ranks = np.arange(1, len(counts) + 1)
    _shade_groups(axes, report, len(counts))
    corners = _corners(counts)
    dots = "o" if len(counts) <= MAX_DOTS else ""
    axes.plot(ranks[corners], counts[corners], color=INK, linewidth=1.8, marker=dots, markersize=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.9, len(counts) * 1.12)
    axes.set_ylim(bottom=min(0.8, counts[-1] * 0.8))
    _write_plain_numbers(axes.xaxis, axes.yaxis)
    axes.legend(loc="lower left", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)


def _shade_groups(axes: Any, report: ImbalanceReport, n_used: int) -> None:
    sizes = np.bincount(
        group_labels(report.label_counts)[report.label_counts > 0], minlength=len(GROUP_NAMES)
    )
    # Ranks are whole numbers: areas meet halfway, and the last one fills the axis.
    edges = np.concatenate([[0], np.cumsum(sizes)]) + 0.5
    edges[-1] = n_used * 1.12
    for position, group in enumerate(report.groups):
        if sizes[position]:
            plural = "" if group.n_labels == 1 else "s"
            text = (
                f"{group.name}: {group.n_labels:,} label{plural} ({group.label_share:.1%}), "
                f"{group.positive_share:.0%} of positives"
            )
            start, stop = edges[position], edges[position + 1]
            axes.axvspan(start, stop, color=SHADES[position], alpha=0.25, linewidth=0, label=text)


def _corners(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the ends of every run of equal counts, which is all the curve needs."""
    changes = np.diff(counts) != 0
    corners: NDArray[np.bool_] = np.append(True, changes) | np.append(changes, True)
    return corners


def _draw_row_sizes(axes: Any, report: ImbalanceReport) -> None:
    longest = _longest_drawn(report.row_sizes)
    width = 1 + longest // MAX_BARS
    edges = np.arange(0, longest + width + 1, width) - 0.5
    beyond = report.row_sizes[report.row_sizes > edges[-1]]
    note = f"\n({len(beyond):,} rows with up to {beyond.max():,} not shown)" if len(beyond) else ""
    title = f"{report.n_samples:,} rows, {report.cardinality:.2f} labels on average"
    _dress(axes, title, f"labels of the row{note}", "rows")
    axes.hist(report.row_sizes, bins=edges, color=BARS, edgecolor="white", linewidth=0.6)
    axes.axvline(report.cardinality, color=SHADES[0], linewidth=1.5, linestyle="--")
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter("{x:,.0f}")


def _longest_drawn(row_sizes: NDArray[np.int64]) -> int:
    """Leave out the longest half percent of rows where they would squeeze the others."""
    longest, typical = int(row_sizes.max()), int(np.quantile(row_sizes, 0.995))
    return longest if longest <= max(2 * typical, MAX_BARS // 3) else typical


def _dress(axes: Any, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _write_plain_numbers(*directions: Any) -> None:
    for direction in directions:
        low, high = direction.get_view_interval()
        direction.set_major_formatter("{x:,.0f}")
        direction.set_minor_formatter("" if high >= 10 * low else "{x:g}")


def _check_path(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    extension = target.suffix.lstrip(".").lower()
    if extension not in FORMATS:
        shown = f"ends in .{extension}" if extension else "has no extension"
        raise InputError(f"{target} {shown}; a picture is written as .png, .svg or .pdf.")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is not a folder; create it before drawing into it.")
    return target
