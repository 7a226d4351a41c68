"""An independent reader of ARFF and of the XML beside it: one character after another."""

from __future__ import annotations

import math
import re
from typing import NamedTuple
from xml.dom import expatbuilder
from xml.etree import ElementTree

import numpy as np

from .parse_rows import NUMBER, Ambiguous, Expected, Refused, plain_text, split_lines, whole

BLANKS = " \t\r"
# What float strips; str.strip also strips separators such as \x1f.
FLOAT_BLANKS = " \t\n\r\v\f"
NUMERIC = ("numeric", "real", "integer")
TRUTH = {"false": 0, "true": 1, "no": 0, "yes": 1, "f": 0, "t": 1, "n": 0, "y": 1}


class Attribute(NamedTuple):
    name: str
    # None for a numeric attribute.
    values: list[str] | None

    def numbers(self) -> list[np.float32] | None:
        """The nominal values as numbers, None if they are not all numbers."""
        if self.values is None or not all(_is_number(value) for value in self.values):
            return None
        with np.errstate(over="ignore"):
            return [np.float32(float(value)) for value in self.values]

    @property
    def is_text(self) -> bool:
        return self.values is not None and self.numbers() is None


def _is_number(word: str) -> bool:
    return word.isascii() and NUMBER.fullmatch(word.strip(FLOAT_BLANKS).encode()) is not None


def _is_odd_number(word: str) -> bool:
    """Tell whether Python takes a word for a number and other programs do not."""
    try:
        float(word)
    except ValueError:
        return False
    with np.errstate(over="ignore"):
        is_beyond = math.isinf(np.float32(float(word)))
    return is_beyond or not _is_number(word) or word != word.strip()


