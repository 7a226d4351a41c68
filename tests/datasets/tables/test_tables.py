"""Tables of every format give the same rows, roles are found by name, and bad files are told."""

from __future__ import annotations

import bz2
import csv
import gc
import gzip
import io
import json
import lzma
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets.tables import chunks, iterate_texts, read_texts
from rmls.datasets.tables.delimited import read_delimited
from rmls.datasets.tables.label_cells import find_separator, split_cell

ROWS: list[dict[str, Any]] = [
    {"id": "a1", "title": 'Tax on "sugar"; sweet', "body": "two\nlines", "tags": ["tax", "food"]},
    {"id": "a2", "title": "Fischfang, Nordsee", "body": "über die See", "tags": ["sea"]},
    {"id": "a3", "title": "nothing known", "body": "", "tags": []},
    {"id": "a4", "title": "Tobacco", "body": "tax again", "tags": ["tax", "sea"]},
]
TEXTS = [(row["title"], row["body"]) for row in ROWS]
LABELS = [row["tags"] for row in ROWS]
Write = Callable[[Path], Path]


def as_csv(delimiter: str, separator: str, encoding: str = "utf-8") -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(ROWS[0])
    for row in ROWS:
        writer.writerow([row["id"], row["title"], row["body"], separator.join(row["tags"])])
    return stream.getvalue().encode(encoding)


def as_json_lines() -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def files() -> dict[str, bytes]:
    found = {
        "comma.csv": as_csv(",", "|"),
        "semicolon.csv": as_csv(";", "|"),
        "marked.csv": as_csv(",", ";", "utf-8-sig"),
        "wide.csv": as_csv(",", ";", "utf-16"),
        "rows.tsv": as_csv("\t", ";"),
        "rows.jsonl": as_json_lines(),
        "rows.json": json.dumps(ROWS).encode(),
        "rows.dat": as_json_lines(),
    }
    for pack, ending in ((gzip, ".gz"), (bz2, ".bz2"), (lzma, ".xz")):
        found[f"rows.csv{ending}"] = pack.compress(as_csv(",", ";"))
        found[f"rows.jsonl{ending}"] = pack.compress(as_json_lines())
    return found


@pytest.mark.parametrize("name", list(files()))
def test_text_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(files()[name])
    table = read_texts(path)
    assert table.fields == ("title", "body")
    assert [tuple(t.replace("\r\n", "\n") for t in row) for row in table.texts] == TEXTS
    assert table.labels == LABELS
    assert table.ids == ["a1", "a2", "a3", "a4"]
    assert table.n_unlabelled == 1
    assert any(note.startswith("text: title, body") for note in table.found)


def test_another_encoding_has_to_be_given(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(as_csv(",", ";", "cp1252"))
    with pytest.raises(
        FileFormatError, match="line 4: character 25 is not in the encoding of the file"
    ):
        read_texts(path)
    assert read_texts(path, encoding="cp1252").texts[1][1] == "über die See"
    with pytest.raises(InputError, match="no encoding called 'klingon'"):
        read_texts(path, encoding="klingon")


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".xlsx"])
def test_columnar_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    if ending == ".xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(list(ROWS[0]))
        for row in ROWS:
            book.active.append([row["id"], row["title"], row["body"], "; ".join(row["tags"])])
        book.save(path)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        table = pyarrow.Table.from_pylist(ROWS)
        if ending == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, str(path))
    read = read_texts(path)
    assert read.texts == TEXTS
    assert read.labels == LABELS


