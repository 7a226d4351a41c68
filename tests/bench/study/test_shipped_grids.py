"""The studies that are shipped ask what their arms are called after."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest
from arm_labels import LARGE, SMALL, check_label, check_no_inert_value, effective
from bench_samples import write_toml
from places import REPOSITORY

from rmls.bench.run.measure import make_model
from rmls.bench.study.config_file import load_study
from rmls.bench.study.grid import Fit, Study
from rmls.bench.study.paper import paper_study

FOLDER = REPOSITORY / "benchmarks"
GRIDS = sorted(FOLDER.rglob("*.toml"))
STUDIES = {path.name: path for path in GRIDS} | {"the paper's": None}
each_study = pytest.mark.parametrize("path", STUDIES.values(), ids=STUDIES)


def study_of(path: Path | None) -> Study:
    return paper_study() if path is None else load_study(path)


def arms(study: Study) -> dict[tuple[str, str], list[Fit]]:
    """Return the fits of the first fold and seed, by experiment and data set."""
    found = defaultdict(list)
    for fit in study.fits():
        if (fit.fold, fit.seed) == (0, study.seeds[0]):
            found[fit.experiment, fit.dataset.name].append(fit)
    return found


def check_arms(study: Study) -> None:
    """Refuse a study with an arm that is not what it is called, or that comes twice."""
    for fits in arms(study).values():
        for fit in fits:
            check_label(fit, fits)
            check_no_inert_value(fit)
        assert same_arms(fits, LARGE) == set()


def same_arms(fits: list[Fit], n_labels: int) -> set[tuple[str, str]]:
    """Return the pairs of labels that ask the same of data with so many labels."""
    asked = {id(fit): effective(make_model(fit), n_labels) for fit in fits}
    return {
        (one.setting, other.setting)
        for one, other in combinations(fits, 2)
        if asked[id(one)] == asked[id(other)]
        and one.method.tune == other.method.tune
        and set(one.method.decisions) & set(other.method.decisions)
    }


@each_study
def test_arms_are_what_their_labels_say_and_differ_from_one_another(path: Path | None) -> None:
    check_arms(study_of(path))


@each_study
def test_arms_that_are_the_same_where_labels_are_few_are_said_to_be(path: Path | None) -> None:
    fits = next(iter(arms(study_of(path)).values()))
    for pair in same_arms(fits, SMALL):
        assert path is not None, f"{pair} are the same"
        names = [setting.split(" k=")[0].partition(" ")[2] for setting in pair]
        comments = re.findall(r"^# .*$", path.read_text(), re.MULTILINE)
        assert any(all(f'"{name}"' in line for name in names) for line in comments), pair
        pages = [page.read_text() for page in (REPOSITORY / "docs").rglob("*.md")]
        told = [part for text in pages if path.name in text for part in text.split("\n\n")]
        assert any(all(f"`{n}`" in part for n in names) and "the same" in part for part in told)


@each_study
def test_an_arm_has_the_values_that_it_names(path: Path | None) -> None:
    for fits in arms(study_of(path)).values():
        for fit in fits:
            params = make_model(fit).get_params()
            assert {name: params[name] for name in fit.params} == fit.params


SAMPLING, RULES = FOLDER / "what-sampling-buys.toml", FOLDER / "which-rule.toml"
# Slips that leave a grid readable, and what is said of them.
SLIPS = {
    ('sampler = "in_batch"', 'sampler = "mixture"'): "sampler is 'mixture', not what it says",
    (
        "negatives_per_positive = 5 }",
        "negatives_per_positive = 7 }",
    ): "negatives_per_positive is 7, not what it says",
    ('sampler = "frequency", sampler_power = 1.0', "sampler_power = 1.0"): "sampler is 'uniform'",
    ("sampler_power = 0.5", "sampler_power = 0.75"): "sampler_power is 0.75, not what it says",
    ("sampler_power = 1.0", "sampler_power = 0.5"): "sampler_power is 0.5, not what it says",
    (
        "negatives_per_positive = 1000000",
        "negatives_per_positive = 400",
    ): "positive is 400, not",
    ('calibration = "none"', 'calibration = "auto"'): "calibration is 'auto', not what it says",
    (
        'calibration = "auto", negatives_per_positive = 5',
        'calibration = "auto", l2 = 0.1, negatives_per_positive = 5',
    ): "l2 is 0.1, and the label does not say so",
    ("batch_size = 32", "batch_size = 32, sampler_mix = 0.1"): "sampler_mix is 0.1, and the label",
    ('label = "frequency"', 'label = "by chance"'): "nobody says what 'by chance'",
    ('method = "RMLS"\nlabel = "uniform, not', 'method = "KNN"\nlabel = "KNN, not'): "no parameter",
}


@pytest.mark.parametrize("slip", SLIPS, ids=SLIPS.values())
def test_a_slip_in_a_grid_is_found(slip: tuple[str, str], tmp_path: Path) -> None:
    text = SAMPLING.read_text()
    assert text.count(slip[0]) >= 1
    with pytest.raises((AssertionError, ValueError), match=re.escape(SLIPS[slip])):
        check_arms(load_study(write_toml(tmp_path, text.replace(*slip, 1))))


def test_a_value_without_effect_is_found_also_where_the_label_names_it(tmp_path: Path) -> None:
    text = RULES.read_text().replace(
        'params.calibration = "auto"',
        'params = { calibration = "auto", sampler = "uniform", sampler_power = 1.0 }',
    )
    fit = load_study(write_toml(tmp_path, text)).fits()[-1]
    with pytest.raises(AssertionError, match="sampler_power makes no difference"):
        check_no_inert_value(fit)


def test_two_arms_of_one_configuration_are_found(tmp_path: Path) -> None:
    text = RULES.read_text().replace('"own probabilities"', '"also calibrated"')
    (fits, *_) = arms(load_study(write_toml(tmp_path, text.replace('"none"', '"auto"')))).values()
    assert len(same_arms(fits, LARGE)) == 1


def test_a_grid_can_ask_for_none_where_a_parameter_may_be_none(tmp_path: Path) -> None:
    text = '[[experiment]]\ndatasets = ["enron"]\n[[experiment.method]]\nmethod = "RMLS"\n'
    text += 'params = { calibration = ["none", "auto"], normalize = "none" }\n'
    grid = list(load_study(write_toml(tmp_path, text)).experiments[0].methods[0].grid())
    assert [one["calibration"] for one in grid] == [None, "auto"]
    # "none" is a way to scale features, and stays one.
    assert {one["normalize"] for one in grid} == {"none"}
