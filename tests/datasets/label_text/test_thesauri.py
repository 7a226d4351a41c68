"""Thesauri in SKOS: every format gives the same labels, and no file can harm or fetch."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rmls.core.errors import FileFormatError, MissingExtraError
from rmls.core.label_text import LabelText
from rmls.datasets import read_label_text

rdflib = pytest.importorskip("rdflib")

X = "http://x.org/"
PREFIXES = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://x.org/> .
"""
THESAURUS = (
    PREFIXES
    + """
:scheme a skos:ConceptScheme ; skos:prefLabel "Breads of the world"@en ; skos:hasTopConcept :food .
:rare a skos:Collection ; skos:prefLabel "rare"@en ; skos:member :rye .
:food a skos:Concept ; skos:topConceptOf :scheme ; skos:prefLabel "food"@en, "Nahrung"@de ;
    skos:narrower :bread .
:bread a skos:Concept ; skos:prefLabel "bread"@en, "Brot"@de, "leipä"@fi ; skos:notation "A1" ;
    skos:altLabel "loaf"@en, "Laib"@de ; skos:hiddenLabel "bred"@en ;
    skos:definition "baked dough"@en, "gebackener Teig"@de ; skos:scopeNote "not cake"@en .
:rye a skos:Concept ; skos:prefLabel "rye bread"@en, "Roggenbrot"@de ; skos:broader :bread ;
    skos:related :bread ; skos:exactMatch <http://other.org/rye> .
:horse a skos:Concept ; skos:prefLabel "horse butter"@en ; owl:deprecated true .
:bretzel a skos:Concept ; skos:prefLabel "Brezel"@de ; skos:altLabel "Breze"@de ;
    skos:broader :bread .
"""
)
ENDINGS = {"rdf": "xml", "xml": "pretty-xml", "ttl": "turtle", "nt": "nt", "jsonld": "json-ld"}
Write = Callable[[str | bytes, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(content: str | bytes, name: str) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


def serialized(turtle: str, ending: str) -> bytes:
    """The same statements in another format, written by rdflib in an order of its own."""
    graph = rdflib.Graph().parse(data=turtle, format="turtle")
    return graph.serialize(format=ENDINGS[ending], encoding="utf-8")


def by_id(text: LabelText) -> dict[str, Any]:
    rows = zip(text.names, text.alternatives, text.descriptions, text.parents, text.codes,
               text.related, strict=True)  # fmt: skip
    return {
        id.removeprefix(X): (name, sorted(others), described, parents, codes, related)
        for id, (name, others, described, parents, codes, related) in zip(
            text.ids, rows, strict=True
        )
    }


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ending", list(ENDINGS))
def test_every_format_gives_the_same_labels(ending: str, packed: bool, write: Write) -> None:
    content = serialized(THESAURUS, ending)
    if packed:
        path = write(gzip.compress(content), f"breads.{ending}.gz")
    else:
        path = write(content, f"breads.{ending}")
    text = read_label_text(path)
    assert by_id(text) == {
        "food": ("food", [], "", (), (), ()),
        "bread": ("bread", ["bred", "loaf"], "baked dough not cake", (f"{X}food",), ("A1",), ()),
        "rye": ("rye bread", [], "", (f"{X}bread",), (), (f"{X}bread",)),
        "horse": ("horse butter", [], "", (), (), ()),
        "bretzel": ("Brezel", ["Breze"], "", (f"{X}bread",), (), ()),
    }
    assert text.deprecated == {f"{X}horse"}
    assert text.language == "en"
    assert text.found == ("SKOS: 5 concepts", "language: en, of 4 names; also de, fi")
    assert text.notes == ("1 label without a name in 'en', called by another language (de)",)
    assert logging.getLogger("rdflib").disabled is False


def test_the_language_can_be_chosen(write: Write) -> None:
    path = write(THESAURUS, "breads.ttl")
    german = by_id(read_label_text(path, language="DE"))
    assert german["bread"][:3] == ("Brot", ["Laib"], "gebackener Teig")
    finnish = read_label_text(path, language="fi")
    names = by_id(finnish)
    assert [names[id][0] for id in ("bread", "food", "bretzel")] == ["leipä", "food", "Brezel"]
    assert finnish.notes == (
        "4 labels without a name in 'fi', called by another language (de, en)",
    )
    with pytest.raises(
        FileFormatError, match="no name is in the language 'sv'; there are: de, en, fi"
    ):
        read_label_text(path, language="sv")


def test_kin_of_a_language_go_before_others(write: Write) -> None:
    content = PREFIXES + (
        ':a a skos:Concept ; skos:prefLabel "colour"@en-GB, "Farbe"@de .'
        ':a skos:altLabel "tint"@en-US .'
        ':b a skos:Concept ; skos:prefLabel "plain", "Ebene"@de .'
        ':c a skos:Concept ; skos:prefLabel "one"@en, "two"@en .'
    )
    text = read_label_text(write(content, "x.ttl"), language="en")
    assert text.names == ("colour", "plain", "one")
    assert text.alternatives == (("tint",), (), ("two",))
    assert text.notes == ()


def test_names_without_a_language(write: Write) -> None:
    content = PREFIXES + ':a a skos:Concept ; skos:prefLabel "bread" . :b skos:prefLabel "cake" .'
    text = read_label_text(write(content, "x.ttl"))
    assert (text.ids, text.names, text.language) == ((f"{X}a", f"{X}b"), ("bread", "cake"), None)
    assert text.found == ("SKOS: 2 concepts",)


def test_names_that_are_things_of_their_own(write: Write) -> None:
    """SKOS-XL, as EuroVoc and AGROVOC have it; also where the thing has no address."""
    content = PREFIXES + (
        ':a a skos:Concept ; xl:prefLabel :l1 ; xl:altLabel [ xl:literalForm "loaf"@en ] .'
        ':l1 a xl:Label ; xl:literalForm "bread"@en . :b a skos:Concept ; rdfs:label "cake"@en .'
    )
    for ending in ENDINGS:
        text = read_label_text(write(serialized(content, ending), f"x.{ending}"))
        assert dict(zip(text.ids, text.names, strict=True)) == {f"{X}a": "bread", f"{X}b": "cake"}
        assert text.alternatives[text.ids.index(f"{X}a")] == ("loaf",)


def test_circles_are_cut_below_the_top(write: Write) -> None:
    content = PREFIXES + (
        ':a a skos:Concept ; skos:prefLabel "a b" ; skos:broader :b . '
        ':b a skos:Concept ; skos:prefLabel "b c" ; skos:broader :c . '
        ':c a skos:Concept ; skos:prefLabel "c a" ; skos:broader :a . '
    )
    for top in "abc":
        said = read_label_text(write(f"{content} :{top} skos:topConceptOf :s .", "x.ttl"))
        parents = dict(zip(said.ids, said.parents, strict=True))
        assert parents.pop(X + top) == ()
        assert all(parents.values())
        assert "1 parent left out" in said.notes[0]


def test_a_parent_that_is_no_concept_is_left_out(write: Write) -> None:
    content = PREFIXES + ':a a skos:Concept ; skos:prefLabel "bread" ; skos:broader :gone .'
    text = read_label_text(write(content, "x.ttl"))
    assert text.parents == ((),)
    assert text.notes == ("1 parent not in the file (http://x.org/gone)",)


def test_a_model_that_knows_last_parts_notations_or_names(write: Write) -> None:
    text = read_label_text(write(THESAURUS, "breads.ttl"))
    aligned = text.align(["rye", "BREAD"])
    assert aligned.names[:2] == ("rye bread", "bread")
    assert aligned.labels[2:] == ("food", "bretzel")
    assert aligned.parents == ((1,), (2,), (), (1,))
    assert text.align(["a1", "Rye Bread"]).names[:2] == ("bread", "rye bread")


def test_relative_addresses_do_not_tell_where_the_file_lay(write: Write) -> None:
    xml = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:skos="http://www.w3.org/2004/02/skos/core#">'
        '<skos:Concept rdf:ID="bread"><skos:prefLabel>bread</skos:prefLabel></skos:Concept>'
        "</rdf:RDF>"
    )
    assert read_label_text(write(xml, "x.rdf")).ids == ("file:///x.rdf#bread",)
    assert read_label_text(write(xml, "x.rdf")).align(["bread"]).names == ("bread",)


def test_json_with_a_context_is_a_thesaurus(write: Write) -> None:
    content = {
        "@context": {"skos": "http://www.w3.org/2004/02/skos/core#", "prefLabel": "skos:prefLabel"},
        "@graph": [{"@id": "http://x.org/a", "@type": "skos:Concept", "prefLabel": "bread"}],
    }
    assert read_label_text(write(json.dumps(content), "x.json")).names == ("bread",)


def test_the_extra_is_named_where_it_is_missing(write: Write, monkeypatch) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "rdflib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "rdflib", None)
    for ending in ENDINGS:
        with pytest.raises(MissingExtraError, match=r"pip install 'rmls\[thesauri\]'"):
            read_label_text(write("{}", f"x.{ending}"))


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("<a><b></a>", "x.rdf", "line 1: this is no RDF in XML (mismatched tag)"),
        ("<html><body>hello</body></html>", "x.xml", "it holds no concept of SKOS"),
        ("<a xmlns='http://y.org/'><b>hello</b></a>", "x.xml", "it holds no concept"),
        ("bread,cake", "x.rdf", "line 1: this is no XML (syntax error)"),
        ("", "x.rdf", "this is no XML (no element found)"),
        ("", "x.ttl", "it holds no concept of SKOS, among 0 statements"),
        (b"\xff\xfe\x00\x01", "x.rdf", "this is no XML"),
        (f"{PREFIXES}\n:a skos:prefLabel bread .", "x.ttl", "line 8: this is no Turtle"),
        (":a :b :c .", "x.ttl", 'line 1: this is no Turtle (Prefix ":" not bound)'),
        ("[" * 100_000, "x.ttl", "this is no Turtle (nested too deeply)"),
        (f"{PREFIXES} :a a skos:ConceptScheme .", "x.ttl", "SKOS, among 1 statement"),
        ("café".encode("cp1252"), "x.ttl", "line 1: character 4 is not in the encoding"),
        ("café".encode("cp1252"), "x.nt", "line 1: character 4 is not in the encoding"),
        ('<a:b> <http://www.w3.org/2004/02/skos/core#prefLabel> "bread"\n', "x.nt",
         "line 1: this is no statement of N-Triples"),
        ("hello\n", "x.nt", "it holds no concept of SKOS"),
        ("[" * 100_000, "x.jsonld", "this is no JSON (nested too deeply)"),
        ('{"@graph": 7, "@context": 7}', "x.jsonld", "this is no JSON-LD"),
        ("7", "x.jsonld", "x.jsonld: "),
        (b"not gzip", "x.rdf.gz", "the compressed file is damaged"),
        (gzip.compress(b"<rdf:RDF/>" * 9999)[:-30], "x.nt.gz", "the compressed file is damaged"),
    ],
)  # fmt: skip
def test_bad_files_are_one_sentence(content: Any, name: str, said: str, write: Write) -> None:
    path = write(content, name)
    with pytest.raises(FileFormatError) as caught:
        read_label_text(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert said in message
    assert "\n" not in message
    assert len(message) < len(str(path)) + 250


# -- files that would grow, and files that would fetch ---------------------------------------------

RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:skos="http://www.w3.org/2004/02/skos/core#"><skos:Concept rdf:about="http://x.org/a">'
    "<skos:prefLabel>{}</skos:prefLabel></skos:Concept></rdf:RDF>"
)


