"""`rmls evaluate`: the figures of rmls.evaluate, with labels matched by name."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import rmls
from rmls.datasets import save


def evaluate_json(run, *arguments):
    result = run("evaluate", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_figures_are_those_of_the_library(run, model_dir, data_file, data):
    found = evaluate_json(run, model_dir, data_file, "--metrics", "all")
    model, test = rmls.load(model_dir), data.test
    expected = rmls.evaluate(
        test.Y,
        model.predict_sets(test.X),
        model.rank(test.X, 5),
        train_counts=model.label_counts_,
        n_train=240,
    )
    assert found["all"] == pytest.approx(expected.totals)
    for group in ("head", "torso", "tail"):
        assert found[group] == pytest.approx(expected.groups[group])
    assert (found["n_samples"], found["n_labels"]) == (60, 30)


def test_table_shows_the_groups_without_colours(run, model_dir, data_file):
    result = run("evaluate", model_dir, data_file)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert result.stdout.splitlines()[0] == "small/test: 60 rows, 30 labels"
    assert result.stdout.splitlines()[1].split() == ["metric", "all", "head", "torso", "tail"]
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stderr == ""


def test_chosen_metrics_and_lengths(run, model_dir, data_file):
    chosen = ("--metrics", "f1, p@k,psp@2", "--k", "1,7")
    found = evaluate_json(run, model_dir, data_file, *chosen)
    assert list(found["all"]) == ["example_f1", "precision@1", "precision@7", "psp@2"]
    assert list(evaluate_json(run, model_dir, data_file, "--metrics", "p@9")["all"]) == [
        "precision@9"
    ]


@pytest.mark.parametrize(("part", "rows"), [("all", 300), ("train", 240), ("test", 60)])
def test_part(run, model_dir, data_file, part, rows):
    assert evaluate_json(run, model_dir, data_file, "--part", part)["n_samples"] == rows


def test_decision_changes_the_sets(run, model_dir, data_file):
    found = evaluate_json(run, model_dir, data_file, "--decision", "threshold=1e9")
    assert found["all"]["example_f1"] == 0.0


def test_order_of_named_labels_does_not_matter(run, model_dir, data_file, data, tmp_path):
    order = np.random.default_rng(0).permutation(30)
    names = [data.label_names[label] for label in order]
    save(replace(data, Y=data.Y[:, order], label_names=names), tmp_path / "small.npz")
    found = evaluate_json(run, model_dir, tmp_path / "small.npz")
    assert found == evaluate_json(run, model_dir, data_file)


def test_unknown_labels_count_as_never_predicted(run, model_dir, data_file, data, tmp_path):
    ones = np.ones((300, 1), dtype=np.int32)
    wider = sparse.csr_matrix(sparse.hstack([ones, data.Y]))
    save(replace(data, Y=wider, label_names=["new", *data.label_names]), tmp_path / "wider.npz")
    result = run("evaluate", model_dir, tmp_path / "wider.npz", "--json")
    assert "1 of the 31 labels of wider/test are unknown to the model (new)" in result.stderr
    found, usual = json.loads(result.stdout), evaluate_json(run, model_dir, data_file)
    assert found["all"]["precision@1"] == usual["all"]["precision@1"]
    assert found["all"]["hamming_loss"] == pytest.approx(
        (30 * usual["all"]["hamming_loss"] + 1) / 31
    )


def test_missing_labels_are_columns_without_rows(run, model_dir, data, tmp_path):
    fewer = replace(data, Y=data.Y[:, :20], label_names=data.label_names[:20])
    save(fewer, tmp_path / "fewer.npz")
    assert evaluate_json(run, model_dir, tmp_path / "fewer.npz")["n_labels"] == 30


def test_without_names_columns_must_agree(run, fails, model_dir, data_file, data, tmp_path):
    save(replace(data, label_names=None), tmp_path / "plain.npz")
    save(replace(data, Y=data.Y[:, :20], label_names=None), tmp_path / "fewer.npz")
    found = evaluate_json(run, model_dir, tmp_path / "plain.npz")
    assert found["all"] == evaluate_json(run, model_dir, data_file)["all"]
    assert "20 labels but the model" in fails("evaluate", model_dir, tmp_path / "fewer.npz")


def test_wrong_inputs(fails, model_dir, data_file, data, tmp_path):
    assert "did you mean" in fails("evaluate", model_dir, data_file, "--metrics", "f7")
    assert "whole number from 1" in fails("evaluate", model_dir, data_file, "--k", "0,1")
    assert "a list such as" in fails("evaluate", model_dir, data_file, "--metrics", "f1,,p@1")
    save(data.test, tmp_path / "rows.npz")
    rows = tmp_path / "rows.npz"
    assert "--part all" in fails("evaluate", model_dir, rows, "--part", "test")
    save(replace(data, label_names=[f"x{label}" for label in range(30)]), tmp_path / "x.npz")
    assert "no label that the model knows" in fails("evaluate", model_dir, tmp_path / "x.npz")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "model.json").write_text("{}")
    assert str(tmp_path / "bad") in fails("evaluate", tmp_path / "bad", data_file)


# -- every label ---------------------------------------------------------------------------------


def expected_labels(model_dir, data):
    model, test = rmls.load(model_dir), data.test
    return rmls.metrics.per_label(
        test.Y,
        model.predict_sets(test.X),
        probabilities=model.rank(test.X, 100),
        train_counts=model.label_counts_,
        names=data.label_names,
    )


def test_all_labels_go_to_a_file(run, model_dir, data_file, data, tmp_path):
    out = tmp_path / "labels.csv"
    result = run("evaluate", model_dir, data_file, "--per-label", out)
    assert result.exit_code == 0, result.stderr
    assert "labels.csv: 30 labels" in result.stderr
    with open(out, newline="") as stream:
        table = list(csv.DictReader(stream))
    report = expected_labels(model_dir, data)
    assert list(table[0]) == report.columns
    assert "probability" in "".join(report.columns)
    for found, wanted in zip(table, report.rows(), strict=True):
        for name, value in wanted.items():
            if isinstance(value, float):
                assert float(found[name]) == pytest.approx(value, rel=1e-4, abs=1e-6)
            else:
                assert found[name] == ("" if value is None else str(value))


def test_the_worst_labels_are_shown(run, model_dir, data_file, data):
    result = run("evaluate", model_dir, data_file, "--per-label", "--worst", "5")
    lines = result.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("5 of 30 labels"))
    titles = ["label", "train", "test", "predicted", "P", "R", "F1", "prob.", "share"]
    assert lines[start + 1].split() == titles
    report = expected_labels(model_dir, data)
    shown = [line[:9].strip() for line in lines[start + 3 :]]
    assert shown == report.worst(5).label
    assert max(map(len, lines)) <= 80
    # Either option alone is enough, and the file may come last or first.
    assert run("evaluate", model_dir, data_file, "--worst", "5").stdout == result.stdout
    by_f = run("evaluate", "--per-label", model_dir, data_file, "--worst-by", "f1").stdout
    assert "20 of 30 labels, by the smallest F1" in by_f


def test_the_worst_labels_in_json(run, model_dir, data_file, data):
    found = evaluate_json(run, model_dir, data_file, "--per-label", "--worst", "3")
    assert [row["label"] for row in found["worst_labels"]] == expected_labels(
        model_dir, data
    ).worst(3).label
    assert "worst_labels" not in evaluate_json(run, model_dir, data_file)


def test_unknown_labels_have_their_line(run, model_dir, data, tmp_path):
    ones = np.ones((300, 1), dtype=np.int32)
    wider = sparse.csr_matrix(sparse.hstack([ones, data.Y]))
    save(replace(data, Y=wider, label_names=["new", *data.label_names]), tmp_path / "wider.npz")
    result = run("evaluate", model_dir, tmp_path / "wider.npz", "--worst", "1", "--json")
    (worst,) = json.loads(result.stdout)["worst_labels"]
    assert (worst["label"], worst["test_rows"], worst["train_rows"]) == ("new", 60, 0)
    assert (worst["precision"], worst["recall"]) == (None, 0.0)


def test_a_model_without_probabilities_has_no_such_columns(run, data_file, tmp_path):
    folder, out = tmp_path / "plst", tmp_path / "labels.csv"
    assert run("train", data_file, "-o", folder, "--method", "PLST", "--quiet").exit_code == 0
    result = run("evaluate", folder, data_file, f"--per-label={out}")
    assert "prob." not in result.stdout
    assert "probability" not in out.read_text().splitlines()[0]


def test_the_file_of_labels_is_checked_first(fails, model_dir, data_file, tmp_path):
    taken = tmp_path / "labels.csv"
    taken.write_text("mine")
    assert "--overwrite" in fails("evaluate", model_dir, data_file, "--per-label", taken)
    assert taken.read_text() == "mine"
    wrong = f"--per-label={tmp_path / 'labels.xls'}"
    assert "ends with .csv" in fails("evaluate", model_dir, data_file, wrong)