class Reader:
    """Parses one file; ``unsure`` collects what Weka, MEKA and others treat differently."""

    def __init__(self) -> None:
        self.unsure: set[str] = set()
        self.relation = ""
        self.attributes: list[Attribute] = []

    def read_head(self, lines: list[bytes]) -> int:
        """Parse the lines up to ``@data`` and return how many there are."""
        for number, raw in enumerate(lines):
            line = _decoded(raw).strip()
            if line != _decoded(raw).strip(BLANKS + "\n"):
                self.unsure.add("odd blanks")
            word = line.lower()
            if not line or line.startswith("%"):
                continue
            if word.startswith("@data"):
                if line[5:]:
                    self.unsure.add("text behind @data")
                if not self.attributes:
                    raise Refused("no attributes")
                return number + 1
            if word.startswith("@relation"):
                self.relation = self._relation(line[9:])
            elif word.startswith("@attribute") and line[10:11].isspace():
                self.attributes.append(self._attribute(line[10:].lstrip()))
                name, values = self.attributes[-1]
                if any("\r" in word for word in (name, *(values or []))):
                    raise Refused("a line end in a name")
            else:
                raise Refused("no keyword")
        raise Refused("no @data")

    def _relation(self, rest: str) -> str:
        if rest and not rest[:1].isspace():
            self.unsure.add("no space behind @relation")
        if rest.strip()[:1] in ("'", '"'):
            word, behind = _quoted(rest.strip(), 0, lenient=True)
            if behind == len(rest.strip()):
                return word
            self.unsure.add("quotes of the relation")
        return rest.strip()

    def _attribute(self, rest: str) -> Attribute:
        if rest[:1] in ("'", '"'):
            name, at = _quoted(rest, 0)
        else:
            at = next((i for i, c in enumerate(rest) if c.isspace() or c == "{"), len(rest))
            name = rest[:at]
        kind = rest[at:].strip()
        if not kind or (not name and rest[:1] not in ("'", '"')):
            raise Refused("no name or no type")
        if not rest[at : at + 1].isspace() and kind[0] != "{":
            self.unsure.add("no space behind a name")
        if kind[0] == "{":
            if kind[-1] != "}":
                raise Refused("values without an end")
            return Attribute(name, self._values(kind[1:-1]))
        word, *more = kind.split()
        if word.lower() not in NUMERIC:
            raise Refused("type")
        if more:
            self.unsure.add("text behind a type")
        return Attribute(name, None)

    def _values(self, listing: str) -> list[str]:
        values: list[str] = []
        at = 0
        while at < len(listing):
            at = _skip(listing, at)
            if listing[at : at + 1] in ("'", '"'):
                value, at = _quoted(listing, at)
            else:
                stop = listing.find(",", at)
                stop = len(listing) if stop < 0 else stop
                value, at = listing[at:stop].strip(), stop
                if not value:
                    # Weka takes commas for blanks.
                    self.unsure.add("an empty value")
                    at += 1
                    continue
                if any(c.isspace() or c in "'\"{}%" for c in value):
                    self.unsure.add("a bare value with blanks or quotes")
            values.append(value)
            at = _skip(listing, at)
            if at < len(listing) and listing[at] != ",":
                raise Refused("values")
            at += 1
        if listing.rstrip().endswith(","):
            self.unsure.add("a comma behind the last value")
        if any(_is_odd_number(value) for value in values):
            raise Ambiguous("numbers to Python only")
        if not values or len(set(values)) != len(values):
            raise Refused("values that are not distinct")
        if "" in values:
            self.unsure.add("an empty value")
        return values

    def read_row(self, line: str) -> tuple[bool, dict[int, str | None]]:
        """Return whether a row is sparse and its cells; None is a missing one."""
        if not line.startswith("{"):
            return False, dict(enumerate(self._dense(line)))
        cells: dict[int, str | None] = {}
        at = _skip(line, 1, BLANKS)
        while line[at : at + 1] != "}":
            found = re.compile(r"([0-9]+)[ \t\r]+").match(line, at)
            if found is None:
                raise Refused("no attribute number")
            index = whole(found[1].encode(), len(self.attributes))
            if index in cells:
                raise Refused("an attribute twice")
            cells[index], at = self._cell(line, found.end())
            at = _skip(line, at, BLANKS)
            if line[at : at + 1] == ",":
                at = _skip(line, at + 1, BLANKS)
                if line[at : at + 1] == "}":
                    self.unsure.add("a comma behind the last cell")
            elif line[at : at + 1] != "}":
                raise Refused("no comma")
        if line[at + 1 :].strip(BLANKS):
            raise Refused("text behind a row")
        return True, cells

    def _dense(self, line: str) -> list[str | None]:
        cells, at = [], 0
        while True:
            cell, at = self._cell(line, _skip(line, at, BLANKS))
            cells.append(cell)
            at = _skip(line, at, BLANKS)
            if at == len(line):
                break
            if line[at] != ",":
                raise Refused("no comma")
            at += 1
        if len(cells) != len(self.attributes):
            raise Refused("width")
        return cells

    def _cell(self, line: str, at: int) -> tuple[str | None, int]:
        if line[at : at + 1] in ("'", '"'):
            word, at = _quoted(line, at)
            if word == "?":
                self.unsure.add("a quoted question mark")
            return word, at
        stop = next((i for i in range(at, len(line)) if line[i] in ",}" + BLANKS), len(line))
        word = line[at:stop]
        if not word:
            raise Refused("an empty cell")
        return (None if word == "?" else word), stop

    def value(self, attribute: Attribute, word: str) -> float:
        """Return a cell as a number: of a text its position in the list."""
        if attribute.is_text:
            if word not in (attribute.values or []):
                raise Refused("not among the values")
            return (attribute.values or []).index(word)
        if _is_odd_number(word) and math.isfinite(float(word)):
            raise Ambiguous("a number to Python only")
        if not _is_number(word):
            raise Refused("not a number")
        with np.errstate(over="ignore"):
            value = np.float32(float(word))
        if not math.isfinite(value):
            raise Refused("not finite")
        numbers = attribute.numbers()
        if numbers is not None and value not in numbers:
            raise Refused("not among the values")
        return float(value)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("encoding") from None


def _skip(text: str, at: int, blanks: str | None = None) -> int:
    while at < len(text) and (text[at].isspace() if blanks is None else text[at] in blanks):
        at += 1
    return at


def _quoted(text: str, at: int, lenient: bool = False) -> tuple[str, int]:
    """Return the quoted word that begins at ``at`` and the place behind it."""
    mark, word, i = text[at], "", at + 1
    while i < len(text) and text[i] != mark:
        if text[i] == "\\" and i + 1 < len(text):
            i += 1
        word += text[i]
        i += 1
    if i >= len(text) and not lenient:
        raise Refused("no closing quote")
    return word, i + 1


def _refusal(content: bytes) -> Exception:
    """Tell text that is no XML from XML whose namespaces alone are wrong."""
    try:
        expatbuilder.parseString(content, namespaces=False)
    except Exception:
        return Refused("XML")
    return Ambiguous("namespaces")


