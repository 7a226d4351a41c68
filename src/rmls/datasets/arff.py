"""Mulan and MEKA data: an ARFF file, with the label names in an XML file beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from rmls.core.errors import FileFormatError, InputError
from rmls.core.words import shorten
from rmls.datasets._arff_header import MEKA_SPLIT, is_optional, label_positions, read_header
from rmls.datasets._arff_rows import feature_matrix, label_matrix, read_table
from rmls.datasets._text import ROWS_PER_CHUNK, number_texts, read_count
from rmls.datasets._writing import write_atomic
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, Source, check_columns, data_name, stem_of

# Names without a character that means something in ARFF need no quotes.
PLAIN_NAME = re.compile(r"[^\s,{}%'\"\\?@]+")
# What XML 1.0 cannot hold even when it is escaped.
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Comments and blank lines may come before the relation.
HEAD = re.compile(rb"(?:\s|%[^\n]*\n)*@relation\b", re.IGNORECASE)


def read_arff(
    source: Path | Source, *, labels: int | Sequence[str] | None = None, encoding: str = "utf-8"
) -> Dataset:
    """Read a Mulan or MEKA file, sparse or dense.

    Parameters
    ----------
    source : Path or Source
        ``<stem>.xml`` beside it names the labels and gives their order.
    labels : int, list of str or "optional", optional
        The labels by name, or their number: the first ``labels`` attributes, the last ones if
        negative, none if 0. By default the XML file decides, then ``-C n`` in the relation
        (MEKA). With "optional" there may be none, and those that are missing count as 0.
    encoding : str, default="utf-8"

    Notes
    -----
    Nominal values that are numbers become these numbers. Other nominal features become 0 and 1
    by position if they have two values, else one column ``attribute=value`` per value. In a
    sparse row an omitted nominal attribute has its first value. A missing feature is 0, a
    missing label an error. ``-split-number n`` in the relation (MEKA) gives ``n_train``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.arff"
    >>> _ = path.write_text('''@relation 'toy: -C 1'
    ... @attribute spam {0,1}
    ... @attribute words numeric
    ... @attribute day {mon,tue,wed}
    ... @data
    ... 1,2.5,tue
    ... {1 4}
    ... ''')
    >>> data = read_arff(path)
    >>> data.feature_names
    ['words', 'day=mon', 'day=tue', 'day=wed']
    >>> data.X.toarray().tolist()
    [[2.5, 0.0, 1.0, 0.0], [4.0, 1.0, 0.0, 0.0]]
    """
    _check_encoding(encoding)
    source = Source.of(source)
    text, path = source.text(), source.path
    header = read_header(text, encoding, path)
    positions = label_positions(header, labels, source)
    check_columns(path, len(header.attributes), len(positions))
    table = read_table(text, header, encoding, path)
    X, names = feature_matrix(table, header.attributes, positions, path)
    Y: Any = None
    if positions:
        Y = label_matrix(table, header.attributes, positions, path, is_optional(labels))
    split = MEKA_SPLIT.search(header.relation)
    n_train = read_count(split.group(1)) if split else None
    if n_train is not None and n_train > table.n_rows:
        raise FileFormatError(f"{n_train} training rows are more than {table.n_rows} rows", path)
    return Dataset(
        X,
        Y,
        label_names=[header.attributes[at].name for at in positions] if positions else None,
        feature_names=names,
        n_train=n_train,
        name=data_name(path),
    )


def _check_encoding(encoding: str) -> None:
    """Refuse what is not an encoding of text that writes plain letters as ASCII does."""
    plain = "@data {0,1} ?"
    try:
        is_known = plain.encode(encoding) == plain.encode("ascii") and encoding != "idna"
    except (LookupError, ValueError, TypeError):
        is_known = False
    if not is_known:
        raise InputError(f"unknown encoding '{shorten(str(encoding))}'; it must extend ASCII.")


def write_arff(dataset: Dataset, path: Path) -> None:
    """Write sparse ARFF with the labels last, and ``<stem>.xml``; MEKA reads it too.

    Notes
    -----
    Columns without names become ``f0, f1, ...`` and ``label0, label1, ...``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.arff"
    >>> write_arff(Dataset([[0, 0.5]], [[1]], label_names=["tax law"]), path)
    >>> print(path.read_text(), end="")
    @relation 'toy: -C -1'
    <BLANKLINE>
    @attribute f0 numeric
    @attribute f1 numeric
    @attribute 'tax law' {0,1}
    <BLANKLINE>
    @data
    {1 0.5,2 1}
    """
    features = dataset.feature_names or [f"f{at}" for at in range(dataset.n_features)]
    labels = _labels_of(dataset)
    seen: set[str] = set()
    for name in (*features, *labels):
        if name in seen or not name.strip() or NOT_XML.search(name):
            shown = shorten(name)
            raise InputError(f"ARFF needs distinct, printable column names; rename '{shown}'.")
        seen.add(name)
    if dataset.n_samples == 0:
        raise InputError("ARFF cannot hold a data set without rows.")
    xml = _xml_beside(path)
    if not dataset.is_labelled and os.path.exists(xml):
        raise InputError(f"{xml} would name labels of {path.name}, which has none; move it away.")
    chunks = _chunks(dataset, features, labels, data_name(path))
    write_atomic(path, chunks, _list_xml(dataset, path))


def _list_xml(dataset: Dataset, path: Path) -> dict[Path, bytes]:
    return {_xml_beside(path): _label_xml(_labels_of(dataset))} if dataset.is_labelled else {}


def _xml_beside(path: Path) -> Path:
    return stem_of(path).with_name(f"{stem_of(path).name}.xml")


def _labels_of(dataset: Dataset) -> list[str]:
    return dataset.label_names or [f"label{at}" for at in range(dataset.n_labels)]


def _label_xml(labels: list[str]) -> bytes:
    lines = [f"<label name={quoteattr(name)}></label>" for name in labels]
    head = '<?xml version="1.0" encoding="utf-8"?>'
    start = '<labels xmlns="http://mulan.sourceforge.net/labels">'
    return "\n".join([head, start, *lines, "</labels>", ""]).encode()


def _chunks(dataset: Dataset, features: list[str], labels: list[str], stem: str) -> Iterator[bytes]:
    split = "" if dataset.n_train is None else f" -split-number {dataset.n_train}"
    yield f"@relation {_quoted(f'{stem}: -C -{dataset.n_labels}{split}')}\n\n".encode()
    yield "".join(f"@attribute {_quoted(name)} numeric\n" for name in features).encode()
    # 0 is the first value: that is what a sparse row means by leaving a label out.
    yield "".join(f"@attribute {_quoted(name)} {{0,1}}\n" for name in labels).encode()
    yield b"\n@data\n"
    for start in range(0, dataset.n_samples, ROWS_PER_CHUNK):
        yield _rows(dataset.take(np.arange(start, min(start + ROWS_PER_CHUNK, len(dataset)))))


def _rows(part: Dataset) -> bytes:
    numbers = number_texts(part.X.data)
    cells = [f"{at} {text}" for at, text in zip(part.X.indices.tolist(), numbers, strict=True)]
    # Labels are numbered behind the features, so that indices ascend.
    ones = [f"{at + part.n_features} 1" for at in part.Y.indices.tolist()]
    x_ptr, y_ptr = part.X.indptr.tolist(), part.Y.indptr.tolist()
    rows = (
        cells[x_ptr[row] : x_ptr[row + 1]] + ones[y_ptr[row] : y_ptr[row + 1]]
        for row in range(len(part))
    )
    return "".join(f"{{{','.join(row)}}}\n" for row in rows).encode()


def _quoted(name: str) -> str:
    if PLAIN_NAME.fullmatch(name):
        return name
    # Backslashes first, or those before quotes would be doubled.
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


FORMAT = Format(
    name="arff",
    extensions=(".arff",),
    description="Mulan/MEKA ARFF, sparse or dense, label names in an XML file beside it",
    sniff=HEAD.match,
    read=read_arff,
    write=write_arff,
    beside=_list_xml,
)
