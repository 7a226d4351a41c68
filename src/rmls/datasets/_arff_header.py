"""The head of an ARFF file, and the XML file that tells which attributes are labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from rmls.core.errors import FileFormatError, InputError
from rmls.core.words import shorten
from rmls.datasets._text import read_count
from rmls.datasets.formats import Source, is_beside, stem_of

# The least number that float32 rounds to infinity: half a step beyond its largest.
FLOAT32_LIMIT = 2.0**128 - 2.0**103
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
NUMERIC = ("numeric", "real", "integer")
# A quoted word: anything but its quote, or a backslash with the character behind it.
WORD = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# A bare name ends at a space, or at the brace of its values: name{0,1} is allowed.
ATTRIBUTE = re.compile(rf"@attribute\s+({WORD}|[^\s{{'\"][^\s{{]*)\s*(\S.*)$", re.I)
VALUE = re.compile(rf"\s*({WORD}|[^,'\"\s][^,]*)\s*(?:,|$)")
# MEKA writes options into the relation: -C 3 for the first three labels, -C -3 for the last.
MEKA_LABELS = re.compile(r"-C\s+(-?)([0-9]+)")
MEKA_SPLIT = re.compile(r"-split-number\s+([0-9]+)")
# What `labels` may be in place of names or a number.
OPTIONAL = "optional"


@dataclass(frozen=True)
class Attribute:
    """One declared column: its name and, if it is nominal, its values."""

    name: str
    values: tuple[str, ...] | None = None

    # Both are asked for at every cell.
    @cached_property
    def numbers(self) -> tuple[float, ...] | None:
        """The nominal values as numbers, or ``None`` if they are not all numbers."""
        values = self.values or ()
        if not all(NUMBER.fullmatch(value) for value in values):
            return None
        numbers = tuple(float(value) for value in values)
        return numbers if all(abs(number) < FLOAT32_LIMIT for number in numbers) else None

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of every nominal value in the list."""
        return {value: place for place, value in enumerate(self.values or ())}


class Header(NamedTuple):
    """Everything above the data, and where the data begin."""

    relation: str
    attributes: list[Attribute]
    data_start: int
    data_line: int


def read_header(text: bytes, encoding: str, path: Path) -> Header:
    """Parse the lines up to ``@data``."""
    attributes: list[Attribute] = []
    relation, position, line = "", 0, 0
    while position < len(text):
        end = text.find(b"\n", position)
        end = len(text) if end < 0 else end
        line += 1
        # Only the head is decoded: the data below are parsed as bytes.
        content = _decode(text[position:end], encoding, path, line).strip()
        position = end + 1
        keyword = content[:10].lower()
        if not content or content.startswith("%"):
            continue
        if keyword.startswith("@data"):
            if not attributes:
                raise FileFormatError("@data comes before any @attribute", path, line)
            return Header(relation, attributes, position, line + 1)
        if keyword.startswith("@relation"):
            relation = unquote(content[9:].strip())
        elif keyword.startswith("@attribute"):
            attributes.append(_read_attribute(content, path, line))
        else:
            raise FileFormatError(
                f"expected @attribute or @data, found '{shorten(content, 30)}'", path, line
            )
    raise FileFormatError("the file ends before @data", path, line)


def _decode(line: bytes, encoding: str, path: Path, number: int) -> str:
    try:
        return line.decode(encoding)
    except UnicodeError:
        message = f"the text is not {encoding}; pass encoding=, such as 'latin-1'"
        raise FileFormatError(message, path, number) from None


def _read_attribute(content: str, path: Path, line: int) -> Attribute:
    found = ATTRIBUTE.match(content)
    if found is None:
        raise FileFormatError(f"cannot understand '{shorten(content, 40)}'", path, line)
    name, kind = unquote(found.group(1)), found.group(2)
    if kind.startswith("{") and kind.endswith("}"):
        values = _read_values(kind[1:-1], path, line)
        _check_words((name, *values), path, line)
        return Attribute(name, values)
    _check_words((name,), path, line)
    if kind.split()[0].lower() not in NUMERIC:
        shown, type_ = shorten(name), shorten(kind.split()[0], 20)
        message = f"attribute '{shown}' is a {type_}; only numeric and nominal can be read"
        raise FileFormatError(message, path, line)
    return Attribute(name)


def _read_values(listing: str, path: Path, line: int) -> tuple[str, ...]:
    listing = listing.rstrip()
    values, position = [], 0
    while position < len(listing):
        found = VALUE.match(listing, position)
        if found is None:
            shown = shorten(listing[position:], 30)
            raise FileFormatError(f"cannot understand the values '{shown}'", path, line)
        values.append(unquote(found.group(1).rstrip()))
        position = found.end()
    if not values or len(set(values)) != len(values):
        raise FileFormatError("nominal values must be distinct, and at least one", path, line)
    return tuple(values)


