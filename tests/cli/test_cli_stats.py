"""`rmls stats`: the figures of the library, as JSON, as a table, as a picture."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rmls.datasets import Dataset, save
from rmls.imbalance import describe


def test_stats_json_is_the_report(run, data_file, data):
    found = json.loads(run("stats", data_file, "--json").stdout)
    assert (
        found.items()
        >= json.loads(json.dumps(describe(data.Y, data.label_names).as_dict())).items()
    )
    assert found["n_features"] == 120


def test_stats_of_a_part(run, data_file):
    for part, rows in (("all", 300), ("train", 240), ("test", 60)):
        found = json.loads(run("stats", data_file, "--json", "--part", part).stdout)
        assert found["n_samples"] == rows


def test_stats_table_fits_a_terminal(run, data_file):
    result = run("stats", data_file)
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    for text in ("rows", "300", "labels per row", "head", "torso", "tail", "most frequent"):
        assert text in result.stdout


def test_stats_of_data_without_positives(run, tmp_path):
    save(Dataset(np.ones((2, 2)), np.zeros((2, 3))), tmp_path / "none.npz")
    assert run("stats", tmp_path / "none.npz").exit_code == 0
    found = json.loads(run("stats", tmp_path / "none.npz", "--json").stdout)
    assert found["mean_imbalance_ratio"] is None


def test_stats_draws(run, fails, data_file, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("stats", data_file, "--plot", tmp_path / "p.svg", "--json")
    assert json.loads(result.stdout)["n_samples"] == 300
    assert (tmp_path / "p.svg").stat().st_size > 1000
    assert ".png" in fails("stats", data_file, "--plot", tmp_path / "p.txt")


def test_a_data_set_without_rows_is_refused(fails, data, tmp_path):
    save(replace(data.take([]), n_train=None), tmp_path / "empty.npz")
    assert "has no rows" in fails("stats", tmp_path / "empty.npz")
