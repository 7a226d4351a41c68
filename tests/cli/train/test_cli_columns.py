"""`rmls train --categories --numbers`: columns beside the texts, from the table to the labels."""

from __future__ import annotations

import csv
import json

import pytest
from cli_samples import invoke
from text_samples import make_columns

import rmls

BESIDE = ("--categories", "medium", "--numbers", "year")
FAST = ("--method", "RMLS", "--components", "8", "--passes", "12", "--jobs", "1")
ROWS, LABELS = make_columns(300)
NEW, TRUE = make_columns(60, seed=5)


def write(path, rows, labels, without=()):
    """Write rows with their labels as CSV; some columns may be left out."""
    columns = {name: cells for name, cells in rows.items() if name not in without}
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", *columns, "tags"])
        for row, (*cells, names) in enumerate(zip(*columns.values(), labels, strict=True)):
            writer.writerow([f"r{row}", *cells, "|".join(names)])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("columns")
    write(path / "works.csv", ROWS, LABELS)
    write(path / "new.csv", NEW, TRUE)
    return path


@pytest.fixture(scope="module")
def trained(folder):
    given = [str(folder / "works.csv"), "-o", str(folder / "m"), "--quiet", *BESIDE]
    assert invoke("train", *given).exit_code == 0
    return folder / "m"


def suggested(run, model, source, *given):
    found = run("suggest", model, "-i", source, "--format", "jsonl", "--top", 3, *given)
    assert found.exit_code == 0, found.stderr
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    return [sorted(label["label"] for label in row["labels"]) for row in rows], found.stderr


def test_the_model_of_the_command_line_is_that_of_python(trained, folder, run):
    model = rmls.load(trained)
    expected = rmls.TextRanker(categories=["medium"], numbers=["year"]).fit(ROWS, LABELS)
    assert model.suggest(NEW) == expected.suggest(NEW)
    found, said = suggested(run, trained, folder / "new.csv")
    right = [names == sorted(truth) for names, truth in zip(found, TRUE, strict=True)]
    assert sum(right) >= 57
    assert said == ""


def test_what_is_beside_the_texts_is_said(folder, run, tmp_path):
    said = run("train", folder / "works.csv", "-o", tmp_path / "m", *FAST, *BESIDE).stderr
    assert "found     text: title" in said
    assert "beside    20 features of medium, year" in said


def test_missing_columns_are_said_and_empty(trained, folder, run, tmp_path):
    source = write(tmp_path / "part.csv", NEW, TRUE, without=("year",))
    found, said = suggested(run, trained, source)
    assert said == "missing   year: taken as empty in every row\n"
    model = rmls.load(trained)
    expected = model.suggest({**NEW, "year": [None] * 60}, 3)
    assert found == [sorted(each.name for each in row) for row in expected]
    _, said = suggested(run, trained, source, "--quiet")
    assert said == ""
    # Another name for the text, and none of the columns: the text alone.
    other = write(tmp_path / "o.csv", {"notes": NEW["title"]}, TRUE)
    found, said = suggested(run, trained, other, "--text", "notes")
    assert said == "missing   medium, year: taken as empty in every row\n"
    expected = model.suggest(NEW["title"], 3)
    assert found == [sorted(each.name for each in row) for row in expected]
    both = write(tmp_path / "b.csv", {"notes": NEW["title"], "year": NEW["year"]}, TRUE)
    found, said = suggested(run, trained, both, "--text", "notes")
    expected = model.suggest({**NEW, "medium": [None] * 60}, 3)
    assert found == [sorted(each.name for each in row) for row in expected]


def test_a_text_alone_is_enough(trained, run):
    result = run("suggest", trained, "boats on the sea", "--top", 1)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1].split()[-1] == "sea"


def test_a_table_without_texts_is_learned_from(run, fails, tmp_path):
    source = write(tmp_path / "t.csv", ROWS, LABELS, without=("title",))
    result = run("train", source, "-o", tmp_path / "m", *BESIDE, "--jobs", 1)
    assert result.exit_code == 0, result.stderr
    assert "found     text: none" in result.stderr
    assert f"next      rmls suggest {tmp_path / 'm'} --input FILE" in result.stderr
    assert "words" not in result.stderr
    new = write(tmp_path / "n.csv", NEW, TRUE)
    table = run("suggest", tmp_path / "m", "-i", new, "--top", 2).stdout.splitlines()
    assert table[0] == f"{NEW['medium'][0]} {NEW['year'][0]}"
    assert sorted(line.split()[-1] for line in table[1:3]) == sorted(TRUE[0][1:])
    sentence = fails("suggest", tmp_path / "m", "a text")
    assert sentence == "the model was trained without texts; give a table with: medium, year."


