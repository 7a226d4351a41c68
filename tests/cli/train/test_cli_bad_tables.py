"""Bad files of texts: one sentence with row and column, and never half a model."""

from __future__ import annotations

import gzip

import pytest
from text_samples import write_csv

FAST = ("--method", "RMLS", "--components", "4", "--passes", "1", "--jobs", "1")
HEAD = "id,text,labels\n"
GOOD = HEAD + "1,a tax on sugar,tax;food\n2,fishing in the sea,sea\n"

BAD = {
    "ragged.csv": (GOOD + "3,one,two,three\n", "line 4: row 3 has 4 cells but the header has 3"),
    "short.csv": (GOOD + "3,one\n", "line 4: row 3 has 2 cells but the header has 3"),
    "quote.csv": (GOOD + '3,"one,two\n', "a quotation mark is not closed before the end"),
    "inside.csv": (GOOD + '3,"one"two,a\n', "a quotation mark inside a cell is not doubled"),
    "column.csv": ("a,b\n1,2\n", "no column is called labels or tags; say which one"),
    "texts.csv": ("a,b,labels\n1,2,x\n", "no column is called text or title; say which ones"),
    "twice.csv": ("text,text,labels\na,b,c\n", "line 1: two columns are called 'text'"),
    "half.jsonl": ('{"text": "a", "labels": ["x"]}\n{"text": "b", "lab', "line 2: this is no JSON"),
    "list.jsonl": ('{"text": "a", "labels": ["x"]}\n[1]\n', "row 2 must be a JSON object"),
    "nested.jsonl": (
        '{"text": "a", "labels": [{"x": 1}]}\n',
        "row 1, column 'labels': a label is a name or a number; got {'x': 1}",
    ),
    "object.jsonl": (
        '{"text": "a", "labels": ["x"]}\n{"text": {"b": 1}, "labels": ["x"]}\n',
        "row 2, column 'text': a text is needed; got dict",
    ),
    "empty.csv": ("", "the file is empty"),
    "header.csv": (HEAD, "no row has a label; there is nothing to learn from"),
    "bare.csv": (HEAD + "1,a,\n2,b,\n", "no row has a label; there is nothing to learn from"),
    "wordless.csv": (HEAD + "1,?!,x\n2,...,y\n", "the texts hold no words to learn from"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence_and_no_model(name, fails, tmp_path):
    content, told = BAD[name]
    path = tmp_path / name
    path.write_text(content, "utf-8")
    sentence = fails("train", path, "-o", tmp_path / "m", *FAST, "--quiet")
    assert told in sentence
    assert sentence.startswith(str(path))
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_an_empty_label_cell_is_a_row_without_labels(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(GOOD + "3,a text without labels,\n4,a law,tax\n")
    result = run("train", path, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0, result.stderr
    assert "1 row without labels left out" in result.stderr


def test_columns_of_0_and_1_that_hold_something_else(fails, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text,tax,sea\na tax,1,0\nthe sea,0,maybe\n")
    given = ("--text", "text", "--labels", "tax,sea", "--quiet")
    sentence = fails("train", path, "-o", tmp_path / "m", *FAST, *given)
    assert "row 2, column 'sea': a label of its own column is 0 or 1; got 'maybe'" in sentence


@pytest.mark.parametrize("late", [False, True], ids=["early", "behind the first chunk"])
def test_mixed_encodings_are_told_by_line(late, fails, tmp_path, monkeypatch):
    monkeypatch.setattr("rmls.datasets.tables.delimited.CHUNK_ROWS", 8)
    path = write_csv(tmp_path / "t.csv")
    lines = path.read_bytes().split(b"\n")
    at = 40 if late else 2
    lines[at] = lines[at].replace(b",", b",caf\xe9 ", 1)
    path.write_bytes(b"\n".join(lines))
    sentence = fails("train", path, "-o", tmp_path / "m", *FAST, "--quiet")
    assert f"line {at + 1}: character" in sentence
    assert "is not in the encoding of the file; say which one it has" in sentence
    assert not (tmp_path / "m").exists()


def test_half_a_compressed_file_is_one_sentence(fails, tmp_path):
    whole = gzip.compress(write_csv(tmp_path / "t.csv").read_bytes())
    path = tmp_path / "half.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    sentence = fails("train", path, "-o", tmp_path / "m", *FAST, "--quiet")
    assert "the compressed file is damaged" in sentence
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.csv.gz"])
def test_a_cell_of_100_mb_is_one_sentence(name, fails, tmp_path):
    """A quotation mark that is never closed swallows the rest of the file into one cell."""
    path = tmp_path / name
    opener = gzip.open if name.endswith(".gz") else open
    with opener(path, "wb") as stream:
        if "csv" in name:
            stream.write(GOOD.encode() + b'3,"')
        else:
            stream.write(b'{"text": "a tax", "labels": ["tax"]}\n{"labels": ["x"], "text": "')
        for _ in range(100):
            stream.write(b"some words " * 95_326)
        stream.write(b'",x\n' if "csv" in name else b'"}\n')
    sentence = fails("train", path, "-o", tmp_path / "m", *FAST, "--quiet")
    assert "more than" in sentence
    assert "line 4" in sentence if "csv" in name else "line 2" in sentence
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_a_cell_of_many_lines_is_bounded_too(fails, tmp_path):
    path = tmp_path / "t.csv"
    with path.open("w") as stream:
        stream.write(GOOD + '3,"')
        for _ in range(200_000):
            stream.write("a line of some words that no quotation mark ever ends\n" * 2)
    sentence = fails("train", path, "-o", tmp_path / "m", *FAST, "--quiet")
    assert "row 3" in sentence or "line" in sentence
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("n_labels", [300, pytest.param(10**6, marks=pytest.mark.slow)])
def test_labels_that_never_come_again_are_one_sentence(n_labels, fails, tmp_path):
    """A column of names or sentences was taken for the labels."""
    path = tmp_path / "t.csv"
    with path.open("w") as stream:
        stream.write("text,labels\n")
        for row in range(n_labels // 3):
            names = ";".join(f"l{row * 3 + place}" for place in range(3))
            stream.write(f"word{row % 997} word{row % 89},{names}\n")
    sentence = fails("train", path, "-o", tmp_path / "m", *FAST, "--quiet")
    assert sentence == (
        f"{path}: none of the {n_labels // 3 * 3:,} labels stands in two rows; name their column "
        "with --labels, or what parts them with --separator."
    )


def test_a_failure_in_training_leaves_the_old_model(run, tmp_path):
    path = write_csv(tmp_path / "t.csv")
    assert run("train", path, "-o", tmp_path / "m", *FAST, "--quiet").exit_code == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "m").iterdir()}
    path.write_text(path.read_text() + "broken\n")
    result = run("train", path, "-o", tmp_path / "m", *FAST, "--overwrite", "--quiet")
    assert result.exit_code == 2
    assert {file.name: file.read_bytes() for file in (tmp_path / "m").iterdir()} == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m", "t.csv"]
