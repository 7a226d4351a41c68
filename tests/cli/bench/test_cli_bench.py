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


def test_a_value_that_no_run_could_take_is_refused_before_the_first(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(GRID.replace('method = "KNN"', 'method = "RMLS"\nparams.calibration = "nome"'))
    result = invoke("bench", "run", path, "--out", tmp_path / "o")
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(f"rmls: error: {path}, experiment 'methods': RMLS: calibration must be")
    assert not (tmp_path / "o").exists()


# Only the data tell that there is no such label.
FAILS = (
    GRID.partition("[[experiment.method]]")[0]
    + """
[[experiment.method]]
method = "RMLS"
params = { calibration = "none", max_iter = 1, class_weight = { nobody = 2.0 } }
"""
)


def test_a_study_whose_runs_all_failed_ends_as_an_error(tmp_path: Path) -> None:
    path, out = tmp_path / "fails.toml", tmp_path / "o"
    path.write_text(FAILS)
    # The second call has nothing to run; what it would have run has failed.
    for _ in range(2):
        result = invoke("bench", "run", path, "--out", out, "--quiet")
        assert result.exit_code == 2
        assert result.stderr == (
            f"rmls: error: all runs of the study failed; {out / 'report.md'} says why.\n"
        )
        assert "names the label 'nobody'" in (out / "report.md").read_text()
    # One that ends well makes a study: the table names those that failed.
    path.write_text(FAILS + '[[experiment.method]]\nmethod = "MostFrequent"\n')
    result = invoke("bench", "run", path, "--out", out, "--quiet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Runs that failed" in result.stdout
    # Old results of other questions do not make up for it.
    path.write_text(FAILS)
    assert invoke("bench", "run", path, "--out", out, "--quiet").exit_code == 2


def test_a_study_without_time_names_what_is_left_also_when_quiet(
    config: Path, tmp_path: Path
) -> None:
    result = invoke("bench", "run", config, "--out", tmp_path, "--budget", "0", "--quiet")
    assert result.exit_code == 2
    assert result.stderr == (
        f"rmls: error: {tmp_path} holds no finished result yet; left of the study are "
        "toy MostFrequent; toy KNN.\n"
    )


def test_data_named_for_the_second_experiment_are_not_left_out(
    data_file: Path, tmp_path: Path
) -> None:
    small = ("--methods", "Baseline", "--folds", "2", "--alphas", "1", "--k", "2", "--no-tuned")
    command = ("bench", "paper", "--datasets", data_file, *small, "--out", tmp_path / "o")
    result = invoke(*command, "--alpha-data", "nosuch")
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("rmls: error: the study cannot be run without nosuch: 'nosuch' is neith")
    assert not (tmp_path / "o").exists()
    assert invoke(*command, "--alpha-data", "nosuch", "--no-alpha", "--quiet").exit_code == 0


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
