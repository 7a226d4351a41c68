"""`rmls stats`: the figures of the library, as JSON, as a table, as a picture."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from patience import patience

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


def run_in_shell(line, tmp_path):
    """Run a command line of bash, in which `rmls` is this package; return what it prints."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    program = f"rmls() {{ '{sys.executable}' -m rmls \"$@\"; }}; set -o pipefail; {line}"
    done = subprocess.run(
        ["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=patience(2)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "cat big.svm | rmls stats /dev/stdin --json",
        "gzip -c big.svm | rmls stats - --json",
        pytest.param("cat big.svm | rmls stats - --json", marks=pytest.mark.slow),
        pytest.param("rmls stats <(cat big.svm) --json", marks=pytest.mark.slow),
    ],
)
def test_all_rows_of_a_pipe_are_counted(line, tmp_path):
    text = "".join(f"{row % 30},{row % 7} {row % 90}:1 {row % 90 + 1}:2\n" for row in range(50_000))
    (tmp_path / "big.svm").write_text(text)
    assert json.loads(run_in_shell(line, tmp_path))["n_samples"] == 50_000


def test_stats_of_data_that_are_not_labelled_say_so(fails, data, tmp_path):
    save(Dataset(data.X), tmp_path / "rows.npz")
    assert "the file has no labels" in fails("stats", tmp_path / "rows.npz")


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
