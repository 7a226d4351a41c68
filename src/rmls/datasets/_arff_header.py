"""The head of an ARFF file, and the XML file that tells which attributes are labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets.formats import read_bytes, stem_of

NUMERIC = ("numeric", "real", "integer")
# A quoted word: anything but its quote, or a backslash with the character behind it.
WORD = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# A bare name ends at a space, or at the brace of its values: name{0,1} is allowed.
ATTRIBUTE = re.compile(rf"@attribute\s+({WORD}|[^\s{{'\"][^\s{{]*)\s*(\S.*)$", re.I)
VALUE = re.compile(rf"\s*({WORD}|[^,'\"\s][^,]*)\s*(?:,|$)")
# MEKA writes options into the relation: -C 3 for the first three labels, -C -3 for the last.
MEKA_LABELS = re.compile(r"-C\s+(-?\d+)")
MEKA_SPLIT = re.compile(r"-split-number\s+(\d+)")


@dataclass(frozen=True)
class Attribute:
    """One declared column: its name and, if it is nominal, its values."""

    name: str
    values: tuple[str, ...] | None = None

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The nominal values as numbers, or ``None`` if they are not all numbers."""
        try:
            return tuple(float(value) for value in self.values or ())
        except ValueError:
            return None


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
                f"expected @attribute or @data, found {content[:30]!r}", path, line
            )
    raise FileFormatError("the file ends before @data", path, line)


def _decode(line: bytes, encoding: str, path: Path, number: int) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        message = f"the text is not {encoding}; pass encoding=, such as 'latin-1'"
        raise FileFormatError(message, path, number) from None


def _read_attribute(content: str, path: Path, line: int) -> Attribute:
    found = ATTRIBUTE.match(content)
    if found is None:
        raise FileFormatError(f"cannot understand {content[:40]!r}", path, line)
    name, kind = unquote(found.group(1)), found.group(2)
    if kind.startswith("{") and kind.endswith("}"):
        return Attribute(name, _read_values(kind[1:-1], path, line))
    if kind.split()[0].lower() not in NUMERIC:
        message = f"attribute '{name}' is a {kind.split()[0]}; only numeric and nominal can be read"
        raise FileFormatError(message, path, line)
    return Attribute(name)


def _read_values(listing: str, path: Path, line: int) -> tuple[str, ...]:
    listing = listing.rstrip()
    values, position = [], 0
    while position < len(listing):
        found = VALUE.match(listing, position)
        if found is None:
            raise FileFormatError(f"cannot understand the values {listing[:30]!r}", path, line)
        values.append(unquote(found.group(1).rstrip()))
        position = found.end()
    if not values or len(set(values)) != len(values):
        raise FileFormatError("nominal values must be distinct, and at least one", path, line)
    return tuple(values)


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


def label_positions(header: Header, labels: int | Sequence[str] | None, path: Path) -> list[int]:
    """Return the attributes that are labels, in label order.

    The caller's word counts first, then the XML file, then MEKA's ``-C n`` in the relation.
    """
    names: Sequence[str] | None = None
    count: int | None = None
    if isinstance(labels, int):
        count = labels
    elif labels is not None:
        names = labels
    else:
        xml = find_xml(path)
        if xml is not None:
            names = read_label_xml(xml)
        elif found := MEKA_LABELS.search(header.relation):
            count = int(found.group(1))
    if names is not None:
        return _positions_of(names, header, path)
    if count is None:
        raise FileFormatError(
            f"which attributes are labels? Put {stem_of(path).name}.xml beside the file or pass "
            "labels=, a list of names or a number (negative: the last ones)",
            path,
        )
    total = len(header.attributes)
    if not 1 <= abs(count) < total:
        raise FileFormatError(f"{count} labels do not fit {total} attributes", path, 1)
    first = 0 if count > 0 else total + count
    return list(range(first, first + abs(count)))


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
            raise FileFormatError(f"label '{name}' is not among the attributes", path)
        if name in twice:
            raise FileFormatError(f"label '{name}' names two attributes", path)
    if len(set(names)) != len(names):
        raise InputError(f"{path}: a label is listed twice.")
    if not names or len(names) == len(header.attributes):
        raise FileFormatError(f"{len(names)} of {len(where)} attributes are labels", path)
    return [where[name] for name in names]


def find_xml(path: Path) -> Path | None:
    """Return ``<stem>.xml``, also without ``-train`` or ``-test`` as Mulan ships them."""
    stem = stem_of(path)
    common = re.sub(r"[-_](?:train|test|training)$", "", stem.name)
    for name in dict.fromkeys((stem.name, common)):
        candidate = stem.with_name(f"{name}.xml")
        if candidate.is_file():
            return candidate
    return None


def read_label_xml(path: Path) -> list[str]:
    """Return the names of all ``<label>`` elements, nested ones too, in document order.

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
    try:
        parser.Parse(read_bytes(path), True)
    except expat.ExpatError as error:
        message = f"not well-formed XML ({expat.ErrorString(error.code)})"
        raise FileFormatError(message, path, error.lineno) from None
    if not names:
        raise FileFormatError("the file names no label", path)
    return names
