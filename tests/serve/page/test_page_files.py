"""The files of the page: served as they should be, nothing inline, nothing from elsewhere."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from patience import patience
from places import REPOSITORY

pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

from fake_api import Behaviour, make_fake
from fastapi.testclient import TestClient

from rmls.serve.routes.page import page_files

FOLDER = REPOSITORY / "src" / "rmls" / "serve" / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
NAMES = sorted(p.relative_to(FOLDER).as_posix() for p in FOLDER.rglob("*") if p.is_file())
MODULES = [name for name in NAMES if name.endswith(".js") and name != "theme.js"]
VOID = {"br", "hr", "img", "input", "link", "meta"}
NAMESPACE = "http://www.w3.org/2000/svg"
MAX_LINES = 400


def read(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_fake(Behaviour()))


def test_there_are_files_to_look_at() -> None:
    assert len(MODULES) > 10
    assert sorted(page_files()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_served_with_its_type(client: TestClient, name: str) -> None:
    found = client.get(f"/page/{name}")
    assert found.status_code == 200
    assert found.headers["content-type"] == TYPES[PurePosixPath(name).suffix]
    assert found.content == (FOLDER / name).read_bytes()


def test_the_start_is_the_page(client: TestClient) -> None:
    found = client.get("/")
    assert found.headers["content-type"] == TYPES[".html"]
    assert found.text == read("index.html")


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'self'"
    assert "unsafe" not in policy
    assert not {"script-src", "style-src", "connect-src"}.intersection(rules)


def test_a_file_that_has_not_changed_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/page/app.js")
    assert first.headers["cache-control"] == "no-cache"
    for tag in (
        first.headers["etag"],
        "W/" + first.headers["etag"],
        '"x", ' + first.headers["etag"],
    ):
        again = client.get("/page/app.js", headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/app.js", headers={"If-None-Match": '"x"'}).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["", "nothing.js", "../app.py", "..%2Fapp.py", "%2e%2e/app.py", "/etc/passwd", "parts", "a\0b"],
)
def test_nothing_but_the_files_of_the_page_is_served(client: TestClient, name: str) -> None:
    found = client.get(f"/page/{name.replace(chr(0), '%00')}")
    assert found.status_code == 404
    assert "root:" not in found.text


class Markup(HTMLParser):
    """Collects what is wrong with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if len(given) != len(attrs):
            self.faults.append(f"{tag} has an attribute twice")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "style" or "style" in given or any(name.startswith("on") for name in given):
            self.faults.append(f"{tag} has a style or a handler of its own")
        if tag == "script" and not given.get("src"):
            self.faults.append("a script is inline")
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def test_the_markup_is_well_formed_and_has_nothing_inline() -> None:
    found = Markup()
    found.feed(read("index.html"))
    found.close()
    assert found.faults == []
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    files = [link.removeprefix("page/") for link in found.links if not link.startswith("#")]
    assert files
    assert set(files) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_file_names_another_server(name: str) -> None:
    text = read(name).replace(NAMESPACE, "")
    assert re.findall(r"(?:\b(?:https?|wss?)://|url\(|@import|[\"']//)\S*", text) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".js")])