def parse_xml(content: bytes) -> list[str]:
    """Return the names of all labels, in the order of the document."""
    if b"<!DOCTYPE" in content:
        raise Refused("document type")
    try:
        root = ElementTree.fromstring(content)
    except Exception as error:
        raise _refusal(content) from error
    names = []
    for element in root.iter():
        # A prefix may also stand undeclared, where there are no namespaces.
        if re.split("[}:]", str(element.tag))[-1] == "label":
            name = element.get("name")
            if name is None:
                raise Refused("no name")
            names.append(name)
    if not names:
        raise Refused("no labels")
    return names


def parse_arff(content: bytes, xml: bytes | None, optional: bool = False) -> Expected:
    """Return what an ARFF file holds, with labels from the XML or from MEKA's option.

    Where labels are ``optional`` there may be none, and missing ones are 0.
    """
    lines = split_lines(plain_text(content))
    reader = Reader()
    start = reader.read_head(lines)
    labels = _label_places(reader, xml, optional)
    rows = []
    for raw in lines[start:]:
        line = raw.decode("utf-8", "surrogateescape").strip(BLANKS)
        if line and not line.startswith("%"):
            rows.append(reader.read_row(line))
    if not rows:
        raise Refused("no rows")
    return _tables(reader, labels, rows, optional)


def _label_places(reader: Reader, xml: bytes | None, optional: bool) -> list[int]:
    names = [attribute.name for attribute in reader.attributes]
    if xml is not None:
        wanted = parse_xml(xml)
        if optional and not set(wanted) & set(names):
            return []
        if len(set(wanted)) != len(wanted) or any(names.count(name) != 1 for name in wanted):
            raise Refused("labels")
        if len(wanted) == len(names):
            raise Refused("no features")
        return [names.index(name) for name in wanted]
    found = re.search(r"-C\s+(-?)(\d+)", reader.relation)
    if found is None:
        if optional:
            return []
        raise Refused("which labels?")
    count = _count(found[2], len(names))
    first = len(names) - count if found[1] else 0
    return list(range(first, first + count))


def _count(digits: str, limit: int) -> int:
    if not digits.isascii():
        raise Ambiguous("digits of another script")
    return whole(digits.encode(), limit)


def _tables(
    reader: Reader,
    labels: list[int],
    rows: list[tuple[bool, dict[int, str | None]]],
    optional: bool,
) -> Expected:
    places, names = _feature_places(reader, labels)
    X: list[dict[int, np.float32]] = []
    Y: list[set[int]] = []
    for is_sparse, cells in rows:
        x: dict[int, np.float32] = {}
        y: set[int] = set()
        for at, attribute in enumerate(reader.attributes):
            if at in cells:
                word = cells[at]
                value = None if word is None else reader.value(attribute, word)
            else:
                assert is_sparse
                numbers = attribute.numbers()
                value = 0.0 if numbers is None else float(numbers[0])
            if at in labels:
                if not (optional and value is None) and _is_relevant(reader, attribute, value):
                    y.add(labels.index(at))
            elif value is not None:
                if attribute.is_text and len(attribute.values or []) > 2:
                    x[places[at] + int(value)] = np.float32(1)
                elif value != 0:
                    x[places[at]] = np.float32(value)
        if not all(math.isfinite(value) for value in x.values()):
            raise Refused("not finite")
        X.append(x)
        Y.append(y)
    label_names = [reader.attributes[at].name for at in labels]
    if len(set(label_names)) != len(label_names):
        reader.unsure.add("two labels of one name")
    split = re.search(r"-split-number\s+(\d+)", reader.relation)
    n_train = _count(split[1], len(rows) + 1) if split else None
    unsure = ", ".join(sorted(reader.unsure))
    return Expected(len(names), len(labels), X, Y, n_train, names, label_names, unsure)


def _feature_places(reader: Reader, labels: list[int]) -> tuple[dict[int, int], list[str]]:
    places: dict[int, int] = {}
    names: list[str] = []
    for at, attribute in enumerate(reader.attributes):
        if at in labels:
            continue
        places[at] = len(names)
        if attribute.is_text and len(attribute.values or []) > 2:
            names += [f"{attribute.name}={value}" for value in attribute.values or []]
        else:
            names.append(attribute.name)
    return places, names


def _is_relevant(reader: Reader, attribute: Attribute, value: float | None) -> bool:
    if value is None:
        raise Refused("a missing label")
    if attribute.is_text:
        words = [word.lower() for word in attribute.values or []]
        if not set(words) <= TRUTH.keys():
            reader.unsure.add("a label with other words")
        if words[int(value)] not in TRUTH:
            raise Refused("label")
        return TRUTH[words[int(value)]] == 1
    if value not in (0, 1):
        raise Refused("label")
    return value == 1
