"""The studies that are shipped ask what their arms are called after."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from bench_samples import write_toml
from places import REPOSITORY

from rmls.bench.run.measure import make_model
from rmls.bench.study.config_file import load_study
from rmls.bench.study.grid import Fit, Study
from rmls.bench.study.paper import paper_study

GRIDS = sorted((REPOSITORY / "benchmarks").rglob("*.toml"))
STUDIES = {path.name: path for path in GRIDS} | {"the paper's": None}


def study_of(path: Path | None) -> Study:
    return paper_study() if path is None else load_study(path)


def arms(study: Study) -> dict[tuple[str, str], list[Fit]]:
    """Return the fits of the first fold and seed, by experiment and data set."""
    found = defaultdict(list)
    for fit in study.fits():
        if (fit.fold, fit.seed) == (0, study.seeds[0]):
            found[fit.experiment, fit.dataset.name].append(fit)
    return found


def effective(fit: Fit) -> list[str]:
    """Return what really differs between arms: all parameters of the model, and the rule."""
    params = make_model(fit).get_params()
    own: Any = (fit.method.method, sorted(params.items(), key=str), sorted(fit.method.tune.items()))
    return [repr((own, decision)) for decision in fit.method.decisions]


@pytest.mark.parametrize("path", STUDIES.values(), ids=STUDIES)
def test_no_two_arms_of_an_experiment_are_the_same_configuration(path: Path | None) -> None:
    for place, fits in arms(study_of(path)).items():
        seen: dict[str, str] = {}
        for fit in fits:
            for one in effective(fit):
                assert one not in seen, f"{place}: {fit} is the same as {seen.get(one)}"
                seen[one] = str(fit)


@pytest.mark.parametrize("path", STUDIES.values(), ids=STUDIES)
def test_an_arm_has_the_values_that_it_names(path: Path | None) -> None:
    for fits in arms(study_of(path)).values():
        for fit in fits:
            params = make_model(fit).get_params()
            assert {name: params[name] for name in fit.params} == fit.params


@pytest.mark.parametrize("path", GRIDS, ids=lambda path: path.name)
def test_what_is_called_uncalibrated_is_not_calibrated(path: Path) -> None:
    methods = [method for one in load_study(path).experiments for method in one.methods]
    plain = [m for m in methods if "not calibrated" in m.label or "own prob" in m.label]
    assert plain, "a new grid without such an arm needs no place in this test"
    assert all(next(method.grid())["calibration"] is None for method in plain)


def test_a_grid_can_ask_for_none_where_a_parameter_may_be_none(tmp_path: Path) -> None:
    text = '[[experiment]]\ndatasets = ["enron"]\n[[experiment.method]]\nmethod = "RMLS"\n'
    text += 'params = { calibration = ["none", "auto"], normalize = "none" }\n'
    grid = list(load_study(write_toml(tmp_path, text)).experiments[0].methods[0].grid())
    assert [one["calibration"] for one in grid] == [None, "auto"]
    # "none" is a way to scale features, and stays one.
    assert {one["normalize"] for one in grid} == {"none"}
