"""`rmls bench`: the commands, what they leave behind, and what they say when it goes wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_samples import invoke

from rmls.bench.study.grid import DataSource, Experiment, Fit, Study
from rmls.bench.study.methods import Method
from rmls.cli.bench.display import TimeLeft

Run = Callable[..., Any]

GRID = """
n_folds = 2
[[experiment]]
datasets = [{ name = "toy", longtail = { n = 80, d = 30, m = 8 } }]
[[experiment.method]]
method = "MostFrequent"
decisions = ["top_1", "cardinality"]
[[experiment.method]]
method = "KNN"
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grid") / "toy.toml"
    path.write_text(GRID)
    return path


@pytest.fixture(scope="module")
def folder(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bench") / "results"
    result = invoke("bench", "run", config, "--out", out)
    assert result.exit_code == 0, result.output
    assert "KNN" in result.stdout
    return out


def test_a_run_leaves_results_and_two_reports(folder: Path) -> None:
    lines = (folder / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2 * (2 + 1)
    assert {json.loads(line)["status"] for line in lines} == {"ok"}
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert "KNN" in (folder / "report.md").read_text()


def test_the_report_can_be_made_again_to_the_same_bytes(folder: Path, run: Run) -> None:
    before = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    assert run("bench", "report", folder).exit_code == 0
    assert (folder / "report.html").read_bytes() == before


def test_a_folder_compared_with_itself_shows_no_difference(folder: Path, run: Run) -> None:
    result = run("bench", "compare", folder, folder)
    assert result.exit_code == 0, result.output
    assert "KNN" in result.stdout
    assert "worse" not in result.stdout


def test_several_values_may_follow_an_option(tmp_path: Path, run: Run) -> None:
    arguments = ("bench", "paper", "--datasets", "a", "b", "--k", "2", "3", "--out", tmp_path / "o")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "skipping a" in result.stderr
    assert "skipping b" in result.stderr
    assert "no data set of the study 'paper' is available" in result.stderr
    assert not (tmp_path / "o").exists()


WRONG = {
    ("bench", "run", "none.toml"): "none.toml does not exist",
    ("bench", "report", "none"): "holds no results.jsonl",
    ("bench", "compare", "none", "none"): "holds no results.jsonl",
    ("bench", "paper", "--k", "0"): "--k must be a whole number from 1",
    ("bench", "paper", "--k", "many"): "--k must be a whole number from 1",
    ("bench", "paper", "--methods", "SVM"): "the study has no method 'SVM'",
    ("bench", "paper", "--memory-limit", "lots"): "a size such as 8GB",
    ("bench", "paper", "--time-limit", "0"): "time_limit must be a positive number",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_a_wrong_call_is_one_line_and_leaves_nothing(
    arguments: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert WRONG[arguments] in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "paper-study" / "results.jsonl").exists()


def fits(n: int) -> list[Fit]:
    source = DataSource("d", longtail={"n": 9, "d": 2, "m": 2})
    methods = tuple(Method("KNN", label) for label in ("slow", "fast"))
    return Study("s", (Experiment("e", (source,), methods),), n_folds=n).fits()


def test_the_time_left_is_that_of_like_runs() -> None:
    ahead = fits(3)
    left = TimeLeft(ahead, jobs=2)
    assert left.estimate() is None
    left.finished(ahead[0], 10.0)
    left.finished(ahead[1], 2.0)
    assert left.estimate() == pytest.approx((2 * 10 + 2 * 2) / 2)


def test_a_run_without_its_like_takes_the_mean() -> None:
    ahead = fits(2)
    left = TimeLeft(ahead, jobs=1)
    left.finished(ahead[0], 10.0)
    assert left.estimate() == pytest.approx(30.0)
