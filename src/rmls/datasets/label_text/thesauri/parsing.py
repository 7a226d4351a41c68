"""Statements of RDF files, one at a time into a sieve; nothing outside the file is ever read."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

from rmls.core.errors import FileFormatError, InputError, RmlsError
from rmls.core.optional import import_extra
from rmls.core.words import shorten
from rmls.datasets.label_text.mappings import read_json_file
from rmls.datasets.label_text.thesauri.sieve import LINKS, TEXTS, Sieve
from rmls.datasets.tables.chunks import MAX_CELL
from rmls.datasets.tables.json_lines import MAX_JSON
from rmls.datasets.tables.streams import open_bytes, open_text, text_lines

EXTRA, PURPOSE = "thesauri", "reading thesauri"
# Entities shorten namespaces; one of this length makes a file at most 70 times as long.
MAX_ENTITY = 200
BLOCK = 1 << 16
LINES = 1000
_WANTED = re.compile("|".join(re.escape(f"<{name}>") for name in (*TEXTS, *LINKS)))


def parse(path: Path, format: str, encoding: str | None = None, content: Any = None) -> Sieve:
    """Return what an RDF file says about concepts; ``content`` is JSON that was read before.

    Raises
    ------
    FileFormatError
        If it is not of its format, or would have to fetch or unfold something.
    """
    sieve = Sieve()
    with _told(path, format):
        if format == "rdfxml":
            _parse_xml(path, sieve)
        elif format == "turtle":
            _parse_turtle(path, encoding, sieve)
        elif format == "ntriples":
            _parse_lines(path, encoding, sieve)
        else:
            _parse_json(content or read_json_file(path, encoding), path, sieve)
    return sieve


@contextmanager
def _told(path: Path, format: str) -> Iterator[None]:
    """Turn whatever the parsers raise into one sentence, and keep their log quiet."""
    log = logging.getLogger("rdflib")
    was_off, log.disabled = log.disabled, True
    terms = logging.getLogger("rdflib.term")
    terms_off, terms.disabled = terms.disabled, True
    try:
        yield
    except (RmlsError, MemoryError):
        raise
    except Exception as error:
        raise FileFormatError(
            f"this is no {_TITLES[format]} ({_reason(error)})", path, _line(error)
        ) from None
    finally:
        log.disabled, terms.disabled = was_off, terms_off


_TITLES = {
    "rdfxml": "RDF in XML",
    "turtle": "Turtle",
    "ntriples": "N-Triples",
    "jsonld": "JSON-LD",
}


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    # What a parser says behind the first line is a piece of the file.
    said = getattr(error, "_why", None) or getattr(error, "_msg", None) or str(error)
    said = re.sub(r"^file:\S*?:\d+:\d+:\s*", "", str(said))
    return shorten(said.strip().split("\n")[0], 100) or type(error).__name__


def _line(error: Exception) -> int | None:
    if hasattr(error, "getLineNumber"):
        found = error.getLineNumber()
        return int(found) if found else None
    lines = getattr(error, "lines", None)
    return lines + 1 if isinstance(lines, int) else None


def _graph(sieve: Sieve) -> Any:
    """Return a graph of rdflib that hands every statement on and keeps none."""
    rdflib = import_extra("rdflib", EXTRA, PURPOSE)

    class Passing(rdflib.Graph):  # type: ignore[misc, name-defined]
        """A graph without memory."""

        def add(self, triple: Any) -> Any:
            sieve.add(*triple)
            return self

        def bind(self, *args: Any, **kwargs: Any) -> None:
            """Prefixes are for writing."""

    return Passing(bind_namespaces="none")


def _base(path: Path) -> str:
    # What relative addresses begin with: the same on every machine.
    return f"file:///{path.name}"


# -- RDF/XML -------------------------------------------------------------------------------------


def _parse_xml(path: Path, sieve: Sieve) -> None:
    graph = _graph(sieve)
    _refuse_unfolding(path)
    with open_bytes(path) as stream:
        graph.parse(source=stream, format="xml", publicID=_base(path))


class _RootReached(Exception):
    """The declarations are over."""


def _refuse_unfolding(path: Path) -> None:
    """Refuse declarations by which a small file could grow, or bring in another one.

    Declarations stand before the first element, and each is checked before it can be used. Those
    that remain are what thesauri have: a short name for an address.
    """
    parser = expat.ParserCreate()

    def on_entity(
        name: str, is_parameter: int, value: str | None, base: Any, system: Any, *rest: Any
    ) -> None:
        if value is None or system is not None or is_parameter:
            raise InputError(f"the entity {shorten(name)!r} is not in the file; nothing is fetched")
        if len(value) > MAX_ENTITY or "&" in value:
            raise InputError(
                f"the entity {shorten(name)!r} stands for others or for more than {MAX_ENTITY} "
                f"characters; such files are refused, as they may grow without bound"
            )

    def on_default(element: str, attribute: str, kind: str, default: str | None, *_: Any) -> None:
        if default is not None and len(default) > MAX_ENTITY:
            raise InputError(
                f"the attribute {shorten(attribute)!r} is by default longer than {MAX_ENTITY} "
                f"characters; such files are refused, as they may grow without bound"
            )

    def on_start(*_: Any) -> None:
        raise _RootReached

    parser.EntityDeclHandler, parser.AttlistDeclHandler = on_entity, on_default
    parser.StartElementHandler = on_start
    with open_bytes(path) as stream:
        try:
            while block := stream.read(BLOCK):
                parser.Parse(block)
            parser.Parse(b"", True)
        except _RootReached:
            return
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, "damaged")
            raise FileFormatError(f"this is no XML ({reason})", path, error.lineno) from None


# -- the others ----------------------------------------------------------------------------------


def _parse_turtle(path: Path, encoding: str | None, sieve: Sieve) -> None:
    graph = _graph(sieve)
    with open_text(path, encoding) as stream:
        content = "".join(text_lines(stream, path, MAX_JSON))
    graph.parse(data=content, format="turtle", publicID=_base(path))


def _parse_lines(path: Path, encoding: str | None, sieve: Sieve) -> None:
    """Read N-Triples as a stream: only lines that say something of use reach the parser."""
    ntriples = import_extra("rdflib.plugins.parsers.ntriples", EXTRA, PURPOSE)

    class Sink:
        """Where the parser puts statements."""

        def triple(self, subject: Any, predicate: Any, value: Any) -> None:
            sieve.add(subject, predicate, value)

    # Nodes without an address keep their names from one block of lines to the next.
    parser, nodes = ntriples.W3CNTriplesParser(Sink()), dict[str, Any]()
    with open_text(path, encoding) as stream:
        numbered = enumerate(text_lines(stream, path, 2 * MAX_CELL), 1)
        wanted = (pair for pair in numbered if _WANTED.search(pair[1]))
        while block := list(islice(wanted, LINES)):
            content = "".join(line for _, line in block)
            try:
                parser.parsestring(content, bnode_context=nodes)
            except ntriples.ParseError:
                number, line = next(pair for pair in block if not _is_statement(parser, pair[1]))
                raise FileFormatError(
                    f"this is no statement of N-Triples: {shorten(line.strip())}", path, number
                ) from None


def _is_statement(parser: Any, line: str) -> bool:
    try:
        parser.parsestring(line)
    except Exception:
        return False
    return True


def _parse_json(content: Any, path: Path, sieve: Sieve) -> None:
    """Read JSON-LD whose contexts are all in the file."""
    jsonld = import_extra("rdflib.plugins.parsers.jsonld", EXTRA, PURPOSE)
    _refuse_fetching(content)
    jsonld.to_rdf(content, _graph(sieve), base=_base(path))


def _refuse_fetching(content: Any) -> None:
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
            contexts = value.get("@context")
            listed = contexts if isinstance(contexts, list) else [contexts]
            absent = [part for part in listed if isinstance(part, str)] + [
                str(part["@import"]) for part in [value, *listed] if _imports(part)
            ]
            if absent:
                raise InputError(
                    f"the context {shorten(absent[0])!r} is not in the file; nothing is fetched, "
                    f"so that it has to be put there"
                )


def _imports(part: Any) -> bool:
    return isinstance(part, dict) and "@import" in part
