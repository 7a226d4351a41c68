"""Text of the extreme classification repository: ``n d m``, then ``l1,l2 f:v f:v``."""

from __future__ import annotations

import re
from pathlib import Path

from rmls.core.errors import FileFormatError
from rmls.core.sparse import INT32_MAX
from rmls.core.words import shorten
from rmls.datasets._text import Layout, parse_text, read_count, write_text
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, Source, named_dataset

# Three counts and nothing else: no row of the other formats looks like it.
HEADER = re.compile(rb"[ \t]*(\d+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*\r?(?:\n|$)")


def read_xmc(source: Path | Source) -> Dataset:
    """Read a file of the extreme classification repository.

    Parameters
    ----------
    source : Path or Source
        The first line counts rows, features and labels; indices are zero-based. Names are
        taken from ``<stem>.labels.txt`` and ``<stem>.features.txt`` if present.

    Notes
    -----
    Every line is a row, so an empty line is a row with neither labels nor features. A header
    that announces 0 labels tells that the labels of the rows are not known.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.txt"
    >>> _ = path.write_text("2 3 2\\n0,1 0:1 2:.5\\n 1:2\\n")
    >>> read_xmc(path).Y.toarray().tolist()
    [[1, 1], [0, 0]]
    """
    source = Source.of(source)
    text, path = source.text(), source.path
    header = HEADER.match(text)
    if header is None:
        raise FileFormatError("the first line must be: rows features labels", path, 1)
    n, d, m = (read_count(number) for number in header.groups())
    rows, features, labels = (shorten(number, 20) for number in header.groups())
    if not 1 <= d <= INT32_MAX or not 0 <= m <= INT32_MAX:
        message = f"the header announces {features} features and {labels} labels"
        raise FileFormatError(f"{message}; up to {INT32_MAX} can be read", path, 1)
    text = _without_blank_tail(text, header.end(), n)
    # A last line without its end is a row too, unless it is the header.
    cut = len(text) > header.end() and not text.endswith(b"\n")
    n_lines = text.count(b"\n", header.end()) + cut
    if n_lines != n:
        message = f"the header announces {rows} rows, the file has {n_lines}"
        raise FileFormatError(message, path, 1)
    parsed = parse_text(text, Layout(header.end(), 2, d, m), path)
    parsed.X.eliminate_zeros()
    return named_dataset(path, parsed.X, parsed.Y if m else None)


def _without_blank_tail(text: bytes, start: int, n: int) -> bytes:
    """Drop blank lines at the end, as far as they are more than the announced rows."""
    # A last line without its end is a line too.
    if text.count(b"\n", start) + (not text.endswith(b"\n")) <= n:
        return text
    filled = text[:start] + text[start:].rstrip(b" \t\r\n")
    n_filled = filled.count(b"\n", start) + 1 if len(filled) > start else 0
    if n_filled > n:
        return text
    # The end of the last filled row, and one for every blank row that was announced.
    return filled + b"\n" * (n - n_filled + (n_filled > 0))


def write_xmc(dataset: Dataset, path: Path) -> None:
    """Write the header and one line per row; names go beside the file, the split is lost.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.xmc"
    >>> write_xmc(Dataset([[0, 0.5]], [[1, 1]]), path)
    >>> path.read_text()
    '1 2 2\\n0,1 1:0.5\\n'
    """
    write_text(dataset, path, f"{dataset.n_samples} {dataset.n_features} {dataset.n_labels}")


FORMAT = Format(
    name="xmc",
    extensions=(".xmc",),
    description="extreme classification repository text: 'n d m', then 'l1,l2 f:v f:v'",
    sniff=HEADER.match,
    read=read_xmc,
    write=write_xmc,
    keeps_split=False,
)
