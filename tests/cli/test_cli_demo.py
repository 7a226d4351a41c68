"""`rmls demo`: works of art, a baseline on the same rows, suggestions, and what to do next."""

from __future__ import annotations

import csv
import shlex

import numpy as np
import pytest
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import rmls
from rmls.cli.demo.comparison import (
    Answers,
    Rows,
    compare_bands,
    compare_totals,
    score_one_vs_rest,
)
from rmls.core.ranking import Ranking
from rmls.datasets import Dataset, load_artworks, make_longtail
from rmls.models.shared.progress import Stage


@pytest.fixture(scope="module")
def few_works():
    works = load_artworks()
    return type(works)(works.train.take(slice(0, 300)), works.test.take(slice(0, 60)))


@pytest.fixture
def demo(few_works, run, monkeypatch):
    monkeypatch.setattr("rmls.datasets.load_artworks", lambda: few_works)
    return lambda *options: run("demo", "--jobs", 1, *options)


def test_demo_shows_the_whole_path(demo, few_works, fails, run, tmp_path):
    result = demo("--save", tmp_path / "kept")
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.output
    shown = [line for line in result.stdout.splitlines() if "kept" not in line]
    assert max(map(len, shown)) <= 80
    for text in ("300 works to learn from, 60 to test", "Tate", "CC0", "one-vs-rest", "RMLSRanker"):
        assert text in result.stdout
    for text in ("1 to 5", "6 to 50", "more than 50", "P@1", "P@5", "PSP@5", "macro-F@5"):
        assert text in result.stdout
    assert result.stdout.index("1 to 5") < result.stdout.index("P@1")
    assert "one-vs-rest" in result.stderr
    assert "pass 8/8" in result.stderr
    assert "exists" in fails("demo", "--save", tmp_path / "kept")


def test_three_unseen_works_get_suggestions_beside_their_true_subjects(demo, few_works):
    text = demo().stdout.partition("4  Suggestions")[2].partition("5  Next")[0]
    works = [block for block in text.split("\n\n") if "curators:" in block]
    assert len(works) == 3
    for place, block in enumerate(works):
        assert few_works.test.texts[place][0][:40] in block
        suggested = [line for line in block.splitlines() if "%" in line[:7]]
        assert len(suggested) == 5
        for line in suggested:
            name, marked = line[13:], "yes" in line[6:12]
            assert marked == (name in few_works.test.labels[place])


def test_what_is_kept_can_be_used_by_the_commands_shown(demo, few_works, run, tmp_path):
    stdout = demo("--save", tmp_path / "kept").stdout
    commands = [shlex.split(line)[1:] for line in stdout.splitlines() if "kept" in line]
    assert [command[0] for command in commands] == ["evaluate", "suggest", "train"]
    for command in commands[:2]:
        result = run(*command)
        assert result.exit_code == 0, result.stderr
        assert "trained on" not in result.stderr
    with (tmp_path / "kept" / "test.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["title"] for row in rows] == [texts[0] for texts in few_works.test.texts]
    assert [row["subjects"].split("|") for row in rows] == few_works.test.labels
    assert type(rmls.load(tmp_path / "kept" / "model")) is rmls.TextRanker
    again = run(*commands[2][:-1], tmp_path / "again", "--components", "4", "--passes", "1")
    assert again.exit_code == 0, again.stderr


def test_the_baseline_is_one_vs_rest_of_scikit_learn():
    data = make_longtail(300, 120, 30, random_state=1)
    X = sparse.csr_matrix(data.X, dtype=np.float32)
    X = X.multiply(1 / np.maximum(sparse.linalg.norm(X, axis=1), 1e-9)[:, None]).tocsr()
    train, test, Y = X[:240], X[240:], data.Y[:240]
    used = np.flatnonzero(Y.sum(axis=0).A1 if hasattr(Y.sum(axis=0), "A1") else Y.sum(axis=0))
    Y = sparse.csr_matrix(Y[:, used])
    found = score_one_vs_rest(train, Y, test, 1, Stage())
    wanted = OneVsRestClassifier(LinearSVC(random_state=0)).fit(train, Y).decision_function(test)
    np.testing.assert_allclose(found, wanted, atol=0.02)


def test_bands_count_what_is_found_among_labels_of_a_frequency():
    counts = (2, 5, 6, 50, 51)
    Y = np.zeros((60, 5), np.int8)
    for label, number in enumerate(counts):
        Y[:number, label] = 1
    train = Dataset(sparse.eye(60, format="csr"), sparse.csr_matrix(Y))
    truth = sparse.csr_matrix([[1, 1, 1, 1, 1], [1, 0, 1, 0, 1]], dtype=np.int8)
    rows = Rows(train, sparse.eye(2, 60, format="csr"), truth, 0)
    ours = Ranking.from_table(np.int32([[0, 2], [0, 4]]), np.float32([[2, 1], [2, 1]]), 5)
    theirs = Ranking.from_table(np.int32([[4, 3], [4, 3]]), np.float32([[2, 1], [2, 1]]), 5)
    answers = [Answers("a", ours, 1.0), Answers("b", theirs, 1.0)]
    bands = compare_bands(rows, answers)
    assert [(band.name, band.n_labels, band.n_pairs) for band in bands] == [
        *(("1 to 5", 2, 3), ("6 to 50", 2, 3), ("more than 50", 1, 2))
    ]
    np.testing.assert_allclose(
        [band.found for band in bands], [[2 / 3, 0], [1 / 3, 1 / 3], [1 / 2, 1]]
    )
    assert compare_totals(rows, answers)["P@1"] == [1.0, 1.0]
