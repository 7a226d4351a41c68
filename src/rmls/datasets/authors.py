"""The text format of the authors of RMLS: ``#num_feature=D num_label=M``, then the rows."""

from __future__ import annotations

import re
from pathlib import Path

from rmls.core.errors import FileFormatError
from rmls.core.sparse import INT32_MAX
from rmls.datasets._text import Layout, parse_text, read_count, write_text
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, Source, named_dataset

# A comment that names a size; which sizes it gives is checked when it is read.
HEADER = re.compile(rb"[ \t]*#[^\n]*num_(?:feature|label)[^\n]*(?:\n|$)", re.IGNORECASE)


def read_authors(source: Path | Source) -> Dataset:
    """Read the format of the RMLS authors.

    Parameters
    ----------
    source : Path or Source
        The first line is ``#num_feature=D num_label=M``, in either order and spacing; the
        rows are ``l1,l2 f:v f:v``, zero-based. Names are taken from ``<stem>.labels.txt`` and
        ``<stem>.features.txt`` if present.

    Notes
    -----
    A line of blanks is a row with neither labels nor features; an entirely empty line is none.
    ``num_label=0`` tells that the labels of the rows are not known.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.txt"
    >>> _ = path.write_text("#num_feature=3 num_label=2\\n1 0:1 2:.5\\n 1:2\\n")
    >>> read_authors(path)
    Dataset('toy': 2 rows, 3 features, 2 labels)
    """
    source = Source.of(source)
    text, path = source.text(), source.path
    header = HEADER.match(text)
    if header is None:
        raise FileFormatError("the first line must be: #num_feature=D num_label=M", path, 1)
    d = _size(header.group(), b"num_feature", 1, path)
    m = _size(header.group(), b"num_label", 0, path)
    parsed = parse_text(text, Layout(header.end(), 2, d, m, skip_empty=True), path)
    parsed.X.eliminate_zeros()
    return named_dataset(path, parsed.X, parsed.Y if m else None)


def _size(header: bytes, key: bytes, least: int, path: Path) -> int:
    # What goes on as a word or a fraction (12k, 12.5) is no size.
    found = re.search(key + rb"s?\s*[=:]\s*(\d+)(?![\w.])", header, re.IGNORECASE)
    if found is None or not least <= read_count(found.group(1)) <= INT32_MAX:
        message = f"the first line must give {key.decode()} as a number from {least} to {INT32_MAX}"
        raise FileFormatError(message, path, 1)
    return read_count(found.group(1))


def write_authors(dataset: Dataset, path: Path) -> None:
    """Write the header and one line per row; names go beside the file, the split is lost.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.rmls"
    >>> write_authors(Dataset([[0, 0.5]], [[1, 1]]), path)
    >>> path.read_text()
    '#num_feature=2 num_label=2\\n0,1 1:0.5\\n'
    """
    write_text(dataset, path, f"#num_feature={dataset.n_features} num_label={dataset.n_labels}")


FORMAT = Format(
    name="rmls",
    extensions=(".rmls",),
    description="text of the RMLS authors: '#num_feature=D num_label=M', then 'l1,l2 f:v f:v'",
    sniff=HEADER.match,
    read=read_authors,
    write=write_authors,
    keeps_split=False,
)
