"""Read a made-up thesaurus in every format; print time and memory, beside a graph of rdflib.

    python benchmarks/thesauri.py [--concepts 20000] [--languages 5] [--formats nt rdf] [--graph]

Claim: what is held stays below that of rdflib's own graph (--graph), because only names, notes and
links of concepts are kept. A concept has in every language a preferred name, three others and a
definition of 15 words; a notation, a broader concept, and two statements that are of no use.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rdflib

from rmls.datasets import read_label_text
from text_features import MB, memory

SKOS = "http://www.w3.org/2004/02/skos/core#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
X = "http://thesaurus.example.org/"
FORMATS = {"nt": "nt", "ttl": "turtle", "rdf": "xml", "jsonld": "json-ld"}
TAGS = [
    "en", "de", "fr", "fi", "es", "it", "pl", "sv", "pt", "nl", "da", "el", "bg", "cs", "et", "ga",
    "hr", "hu", "lt", "lv", "mt", "ro", "sk", "sl",
]  # fmt: skip
# A property with its text and language, or with the address it leads to.
Statement = tuple[str, str, str | None]


def concept(number: int, languages: list[str], draw: random.Random) -> Iterator[Statement]:
    def words(count: int) -> str:
        return " ".join(f"w{draw.randrange(5000):04d}ing" for _ in range(count))

    for language in languages:
        yield "prefLabel", f"{words(2)} {number}", language
        for _ in range(3):
            yield "altLabel", words(2), language
        yield "definition", words(15), language
    yield "notation", f"N{number}", ""
    if number:
        yield "broader", f"{X}{draw.randrange(number)}", None
    yield "inScheme", f"{X}scheme", None
    yield "exactMatch", f"http://other.example.org/{number}", None


def as_lines(subject: str, statements: list[Statement]) -> str:
    lines = [f"<{subject}> <{RDF}type> <{SKOS}Concept> .\n"]
    for name, value, language in statements:
        tag = f"@{language}" if language else ""
        shown = f"<{value}>" if language is None else f'"{value}"{tag}'
        lines.append(f"<{subject}> <{SKOS}{name}> {shown} .\n")
    return "".join(lines)


def as_turtle(subject: str, statements: list[Statement]) -> str:
    parts = ["a skos:Concept"]
    for name, value, language in statements:
        tag = f"@{language}" if language else ""
        shown = f"<{value}>" if language is None else f'"{value}"{tag}'
        parts.append(f"skos:{name} {shown}")
    return f"<{subject}> " + " ;\n  ".join(parts) + " .\n"


def as_xml(subject: str, statements: list[Statement]) -> str:
    parts = [f'<skos:Concept rdf:about="{subject}">\n']
    for name, value, language in statements:
        tag = f' xml:lang="{language}"' if language else ""
        link = f'  <skos:{name} rdf:resource="{value}"/>\n'
        parts.append(link if language is None else f"  <skos:{name}{tag}>{value}</skos:{name}>\n")
    return "".join(parts) + "</skos:Concept>\n"


def as_json(subject: str, statements: list[Statement]) -> str:
    node: dict[str, Any] = {"@id": subject, "@type": "skos:Concept"}
    for name, value, language in statements:
        tag = {"@language": language} if language else {}
        shown = {"@id": value} if language is None else {"@value": value, **tag}
        node.setdefault(f"skos:{name}", []).append(shown)
    return json.dumps(node)


WRITERS: dict[str, tuple[str, Callable[[str, list[Statement]], str], str, str]] = {
    "nt": ("", as_lines, "", ""),
    "ttl": (f"@prefix skos: <{SKOS}> .\n", as_turtle, "", ""),
    "rdf": (f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:skos="{SKOS}">\n', as_xml, "", "</rdf:RDF>\n"),
    "jsonld": (f'{{"@context": {{"skos": "{SKOS}"}}, "@graph": [\n', as_json, ",\n", "]}\n"),
}


def write(path: Path, n_concepts: int, languages: list[str]) -> None:
    draw = random.Random(0)
    begin, form, between, end = WRITERS[path.suffix[1:]]
    with path.open("w", encoding="utf-8") as file:
        file.write(begin)
        for number in range(n_concepts):
            file.write(between if number else "")
            file.write(form(f"{X}{number}", list(concept(number, languages, draw))))
        file.write(end)


def measure(path: Path, graph: bool) -> None:
    """Print what reading took; run in a process of its own."""
    Path("/proc/self/clear_refs").write_text("5")
    before, clock = memory("VmRSS"), time.process_time()
    if graph:
        held = rdflib.Graph().parse(path, format=FORMATS[path.suffix[1:]])
        what = f"rdflib's graph, {len(held):,} statements"
    else:
        what = repr(read_label_text(path))
    seconds, peak = time.process_time() - clock, memory("VmHWM") - before
    print(
        f"{path.suffix:8} {path.stat().st_size / MB:4.0f} MB: {seconds:5.1f} s of processor time, "
        f"peak {peak / MB:4.0f} MB; {what}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--concepts", type=int, default=20_000)
    parser.add_argument("--languages", type=int, default=5)
    parser.add_argument("--formats", nargs="+", choices=list(WRITERS), default=list(WRITERS))
    parser.add_argument("--graph", action="store_true")
    options = parser.parse_args()
    print(f"rdflib {version('rdflib')}, Python {platform.python_version()}, {platform.machine()}")
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        for ending in options.formats:
            path = Path(folder, f"thesaurus.{ending}")
            write(path, options.concepts, TAGS[: options.languages])
            for graph in (False, True) if options.graph else (False,):
                process = fork.Process(target=measure, args=(path, graph))
                process.start()
                process.join()
            path.unlink()


if __name__ == "__main__":
    main()