def nested(levels: int = 30) -> str:
    lines = ['<!ENTITY l0 "lollollol">']
    lines += [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, levels)]
    return f"<!DOCTYPE r [{''.join(lines)}]>" + RDF.format(f"&l{levels - 1};")


BOMBS = {
    "nested": nested(),
    "nested in an attribute": nested().replace("<rdf:RDF ", '<rdf:RDF a="&l29;" '),
    "hidden": '<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&#38;a;&#38;a;">]>' + RDF.format("&b;"),
    "long": f'<!DOCTYPE r [<!ENTITY a "{"a" * 100_000}">]>' + RDF.format("&a;" * 100_000),
    "default": f'<!DOCTYPE r [<!ATTLIST rdf:RDF b CDATA "{"a" * 1000}">]>' + RDF.format("bread"),
    "external": '<!DOCTYPE r [<!ENTITY a SYSTEM "http://y.org/a">]>' + RDF.format("&a;"),
    "file": '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + RDF.format("&a;"),
    "parameter": '<!DOCTYPE r [<!ENTITY % a SYSTEM "http://y.org/a.dtd"> %a;]>' + RDF.format("a"),
}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every attempt to reach another machine or to open an address."""
    attempts: list[str] = []

    def refuse(*args: Any, **_: Any) -> Any:
        attempts.append(str(args))
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refuse)
    yield attempts
    assert attempts == []


@pytest.mark.parametrize("kind", list(BOMBS))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_cannot_grow_or_fetch(kind: str, encoding: str, write: Write, watched) -> None:
    path = write(BOMBS[kind].encode(encoding), "x.rdf")
    start = time.process_time()
    with pytest.raises(FileFormatError, match=r"nothing is fetched|grow without bound"):
        read_label_text(path)
    # Unfolded it would be 10**30 letters; processor time, because machines are busy.
    assert time.process_time() - start < 20


def test_short_names_of_namespaces_are_allowed(write: Write, watched) -> None:
    """As ontology editors write them; the DTD that is named is not fetched."""
    content = (
        '<!DOCTYPE rdf:RDF SYSTEM "http://y.org/rdf.dtd" '
        '[<!ENTITY skos "http://www.w3.org/2004/02/skos/core#">]>'
        + RDF.replace("http://www.w3.org/2004/02/skos/core#", "&skos;").format("bread &amp; butter")
    )
    assert read_label_text(write(content, "x.rdf")).names == ("bread & butter",)


CONTEXTS = [
    "http://y.org/context.jsonld",
    ["http://y.org/context.jsonld"],
    [{"a": "http://a.org/"}, "context.jsonld"],
    {"@import": "http://y.org/context.jsonld"},
    {"a": {"@id": "http://a.org/", "@context": "file:///etc/passwd"}},
]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("inside", [False, True])
def test_json_fetches_no_context(context: Any, inside: bool, write: Write, watched) -> None:
    node: dict[str, Any] = {"@id": "http://x.org/a", "@type": "a", "a": {"@id": "http://b.org"}}
    whole = {"@graph": [{**node, "@context": context}]} if inside else {"@context": context, **node}
    with pytest.raises(FileFormatError, match="is not in the file; nothing is fetched"):
        read_label_text(write(json.dumps(whole), "x.jsonld"))


@pytest.mark.parametrize("ending", list(ENDINGS))
def test_imports_and_addresses_are_not_followed(ending: str, write: Write, watched) -> None:
    content = THESAURUS + "<http://y.org/> a owl:Ontology ; owl:imports <http://y.org/other> ."
    assert len(read_label_text(write(serialized(content, ending), f"x.{ending}"))) == 5


def test_many_statements_that_say_nothing_take_no_memory(write: Write) -> None:
    """Only what is kept is held: a graph would hold all."""
    from rmls.datasets.label_text.thesauri.parsing import parse

    match = "".join(f":a skos:exactMatch <http://other.org/{n}> .\n" for n in range(3000))
    sieve = parse(write(THESAURUS + match, "x.ttl"), "turtle")
    assert sieve.n_statements > 3000
    assert sum(len(t.texts) + len(t.links) for t in sieve.things.values()) < 50