def frames() -> list[Any]:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    found: list[Any] = [columns]
    pandas = pytest.importorskip("pandas")
    found.append(pandas.DataFrame(columns))
    for library, make in (("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            module = __import__(library)
        except ImportError:
            continue
        found.append(getattr(module, make)(columns))
    return found


@pytest.mark.parametrize("table", frames(), ids=lambda table: type(table).__module__)
def test_tables_in_memory(table: Any) -> None:
    read = read_texts(table)
    assert read.texts == TEXTS
    assert read.labels == LABELS


def test_fasttext_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("__label__tax __label__food Tax on sugar\nNo label\n__label__sea the sea\n")
    table = read_texts(path)
    assert table.texts == [("Tax on sugar",), ("No label",), ("the sea",)]
    assert table.labels == [["tax", "food"], [], ["sea"]]


def test_a_folder_of_texts(tmp_path: Path) -> None:
    for name, text in (("a", "Tax on sugar"), ("b", "the sea"), ("c", "unknown")):
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "a.key").write_text("tax\nfood\n")
    (tmp_path / "b.tsv").write_text("<http://example.org/1>\tsea\n")
    table = read_texts(tmp_path)
    assert (table.ids, table.labels) == (["a", "b", "c"], [["tax", "food"], ["sea"], []])
    assert table.texts[0] == ("Tax on sugar",)


def test_columns_of_0_and_1(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,tax,sea\nsugar,1,0\nfish,0,1\nboth,True,true\nnone,,0\n")
    table = read_texts(path)
    assert table.labels == [["tax"], ["sea"], ["tax", "sea"], []]
    with pytest.raises(FileFormatError, match=r"row 1, column 'text'.*0 or 1; got 'sugar'"):
        read_texts(path, labels=["tax", "text"], text="sea")


def test_a_file_is_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmls.datasets.tables.delimited.CHUNK_ROWS", 3)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 3)
    for name, lines in (
        ("a.csv", ["text,labels", *(f"t{i},l{i}" for i in range(8))]),
        ("a.jsonl", [f'{{"text": "t{i}", "labels": "l{i}"}}' for i in range(8)]),
    ):
        path = tmp_path / name
        path.write_text("\n".join(lines))
        parts = list(iterate_texts(path))
        assert [len(part) for part in parts] == [3, 3, 2]
        assert read_texts(path).texts == [(f"t{i}",) for i in range(8)]


def test_other_columns_are_kept_when_asked_for() -> None:
    table = read_texts({"text": ["a"], "price": [3], "labels": ["x"]}, keep_other=True)
    assert table.row(0) == {"text": "a", "price": 3, "labels": "x"}


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["tax; law", "law", "sea; law; tax"], ";"),
        (["tax|law", "law"], "|"),
        (["tax, law", "law", "tax", "law, tax"], ","),
        (["<tax><law>", "<sea>"], "<>"),
        (["Smith, John", "Doe, Jane", "Roe, Rick"], None),
        (["New York", "New Delhi", "Rome"], None),
        (["a b", "b c", "a c", "a b c", "c a", "b a", "c b"], " "),
        (["tax", "law"], None),
        ([], None),
    ],
    ids=str,
)
def test_the_separator_is_found(cells: list[str], separator: str | None) -> None:
    assert find_separator(cells) == separator


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("tax;law;;tax ", ["tax", "law"]),
        ('["a;b", "c"]', ["a;b", "c"]),
        ([1, "two"], ["1", "two"]),
        (7, ["7"]),
        (float("nan"), []),
        ("[broken; law", ["[broken", "law"]),
    ],
    ids=str,
)
def test_cells_are_cut_into_labels(cell: Any, labels: list[str]) -> None:
    assert split_cell(cell, ";") == labels


BAD = {
    "empty.csv": (b"", "the file is empty"),
    "ragged.csv": (b"text,labels\na,b\nc\n", "line 3: row 2 has 1 cells but the header has 2"),
    "open.csv": (b'text,labels\n"a,b\n', "row 1: a quotation mark is not closed"),
    "quote.csv": (b'text,labels\n"a"x,b\n', "row 1: a quotation mark inside a cell"),
    "twice.csv": (b"text,text\na,b\n", "two columns are called 'text'"),
    "binary.csv": (b"text,labels\na\0,b\n", "binary"),
    "mixed.csv": (
        "text,labels\na,ü\n".encode() + b"\xfc,b\n",
        "line 3: character 1 is not in the encoding",
    ),
    "broken.jsonl": (b'{"text": "a"}\n{"text": \n', "line 2: this is no JSON object"),
    "list.jsonl": (b"[1]\n", "line 1: row 1 must be a JSON object"),
    "deep.jsonl": (b"[" * 100_000, "line 1: this is no JSON object"),
    "half.jsonl": (b'{"text": "a", "lab', "line 1: this is no JSON object"),
    "object.json": (b"{}", "must be a list of objects"),
    "damaged.csv.gz": (gzip.compress(b"text,labels\n" * 99)[:40], "damaged"),
    "damaged.csv.xz": (b"\xfd7zXZ\0junk", "damaged"),
    "bad.parquet": (b"PAR1", "damaged"),
    "bad.xlsx": (b"PK", "no Excel file"),
    "cell.jsonl": (b'{"text": {"a": 1}, "labels": []}\n', "row 1, column 'text': a text is needed"),
    "label.jsonl": (
        b'{"text": "a", "labels": []}\n{"text": "a", "labels": [{}]}\n',
        "row 2, column 'labels'",
    ),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_files_are_told_in_one_sentence(name: str, tmp_path: Path) -> None:
    if name.endswith((".parquet", ".xlsx")):
        pytest.importorskip("pyarrow" if "parquet" in name else "openpyxl")
    content, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as error:
        read_texts(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_huge_cell_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge.csv"
    path.write_text("text,labels\nok,a\n" + "x" * 300_000 + ",b\n")
    assert len(read_texts(path).texts[1][0]) == 300_000
    monkeypatch.setattr("rmls.datasets.tables.delimited.MAX_CELL", 1000)
    with pytest.raises(FileFormatError, match=r"line 3: .*more than 1,000 characters"):
        read_texts(path)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["a", "b", "labels"], {}, "say which ones hold the texts. Its columns are: a, b."),
        (["text", "b"], {"needs_labels": True}, "say which one holds the labels"),
        (["text", "tags", "labels"], {}, "'tags' and 'labels' may both hold the labels"),
        (["text", "labels"], {"text": "txt"}, "no column 'txt'. Its columns are: text, labels."),
        (["text", "labels"], {"labels": "x"}, "no column 'x'"),
        (["text", "labels"], {"id": "x"}, "no column 'x'"),
    ],
    ids=str,
)
def test_roles_that_cannot_be_told(columns: list[str], options: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_texts({name: ["cell"] for name in columns}, **options)
    assert message in str(error.value)


def test_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="got int"):
        read_texts(3)
    with pytest.raises(InputError, match="formats of tables are"):
        read_texts(tmp_path / "missing")
    with pytest.raises(FileFormatError, match="no such file"):
        read_texts(tmp_path / "missing.csv")
    with pytest.raises(FileFormatError, match=r"holds no \.txt files"):
        read_texts(tmp_path)


