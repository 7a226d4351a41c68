"""The report of a study: one HTML file that needs nothing else, and the same as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmls.bench.records import Record
from rmls.bench.report.markdown import to_markdown
from rmls.bench.report.page import to_html
from rmls.bench.report.sections import build_report
from rmls.bench.store import write_text

__all__ = ["write_report"]


def write_report(folder: Path, records: list[Record], study: dict[str, Any]) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.md`` into a folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    records : list of Record
    study : dict
        Contents of ``study.json``.

    Returns
    -------
    tuple of Path
        The HTML file and the Markdown file.

    Notes
    -----
    The same results give the same bytes. A file is replaced only when the new one is complete.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = build_report(records, study)
    texts = {"report.html": to_html(report), "report.md": to_markdown(report)}
    for name, text in texts.items():
        write_text(folder / name, text)
    return folder / "report.html", folder / "report.md"
