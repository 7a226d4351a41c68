"""Runs are isolated, limited and repeatable; what goes wrong is a result too."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_samples import BASELINE, RMLS_METHOD, RULES, SMALL, quality, small_study

from rmls.bench.run.measure import measure
from rmls.bench.run.records import Record
from rmls.bench.run.run_study import run_study
from rmls.bench.run.runner import Listener, Running
from rmls.bench.run.store import read_current
from rmls.bench.study.grid import DataSource, Experiment, Study
from rmls.bench.study.methods import Method
from rmls.core.errors import InputError
from rmls.datasets import make_longtail, save

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    return run_study(small_study(), tmp_path_factory.mktemp("study") / "results", jobs=2)


def test_every_result_has_all_that_is_promised(records: list[Record]) -> None:
    assert len(records) == 2 * (1 + 2 + 1)
    for record in records:
        assert record["status"] == "ok"
        assert record["data"] is not None
        assert record["data"]["checksum"].startswith("sha256:")
        measured = record["measured"]
        assert measured is not None
        assert set(measured["metrics"]) == {"all", "head", "torso", "tail"}
        assert {"example_f1", "precision@5", "psp@5", "macro_f1"} <= set(measured["metrics"]["all"])
        assert (measured["calibration"] is None) == (measured["reliability"] is None)
        assert measured["train_seconds"] > 0
        assert measured["predict_seconds"] > 0
        assert measured["peak_memory"] > 10**7
        assert measured["model_bytes"] > 100
        assert {"rmls", "python", "numpy", "numba"} <= set(record["versions"])
        assert {"cpu", "cores", "memory", "jobs"} <= set(record["machine"])


def test_a_run_measures_what_the_estimator_gives_in_this_process(records: list[Record]) -> None:
    fit = small_study(RMLS_METHOD).fits()[0]
    _, here = measure(fit)
    there = next(r for r in records if r["config"] == fit.configs()[0])
    assert there["measured"] is not None
    assert there["measured"]["metrics"] == here[0]["metrics"]


def test_one_fit_serves_all_decision_rules(records: list[Record]) -> None:
    found = [r["measured"] for r in records if r["config"]["label"] == "PLST"]
    first, second = found[0], found[1]
    assert first is not None
    assert second is not None
    assert first["train_seconds"] == second["train_seconds"]
    assert first["metrics"]["all"]["example_f1"] != second["metrics"]["all"]["example_f1"]
    assert first["metrics"]["all"]["precision@5"] == second["metrics"]["all"]["precision@5"]


ONE_FOLD: dict[str, Any] = {"n_folds": 2, "only_folds": (0,)}


def run(folder: Path, study: Study, **options: Any) -> list[Record]:
    return run_study(study, folder, **options)


def test_a_run_past_its_time_is_marked_and_the_others_go_on(tmp_path: Path) -> None:
    found = run(tmp_path, small_study(RMLS_METHOD, time_limit=0.001))
    assert [r["failure"] and r["failure"]["reason"] for r in found] == ["time"] * 2
    assert all(r["measured"] is None for r in found)


def test_a_run_past_its_memory_is_marked(tmp_path: Path) -> None:
    found = run(tmp_path, small_study(BASELINE, memory_limit=10**6, **ONE_FOLD))
    assert [r["failure"] and r["failure"]["reason"] for r in found] == ["memory"]
    assert found[0]["failure"] is not None
    assert "the limit is 1.0 MB" in found[0]["failure"]["message"]


def test_an_error_of_a_method_is_marked_with_its_sentence(tmp_path: Path) -> None:
    # Only the data tell that there is no such label.
    bad = Method("RMLS", params={"class_weight": {"nobody": 2.0}})
    found = run(tmp_path, small_study(bad, BASELINE, **ONE_FOLD))
    (failure,) = (r["failure"] for r in found if r["failure"])
    assert failure["reason"] == "error"
    assert failure["message"] == "class_weight names the label 'nobody', which is not known."
    assert [r["status"] for r in found] == ["failed", "ok"]


class Killer(Listener):
    """Ends the first run by a signal, as the system does with a process out of memory."""

    def __init__(self) -> None:
        self.n_killed = 0

    def tick(self, running: list[Running]) -> None:
        if running and not self.n_killed:
            os.kill(running[0].process.pid, signal.SIGSEGV)
            self.n_killed += 1


def test_a_crash_is_marked_and_the_others_go_on(tmp_path: Path) -> None:
    found = run(tmp_path, small_study(BASELINE), listener=Killer())
    assert [r["failure"] and r["failure"]["reason"] for r in found] == ["crash", None]
    assert found[0]["failure"] is not None
    assert "SIGSEGV" in found[0]["failure"]["message"]


class Counter(Listener):
    def __init__(self) -> None:
        self.labels: list[str] = []

    def finished(self, run: Running, failure: Any, n_left: int) -> None:
        self.labels.append(str(run.fit))


def test_a_finished_study_runs_nothing_again(tmp_path: Path) -> None:
    study = small_study(BASELINE, **ONE_FOLD)
    first = run(tmp_path, study)
    counter = Counter()
    assert run(tmp_path, study, listener=counter) == first
    assert counter.labels == []


def test_a_larger_grid_runs_only_what_is_new(tmp_path: Path) -> None:
    first = run(tmp_path, small_study(replace(RULES, decisions=("top_1",)), **ONE_FOLD))
    counter = Counter()
    larger = small_study(RULES, BASELINE, **ONE_FOLD)
    found = run(tmp_path, larger, listener=counter)
    assert len(found) == 2 + 1
    assert found[:1] == first
    assert len({r["key"] for r in found}) == len(found)
    run(tmp_path, larger, listener=counter)
    assert len(counter.labels) == 1 + 1


def test_failed_runs_are_kept_until_they_are_asked_for_again(tmp_path: Path) -> None:
    run(tmp_path, small_study(BASELINE, time_limit=0.001, **ONE_FOLD))
    again = small_study(BASELINE, **ONE_FOLD)
    assert {r["status"] for r in run(tmp_path, again)} == {"failed"}
    said: list[str] = []
    found = run(tmp_path, again, retry_failed=True, say=said.append)
    assert {r["status"] for r in found} == {"ok"}
    assert "running 1 failed result again." in said


def test_the_number_of_processes_changes_no_figure(tmp_path: Path, records: list[Record]) -> None:
    assert quality(run(tmp_path, small_study(), jobs=1)) == quality(records)


def test_data_not_available_are_said_and_skipped(tmp_path: Path) -> None:
    missing = DataSource("no_such_data")
    study = Study("s", (Experiment("e", (missing, SMALL), (BASELINE,)),), **ONE_FOLD)
    said: list[str] = []
    found = run(tmp_path, study, say=said.append)
    assert {r["config"]["dataset"] for r in found} == {"small"}
    assert "skipping no_such_data" in said[0]
    assert "no_such_data" in read_current(tmp_path)[1]["missing"]


def test_no_data_at_all_is_one_sentence(tmp_path: Path) -> None:
    study = Study("s", (Experiment("e", (DataSource("no_such_data"),), (BASELINE,)),))
    with pytest.raises(InputError, match="no data set of the study 's' is available"):
        run(tmp_path, study)


def test_changed_data_are_measured_anew_and_old_figures_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    source = DataSource("mine", source=str(path))
    study = Study("s", (Experiment("e", (source,), (BASELINE,)),), **ONE_FOLD)
    for seed in (0, 1):
        path.unlink(missing_ok=True)
        save(make_longtail(120, 40, 12, random_state=seed), path)
        run(tmp_path / "out", study)
    current, facts = read_current(tmp_path / "out")
    assert len(current) == 1
    assert {r["data"] and r["data"]["checksum"] for r in current} == {
        facts["datasets"]["mine"]["checksum"]
    }
