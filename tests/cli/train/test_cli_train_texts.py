"""`rmls train` on tables of texts: columns found and said, models that take texts."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path

import pytest
from text_samples import make_texts, write_csv

import rmls
from rmls import TextRanker

FAST = ("--method", "RMLS", "--components", "8", "--passes", "12", "--jobs", "1")
TEXTS, LABELS = make_texts()


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    return write_csv(tmp_path_factory.mktemp("texts") / "tickets.csv")


def write_jsonl(path: Path) -> Path:
    rows = ({"text": text, "labels": names} for text, names in zip(TEXTS, LABELS, strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_parquet(path: Path) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": TEXTS, "labels": LABELS}), path)
    return path


def write_fasttext(path: Path) -> Path:
    lines = (
        " ".join(f"__label__{name}" for name in names) + f" {text}"
        for text, names in zip(TEXTS, LABELS, strict=True)
    )
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def write_folder(path: Path) -> Path:
    path.mkdir()
    for row, (text, names) in enumerate(zip(TEXTS, LABELS, strict=True)):
        (path / f"{row:03}.txt").write_text(text, "utf-8")
        (path / f"{row:03}.labels").write_text("\n".join(names), "utf-8")
    return path


WRITERS = {
    "tickets.csv": write_csv,
    "tickets.jsonl": write_jsonl,
    "tickets.parquet": write_parquet,
    "tickets.txt": write_fasttext,
    "tickets": write_folder,
}


@pytest.mark.parametrize("name", WRITERS)
def test_two_commands_from_a_file_to_labels(name, run, tmp_path):
    source = WRITERS[name](tmp_path / name)
    result = run("train", source, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0, result.stderr
    found = run("suggest", tmp_path / "m", "taxes and revenue", "--top", 1)
    assert found.exit_code == 0, found.stderr
    assert found.stdout.splitlines()[1].split()[-1] == "tax"


def test_what_was_found_is_said(tickets, run, tmp_path):
    said = run("train", tickets, "-o", tmp_path / "m", *FAST).stderr
    assert "found     labels: tags" in said
    assert "found     labels are separated by ';'" in said
    assert "found     text: title, body" in said
    assert "different, english word endings removed" in said
    assert "data      tickets.csv: 60 rows, " in said
    assert f'next      rmls suggest {tmp_path / "m"} "a text", or --input FILE' in said
    assert "every row was trained on; --test-share 0.2 keeps some for a report" in said
    assert "rmls split" not in said
    quiet = run("train", tickets, "-o", tmp_path / "q", *FAST, "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_named_columns_are_taken_without_a_word(tickets, run, tmp_path):
    given = ("--text", "body,title", "--labels", "tags", "--separator", ";")
    said = run("train", tickets, "-o", tmp_path / "m", *FAST, *given).stderr
    assert "found" not in said
    model = rmls.load(tmp_path / "m")
    assert model.features_.fields_ == ("body", "title")
    assert model.classes_.tolist() == ["farm", "law", "sea", "tax"]


def test_test_rows_are_neither_learned_nor_counted(tickets, run, tmp_path):
    """Words that stand in test rows alone are unknown to the model."""
    lines = tickets.read_text().splitlines()
    source = tmp_path / "t.csv"
    rows = [line.replace(f"t{row},", f"t{row},word{row} ") for row, line in enumerate(lines[1:])]
    source.write_text("\n".join([lines[0], *rows]))
    result = run("train", source, "-o", tmp_path / "m", *FAST, "--test-share", "0.25")
    assert result.exit_code == 0, result.stderr
    assert "45 training rows, 15 held-out rows" in result.stdout
    assert (tmp_path / "m.html").read_text("utf-8").startswith("<!")
    assert "15 rows (25%) kept for testing, stratified, seed 0" in result.stderr
    assert "every row was trained on" not in result.stderr
    model = rmls.load(tmp_path / "m")
    assert model.n_samples_ == 45
    words = set(model.features_.get_feature_names_out())
    assert sum(f"word{row}" in words for row in range(60)) == 45


@pytest.fixture
def quick_collections():
    """Let `gc.collect` look at what the test makes, not at all that was imported before it."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick_collections")
def test_a_file_is_never_held_as_a_whole(tickets, run, tmp_path, monkeypatch):
    """Chunks are of one row, and each is let go before the third after it is read."""
    from rmls.datasets.tables import text_table

    original, alive = text_table._read_chunk, []

    def watched(*arguments):
        assert sum(each() is not None for each in alive) <= 2
        table = original(*arguments)
        gc.collect()
        alive.append(weakref.ref(table))
        return table

    monkeypatch.setattr("rmls.datasets.tables.delimited.CHUNK_ROWS", 1)
    monkeypatch.setattr(text_table, "_read_chunk", watched)
    result = run("train", tickets, "-o", tmp_path / "m", *FAST, "--test-share", "0.2")
    assert result.exit_code == 0, result.stderr
    # Once to learn, once for the texts that the report quotes and compares.
    assert len(alive) == 2 * 60


