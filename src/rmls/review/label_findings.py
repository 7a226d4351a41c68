"""Labels that cost quality: too rare, everywhere, written in two ways, always together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.sparse import label_counts
from rmls.review.findings import SHOWN, Finding, counted, have, listed, quote
from rmls.review.label_names import equal_columns, similar_names, unsplit_names

# Fewer rows leave nothing to learn from once some are held out.
FEW_ROWS = 5
EVERYWHERE = 0.8
LONG_NAME = 100

Ints = NDArray[np.int64]


def label_findings(
    names: Sequence[str], Y: sparse.csr_matrix, language: str | None
) -> Iterator[Finding]:
    """Yield what is found in the labels of a table."""
    counts = label_counts(Y)
    yield from _unsplit(names)
    yield from _similar(names, counts, language)
    yield from _rare(names, counts)
    yield from _everywhere(names, counts, Y.shape[0])
    yield from _together(names, Y, counts)
    yield from _long_names(names)


def _unsplit(names: Sequence[str]) -> Iterator[Finding]:
    found = unsplit_names(names)
    if found is None:
        return
    separator, holding = found
    yield Finding(
        "unsplit_names",
        "Labels that look like several",
        len(holding),
        f"{counted(len(holding), 'label')} of {len(names):,} {have(len(holding))} {separator!r} "
        "in the name.",
        f"If it parts labels, read the table with --separator {separator!r}.",
        ("label",),
        tuple((quote(names[label]),) for label in holding[:SHOWN]),
        labels=tuple(names[label] for label in holding),
        weight="problem",
    )


def _similar(names: Sequence[str], counts: Ints, language: str | None) -> Iterator[Finding]:
    groups = similar_names(names, language)
    if not groups:
        return
    # Those with the most rows first: there is the most to win.
    groups.sort(key=lambda group: -int(counts[group].sum()))
    groups = [sorted(group, key=lambda label: -counts[label]) for group in groups]
    total = sum(map(len, groups))
    first = " and ".join(repr(names[label]) for label in groups[0][:2])
    yield Finding(
        "similar_names",
        "Labels that are written alike",
        len(groups),
        f"{total:,} of {counted(len(names), 'label')} are written like another one: {first}"
        f"{'' if len(groups) == 1 else ' for example'}.",
        "If they mean the same, give them one name: each then has the rows of both.",
        ("labels and their rows",),
        tuple(
            (listed((f"{names[label]} ({counts[label]:,})" for label in group), 4),)
            for group in groups[:SHOWN]
        ),
        labels=tuple(names[label] for group in groups for label in group),
        weight="problem",
    )


def _rare(names: Sequence[str], counts: Ints) -> Iterator[Finding]:
    once = np.flatnonzero(counts == 1)
    few = np.flatnonzero((counts > 0) & (counts < FEW_ROWS))
    if not len(few):
        return
    share = counts[few].sum() / max(counts.sum(), 1)
    shown = [(f"{n}", f"{np.count_nonzero(counts == n):,}") for n in range(1, FEW_ROWS)]
    examples = {n: [names[j] for j in np.flatnonzero(counts == n)[:3]] for n in range(1, FEW_ROWS)}
    yield Finding(
        "rare_labels",
        "Labels with few rows",
        len(few),
        f"{len(few):,} of {counted(len(names), 'label')} {have(len(few))} fewer than {FEW_ROWS} "
        f"rows, {len(once):,} of them one; they carry {share:.1%} of all assignments.",
        "Nothing can be tested on a label with one row, and little learned: merge such labels "
        "into broader ones, or label more rows for those that matter.",
        ("rows", "labels", "such as"),
        tuple((*row, quote(", ".join(examples[n]), 50)) for n, row in enumerate(shown, 1)),
        labels=tuple(names[label] for label in few.tolist()),
    )


def _everywhere(names: Sequence[str], counts: Ints, n_rows: int) -> Iterator[Finding]:
    common = np.flatnonzero(counts > EVERYWHERE * n_rows)
    # One label of one is another task.
    if not len(common) or len(names) < 2:
        return
    order = common[np.argsort(-counts[common], kind="stable")].tolist()
    yield Finding(
        "everywhere",
        "Labels that nearly all rows have",
        len(common),
        f"{counted(len(common), 'label')} {have(len(common))} more than {EVERYWHERE:.0%} of all "
        "rows.",
        "They say little about a text and make figures look good; leave them out if they are "
        "given to everything.",
        ("label", "share of rows"),
        tuple((names[label], f"{counts[label] / n_rows:.0%}") for label in order[:SHOWN]),
        labels=tuple(names[label] for label in order),
    )


def _together(names: Sequence[str], Y: sparse.csr_matrix, counts: Ints) -> Iterator[Finding]:
    groups = equal_columns(Y)
    if not groups:
        return
    yield Finding(
        "always_together",
        "Labels that always come together",
        len(groups),
        f"{counted(sum(map(len, groups)), 'label')} in {counted(len(groups), 'group')} "
        "have exactly the rows of another label.",
        "Rows cannot tell them apart: one name for both is enough, unless later rows will.",
        ("labels", "rows"),
        tuple(
            (listed((names[label] for label in group.tolist()), 4, " | "), f"{counts[group[0]]:,}")
            for group in groups[:SHOWN]
        ),
        labels=tuple(names[label] for group in groups for label in group.tolist()),
    )


def _long_names(names: Sequence[str]) -> Iterator[Finding]:
    long = sorted((name for name in names if len(name) > LONG_NAME), key=len, reverse=True)
    if long:
        yield Finding(
            "long_names",
            "Labels with very long names",
            len(long),
            f"{counted(len(long), 'label')} {have(len(long))} a name of more than {LONG_NAME} "
            "characters.",
            "Make sure that the column of the labels is the right one.",
            ("label", "characters"),
            tuple((quote(name), f"{len(name):,}") for name in long[:SHOWN]),
            labels=tuple(long),
            weight="problem",
        )
