"""`rmls learn` and `rmls labels`: a trained model goes on, and nothing is half done."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import rmls
from rmls.archive.layout import MANIFEST_NAME

ROWS = """title,body,tags
quarks,the quarks and the gluons,physics
gluons,gluons in the quarks,physics
wheat,cattle and the harvest,farm
"""


@pytest.fixture
def model(text_model: Path, tmp_path: Path) -> Path:
    """A copy of a model of the labels farm, law, sea and tax that a test may change."""
    return Path(shutil.copytree(text_model, tmp_path / "m"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, "utf-8")
    return path


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def state(model: Path) -> bytes:
    return (model / MANIFEST_NAME).read_bytes()


def best(model: Path, text: str) -> Any:
    return rmls.load(model).suggest([text], 1)[0][0].name


def test_new_rows_bring_labels_and_words(model: Path, rows: Path, run: Any) -> None:
    result = run("learn", model, rows)
    assert result.exit_code == 0, result.stderr
    lines = dict(line.split(None, 1) for line in result.stderr.splitlines())
    assert lines["rows"] == "3"
    assert lines["labels"] == "1 of 4 have new rows"
    assert lines["new"] == "1 label: physics"
    assert lines["words"] == "3 new"
    assert best(model, "gluons") == "physics"
    assert rmls.load(model).n_samples_ == 63


def test_a_dry_run_says_the_same_and_changes_nothing(model: Path, rows: Path, run: Any) -> None:
    before = state(model)
    tried = run("learn", model, rows, "--dry-run")
    assert tried.exit_code == 0
    assert state(model) == before
    done = run("learn", model, rows)
    assert tried.stderr.splitlines()[:-1] == done.stderr.splitlines()[:-1]
    assert state(model) != before


def test_what_people_did_with_suggestions_is_learned(model: Path, tmp_path: Path, run: Any) -> None:
    text = "the harbour of the court"
    feedback = {"text": text, "accepted": ["law"], "rejected": ["sea"], "added": ["farm"]}
    file = write(tmp_path, "feedback.jsonl", (json.dumps(feedback) + "\n") * 3)
    old = rmls.load(model)
    result = run("learn", model, file, "--text", "text")
    assert result.exit_code == 0, result.stderr
    new, rows = rmls.load(model), {"title": [text], "body": [""]}
    names = new.classes_.tolist()
    gain = dict(
        zip(names, (new.decision_function(rows) - old.decision_function(rows))[0], strict=True)
    )
    assert gain["law"] > 0
    assert gain["farm"] > 0
    assert gain["sea"] < 0


def test_rows_that_were_learned_are_no_test_any_more(model: Path, rows: Path, run: Any) -> None:
    assert "were trained on" not in run("evaluate", model, rows).stderr
    assert run("learn", model, rows).exit_code == 0
    assert "all 3 rows of rows.csv were trained on" in run("evaluate", model, rows).stderr


def test_rows_without_labels_are_counted_and_left_out(model: Path, rows: Path, run: Any) -> None:
    rows.write_text(ROWS + "nothing,is known,\n", "utf-8")
    result = run("learn", model, rows)
    assert "3; 1 without labels are left out" in result.stderr


def test_a_model_can_be_written_elsewhere(
    model: Path, rows: Path, tmp_path: Path, run: Any
) -> None:
    before = state(model)
    assert run("learn", model, rows, "-o", tmp_path / "new").exit_code == 0
    assert state(model) == before
    assert "physics" in rmls.load(tmp_path / "new").classes_


def test_labels_are_added_by_what_they_are_called(model: Path, tmp_path: Path, run: Any) -> None:
    names = write(tmp_path, "names.csv", "name,alternatives\nspace travel,rocket|orbit\nsea,\n")
    texts = ["boats in the harbour", "taxes"]
    before = rmls.load(model).decision_function({"title": texts, "body": ["", ""]})
    result = run("labels", "add", model, names)
    assert result.exit_code == 0, result.stderr
    assert "1 label; 5 in all" in result.stderr
    assert best(model, "a rocket") == "space travel"
    after = rmls.load(model).decision_function({"title": texts, "body": ["", ""]})
    assert (after[:, :4] == before).all()


def test_examples_show_what_a_label_means(model: Path, tmp_path: Path, run: Any) -> None:
    names = write(tmp_path, "names.txt", "q17\n")
    shown = write(tmp_path, "shown.csv", "title,body,tags\nquarks,and gluons,q17\nquarks,,q17\n")
    assert run("labels", "add", model, names, "--examples", shown).exit_code == 0
    assert best(model, "quarks") == "q17"


def test_labels_are_retired_renamed_merged_and_split(
    model: Path, rows: Path, tmp_path: Path, run: Any, fails: Any
) -> None:
    assert run("labels", "retire", model, write(tmp_path, "a.txt", "tax\n")).exit_code == 0
    assert "tax" not in rmls.load(model).classes_
    renamed = write(tmp_path, "b.csv", "old,new\nfarm,agriculture\n")
    assert run("labels", "rename", model, renamed).exit_code == 0
    assert best(model, "cattle and wheat") == "agriculture"
    assert fails("learn", model, rows) == "the label 'farm' is called 'agriculture' now."
    split = write(tmp_path, "c.json", json.dumps({"sea": ["fishing", "harbour"]}))
    assert run("labels", "split", model, split).exit_code == 0
    assert best(model, "the harbour") == "harbour"
    merged = write(tmp_path, "d.txt", "fishing\tharbour\n")
    assert run("labels", "merge", model, merged).exit_code == 0
    assert rmls.load(model).classes_.tolist() == ["agriculture", "law", "harbour"]
    listed = run("labels", "list", model, "--json", "--find", "har")
    assert [row["label"] for row in json.loads(listed.stdout)] == ["harbour"]


def test_examples_tell_the_parts_of_a_label_and_nothing_else(
    model: Path, tmp_path: Path, run: Any
) -> None:
    before = rmls.load(model).label_counts_[[0, 1, 3]]
    parts = write(tmp_path, "parts.txt", "sea\tx1\nsea\tx2\n")
    shown = "title,body,tags\nboats,boats,x1\nboats,,x1; law\nquota,quota,x2\nquota,,x2\n"
    examples = write(tmp_path, "shown.csv", shown)
    assert run("labels", "split", model, parts, "--examples", examples).exit_code == 0
    assert (best(model, "boats"), best(model, "quota")) == ("x1", "x2")
    # Farm, law and tax have learned nothing from them; sea, the third of four, is gone.
    assert (rmls.load(model).label_counts_[:3] == before).all()


BAD = {
    "no such label": ("retire", "a.txt", "seas\n", "the model has no label 'seas'; did you mean"),
    "twice": ("retire", "a.txt", "sea\nsea\n", "the label 'sea' is named twice."),
    "there already": ("add", "a.txt", "sea\n", "has all labels of"),
    "a pair is missing": ("rename", "a.csv", "sea\n", "entry 1 must have 2 labels"),
    "two new names": ("rename", "a.csv", "sea,a\nsea,b\n", "the label 'sea' stands there twice."),
    "a name that is taken": ("rename", "a.csv", "sea,law\n", "law"),
    "nothing": ("merge", "a.txt", "\n", "there is no label in it"),
    "into nothing": ("merge", "a.txt", "sea\tocean\n", "the model has no label 'ocean'"),
    "one part": ("split", "a.txt", "sea\tocean\n", "at least two"),
    "no list": ("split", "a.json", "3", "a list or an object of labels is needed"),
    "half a line": ("split", "a.jsonl", '{"sea": [', "no list or object of labels"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_changes_get_a_sentence_and_change_nothing(
    case: str, model: Path, tmp_path: Path, fails: Any
) -> None:
    command, name, text, expected = BAD[case]
    before = state(model)
    assert expected in fails("labels", command, model, write(tmp_path, name, text))
    assert state(model) == before


def test_models_that_do_not_go_on_say_so(model_dir: Path, data_file: Path, fails: Any) -> None:
    sentence = fails("learn", model_dir, data_file)
    assert "is a RMLS, which does not change once trained; RMLSRanker does." in sentence


def test_rows_of_features_are_learned_too(data: Any, tmp_path: Path, run: Any) -> None:
    from rmls.datasets import save

    save(data.take(slice(0, 200)), tmp_path / "old.npz")
    save(data.take(slice(200, 300)), tmp_path / "new.npz")
    out = tmp_path / "ranker"
    given = ("--method", "RMLSRanker", "-o", out, "--quiet")
    assert run("train", tmp_path / "old.npz", *given).exit_code == 0
    result = run("learn", out, tmp_path / "new.npz")
    assert result.exit_code == 0, result.stderr
    assert rmls.load(out).n_samples_ == 300