def test_rows_without_labels_are_left_out_and_told(tickets, run, tmp_path):
    lines = tickets.read_text().splitlines()
    bare = [line.rsplit(",", 1)[0] + "," for line in lines[1:6]]
    source = tmp_path / "t.csv"
    source.write_text("\n".join([lines[0], *bare, *lines[6:]]))
    result = run("train", source, "-o", tmp_path / "m", *FAST)
    assert "5 rows without labels left out; rmls suggest can label them" in result.stderr
    assert rmls.load(tmp_path / "m").n_samples_ == 55


def test_options_of_the_words_are_settings(tickets, run, tmp_path):
    settings = {"stem": "none", "pairs": "true", "characters": "[2, 3]", "field_weights": "[3, 1]"}
    given = [word for item in settings.items() for word in ("--set", "=".join(item))]
    result = run("train", tickets, "-o", tmp_path / "m", *FAST, *given, "--set", "l2=0.001")
    assert result.exit_code == 0, result.stderr
    model = rmls.load(tmp_path / "m")
    assert (model.stem, model.pairs, model.characters) == ("none", True, (2, 3))
    assert list(model.field_weights) == [3, 1]
    assert "word endings" not in result.stderr
    assert (type(model.estimator_).__name__, model.estimator_.l2) == ("RMLS", 0.001)


def test_the_method_named_after_texts_is_the_ranker(tickets, data_file, run, fails, tmp_path):
    result = run("train", tickets, "-o", tmp_path / "m", "--method", "TextRanker", "--quiet")
    assert result.exit_code == 0, result.stderr
    model = rmls.load(tmp_path / "m")
    assert isinstance(model, TextRanker)
    assert type(model.estimator_).__name__ == "RMLSRanker"
    sentence = fails("train", data_file, "-o", tmp_path / "n", "--method", "TextRanker")
    assert sentence == f"TextRanker takes texts, and {data_file} holds numbers; use RMLSRanker."


def test_evaluate_reads_the_columns_of_the_model_and_warns_of_known_rows(tickets, run, tmp_path):
    lines = [line.split(",") for line in tickets.read_text().splitlines()]
    source = tmp_path / "odd.csv"
    # Names that say nothing: the model knows them.
    lines[0] = ["id", "first", "second", "tags"]
    source.write_text("\n".join(",".join(line) for line in lines))
    given = ("--text", "first,second")
    assert run("train", source, "-o", tmp_path / "m", *FAST, *given, "--quiet").exit_code == 0
    result = run("evaluate", tmp_path / "m", source, "--json", "--metrics", "f1")
    assert result.exit_code == 0, result.stderr
    assert "all 60 rows of odd.csv were trained on" in result.stderr
    assert json.loads(result.stdout)["n_samples"] == 60
    new = tmp_path / "new.csv"
    texts, labels = make_texts(40, seed=9)
    rows = [f"{t},,{'; '.join(names)}" for t, names in zip(texts, labels, strict=True)]
    new.write_text("\n".join(["first,second,tags", *rows]))
    result = run("evaluate", tmp_path / "m", new)
    assert (result.exit_code, result.stderr) == (0, "")


WRONG = {
    ("--text", "subject"): "has no column 'subject'. Its columns are: id, title, body, tags.",
    ("--labels", "topic"): "has no column 'topic'. Its columns are: id, title, body, tags.",
    ("--set", "stem=klingon"): "words cannot be stemmed in 'klingon'; choose from: ",
    ("--set", "characters=[5, 3]"): "characters must be the shortest and the longest length",
    ("--set", "stemm=none"): "RMLS has no parameter 'stemm'",
    ("--set", "field_weights=[1, 2, 3]"): "field_weights must be 2 positive numbers",
    ("--part", "test"): "--part is for data sets that are split; a table of texts is not.",
    ("--encoding", "latin-99"): "there is no encoding called 'latin-99'.",
    ("--delimiter", "ab"): "a delimiter is one character; got 'ab'.",
    ("--from", "parquet"): "the file is damaged",
    ("--resume",): "--resume continues a training on features; train on the texts again.",
    ("--test-share", "2"): "--test-share must lie between 0 and 1; got 2.",
}


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_a_wrong_use_is_one_sentence_and_no_model(given, tickets, fails, tmp_path):
    assert WRONG[given] in fails("train", tickets, "-o", tmp_path / "m", *FAST, "--quiet", *given)
    assert not (tmp_path / "m").exists()


def test_a_missing_file_and_a_folder_without_texts(fails, tmp_path):
    missing = tmp_path / "none.csv"
    assert fails("train", missing, "-o", tmp_path / "m") == f"{missing}: there is no such file"
    (tmp_path / "empty").mkdir()
    sentence = fails("train", tmp_path / "empty", "-o", tmp_path / "m", "--from", "folder")
    assert sentence == f"{tmp_path / 'empty'}: the folder holds no .txt files"
