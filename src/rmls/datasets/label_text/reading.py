"""What labels are called, from any file: tables, mappings, thesauri."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rmls.core.errors import FileFormatError, InputError
from rmls.core.label_text import LabelText
from rmls.datasets.label_text.mappings import read_json_content, read_json_file, read_mapping
from rmls.datasets.label_text.tables import (
    Wanted,
    has_header,
    plain_delimiter,
    read_table,
    read_without_header,
)
from rmls.datasets.tables.chunks import Chunk
from rmls.datasets.tables.columnar import read_excel, read_feather, read_parquet
from rmls.datasets.tables.delimited import read_delimited
from rmls.datasets.tables.frames import column_names, read_frame
from rmls.datasets.tables.json_lines import read_json_lines
from rmls.datasets.tables.streams import OPENERS, STDIN, open_text

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "excel",
    ".rdf": "rdfxml",
    ".xml": "rdfxml",
    ".owl": "rdfxml",
    ".ttl": "turtle",
    ".nt": "ntriples",
    ".jsonld": "jsonld",
}
THESAURI = ("rdfxml", "turtle", "ntriples", "jsonld")
COLUMNAR: dict[str, Callable[[Path], Iterator[Chunk]]] = {
    "parquet": read_parquet,
    "feather": read_feather,
    "excel": read_excel,
}
NAMES = tuple(dict.fromkeys(FORMATS.values()))


def read_label_text(
    source: Any,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    language: str | None = None,
    separator: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> LabelText:
    """Read what labels are called: names, alternative names, descriptions, parents.

    Parameters
    ----------
    source : path, mapping, or table of pandas, polars or Arrow
        A table with a row for every label (``.csv``, ``.tsv``, ``.jsonl``, ``.json``, ``.parquet``,
        ``.feather``, ``.xlsx``), a file with a label and its name in every line (``.txt``), a
        mapping from labels to names or to objects (of Python, or ``.json``), or a thesaurus in
        SKOS (``.rdf``, ``.xml``, ``.ttl``, ``.nt``, ``.jsonld``; needs ``rmls[thesauri]``).
        Text may be compressed (``.gz``, ``.bz2``, ``.xz``).
    columns : mapping, optional
        The column of ``id``, ``name``, ``alternatives``, ``description``, ``parents``, ``related``
        or ``codes``; found by their names without it.
    language : str, optional
        The language of the names, such as ``en``; by default the one that most labels have.
    separator : str, optional
        What parts the names of a cell; found out without it.
    format : str, optional
        What kind of file it is; found by the ending without it.
    encoding, delimiter : str, optional
        Of a text file; by its first bytes without them.

    Returns
    -------
    LabelText
        Its ``found`` and ``notes`` say what was found out, and what is odd.

    Examples
    --------
    >>> text = read_label_text({"b1": "bread", "b2": {"name": "rye bread", "parent": "b1"}})
    >>> text.names, text.parents
    (('bread', 'rye bread'), ((), ('b1',)))
    """
    if isinstance(source, LabelText):
        return source
    wanted = Wanted(columns, language, separator)
    if not isinstance(source, (str, Path)):
        return _read_object(source, wanted)
    path = Path(source)
    try:
        return _read_file(path, format or _format(path), encoding, delimiter, wanted)
    except FileFormatError:
        raise
    except InputError as error:
        raise FileFormatError(str(error).removesuffix("."), path) from None


def _read_object(source: Any, wanted: Wanted) -> LabelText:
    if isinstance(source, Mapping) and not _is_columns(source):
        return read_mapping(source, wanted)
    if column_names(source) is None:
        raise InputError(
            f"label text is a file, a mapping from labels to names, or a table of pandas, polars "
            f"or Arrow; got {type(source).__name__}."
        )
    return read_table(read_frame(source), wanted)


def _is_columns(mapping: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping holds columns of equal length; lists of names differ in theirs."""
    values = list(mapping.values())
    if not values or any(isinstance(value, (str, Mapping)) or value is None for value in values):
        return False
    lengths = {len(value) if hasattr(value, "__len__") else -1 for value in values}
    return lengths != {-1} and len(lengths) == 1 and ("name" in mapping or "id" in mapping)


def _read_file(
    path: Path, format: str | None, encoding: str | None, delimiter: str | None, wanted: Wanted
) -> LabelText:
    if path == STDIN:
        raise InputError("label text is read from a file, not from standard input.")
    if format not in NAMES:
        raise InputError(f"say what it is; the formats of label text are: {', '.join(NAMES)}.")
    if format in THESAURI:
        from rmls.datasets.label_text.thesauri.concepts import read_thesaurus

        return read_thesaurus(path, format, encoding, wanted.language)
    if format == "json":
        return _read_json(path, encoding, wanted)
    if format in COLUMNAR:
        return read_table(COLUMNAR[format](path), wanted)
    if format == "jsonl":
        return read_table(read_json_lines(path, encoding), wanted)
    tab = "\t" if _plain_suffix(path) in (".tsv", ".tab", ".txt") else None
    named = wanted.columns is not None or has_header(path, encoding, delimiter or tab)
    if format == "text" and not _has_tabs(path, encoding):
        named = wanted.columns is not None
    if named:
        return read_table(read_delimited(path, encoding, delimiter or tab), wanted)
    if format == "csv":
        delimiter = delimiter or tab or plain_delimiter(path, encoding)
    return read_without_header(path, encoding, delimiter)


def _read_json(path: Path, encoding: str | None, wanted: Wanted) -> LabelText:
    content = read_json_file(path, encoding)
    if not isinstance(content, Mapping) or not {"@context", "@graph"} & content.keys():
        return read_json_content(content, wanted)
    from rmls.datasets.label_text.thesauri.concepts import read_thesaurus

    return read_thesaurus(path, "jsonld", encoding, wanted.language, content)


def _has_tabs(path: Path, encoding: str | None) -> bool:
    with open_text(path, encoding) as stream:
        return "\t" in stream.readline()


def _format(path: Path) -> str | None:
    return FORMATS.get(_plain_suffix(path))


def _plain_suffix(path: Path) -> str:
    name = Path(path.stem) if path.suffix.lower() in OPENERS else path
    return name.suffix.lower()
