"""Tables of labels in every format give the same names; columns are found; bad files are told."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from rmls.core.errors import FileFormatError, InputError
from rmls.core.label_text import LabelText
from rmls.datasets import read_label_text, read_texts

ROWS: list[dict[str, Any]] = [
    {"id": "b1", "name": "bread", "alt": ["loaf", "Brot"], "definition": "baked", "parent": ""},
    {"id": "b2", "name": "rye bread", "alt": [], "definition": "", "parent": "b1"},
    {"id": "b3", "name": "café, large", "alt": ["coffee"], "definition": "", "parent": "b1"},
]


def as_csv(delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(ROWS[0])
    for row in ROWS:
        writer.writerow({**row, "alt": "|".join(row["alt"])}.values())
    return stream.getvalue().encode(encoding)


def files() -> dict[str, bytes]:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    by_id = {row["id"]: {k: v for k, v in row.items() if k != "id"} for row in ROWS}
    return {
        "labels.csv": as_csv(),
        "semicolon.csv": as_csv(";"),
        "wide.csv": as_csv(",", "utf-16"),
        "labels.tsv": as_csv("\t"),
        "labels.txt": as_csv("\t"),
        "labels.csv.gz": gzip.compress(as_csv()),
        "labels.jsonl": lines,
        "labels.jsonl.gz": gzip.compress(lines),
        "list.json": json.dumps(ROWS).encode(),
        "mapping.json": json.dumps(by_id).encode(),
    }


def check(text: LabelText) -> None:
    assert text.ids == ("b1", "b2", "b3")
    assert text.names == ("bread", "rye bread", "café, large")
    assert text.alternatives == (("loaf", "Brot"), (), ("coffee",))
    assert text.descriptions == ("baked", "", "")
    assert text.parents == ((), ("b1",), ("b1",))
    assert text.notes == ()
    assert "labels: id" in text.found
    assert "names: name" in text.found


@pytest.mark.parametrize("name", list(files()))
def test_text_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(files()[name])
    check(read_label_text(path))


@pytest.mark.parametrize("ending", ["parquet", "feather", "xlsx"])
def test_columnar_files_and_frames(ending: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    path = tmp_path / f"labels.{ending}"
    if ending == "xlsx":
        frame["alt"] = ["|".join(names) for names in frame["alt"]]
        frame.to_excel(path, index=False)
    else:
        getattr(frame, f"to_{ending}")(path)
    check(read_label_text(str(path)))
    check(read_label_text(frame))
    check(read_label_text({name: list(frame[name]) for name in frame}))


def test_numbers_and_gaps_of_a_spreadsheet() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [12.0, 13.0], "name": ["bread", None], "parent": [None, 12.0]})
    text = read_label_text(frame)
    assert (text.ids, text.names, text.parents) == (("12", "13"), ("bread", ""), ((), ("12",)))
    assert text.notes == ("1 label without a name",)


def write(tmp_path: Path, content: str | bytes, name: str = "labels.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("id,label", "id label"),
        ("label,name", "label name"),
        ("code,label", "code label"),
        ("skos:notation,skos:prefLabel", "skos:notation skos:prefLabel"),
        ("URI,Preferred Term", "URI Preferred Term"),
        ("tag,title", "tag title"),
        ("uri,label_en", "uri label_en"),
        ("uri,prefLabel@en", "uri prefLabel@en"),
    ],
)
def test_columns_are_found_by_their_names(header: str, roles: str, tmp_path: Path) -> None:
    text = read_label_text(write(tmp_path, f"{header}\nb1,bread\n"))
    assert (text.ids, text.names) == (("b1",), ("bread",))
    assert " ".join(note.split(": ")[1] for note in text.found[:2]) == roles


def test_all_columns_that_other_tools_write(tmp_path: Path) -> None:
    content = (
        "uri,id,notation,prefLabel,altLabel,hiddenLabel,definition,scopeNote,broader,related,status\n"
        "http://x/1,one,A1,bread,loaf;Brot,bred,baked,not cake,,http://x/2,ok\n"
        "http://x/2,two,A2,cake,,,,,http://x/1,,ok\n"
    )
    text = read_label_text(write(tmp_path, content))
    assert text.codes == (("one", "A1"), ("two", "A2"))
    assert text.alternatives == (("loaf", "Brot", "bred"), ())
    assert text.descriptions == ("baked not cake", "")
    assert text.parents == ((), ("http://x/1",))
    assert text.related == (("http://x/2",), ())
    assert "alternative names: altLabel, hiddenLabel, separated by ';'" in text.found


def test_a_group_of_labels_is_not_their_id(tmp_path: Path) -> None:
    text = read_label_text(write(tmp_path, "category,name\nfood,bread\nfood,cake\n", "x.csv"),
                           columns={"id": "name"})  # fmt: skip
    assert text.ids == ("bread", "cake")
    text = read_label_text(write(tmp_path, "code,category,name\n1,food,bread\n2,food,cake\n"))
    assert text.ids == ("1", "2")


def test_names_of_several_languages(tmp_path: Path) -> None:
    path = write(tmp_path, "uri,label_en,label_fi,altLabel_fi\nu1,bread,leipä,limppu\nu2,,kakku,\n")
    assert read_label_text(path).names == ("leipä", "kakku")
    assert read_label_text(path).language == "fi"
    english = read_label_text(path, language="en")
    assert (english.names, english.alternatives) == (("bread", ""), ((), ()))
    with pytest.raises(FileFormatError, match="no name is in the language 'sv'; there are: en, fi"):
        read_label_text(path, language="sv")


def test_columns_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path, "Kennung;Wort;Auch\n1;Brot;Laib, Wecken\n2;Kuchen;\n")
    columns = {"id": "Kennung", "name": "Wort", "alternatives": "Auch"}
    text = read_label_text(path, columns=columns, separator=",")
    assert (text.names, text.alternatives) == (("Brot", "Kuchen"), (("Laib", "Wecken"), ()))
    with pytest.raises(
        FileFormatError, match=r"there is no column 'Word'\. Its columns are: Kennung"
    ):
        read_label_text(path, columns={"name": "Word"})
    with pytest.raises(FileFormatError, match=r"is one of id, name, .* got 'nme'"):
        read_label_text(path, columns={"nme": "Wort"})


def test_a_comma_parts_alternative_names_only_where_no_name_has_one(tmp_path: Path) -> None:
    plain = write(tmp_path, 'id,name,synonyms\n1,bread,"loaf, Brot"\n')
    assert read_label_text(plain).alternatives == (("loaf", "Brot"),)
    inverted = write(tmp_path, 'id,name,synonyms\n1,"boat, sailing","ship, sailing"\n')
    assert read_label_text(inverted).alternatives == (("ship, sailing",),)


def test_files_without_names_of_columns(tmp_path: Path) -> None:
    two = read_label_text(write(tmp_path, '10\tboat, "big"\n12\tsea\n', "x.txt"))
    assert (two.ids, two.names) == (("10", "12"), ('boat, "big"', "sea"))
    assert two.found == ("no names of columns: a label and its name in every line",)
    one = read_label_text(write(tmp_path, "boat, sailing\nB12\n\n", "x.txt"))
    assert (one.ids, one.names) == (("boat, sailing", "B12"), ("boat, sailing", ""))
    brackets = read_label_text(write(tmp_path, "<http://x/1>\tbread\tA1\n", "x.tsv"))
    assert (brackets.ids, brackets.codes) == (("http://x/1",), (("A1",),))
    comma = read_label_text(write(tmp_path, 'b1,"a, b"\nb2,b2\n'))
    assert (comma.ids, comma.names) == (("b1", "b2"), ("a, b", "b2"))


def test_names_alone_are_the_labels(tmp_path: Path) -> None:
    for content, name in (("name\nbread\ncake\n", "x.csv"), ('["bread", "cake"]', "x.json")):
        text = read_label_text(write(tmp_path, content, name))
        assert text.ids == text.names == ("bread", "cake")


def test_mappings() -> None:
    plain = read_label_text({"b1": "bread", 2: ["cake", "gateau"], "b3": None})
    assert (plain.ids, plain.names) == (("b1", "2", "b3"), ("bread", "cake", ""))
    assert plain.alternatives == ((), ("gateau",), ())
    nested = read_label_text({"b1": {"name": "bread", "parents": ["b2"]}, "b2": "food", "b3": None})
    assert (nested.names, nested.parents) == (("bread", "food", ""), (("b2",), (), ()))
    assert read_label_text(plain) is plain


def test_parents_may_be_written_as_names_or_codes() -> None:
    text = read_label_text(
        {"id": ["http://x/1", "http://x/2", "http://x/3", "http://x/4"], "code": list("abcd"),
         "name": ["Food", "bread", "rye", "bun"], "parent": [None, "food", "b", "2|a|bread"]}
    )  # fmt: skip
    assert text.parents == ((), ("http://x/1",), ("http://x/2",), ("http://x/2", "http://x/1"))


def test_circles_are_cut_and_missing_parents_left_out() -> None:
    rows = {"id": list("abcde"), "parent": ["b", "c", "a", "d", "q"], "name": list("vwxyz")}
    text = read_label_text(rows)
    assert text.parents == (("b",), ("c",), (), (), ())
    assert text.notes == (
        "1 parent not in the file (q)",
        "2 parents left out that would stand above and below the same label (a above c)",
    )


def test_a_name_twice_is_said() -> None:
    text = read_label_text({"a": "bank", "b": "bank", "c": "shore"})
    assert text.notes == ("1 name shared by several labels, 2 in all (bank)",)


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("id,name\na,x\nb,y\na,z\n", "x.csv", "row 1 and row 3 are both the label 'a'; a label"),
        ("a\tx\nb\ty\na\tz\n", "x.txt", "row 1 and row 3 are both the label 'a'"),
        ('{"a": "x", "a": "y"}', "x.json", "the label 'a' is there twice"),
        ("id,name\n,x\n", "x.csv", "row 1, column 'id': the label is empty"),
        ("\tx\n", "x.txt", "row 1, column 1: the label is empty"),
        ("a,b,c,d\n1,2,3,4\n", "x.csv", "no column is called label, id or name; say which ones"),
        ("a\tb\tc\td\n", "x.txt", "no column is called label, id or name"),
        ("id,name,title\n1,2,3\n", "x.csv", "'name' and 'title' may both hold the names"),
        ("", "x.csv", "the file is empty"),
        ("id,name\n", "x.csv", "there is no label in it"),
        ("[1, 2]", "x.json", "row 1 must be a JSON object with names; got int"),
        ("7", "x.json", "labels are a JSON object or a list"),
        ("{", "x.json", "line 1: this is no JSON"),
        ('{"id": "a", "name": {"en": "x"}}\n', "x.jsonl", "row 1, column 'name': a text is needed"),
        ("id,name\na\n", "x.csv", "row 1 has 1 cells but the header has 2"),
        ("id,name\na,caf\u00e9\n".encode("cp1252"), "x.csv", "line 2: character 6 is not in"),
        ("a\tcaf\u00e9\n".encode("cp1252"), "x.txt", "line 1: character 6 is not in the encoding"),
        (b"id\0,name\n", "x.csv", "the file is binary"),
        ("a b", "x.dat", "say what it is; the formats of label text are: csv"),
        (b"not gzip", "x.csv.gz", "the compressed file is damaged"),
        (b"not parquet", "x.parquet", "the file is damaged"),
    ],
)  # fmt: skip
def test_bad_files_are_one_sentence(content: Any, name: str, said: str, tmp_path) -> None:
    path = write(tmp_path, content, name)
    with pytest.raises(FileFormatError) as caught:
        read_label_text(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize("read", [read_label_text, read_texts])
def test_bytes_that_cannot_be_unpacked_or_decoded(read: Any, tmp_path: Path) -> None:
    """Also where the reader looks ahead, before it reads line by line."""
    packed = bytearray(gzip.compress(as_csv()))
    packed[10] = 0xFF
    with pytest.raises(FileFormatError, match="the compressed file is damaged"):
        read(write(tmp_path, bytes(packed), "x.csv.gz"))
    with pytest.raises(FileFormatError, match="this is no text"):
        read(write(tmp_path, as_csv(",", "utf-16")[:-1], "x.csv"))


def test_what_is_no_label_text_is_refused(tmp_path: Path) -> None:
    for wrong in (7, ["bread"], None):
        with pytest.raises(InputError, match="label text is a file, a mapping"):
            read_label_text(wrong)
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_label_text(tmp_path / "absent.csv")
    with pytest.raises(FileFormatError, match="from a file, not from standard input"):
        read_label_text("-")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "size", "first"),
    [
        ("eurlex57k", 4271, ("10", "domestic trade")),
        ("tate", 16208, ("1:21st century", "1:21st century")),
        ("cooking", 736, ("acidity", "acidity")),
    ],
)
def test_label_files_of_the_real_data(name: str, size: int, first: Any, data_dir: Path) -> None:
    text = read_label_text(data_dir / f"{name}.labels.txt")
    assert len(text) == size
    assert (text.ids[0], text.names[0]) == first
    aligned = text.align(text.ids[::-1])
    assert aligned.matched == {"id": size}
    assert aligned.names[-1] == first[1]
