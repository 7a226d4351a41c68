"""Runs are isolated, limited and repeatable; what goes wrong is a result too."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_samples import BASELINE, PLST_METHOD, RMLS_METHOD, SMALL, quality, small_study
from scipy import sparse

from rmls.bench.conduct import conduct, read_current
from rmls.bench.data import Parts, checksum, load_source, split_rows
from rmls.bench.measure import measure
from rmls.bench.probabilities import measure_probabilities
from rmls.bench.records import Record
from rmls.bench.runner import Listener, Running
from rmls.bench.study import DataSource, Experiment, Method, Study
from rmls.core.errors import InputError
from rmls.datasets import make_longtail, save

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    return conduct(small_study(), tmp_path_factory.mktemp("study") / "results", jobs=2)


def test_every_result_has_all_that_is_promised(records: list[Record]) -> None:
    assert len(records) == 2 * (2 + 2 + 1)
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


def run(folder: Path, study: Study, **options: Any) -> list[Record]:
    return conduct(study, folder, **options)


def test_a_run_past_its_time_is_marked_and_the_others_go_on(tmp_path: Path) -> None:
    found = run(tmp_path, small_study(RMLS_METHOD, time_limit=0.001))
    assert [r["failure"] and r["failure"]["reason"] for r in found] == ["time"] * 4
    assert all(r["measured"] is None for r in found)


def test_a_run_past_its_memory_is_marked(tmp_path: Path) -> None:
    found = run(tmp_path, small_study(BASELINE, memory_limit=10**6))
    assert [r["failure"] and r["failure"]["reason"] for r in found] == ["memory"] * 2
    assert found[0]["failure"] is not None
    assert "the limit is 0.00 GB" in found[0]["failure"]["message"]


def test_an_error_of_a_method_is_marked_with_its_sentence(tmp_path: Path) -> None:
    bad = Method("RMLS", params={"n_components": 0})
    found = run(tmp_path, small_study(bad, BASELINE))
    failed = [r["failure"] for r in found if r["failure"]]
    assert [failure["reason"] for failure in failed] == ["error", "error"]
    assert "n_components must be a whole number of at least 1" in failed[0]["message"]
    assert sum(r["status"] == "ok" for r in found) == 2


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
    first = run(tmp_path, small_study(BASELINE))
    counter = Counter()
    assert run(tmp_path, small_study(BASELINE), listener=counter) == first
    assert counter.labels == []


def test_a_larger_grid_runs_only_what_is_new(tmp_path: Path) -> None:
    run(tmp_path, small_study(replace(PLST_METHOD, decisions=("round",))))
    counter = Counter()
    found = run(tmp_path, small_study(PLST_METHOD, BASELINE), listener=counter)
    assert len(found) == 2 * (2 + 1)
    assert len({r["key"] for r in found}) == len(found)


def test_failed_runs_are_kept_until_they_are_asked_for_again(tmp_path: Path) -> None:
    study = small_study(BASELINE, time_limit=0.001)
    run(tmp_path, study)
    again = small_study(BASELINE)
    assert {r["status"] for r in run(tmp_path, again)} == {"failed"}
    said: list[str] = []
    found = run(tmp_path, again, retry_failed=True, say=said.append)
    assert {r["status"] for r in found} == {"ok"}
    assert "running 2 failed results again." in said


def test_the_number_of_processes_changes_no_figure(tmp_path: Path, records: list[Record]) -> None:
    assert quality(run(tmp_path, small_study(), jobs=1)) == quality(records)


def test_data_not_at_hand_are_said_and_skipped(tmp_path: Path) -> None:
    missing = DataSource("no_such_data")
    study = Study("s", (Experiment("e", (missing, SMALL), (BASELINE,)),), n_folds=2)
    said: list[str] = []
    found = run(tmp_path, study, say=said.append)
    assert {r["config"]["dataset"] for r in found} == {"small"}
    assert "skipping no_such_data" in said[0]
    assert "no_such_data" in read_current(tmp_path)[1]["missing"]


def test_no_data_at_all_is_one_sentence(tmp_path: Path) -> None:
    study = Study("s", (Experiment("e", (DataSource("no_such_data"),), (BASELINE,)),))
    with pytest.raises(InputError, match="no data set of the study 's' is at hand"):
        run(tmp_path, study)


def test_changed_data_are_measured_anew_and_old_figures_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    source = DataSource("mine", source=str(path))
    study = Study("s", (Experiment("e", (source,), (BASELINE,)),), n_folds=2)
    for seed in (0, 1):
        path.unlink(missing_ok=True)
        save(make_longtail(120, 40, 12, random_state=seed), path)
        run(tmp_path / "out", study)
    current, facts = read_current(tmp_path / "out")
    assert len(current) == 2
    assert {r["data"] and r["data"]["checksum"] for r in current} == {
        facts["datasets"]["mine"]["checksum"]
    }


@pytest.mark.parametrize("kind", ["shuffled", "stratified"])
def test_folds_are_parts_of_all_rows(kind: Any) -> None:
    dataset = load_source(SMALL)
    tests = [split_rows(dataset, kind, 4, fold, 0) for fold in range(4)]
    assert sorted(np.concatenate([test for _, test in tests])) == list(range(120))
    assert all(sorted([*train, *test]) == list(range(120)) for train, test in tests)


def test_too_few_rows_or_no_split_is_one_sentence() -> None:
    dataset = load_source(SMALL)
    with pytest.raises(InputError, match="has 120 rows for 200 folds"):
        split_rows(dataset, "shuffled", 200, 0, 0)
    with pytest.raises(InputError, match="has no split of its own"):
        split_rows(dataset.train, "given", 1, 0, 0)


def test_the_checksum_sees_every_part_of_the_data() -> None:
    dataset = load_source(SMALL)
    other_X, other_Y = dataset.X.copy(), dataset.Y.copy()
    other_X.data[0] += 1
    other_Y.indices[0] = (other_Y.indices[0] + 1) % 12
    seen = {
        checksum(dataset),
        checksum(replace(dataset, X=other_X)),
        checksum(replace(dataset, Y=other_Y)),
        checksum(replace(dataset, n_train=3)),
    }
    assert len(seen) == 4
    assert checksum(replace(dataset, name="other")) == checksum(dataset)


class Oracle:
    """Gives the true probabilities 0.25 and 0.75 of two kinds of labels."""

    def __init__(self, probabilities: Any) -> None:
        self.probabilities = probabilities

    def predict_proba(self, X: sparse.csr_matrix) -> Any:
        return self.probabilities[X.indices]


@pytest.fixture(scope="module")
def told() -> tuple[Oracle, Parts]:
    """A model that knows, and 4,000 rows of four labels; the last two are rare in training."""
    random = np.random.default_rng(0)
    truth = np.tile([0.25, 0.75], (4000, 2))
    Y = sparse.csr_matrix((random.random(truth.shape) < truth).astype(np.int32))
    X = sparse.csr_matrix(np.eye(4000))
    Y_train = sparse.csr_matrix([[1, 1, 0, 0]] * 9 + [[1, 1, 1, 1]])
    return Oracle(truth), Parts(X[:10], Y_train, X, Y)


def test_a_model_that_knows_the_probabilities_lies_on_the_diagonal(told: Any) -> None:
    found, none = measure_probabilities(*told, [])
    assert none == []
    assert found is not None
    used = [position for position, count in enumerate(found["pairs"]) if count]
    assert [found["pairs"][position] for position in used] == [8000, 8000]
    assert [found["predicted"][position] for position in used] == [0.25, 0.75]
    observed = [found["observed"][position] for position in used]
    np.testing.assert_allclose(observed, [0.25, 0.75], atol=0.02)


def test_calibration_is_that_of_the_predicted_labels_of_each_rule(
    told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, parts = told
    monkeypatch.setattr("rmls.bench.probabilities.BLOCK_PAIRS", 1000)
    nothing = sparse.csr_matrix(parts.Y_test.shape, dtype=np.int32)
    right, head = parts.Y_test, sparse.csr_matrix(np.tile([1, 1, 0, 0], (4000, 1)))
    _, found = measure_probabilities(model, parts, [right, head, nothing])
    assert all(one is not None for one in found)
    errors = [(one["ece"], one["ece_tail"]) for one in found if one]
    # Only labels that are there: what their probabilities lack to 1.
    tail = right[:, 2:].sum(axis=0).A1 @ [0.75, 0.25] / right[:, 2:].sum()
    assert errors[0][1] == pytest.approx(tail)
    assert errors[1][0] == pytest.approx(0, abs=0.02)
    assert errors[1][1] is None
    assert errors[2] == (None, None)
    squares = np.mean((model.probabilities - right.toarray()) ** 2)
    assert [one["brier"] for one in found if one] == pytest.approx([squares] * 3)


def test_methods_without_probabilities_have_no_calibration(told: Any) -> None:
    _, parts = told
    assert measure_probabilities(object(), parts, [parts.Y_test]) == (None, [None])
