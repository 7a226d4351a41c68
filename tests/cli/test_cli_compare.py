"""`rmls compare`: two saved models on the same rows."""

from __future__ import annotations

import csv
import json

import pytest
from text_samples import write_csv

import rmls
from rmls.cli.shared.texts import Reading, load_texts_for_model
from rmls.datasets import save


@pytest.fixture(scope="module")
def baseline(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("baseline") / "base"
    rmls.MostFrequent().fit(data.train.X, data.train.Y, label_names=data.label_names).save(folder)
    return folder


def compare_json(run, *arguments):
    result = run("compare", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_figures_are_those_of_the_library(run, baseline, model_dir, data_file, data):
    found = compare_json(run, baseline, model_dir, data_file, "--show-labels", "2")
    test = data.test
    expected = rmls.compare(
        rmls.load(baseline), rmls.load(model_dir), test.X, test.Y, label_names=data.label_names
    )
    for record, wanted in zip(found["figures"], expected.figures(), strict=True):
        assert record == pytest.approx(wanted)
    assert (found["a"], found["b"], found["n_rows"]) == ("base", "model", 60)
    assert len(found["labels"]["winners"]) <= 2


def test_the_terminal_shows_groups_labels_and_rows(run, baseline, model_dir, data_file):
    result = run("compare", baseline, model_dir, data_file)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "base and model"
    assert lines[1] == "model against base on 60 rows of small/test"
    assert ["metric", "head", "torso", "tail"] in [line.split() for line in lines]
    for title in ("Difference", "Labels that gain and lose", "Rows that changed"):
        assert title in lines
    assert max(map(len, lines)) <= 80


def test_all_rows_that_changed_go_to_a_file(run, baseline, model_dir, data_file, tmp_path):
    out, page = tmp_path / "rows.csv", tmp_path / "page.html"
    given = ("--rows", out, "--html", page)
    result = run("compare", baseline, model_dir, data_file, *given)
    assert result.exit_code == 0, result.stderr
    with open(out, newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = compare_json(run, baseline, model_dir, data_file)["rows"]
    assert len(rows) >= found["other_sets"] > 0
    assert list(rows[0]) == ["row", "true", "labels_a", "labels_b", "f1_a", "f1_b"]
    better = sum(float(row["f1_b"]) > float(row["f1_a"]) for row in rows)
    assert better == found["better"]
    assert "model minus base" in page.read_text("utf-8")


def test_texts_are_compared_as_they_are(run, text_model, tmp_path):
    source = write_csv(tmp_path / "tickets.csv")
    model = rmls.load(text_model)
    estimator, rows = load_texts_for_model(model, str(source), Reading())
    names = [str(name) for name in rows.label_names]
    other = rmls.MostFrequent().fit(rows.X, rows.Y, label_names=names)
    rmls.TextRanker.assemble(model.features_, other).save(tmp_path / "other")
    result = run("compare", tmp_path / "other", text_model, source, "--rows", tmp_path / "r.csv")
    assert result.exit_code == 0, result.stderr
    assert "were trained on" in result.stderr
    with open(tmp_path / "r.csv", newline="") as stream:
        first = next(csv.DictReader(stream))
    assert first["text"]
    assert estimator is not None


def test_rows_that_were_trained_on_are_told(run, baseline, model_dir, data_file):
    result = run("compare", baseline, model_dir, data_file, "--part", "train", "--json")
    assert "all 240 rows of small/train (model) were trained on" in result.stderr


def test_wrong_inputs(fails, run, baseline, model_dir, text_model, data_file, data, tmp_path):
    taken = tmp_path / "rows.csv"
    taken.write_text("mine")
    use = ("compare", baseline, model_dir, data_file)
    assert "--overwrite" in fails(*use, "--rows", taken)
    assert "ends with .csv" in fails(*use, "--rows", tmp_path / "rows.txt")
    assert "whole number" in fails(*use, "--show-rows", "-1")
    save(data.test, tmp_path / "rows.npz")
    assert "--part all" in fails(
        "compare", baseline, model_dir, tmp_path / "rows.npz", "--part", "test"
    )
    mixed = fails("compare", text_model, text_model, data_file)
    assert mixed
