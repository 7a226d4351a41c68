"""`rmls predict`: the same labels as the estimator, in every format."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from patience import patience
from tolerances import RTOL

import rmls
from rmls.cli import predict as predict_module
from rmls.datasets import Dataset, formats, save

# A process takes two seconds to import what it needs, and far less to predict.
ONE_AFTER_ANOTHER = """
import json, sys
from rmls.cli import main
names = sys.argv.pop(1).split()
for name in names:
    print(json.dumps(name), flush=True)
    try:
        sys.argv = [*sys.argv, name]
        main()
    except SystemExit as end:
        assert not end.code, end.code
    sys.argv.pop()
"""


def read_jsonl(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def model(model_dir):
    return rmls.load(model_dir)


def test_jsonl_holds_the_sets_of_the_decision_rule(run, model_dir, model, data_file, data):
    result = run("predict", model_dir, data_file, "-o", "-")
    assert result.exit_code == 0, result.stderr
    rows = read_jsonl(result.stdout)
    assert [row["row"] for row in rows] == list(range(300))
    expected = model.predict_sets(data.X)
    for row, line in enumerate(rows):
        names = {entry["label"] for entry in line["labels"]}
        assert names == {f"topic {label}" for label in expected[row].indices}
        scores = [entry["score"] for entry in line["labels"]]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("decision", ["f1", "cardinality", "top_3", "psp@3"])
def test_score_and_probability_are_two_numbers_under_every_rule(
    decision, run, model_dir, model, data_file, data
):
    options = ("-o", "-", "--decision", decision)
    lines = read_jsonl(run("predict", model_dir, data_file, *options).stdout)
    numbers = {
        "score": model.decision_function(data.X),
        "probability": model.predict_proba(data.X),
    }
    for row, line in enumerate(lines):
        for entry in line["labels"]:
            assert list(entry) == ["label", "score", "probability"]
            label = data.label_names.index(entry["label"])
            for name, dense in numbers.items():
                assert entry[name] == pytest.approx(dense[row, label], rel=1e-4, abs=1e-5)


def test_sets_and_top_k_are_in_one_order(run, model_dir, model, data_file, data):
    ranked = read_jsonl(run("predict", model_dir, data_file, "-o", "-", "--top", "30").stdout)
    whole = [[entry["label"] for entry in line["labels"]] for line in ranked]
    assert whole == model.rank(data.X, 30).to_lists()
    for line, order in zip(
        read_jsonl(run("predict", model_dir, data_file, "-o", "-").stdout), whole, strict=True
    ):
        names = [entry["label"] for entry in line["labels"]]
        assert names == [name for name in order if name in names]


def test_top_k_ranks(run, model_dir, model, data_file, data):
    lines = read_jsonl(run("predict", model_dir, data_file, "-o", "-", "--top", "3").stdout)
    names = [[entry["label"] for entry in line["labels"]] for line in lines]
    expected = model.classes_[model.rank(data.X, 3).labels.reshape(-1, 3)].tolist()
    assert names == expected
    same = run("predict", model_dir, data_file, "-o", "-", "--decision", "top_3").stdout
    assert read_jsonl(same) == lines


def test_more_labels_than_there_are_gives_all(run, model_dir, data_file):
    lines = read_jsonl(run("predict", model_dir, data_file, "-o", "-", "--top", "99").stdout)
    assert {len(line["labels"]) for line in lines} == {30}


def test_csv_and_xmc_hold_the_same_as_jsonl(run, model_dir, data_file, data, tmp_path):
    for ending in ("jsonl", "csv", "txt"):
        run("predict", model_dir, data_file, "-o", tmp_path / f"p.{ending}", "--part", "test")
    lines = read_jsonl((tmp_path / "p.jsonl").read_text())
    flat = [(line["row"], entry) for line in lines for entry in line["labels"]]
    with open(tmp_path / "p.csv", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [(int(r["row"]), r["label"]) for r in table] == [(n, e["label"]) for n, e in flat]
    assert list(table[0]) == ["row", "rank", "label", "score", "probability"]
    for column in ("score", "probability"):
        assert [float(r[column]) for r in table] == [entry[column] for _, entry in flat]
    assert {r["rank"] for r in table if r["row"] == "240"} >= {"1"}

    header, *rows = (tmp_path / "p.txt").read_text().splitlines()
    assert header == "60 30"
    pairs = [pair.split(":") for row in rows for pair in row.split()]
    assert [data.label_names[int(label)] for label, _ in pairs] == [e["label"] for _, e in flat]
    assert [float(score) for _, score in pairs] == [entry["score"] for _, entry in flat]
    assert lines[0]["row"] == 240


def test_scores_can_be_left_out(run, model_dir, data_file):
    options = ("--no-scores", "--top", "1", "--part", "test")
    first = run("predict", model_dir, data_file, "-o", "-", *options).stdout.splitlines()[0]
    assert isinstance(json.loads(first)["labels"][0], str)
    text = run("predict", model_dir, data_file, "-o", "-", *options, "--format", "csv").stdout
    assert text.startswith("row,rank,label\n")
    text = run("predict", model_dir, data_file, "-o", "-", *options, "--format", "xmc").stdout
    assert text.splitlines()[1].endswith(":1")


@pytest.mark.parametrize("values", ["score", "probability"])
def test_one_number_can_be_chosen_in_every_format(values, run, model_dir, data_file):
    def predict(*more):
        options = ("-o", "-", "--top", "3", *more)
        return run("predict", model_dir, data_file, *options).stdout

    wanted = [entry[values] for line in read_jsonl(predict()) for entry in line["labels"]]
    chosen = ("--values", values)
    entries = [entry for line in read_jsonl(predict(*chosen)) for entry in line["labels"]]
    assert all(list(entry) == ["label", values] for entry in entries)
    assert [entry[values] for entry in entries] == wanted
    _, *table = csv.reader(predict(*chosen, "--format", "csv").splitlines())
    assert [float(row[3]) for row in table] == wanted
    _, *rows = predict(*chosen, "--format", "xmc").splitlines()
    pairs = [pair.split(":") for row in rows for pair in row.split()]
    assert [float(number) for _, number in pairs] == wanted


def test_a_json_file_is_one_array(run, model_dir, data_file, tmp_path, monkeypatch):
    monkeypatch.setattr(predict_module, "BLOCK_ROWS", 70)
    for ending in ("json", "jsonl"):
        assert run("predict", model_dir, data_file, "-o", tmp_path / f"p.{ending}").exit_code == 0
    rows = json.loads((tmp_path / "p.json").read_text("utf-8"))
    assert len(rows) == 300
    assert rows == read_jsonl((tmp_path / "p.jsonl").read_text("utf-8"))
    one = tmp_path / "one.npz"
    save(Dataset(np.ones((1, 120)), np.ones((1, 30))), one)
    text = run("predict", model_dir, one, "-o", "-", "--format", "json").stdout
    assert [row["row"] for row in json.loads(text)] == [0]


def test_a_model_without_probabilities_leaves_them_open(run, fails, data_file, tmp_path):
    folder = tmp_path / "plst"
    assert run("train", data_file, "-o", folder, "--method", "PLST", "--quiet").exit_code == 0
    lines = read_jsonl(run("predict", folder, data_file, "-o", "-", "--top", "2").stdout)
    assert {entry["probability"] for line in lines for entry in line["labels"]} == {None}
    text = run("predict", folder, data_file, "-o", "-", "--top", "2", "--format", "csv").stdout
    assert {row["probability"] for row in csv.DictReader(text.splitlines())} == {""}
    out = tmp_path / "p.csv"
    sentence = fails("predict", folder, data_file, "-o", out, "--values", "probability")
    assert "gives no probabilities" in sentence
    assert not out.exists()


def test_blocks_change_nothing(run, model_dir, data_file, monkeypatch):
    whole = run("predict", model_dir, data_file, "-o", "-").stdout
    monkeypatch.setattr(predict_module, "BLOCK_ROWS", 7)
    parts = run("predict", model_dir, data_file, "-o", "-").stdout
    for found, wanted in zip(read_jsonl(parts), read_jsonl(whole), strict=True):
        assert found["row"] == wanted["row"]
        scores, expected = (
            {entry["label"]: entry["score"] for entry in line["labels"]} for line in (found, wanted)
        )
        # Scores are written with six digits, and blocks of other sizes may differ in the last.
        assert scores == pytest.approx(expected, rel=RTOL, abs=2e-6)


def test_rows_without_labels_are_written_as_empty(run, model_dir, data_file):
    never = ("--decision", "threshold=1e9")
    lines = read_jsonl(run("predict", model_dir, data_file, "-o", "-", *never).stdout)
    assert len(lines) == 300
    assert all(line["labels"] == [] for line in lines)
    text = run("predict", model_dir, data_file, "-o", "-", *never, "--format", "xmc").stdout
    assert text == "300 30\n" + "\n" * 300


@pytest.mark.skipif(os.name == "nt", reason="needs the pipes of a shell")
def test_a_reader_that_leaves_early_is_no_error(model_dir, data_file):
    command = f"{sys.executable} -m rmls predict {model_dir} {data_file} -o - --top 30 | head -1"
    shell = ["bash", "-c", f"set -o pipefail; {command}"]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=patience(3))
    assert done.returncode in (0, 141)
    assert done.stderr.strip() in ("", "wrote     -: 300 rows")
    assert json.loads(done.stdout)["row"] == 0


def test_existing_files_are_kept_unless_overwritten(run, fails, model_dir, data_file, tmp_path):
    out = tmp_path / "p.jsonl"
    out.write_text("mine")
    assert "--overwrite" in fails("predict", model_dir, data_file, "-o", out)
    assert out.read_text() == "mine"
    assert run("predict", model_dir, data_file, "-o", out, "--overwrite").exit_code == 0
    assert len(read_jsonl(out.read_text())) == 300


def test_nothing_is_left_when_predicting_fails(run, model_dir, data_file, tmp_path, monkeypatch):
    monkeypatch.setattr(rmls.RMLS, "rank_sets", lambda *_: 1 / 0)
    assert run("predict", model_dir, data_file, "-o", tmp_path / "p.csv").exit_code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_written_to_and_not_replaced(run, model_dir, data_file, tmp_path):
    pipe, texts = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()))
    reader.start()
    result = run("predict", model_dir, data_file, "-o", pipe, "--format", "jsonl")
    reader.join()
    assert result.exit_code == 0
    assert len(read_jsonl(texts[0])) == 300
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_the_names_of_stdout_add_to_the_file_behind_it(model_dir, data_file, tmp_path):
    names = [*filter(os.path.exists, ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"))]
    program = [sys.executable, "-c", ONE_AFTER_ANOTHER, " ".join(names)]
    program += ["predict", model_dir, data_file, "--format", "jsonl", "--quiet", "-o"]
    with open(tmp_path / "all.jsonl", "a") as stream:
        print(json.dumps("before"), file=stream, flush=True)
        subprocess.run(map(str, program), stdout=stream, check=True, timeout=patience(3))
    lines = read_jsonl((tmp_path / "all.jsonl").read_text())
    assert [line if isinstance(line, str) else line["row"] for line in lines] == [
        "before",
        *(line for name in names for line in (name, *range(300))),
    ]
    assert os.listdir(tmp_path) == ["all.jsonl"]


def test_a_device_is_written_to_and_not_replaced(run, model_dir, data_file):
    result = run("predict", model_dir, data_file, "-o", os.devnull, "--format", "csv")
    assert result.exit_code == 0
    assert not os.path.isfile(os.devnull)


def test_other_features_are_refused_in_one_sentence(fails, model_dir, tmp_path):
    save(Dataset(np.ones((2, 7)), np.ones((2, 30))), tmp_path / "other.npz")
    sentence = fails("predict", model_dir, tmp_path / "other.npz", "-o", "-")
    assert sentence.endswith("has 7 features but the model was trained on 120.")


def test_svmlight_without_the_last_features_is_filled_up(run, model_dir, data, tmp_path):
    short = replace(data, X=data.X[:, :100], feature_names=None, label_names=None)
    save(short, tmp_path / "short.svm")
    result = run("predict", model_dir, tmp_path / "short.svm", "-o", "-")
    assert result.exit_code == 0
    assert "names 100 of the 120 features" in result.stderr


@pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
def test_rows_without_labels_are_predicted(
    format, run, fails, model_dir, data, data_file, tmp_path
):
    path = tmp_path / f"rows{format.extensions[0]}"
    save(Dataset(data.X), path)
    wanted = run("predict", model_dir, data_file, "-o", "-").stdout
    result = run("predict", model_dir, path, "-o", "-")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == wanted
    assert "the file has no labels" in fails("evaluate", model_dir, path)


def test_wrong_inputs(fails, model_dir, data_file, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "is not an rmls model" in fails("predict", empty, data_file, "-o", "-")
    assert "does not exist" in fails("predict", tmp_path / "none", data_file, "-o", "-")
    assert "names no format" in fails("predict", model_dir, data_file, "-o", tmp_path / "p")
    assert "--format must be" in fails("predict", model_dir, data_file, "-o", "-", "--format", "x")
    both = ("--top", "3", "--decision", "cardinality")
    assert "exclude each other" in fails("predict", model_dir, data_file, "-o", "-", *both)
    assert "--top" in fails("predict", model_dir, data_file, "-o", "-", "--top", "0")
    xmc = ("--format", "xmc", "--values", "both")
    assert "room for one number" in fails("predict", model_dir, data_file, "-o", "-", *xmc)
    clash = ("--no-scores", "--values", "score")
    assert "exclude each other" in fails("predict", model_dir, data_file, "-o", "-", *clash)
    folder = tmp_path / "no" / "p.csv"
    assert "is not a folder" in fails("predict", model_dir, data_file, "-o", folder)
    assert "is a folder" in fails("predict", model_dir, data_file, "-o", empty, "--format", "csv")
    assert "MODEL comes before DATA" in fails("predict", data_file, model_dir, "-o", "-")
    rule = ("--decision", "threshold")
    assert "was not fitted" in fails("predict", model_dir, data_file, "-o", "-", *rule)
