"""A report as two files: one HTML page that needs nothing else, and the same as Markdown."""

from __future__ import annotations

from pathlib import Path

from rmls.core.files import write_text
from rmls.report.content import Report
from rmls.report.markdown import to_markdown
from rmls.report.page import to_html


def write_report(folder: Path, report: Report) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.md`` into a folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    report : Report

    Returns
    -------
    tuple of Path
        The HTML file and the Markdown file.

    Notes
    -----
    The same report gives the same bytes. A file is replaced only when the new one is complete.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Both texts are made before a file is touched: an error in either leaves the old pair.
    texts = {"report.html": to_html(report), "report.md": to_markdown(report)}
    for name, text in texts.items():
        write_text(folder / name, text)
    return folder / "report.html", folder / "report.md"
