"""What can be said about a table of texts and labels before any model is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.label_rows import read_name_rows
from rmls.datasets.tables import TextTable
from rmls.features.text.scanning import scan_rows
from rmls.features.text.stem_table import StemTable
from rmls.imbalance import ImbalanceReport, describe
from rmls.review.duplicates import find_duplicates
from rmls.review.findings import Finding
from rmls.review.label_findings import label_findings
from rmls.review.row_findings import row_findings

# Enough for the share of a language's function words.
LANGUAGE_ROWS = 2000


@dataclass(frozen=True)
class TableCheck:
    """What `check_table` found.

    Attributes
    ----------
    n_rows, n_labels : int
    fields : tuple of str
        The text columns.
    language : str or None
        The language whose function words stand out.
    imbalance : ImbalanceReport or None
        How unequal the labels are; None for a table without labels.
    words : ndarray of int64, shape (n_rows,)
        Number of words of every row.
    findings : list of Finding
        Problems first.
    """

    n_rows: int
    n_labels: int
    fields: tuple[str, ...]
    language: str | None
    imbalance: ImbalanceReport | None
    words: NDArray[np.int64] = field(repr=False)
    findings: list[Finding] = field(default_factory=list)

    def __getitem__(self, kind: str) -> Finding | None:
        """Return the finding of a kind, None where nothing of the kind was found."""
        return next((found for found in self.findings if found.kind == kind), None)

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "n_rows": self.n_rows,
            "n_labels": self.n_labels,
            "text": list(self.fields),
            "language": self.language,
            "imbalance": None if self.imbalance is None else self.imbalance.as_dict(),
            "findings": [found.as_dict() for found in self.findings],
        }

    def html(self, name: str = "table") -> str:
        """Return the check as one page that fetches nothing."""
        from rmls.report.page import to_html
        from rmls.review.pages import check_report

        return to_html(check_report(self, name))

    def _repr_html_(self) -> str:
        from rmls.core.show.fragments import shown_inside

        return shown_inside(self.html())


def check_table(table: TextTable, n_jobs: int | None = None) -> TableCheck:
    """Look for what costs quality in a table of texts and labels; no model is needed.

    Parameters
    ----------
    table : TextTable
        From `rmls.datasets.read_texts`.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.

    Returns
    -------
    TableCheck

    Examples
    --------
    >>> from rmls.datasets import read_texts
    >>> rows = {"text": ["Tax on sugar", "tax on sugar!", "Fish"], "tags": ["tax", "Tax", "sea"]}
    >>> check = check_table(read_texts(rows))
    >>> check["similar_names"].what
    "2 of 3 labels are written like another one: 'Tax' and 'tax'."
    >>> check["same_text"].rows
    (0, 1)
    """
    if not len(table):
        raise InputError("the table has no rows.")
    duplicates = find_duplicates(table.texts, n_jobs=n_jobs)
    language = _language(table)
    findings = list(row_findings(table, duplicates))
    report: ImbalanceReport | None = None
    names: list[str] = []
    if table.labels is not None:
        names, Y = _label_matrix(table.labels)
        findings += label_findings(names, Y, language)
        report = describe(Y, names) if len(names) else None
    findings.sort(key=lambda found: found.weight != "problem")
    return TableCheck(
        len(table), len(names), table.fields, language, report, duplicates.n_words, findings
    )


def _label_matrix(labels: list[list[str]]) -> tuple[list[str], sparse.csr_matrix]:
    space, Y = read_name_rows(labels, may_be_empty=True)
    return list(space.names), Y


def _language(table: TextTable) -> str | None:
    step = max(1, len(table) // LANGUAGE_ROWS)
    pieces = [" \n ".join(fields) for fields in table.texts[::step]]
    words = scan_rows(pieces, np.ones(1, np.float32), pairs=False)
    return StemTable.learn([words], "auto", kept=False).language