def _check_words(words: Sequence[str], path: Path, line: int) -> None:
    """Refuse what would be two lines in a list of names; to Weka it is the end of the line."""
    for word in words:
        if "\r" in word:
            raise FileFormatError(f"'{shorten(word)}' holds a carriage return", path, line)


def unquote(word: str) -> str:
    r"""Remove surrounding quotes and the backslashes inside them.

    Examples
    --------
    >>> unquote(r"'it\'s'"), unquote("plain")
    ("it's", 'plain')
    """
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word


def label_positions(
    header: Header, labels: int | Sequence[str] | None, source: Source
) -> list[int]:
    """Return the attributes that are labels, in label order.

    The caller's word counts first, then the XML file, then MEKA's ``-C n`` in the relation. With
    ``labels="optional"`` there may be none.
    """
    found: int | Sequence[str] | None = labels
    may_lack = is_optional(labels)
    if labels is None or may_lack:
        found = _announced(header, source.path)
        declared = {attribute.name for attribute in header.attributes}
        is_absent = found is None or (not isinstance(found, int) and declared.isdisjoint(found))
        if may_lack and is_absent:
            return []
    if found is None:
        raise FileFormatError(_which_labels(source), source.path)
    if isinstance(found, str):
        raise InputError(f"labels is a list of names or a number; got '{shorten(found)}'.")
    if not isinstance(found, (int, Integral)):
        return _positions_of(list(found), header, source.path)
    total, count = len(header.attributes), int(found)
    if abs(count) >= total:
        raise FileFormatError(f"{count} labels do not fit {total} attributes", source.path, 1)
    first = 0 if count > 0 else total + count
    return list(range(first, first + abs(count)))


def is_optional(labels: object) -> bool:
    """Tell whether the caller of a reader does without labels."""
    return isinstance(labels, str) and labels == OPTIONAL


def _announced(header: Header, path: Path) -> int | list[str] | None:
    """Return the names of the XML file, or else the number that MEKA writes into the relation."""
    xml = find_xml(path)
    if xml is not None:
        return read_label_xml(xml, path)
    found = MEKA_LABELS.search(header.relation)
    return None if found is None else read_count(found[2]) * (-1 if found[1] else 1)


def _which_labels(source: Source) -> str:
    way = f"Put {stem_of(source.path).name}.xml beside the file"
    if source.is_stream:
        way = "No XML file lies beside a stream: write '-C n' into the relation, as MEKA does,"
    return (
        f"which attributes are labels? {way} or pass labels=, a list of names or a number "
        "(negative: the last ones, 0: none)"
    )


def _positions_of(names: Sequence[str], header: Header, path: Path) -> list[int]:
    # Features may share a name; a label must be told from every other attribute.
    where: dict[str, int] = {}
    twice = set()
    for position, attribute in enumerate(header.attributes):
        if attribute.name in where:
            twice.add(attribute.name)
        where[attribute.name] = position
    for name in names:
        if name not in where:
            message = f"label '{shorten(str(name))}' is not among the attributes"
            raise FileFormatError(message, path)
        if name in twice:
            raise FileFormatError(f"label '{shorten(name)}' names two attributes", path)
    if len(set(names)) != len(names):
        raise InputError(f"{path}: a label is listed twice.")
    if len(names) == len(header.attributes):
        raise FileFormatError(f"{len(names)} of {len(where)} attributes are labels", path)
    return [where[name] for name in names]


def find_xml(path: Path) -> Path | None:
    """Return ``<stem>.xml``, also without ``-train`` or ``-test`` as Mulan ships them."""
    stem = stem_of(path)
    common = re.sub(r"[-_](?:train|test|training)$", "", stem.name)
    for name in dict.fromkeys((stem.name, common)):
        candidate = stem.with_name(f"{name}.xml")
        if is_beside(candidate, path):
            return candidate
    return None


def read_label_xml(path: Path, owner: Path | None = None) -> list[str]:
    """Return the names of all ``<label>`` elements, nested ones too, in document order.

    ``owner`` is the data file that they were written together with.

    A document type declaration is refused, so that no entity can be defined or fetched.
    """
    names: list[str] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        # The name behind a namespace prefix.
        if tag.rpartition(":")[2] == "label":
            if "name" not in attributes:
                message = "a label without a name"
                raise FileFormatError(message, path, parser.CurrentLineNumber)
            names.append(attributes["name"])

    def refuse(*_: object) -> None:
        message = "document type declarations are not allowed"
        raise FileFormatError(message, path, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    # Entities of a document type can expand without bound ("billion laughs").
    parser.StartDoctypeDeclHandler = refuse
    content = Source(path, owner).content()
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        message = f"not well-formed XML ({expat.ErrorString(error.code)})"
        raise FileFormatError(message, path, error.lineno) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        # Python has no such encoding, or one that expat cannot use.
        message = "the encoding of the XML cannot be read; save it as UTF-8"
        raise FileFormatError(message, path, 1) from None
    if not names:
        raise FileFormatError("the file names no label", path)
    return names
