"""Every preset of the paper's study against the paper's figure, with how far it lies off."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import KFold

from rmls import models
from rmls.bench.study.paper import METHODS
from rmls.bench.study.paper_figures import paper_figure, paper_methods
from rmls.datasets import load
from rmls.metrics import get_metric

METRICS = ("example_f1", "example_accuracy", "hamming_loss")
# Ours less the paper's in F, accuracy and Hamming loss, means of five folds. Methods of the toolbox
# and LEML reproduce the paper. RMLS is ahead at k = 25 and agrees at 50; ML-CSSP draws other labels
# of 53; the authors' WSABIE has an unknown optimiser.
ENRON = {
    ("RMLS", 25): (0.048, 0.050, -0.009),
    ("RMLS", 50): (0.006, 0.013, -0.005),
    ("PLST", 25): (0.006, 0.003, 0.000),
    ("PLST", 50): (0.005, 0.001, 0.000),
    ("FaIE", 25): (0.007, 0.003, -0.001),
    ("FaIE", 50): (0.005, 0.001, -0.001),
    ("ML-CSSP", 25): (0.035, 0.027, 0.002),
    ("ML-CSSP", 50): (0.005, 0.001, 0.000),
    ("WSABIE", 25): (-0.022, -0.007, -0.007),
    ("WSABIE", 50): (-0.085, -0.062, 0.000),
    ("LEML", 25): (0.021, 0.020, -0.012),
    ("LEML", 50): (0.011, 0.001, -0.013),
}
# The first of the five folds alone.
DELICIOUS = {
    "RMLS": (0.001, 0.004, 0.001),
    "PLST": (-0.003, -0.001, 0.000),
    "FaIE": (-0.002, -0.001, 0.000),
    "ML-CSSP": (0.052, 0.034, -0.001),
    "WSABIE": (-0.084, -0.045, -0.008),
    "LEML": (-0.002, -0.002, 0.000),
}
ESTIMATORS = {method.label: getattr(models, method.method) for method in METHODS}


def figures(name: str, model: Any, n_folds: int) -> np.ndarray:
    """Return the mean of the metrics over the first of five folds."""
    data = load(name)
    folds = list(KFold(5, shuffle=True, random_state=0).split(data.Y))[:n_folds]
    found = []
    for train, test in folds:
        sets = model.fit(data.X[train], data.Y[train]).predict_sets(data.X[test])
        found.append([get_metric(metric)(data.Y[test], sets) for metric in METRICS])
    return np.mean(found, axis=0)


def published(dataset: str, method: str, slot: str) -> np.ndarray:
    found = [paper_figure(metric, method, slot, dataset) for metric in METRICS]
    return np.array([figure.mean for figure in found if figure is not None])


# Five folds of these two take seconds.
SLOW = {"FaIE", "LEML"}


@pytest.mark.data
@pytest.mark.parametrize(
    ("method", "k"),
    [pytest.param(*one, marks=[pytest.mark.slow] * (one[0] in SLOW)) for one in ENRON],
)
def test_a_preset_is_as_far_from_the_paper_on_enron_as_stated(method: str, k: int) -> None:
    ours = figures("enron", ESTIMATORS[method].paper(k), 5)
    gap = ours - published("enron", method, "25(0)" if k == 25 else "50(0)")
    np.testing.assert_allclose(gap, ENRON[method, k], atol=0.004)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("method", DELICIOUS)
def test_a_preset_is_as_far_from_the_paper_on_delicious_as_stated(method: str) -> None:
    ours = figures("delicious", ESTIMATORS[method].paper(250), 1)
    gap = ours - published("delicious", method, "25(0)")
    np.testing.assert_allclose(gap, DELICIOUS[method], atol=0.004)


@pytest.mark.data
@pytest.mark.parametrize(
    ("k", "plain", "biases", "draws"), [(25, 0.560, 0.591, 0.566), (50, 0.593, 0.607, 0.591)]
)
def test_biases_gain_over_the_paper_on_enron_and_distinct_draws_do_not(
    k: int, plain: float, biases: float, draws: float
) -> None:
    # The equations of the paper have no biases, and Algorithm 1 draws with replacement.
    changed = ({}, {"fit_intercept": True}, {"replacement": "auto"})
    found = [figures("enron", models.RMLS.paper(k, **one), 5)[0] for one in changed]
    np.testing.assert_allclose(found, (plain, biases, draws), atol=0.006)


@pytest.mark.data
@pytest.mark.parametrize("dataset", ["enron", "delicious"])
def test_the_baseline_is_the_paper_s(dataset: str) -> None:
    gap = figures(dataset, ESTIMATORS["Baseline"].paper(), 5) - published(dataset, "Baseline", "-")
    # No label at all: F and accuracy are 0, and the loss is the density of the labels.
    np.testing.assert_allclose(gap, (0.0, 0.0, 0.0), atol=0.001)


@pytest.mark.parametrize("method", paper_methods())
def test_every_method_of_the_study_has_a_preset_that_takes_changes(method: str) -> None:
    estimator = ESTIMATORS[method]
    assert isinstance(estimator.paper(), estimator)
    if "n_components" in inspect.signature(estimator).parameters:
        changed = estimator.paper(7, random_state=3)
        assert (changed.n_components, changed.random_state) == (7, 3)


def test_the_presets_have_what_the_paper_says_of_them() -> None:
    for method in ("RMLS", "WSABIE", "LEML"):
        assert ESTIMATORS[method].paper().l2 == 0.001
        assert ESTIMATORS[method].paper().decision == "cardinality"
    for method in ("PLST", "FaIE", "ML-CSSP"):
        assert ESTIMATORS[method].paper().ridge == 0.1
        assert ESTIMATORS[method].paper().decision == "round"
    assert all(ESTIMATORS[m].paper().normalize == "none" for m in DELICIOUS)
    rmls = models.RMLS.paper()
    assert (rmls.negatives_per_positive, rmls.fit_intercept, rmls.replacement) == (
        5,
        False,
        "union",
    )