def test_evaluate_check_and_review_take_the_same_table(trained, folder, run, tmp_path):
    found = run("evaluate", trained, folder / "new.csv", "--json", "--metrics", "p@1,macro_f1")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["all"]["precision@1"] >= 0.95
    part = write(tmp_path / "part.csv", NEW, TRUE, without=("year",))
    assert "missing   year" in run("evaluate", trained, part).stderr
    assert run("check", folder / "works.csv").exit_code == 0
    given = ("--test-share", "0.25", *BESIDE, *FAST)
    result = run("train", folder / "works.csv", "-o", tmp_path / "m", *given)
    assert result.exit_code == 0, result.stderr
    assert "225 training rows, 75 held-out rows" in result.stdout


def test_a_review_in_python_takes_the_table_with_its_columns(trained, folder):
    from rmls.datasets import read_texts
    from rmls.review import review_model

    beside = {"categories": ["medium"], "numbers": ["year"]}
    held_out, train = (read_texts(folder / name, **beside) for name in ("new.csv", "works.csv"))
    review = review_model(rmls.load(trained), held_out, train)
    assert "60 held-out rows" in review.html("works")


def test_chunks_change_nothing(folder, run, tmp_path, monkeypatch):
    models = []
    for rows in (4096, 7):
        monkeypatch.setattr("rmls.datasets.tables.delimited.CHUNK_ROWS", rows)
        output = tmp_path / f"m{rows}"
        assert run("train", folder / "works.csv", "-o", output, *FAST, *BESIDE).exit_code == 0
        models.append(rmls.load(output))
    assert models[0].suggest(NEW) == models[1].suggest(NEW)


def test_categories_of_a_cell_are_parted_where_it_is_said(run, tmp_path):
    source = tmp_path / "t.csv"
    lines = [f"a text,{a} & {b},{a};{b}" for a in "pqr" for b in "stu" for _ in range(8)]
    source.write_text("\n".join(["text,kinds,labels", *lines]))
    given = ("--categories", "kinds", "--set", "category_separator=&", *FAST)
    result = run("train", source, "-o", tmp_path / "m", *given)
    assert result.exit_code == 0, result.stderr
    names = rmls.load(tmp_path / "m").features_.get_feature_names_out().tolist()
    assert sorted(names[2:]) == [f"kinds={name}" for name in "pqrstu"]


BAD = {
    ("--categories", "colour"): "has no column 'colour'. Its columns are: id, title, medium, year",
    ("--categories", "medium", "--numbers", "medium"): "'medium' is named twice in categories",
    ("--categories", "medium,medium"): "'medium' is named twice in categories",
    ("--text", "title", "--categories", "title"): "as categories and as texts; a column has one",
    ("--labels", "tags", "--categories", "tags"): "as categories and as labels; a column has one",
    ("--text", "title", "--numbers", "medium"): "row 1, column 'medium': a number is needed; got",
    ("--numbers", "year,"): "--numbers is a list such as a,b,c; got 'year,'.",
    ("--set", "numbers=[2]"): "no column 2",
    (*BESIDE, "--set", "column_weight=0"): "column_weight must be a positive number",
}


@pytest.mark.parametrize("given", BAD, ids=" ".join)
def test_wrong_columns_are_one_sentence_and_no_model(given, folder, fails, tmp_path):
    output = tmp_path / "m"
    sentence = fails("train", folder / "works.csv", "-o", output, *FAST, *given, "--quiet")
    assert BAD[given] in sentence
    assert not output.exists()


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("cell", "told"),
    [("soon", "a number is needed; got 'soon'"), ("-inf", "a finite number is needed")],
)
def test_a_bad_number_is_told_by_its_row(cell, told, late, trained, fails, tmp_path, monkeypatch):
    """The row of the file, whatever chunk it is in and whichever rows have no labels."""
    monkeypatch.setattr("rmls.datasets.tables.delimited.CHUNK_ROWS", 8)
    at = 40 if late else 2
    years = [cell if row == at else year for row, year in enumerate(ROWS["year"])]
    labels = [[] if row % 5 == 0 else names for row, names in enumerate(LABELS)]
    source = write(tmp_path / "t.csv", {**ROWS, "year": years}, labels)
    expected = f"row {at + 1}, column 'year': {told}"
    sentence = fails("train", source, "-o", tmp_path / "m", *FAST, *BESIDE, "--quiet")
    assert expected in sentence
    assert sentence.startswith(str(source))
    output = tmp_path / "out.csv"
    assert expected in fails("suggest", trained, "-i", source, "-o", output)
    assert not output.exists()


def test_a_column_of_numbers_without_any_is_one_sentence(fails, tmp_path):
    source = write(tmp_path / "t.csv", {**ROWS, "year": [""] * 300}, LABELS)
    sentence = fails("train", source, "-o", tmp_path / "m", *FAST, *BESIDE, "--quiet")
    assert sentence == "the column 'year' of numbers holds no number."


def test_columns_are_for_tables(data_file, fails, tmp_path):
    sentence = fails("train", data_file, "-o", tmp_path / "m", *FAST, "--numbers", "year")
    assert sentence.startswith("--numbers names columns of a table of texts, and ")