BESIDE = {
    "title": ["one", "two", "three"],
    "category": ["a", "b", ""],
    "price": ["3", "", 2.5],
    "sold": [0, 1, 1],
    "rare": [1, 0, 0],
    "tags": ["x|y", "x", "y"],
}


def test_columns_beside_the_texts_are_read_and_kept() -> None:
    table = read_texts(BESIDE, categories=["category"], numbers=["price"])
    assert table.fields == ("title",)
    assert table.labels == [["x", "y"], ["x"], ["y"]]
    assert list(table.columns) == ["title", "category", "price"]
    assert table.beside["category"] == ["a", "b", ""]
    assert table.beside["price"][::2] == [3.0, 2.5]
    assert math.isnan(table.beside["price"][1])
    taken = table.take([2, 0])
    assert (taken.beside["category"], taken.beside["price"]) == (["", "a"], [2.5, 3.0])
    again = table.take([0])
    again.extend(taken)
    assert again.beside["category"] == ["a", "", "a"]


def test_a_column_with_a_role_is_neither_text_nor_labels() -> None:
    switches = {name: BESIDE[name] for name in ("title", "sold", "rare")}
    assert read_texts(switches).labels == [["rare"], ["sold"], ["sold"]]
    assert read_texts({**switches, "more": [0, 0, 1]}, numbers=["more"]).labels is not None
    assert read_texts(switches, numbers=["sold"]).labels is None
    named = read_texts({"title": ["a"], "name": ["b"]}, categories=["name"])
    assert (named.fields, named.beside) == (("title",), {"name": ["b"]})


def test_columns_alone_are_rows_without_texts() -> None:
    table = read_texts({"id": [7, 8], "price": [1, 2], "tags": ["x", "y"]}, numbers=["price"])
    assert (len(table), table.fields, table.texts, table.ids) == (2, (), [(), ()], [7, 8])
    assert "text: none" in table.found


def test_columns_may_be_missing_where_it_is_said() -> None:
    with pytest.raises(InputError, match="has no column 'colour'"):
        read_texts(BESIDE, categories=["colour"])
    table = read_texts(BESIDE, categories=["colour", "category"], may_lack=True)
    assert (list(table.beside), table.missing) == (["category"], ("colour",))


def test_a_bad_cell_beside_the_texts_is_told_by_row_and_column(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "a", "n": 1, "c": "x"}\n{"text": "b", "n": "?", "c": {"d": 1}}\n')
    with pytest.raises(FileFormatError, match=r"row 2, column 'n': a number is needed; got '\?'"):
        read_texts(path, numbers=["n"])
    with pytest.raises(FileFormatError, match="row 2, column 'c': a category is a name"):
        read_texts(path, categories=["c"])


@pytest.mark.parametrize(
    "cells",
    [
        ["['tax', 'sea law']", "['tax']", "[]"],
        ["{'sea law', 'tax'}", "{'tax'}", ""],
        ["('tax', 'sea law')", "('tax',)", ""],
        ["['tax' 'sea law']", "['tax']", "[]"],
        ['["tax", "sea law"]', '["tax"]', "[]"],
    ],
)
def test_lists_are_read_as_data_frames_write_them(cells: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    lines = [f"text {row}\t{cell}" for row, cell in enumerate(cells)]
    path.write_text("\n".join(["text\tlabels", *lines]) + "\n")
    found = read_texts(path).labels
    assert found is not None
    assert [sorted(names) for names in found] == [["sea law", "tax"], ["tax"], []]


def test_names_in_brackets_are_no_lists(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,labels\na,(USA) law|[draft\nb,[draft\nc,(USA) law\n")
    assert read_texts(path).labels == [["(USA) law", "[draft"], ["[draft"], ["(USA) law"]]


def test_who_reads_a_part_of_a_file_hears_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.csv"
    path.write_text("text\n" + "a line of some length\n" * 20_000)
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    reading = read_delimited(path, None, None)
    assert len(next(reading).columns["text"]) == chunks.CHUNK_ROWS
    del reading
    gc.collect()
    assert told == []
