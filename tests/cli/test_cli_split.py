"""`rmls split`: stratified training and test rows, or folds, in files of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rmls.datasets import load, make_longtail, save
from rmls.datasets.formats import formats

DATA = replace(make_longtail(100, 30, 8, random_state=5), n_train=None)


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(DATA, "toy.npz")
    return "toy.npz"


def rows_of(*parts):
    """Return the rows of data sets as texts, sorted."""
    return sorted(row.tobytes() for part in parts for row in part.X.toarray())


def test_two_files_hold_every_row_once_and_every_label_alike(source, run, tmp_path):
    result = run("split", source)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    train, test = load("toy-train.npz"), load("toy-test.npz")
    assert (train.n_samples, test.n_samples) == (80, 20)
    assert rows_of(train, test) == rows_of(DATA)
    counts, kept = (np.asarray(part.Y.sum(axis=0)).ravel() for part in (DATA, test))
    assert (np.abs(kept - 0.2 * counts) <= 1).all()


def test_the_seed_decides(source, run):
    parts = []
    for seed in (0, 0, 1):
        run("split", source, "--seed", seed, "--overwrite")
        parts.append(rows_of(load("toy-test.npz")))
    assert parts[0] == parts[1] != parts[2]


def test_every_fold_is_a_split_of_all_rows(source, run):
    result = run("split", source, "--folds", "4", "-o", "part.svm.gz")
    assert result.exit_code == 0, result.stderr
    folds = [load(f"part-fold{number}.svm.gz") for number in (1, 2, 3, 4)]
    assert all(rows_of(fold) == rows_of(DATA) for fold in folds)
    assert [fold.n_train for fold in folds] == [75] * 4
    assert rows_of(*(fold.test for fold in folds)) == rows_of(DATA)


@pytest.mark.parametrize("format", [format.name for format in formats()])
def test_every_format_can_be_asked_for(format, source, run, tmp_path):
    for options in ((), ("--folds", "2")):
        result = run("split", source, "--to", format, *options)
        assert result.exit_code == 0, result.stderr
        assert "warning" not in result.stderr
    written = sorted(path.stem.split(".")[0] for path in tmp_path.glob("toy-*"))
    assert {"toy-train", "toy-test"} <= set(written)
    ending = next(each for each in formats() if each.name == format).extensions[0]
    assert load(f"toy-test{ending}").n_samples == 20


def test_nothing_is_overwritten_and_nothing_half_written(source, run, fails, tmp_path):
    (tmp_path / "toy-test.npz").write_bytes(b"mine")
    assert "toy-test.npz exists" in fails("split", source)
    assert not (tmp_path / "toy-train.npz").exists()
    assert (tmp_path / "toy-test.npz").read_bytes() == b"mine"
    assert run("split", source, "--overwrite").exit_code == 0
    assert load("toy-test.npz").n_samples == 20


def test_what_makes_no_sense_is_refused(source, fails, tmp_path):
    assert "must lie between 0 and 1; got 1.0" in fails("split", source, "--test-share", "1")
    both = fails("split", source, "--test-share", "0.5", "--folds", "3")
    assert "exclude each other" in both
    assert "every fold needs at least one row" in fails("split", source, "--test-share", "0.0001")
    assert "names no format" in fails("split", source, "-o", "toy.xyz")
    save(replace(DATA, n_train=60), tmp_path / "split.npz")
    assert "60 training and 40 test rows already; give --part all" in fails("split", "split.npz")


def test_a_part_of_a_split_data_set_can_be_divided(run, tmp_path, source):
    save(replace(DATA, n_train=60), tmp_path / "split.npz")
    for part, rows in (("train", 60), ("all", 100)):
        run("split", "split.npz", "--part", part, "--test-share", "0.5", "--overwrite")
        assert load("split-train.npz").n_samples == rows // 2
