"""`rmls suggest`: labels for texts from anywhere, in every form, order and columns kept."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest
from text_samples import TOPICS, make_texts

import rmls

NEW, TRUE = make_texts(12, seed=5)


@pytest.fixture
def new_file(tmp_path):
    """Rows of several chunks' columns: an id, a title, a number, a body with commas and lines."""
    path = tmp_path / "new.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["votes", "id", "title", "body", "category", "tags"])
        for row, text in enumerate(NEW):
            title, body = text.split(" ", 1)
            rows.writerow([row * 10, f"n{row}", title, body.replace(" ", ",\n", 1), "x", ""])
    return path


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_text_gets_its_labels_most_likely_first(text_model, run):
    result = run("suggest", text_model, "taxes and the levy", "fishing boats", "--top", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert (lines[0], lines[3]) == ("taxes and the levy", "fishing boats")
    assert (lines[1].split()[-1], lines[4].split()[-1]) == ("tax", "sea")
    chances = [float(line.split("%")[0]) for line in lines if "%" in line]
    assert chances[0] > chances[1]
    assert chances[2] > chances[3]


def test_a_table_of_suggestions_is_what_python_says(text_model, run, new_file):
    model = rmls.load(text_model)
    table = read(new_file.read_text())
    expected = model.suggest({name: [row[name] for row in table] for name in ("title", "body")}, 3)
    found = read(run("suggest", text_model, "-i", new_file, "--format", "csv", "--top", 3).stdout)
    assert [row["row"] for row in found] == [f"n{row}" for row in range(12) for _ in range(3)]
    assert [row["rank"] for row in found] == ["1", "2", "3"] * 12
    flat = [each for row in expected for each in row]
    assert [row["label"] for row in found] == [each.name for each in flat]
    assert [float(row["probability"]) for row in found] == pytest.approx(
        [each.probability for each in flat], rel=1e-5
    )
    lines = run("suggest", text_model, "-i", new_file, "--format", "jsonl").stdout.splitlines()
    parsed = [json.loads(line) for line in lines]
    assert [row["row"] for row in parsed] == [f"n{row}" for row in range(12)]
    assert [row["labels"][0]["label"] for row in parsed] == [row[0].name for row in expected]


def test_rows_keep_their_order_columns_and_names(text_model, run, new_file, tmp_path, monkeypatch):
    monkeypatch.setattr("rmls.datasets.tables.delimited.CHUNK_ROWS", 5)
    output = tmp_path / "labelled.csv"
    added = ("--add-column", "suggested", "--top", 1)
    result = run("suggest", text_model, "-i", new_file, "-o", output, *added)
    assert result.stderr == f"wrote     {output}: 12 rows\n"
    before, after = read(new_file.read_text()), read(output.read_text())
    assert list(after[0]) == [*before[0], "suggested"]
    assert [{**row, "suggested": None} for row in after] == [
        {**row, "suggested": None} for row in before
    ]
    assert all(row["suggested"] in truth for row, truth in zip(after, TRUE, strict=True))
    several = run("suggest", text_model, "-i", new_file, "--add-column", "s", "--top", 2)
    assert all(len(row["s"].split("; ")) == 2 for row in read(several.stdout))
    lines = run("suggest", text_model, "-i", new_file, *added, "--format", "jsonl")
    first = json.loads(lines.stdout.splitlines()[0])
    assert (first["votes"], first["id"], len(first["suggested"])) == ("0", "n0", 1)


def test_a_decision_rule_takes_as_many_as_it_wants(text_model, run, new_file):
    model, table = rmls.load(text_model), read(new_file.read_text())
    columns = {name: [row[name] for row in table] for name in ("title", "body")}
    expected = [sorted(row) for row in model.predict(columns, "threshold=0.5")]
    given = ("--decision", "threshold=0.5", "--format", "jsonl")
    lines = run("suggest", text_model, "-i", new_file, *given).stdout.splitlines()
    found = [sorted(each["label"] for each in json.loads(line)["labels"]) for line in lines]
    assert found == expected
    assert {len(row) for row in found} > {1}


def test_unlikely_labels_are_left_out(text_model, run):
    result = run("suggest", text_model, "taxes levy revenue", "--min-probability", "0.6")
    assert [line.split()[-1] for line in result.stdout.splitlines()[1:]] == ["tax"]
    nothing = run("suggest", text_model, "unheard-of", "--min-probability", "1")
    assert "no label is likely enough" in nothing.stdout


def test_lines_of_standard_input_are_answered_as_they_come(text_model):
    command = [sys.executable, "-m", "rmls", "suggest", str(text_model), "--top", "1"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # The next line is written after the answer to this one was read.
        for name, words in TOPICS.items():
            process.stdin.write(" ".join(words) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == " ".join(words) + "\n"
            assert process.stdout.readline().split()[-1] == name
        process.stdin.close()
        assert process.wait() == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def test_the_model_finds_its_own_columns(run, tmp_path):
    """Neither the name of the texts nor two columns that may be labels are in the way."""
    texts, labels = make_texts()
    source = tmp_path / "odd.csv"
    rows = [f"{text},{'|'.join(names)},1" for text, names in zip(texts, labels, strict=True)]
    source.write_text("\n".join(["notes,tags,category", *rows]))
    given = ("--text", "notes", "--labels", "tags", "--method", "RMLSRanker", "--quiet")
    assert run("train", source, "-o", tmp_path / "m", *given).exit_code == 0
    result = run("suggest", tmp_path / "m", "-i", source, "--top", 1, "--format", "jsonl")
    assert result.exit_code == 0, result.stderr
    found = [json.loads(line)["labels"][0]["label"] for line in result.stdout.splitlines()]
    assert all(name in truth for name, truth in zip(found, labels, strict=True))
    assert [json.loads(line)["row"] for line in result.stdout.splitlines()] == list(range(60))


def test_other_columns_are_named(text_model, run, tmp_path):
    source = tmp_path / "one.csv"
    source.write_text("notes,other\nfishing boats,taxes\n")
    result = run("suggest", text_model, "-i", source, "--text", "notes", "--top", 1)
    assert result.stdout.splitlines()[1].split()[-1] == "sea"


def test_every_wrong_use_is_one_sentence(text_model, model_dir, fails, new_file, tmp_path):
    for given, sentence in {
        ("a", "-i", new_file): "TEXT and --input exclude each other; give one of them.",
        ("a", "--top", 1, "--decision", "f1"): "--top and --decision exclude each other",
        ("a", "--add-column", "s"): "--add-column writes the rows of --input FILE",
        ("-i", new_file, "--add-column", "s", "--format", "table"): "as CSV or JSON lines.",
        ("a", "-o", tmp_path / "x.pdf"): "give --format table, csv or jsonl; .pdf is none of them",
        ("a", "-o", new_file): "exists; choose another name or give --overwrite.",
        ("-i", tmp_path / "none.csv"): "there is no such file",
        ("-i", new_file, "--text", "words"): "has no column 'words'. Its columns are: votes, id,",
        ("-i", new_file, "--id", "key"): "has no column 'key'",
        ("a", "--decision", "best"): "decision must be one of",
    }.items():
        assert sentence in fails("suggest", text_model, *given), given
    assert "was trained on features, not on texts" in fails("suggest", model_dir, "a")
    assert fails("suggest", tmp_path / "none", "a").startswith(str(tmp_path / "none"))
    assert "rmls suggest" in fails("predict", text_model, new_file, "-o", tmp_path / "p.csv")


def test_numbers_out_of_range_are_one_sentence(text_model, run):
    for given in (("--top", "0"), ("--min-probability", "2"), ("--format", "xml")):
        result = run("suggest", text_model, "a", *given)
        assert result.exit_code == 2
        assert given[0] in result.stderr
        assert "Traceback" not in result.stderr


def test_a_column_that_is_there_and_a_bad_row_leave_no_file(text_model, fails, new_file, tmp_path):
    output = tmp_path / "out.csv"
    given = ("-i", new_file, "-o", output, "--add-column", "votes")
    assert "has a column 'votes' already" in fails("suggest", text_model, *given)
    new_file.write_text(new_file.read_text() + "1,2\n")
    given = ("-i", new_file, "-o", output, "--add-column", "s")
    assert "row 13 has 2 cells but the header has 6" in fails("suggest", text_model, *given)
    assert [file.name for file in tmp_path.iterdir()] == ["new.csv"]


def test_text_that_is_no_text_is_one_sentence(text_model, run):
    done = run("suggest", text_model, "--top", "1", given=b"fishing boats\n\xff\xfe\n")
    assert done.exit_code == 2
    assert done.stdout.splitlines()[1].split()[-1] == "sea"
    (line,) = done.stderr.splitlines()
    assert line.startswith("rmls: error: -, line 2: character 1 is not in the encoding of the file")
    given = "fishing caf\xe9 boats\r\n".encode("latin-1")
    named = run("suggest", text_model, "--encoding", "latin-1", given=given)
    assert named.stdout.splitlines()[0] == "fishing café boats"


def test_an_added_column_holds_what_the_model_decides(text_model, new_file, run):
    added = run("suggest", text_model, "-i", new_file, "--add-column", "s", "--format", "jsonl")
    decided = [json.loads(line)["s"] for line in added.stdout.splitlines()]
    with new_file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    model = rmls.load(text_model)
    fields = model.features_.fields_
    expected = model.predict({name: [row[name] for row in rows] for name in fields})
    assert [set(labels) for labels in decided] == [set(labels) for labels in expected]