def test_no_script_makes_markup_or_code_of_text(name: str) -> None:
    forbidden = r"(inner|outer|insertAdjacent)HTML|document\.write|\beval\(|new Function"
    forbidden += r"|setAttribute\(.style"
    assert re.findall(forbidden, read(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_the_page_has_at_most_400_lines(name: str) -> None:
    assert len(read(name).splitlines()) <= MAX_LINES


IMPORT = re.compile(r"import\s*\{([^}]*)\}\s*from\s*\"([^\"]+)\"|import\(\"([^\"]+)\"\)")
EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)


def target(name: str, address: str) -> str:
    assert address.startswith("."), f"{name} imports {address}"
    return (
        (FOLDER / name).parent.joinpath(address).resolve().relative_to(FOLDER.resolve()).as_posix()
    )


@pytest.mark.parametrize("name", MODULES)
def test_modules_import_only_what_exists_and_what_they_use(name: str) -> None:
    text = read(name)
    assert len(re.findall(r"\bfrom \"|\bimport\(", text)) == len(IMPORT.findall(text))
    for names, static, dynamic in IMPORT.findall(text):
        exported = set(EXPORT.findall(read(target(name, static or dynamic))))
        wanted = {each.strip() for each in names.split(",") if each.strip()}
        assert wanted <= exported
        for each in wanted:
            assert len(re.findall(rf"\b{each}\b", text)) > 1, f"{name} does not use {each}"


def test_every_module_is_reached_from_the_page() -> None:
    reached, waiting = set(), ["app.js"]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        found = {
            target(name, static or dynamic) for _, static, dynamic in IMPORT.findall(read(name))
        }
        waiting += sorted(found - reached)
    assert reached == set(MODULES)


def in_node(folder: Path, module: str, code: str, *values: Any) -> Any:
    """Run code with the exports of a module as ``m`` and values as ``v``; return its result."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    for name in MODULES:
        # Without a package.json beside it, node takes only .mjs for a module.
        copy = folder / name.replace(".js", ".mjs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r'(from ")([^"]+)\.js"', r'\1\2.mjs"', read(name)), "utf-8")
    program = folder / "run.mjs"
    start = f'import * as m from "./{module}.mjs"; import {{readFileSync}} from "node:fs";'
    start += 'const v = JSON.parse(readFileSync(0, "utf8"));'
    program.write_text(f"{start}\nconsole.log(JSON.stringify({code}));", "utf-8")
    found = subprocess.run(
        ["node", str(program)],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=patience(1),
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


ROWS = [
    ["id", "text", "note"],
    ["1", 'a "quoted", cell', "two\nlines"],
    ["2", "", "  spaces  "],
    ["3", "semi;colon\ttab|bar", "\r\nbreak first"],
    ["4", "名前 🚢", '"'],
    ["", "", ""],
]


def test_a_table_that_is_written_is_read_again(tmp_path: Path) -> None:
    formats = [
        {"delimiter": delimiter, "newline": newline}
        for delimiter in (",", ";", "\t", "|")
        for newline in ("\n", "\r\n", "\r")
    ]
    code = "v[1].map((f) => { const t = m.write(v[0], f); return [t, m.parse(t, f.delimiter),"
    code += " { delimiter: m.findDelimiter(t), newline: m.findNewline(t) }]; })"
    for text, rows, found in in_node(tmp_path, "parts/csv", code, ROWS, formats):
        assert rows == ROWS
        assert found in formats
        file = io.StringIO(text, newline="")
        assert list(csv.reader(file, delimiter=found["delimiter"])) == ROWS


def test_odd_tables_are_read_as_spreadsheets_do(tmp_path: Path) -> None:
    cases = {
        "a,b\n1,2": [["a", "b"], ["1", "2"]],
        "a,b\n\n1,\n": [["a", "b"], ["1", ""]],
        "a,b\r\n,": [["a", "b"], ["", ""]],
        'a\n"x" y,2\n': [["a"], ["x y", "2"]],
        'a\n"not closed,\nx': [["a"], ["not closed,\nx"]],
        'a,b"c\n': [["a", 'b"c']],
        "": [],
        "\n\n": [],
    }
    found = in_node(tmp_path, "parts/csv", "v[0].map((t) => m.parse(t, ','))", list(cases))
    assert found == list(cases.values())


def test_encodings_are_found(tmp_path: Path) -> None:
    text = "name,ort\nä,Köln – 🚢\n"
    cases = {
        "utf-8": False,
        "utf-8-sig": True,
        "utf-16": True,
    }
    coded = [list(text.encode(name)) for name in cases]
    coded.append(list("ä,Köln".encode("cp1252")))
    code = "v[0].map((b) => { const d = m.decode(Uint8Array.from(b)); return [d.text, d.bom]; })"
    found = in_node(tmp_path, "parts/csv", code, coded)
    assert found == [*([text, bom] for bom in cases.values()), ["ä,Köln", False]]


def test_the_text_column_is_guessed(tmp_path: Path) -> None:
    cases = [
        (["id", "text"], [["1", "x"]], 1),
        (["id", "Abstract", "tags"], [["1", "some words", "a|b"]], 1),
        (["a", "b", "c"], [["1", "some longer words", "x"]], 1),
        (["title", "full"], [["short", "a much longer text than the title " * 9]], 1),
    ]
    found = in_node(tmp_path, "parts/csv", "v[0].map(([h, r]) => m.guessText(h, r))", cases)
    assert found == [place for *_, place in cases]


def test_a_new_column_has_a_name_of_its_own(tmp_path: Path) -> None:
    code = "v[0].map((h) => m.freeName(h, 'labels'))"
    found = in_node(tmp_path, "parts/csv", code, [["a"], ["Labels"], ["labels", "labels_2"]])
    assert found == ["labels", "labels_2", "labels_3"]


def test_words_are_marked_by_characters_not_by_code_units(tmp_path: Path) -> None:
    text = "🚢🚢 boat 𝒳 sea"
    words = [
        {"start": text.index(w), "end": text.index(w) + len(w), "part": 1} for w in ("boat", "sea")
    ]
    found = in_node(tmp_path, "parts/marks", "m.pieces(v[0], v[1])", text, words)
    assert [piece["text"] for piece in found if piece["part"]] == ["boat", "sea"]
    assert "".join(piece["text"] for piece in found) == text


def test_words_outside_the_text_or_upon_each_other_do_no_harm(tmp_path: Path) -> None:
    spans = [(0, 3), (2, 5), (4, 4), (3, 99), (6, 9)]
    words = [{"start": start, "end": end, "part": 1} for start, end in spans]
    found = in_node(tmp_path, "parts/marks", "m.pieces(v[0], v[1])", "one two three", words)
    assert "".join(piece["text"] for piece in found) == "one two three"


def test_batches_are_small_and_hold_every_text_once(tmp_path: Path) -> None:
    texts = ["x" * size for size in (1, 500, 30, 900, 1, 1, 1, 1)]
    found = in_node(tmp_path, "parts/batch", "m.cut(v[0], 3, 600)", texts)
    assert [place for start, end in found for place in range(start, end)] == list(range(8))
    for start, end in found:
        assert end - start <= 3
        assert end - start == 1 or sum(map(len, texts[start:end])) <= 600


def test_the_time_to_wait_is_read_as_seconds_or_as_a_date(tmp_path: Path) -> None:
    texts = ["3", "0", "Thu, 01 Jan 1970 00:00:10 GMT", "soon", None]
    found = in_node(tmp_path, "parts/api", "v[0].map((t) => m.readWait(t, 4000))", texts)
    assert found == [3, 0, 6, None, None]
