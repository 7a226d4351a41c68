"""PLST, CPLST, FaIE and CSSP against the output of the reference toolbox."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from places import real_data_folder

from rmls.datasets import load
from rmls.metrics import example_accuracy, example_f1, hamming_loss
from rmls.models import CPLST, CSSP, PLST, FaIE

DATA = real_data_folder()
GOLDEN = DATA.parent / "golden" / "lsdr_reference.json"
METHODS = {"plst": PLST, "cplst": CPLST, "faie": FaIE, "cssp": CSSP}
METRICS = {"hamming": hamming_loss, "f": example_f1, "accuracy": example_accuracy}

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not GOLDEN.is_file(), reason="the reference outputs are not there"),
]


def read_golden():
    return json.loads(GOLDEN.read_text())["rows"] if GOLDEN.is_file() else []


def name_of(row):
    return f"{row['dataset']}-{row['method']}-{row['k']}"


@cache
def read(name):
    data = load(DATA / f"{name}.npz")
    return data.train, data.test


@pytest.mark.parametrize(
    "row", [row for row in read_golden() if row["method"] != "cssp"], ids=name_of
)
def test_scores_and_metrics_are_those_of_the_reference(row):
    train, test = read(row["dataset"])
    model = METHODS[row["method"]](row["k"]).fit(train.X, train.Y)
    scores = model.decision_function(test.X)
    assert scores[0, 0] == pytest.approx(row["score_0_0"], rel=1e-6)
    assert scores[0, 1] == pytest.approx(row["score_0_1"], rel=1e-6)
    norm = np.linalg.norm(scores.astype(np.float64))
    assert norm == pytest.approx(row["score_frobenius"], rel=1e-6)
    sets = model.predict_sets(test.X)
    for name, metric in METRICS.items():
        assert metric(test.Y, sets) == pytest.approx(row[name], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [row for row in read_golden() if row["method"] == "cssp"], ids=name_of
)
def test_cssp_is_within_three_standard_errors_of_the_reference(row):
    """Both means are of few draws: the standard error is that of their difference."""
    train, test = read(row["dataset"])
    draws = []
    for seed in range(20):
        sets = CSSP(row["k"], random_state=seed).fit(train.X, train.Y).predict_sets(test.X)
        draws.append([metric(test.Y, sets) for metric in METRICS.values()])
    for name, values in zip(METRICS, np.transpose(draws), strict=True):
        error = np.sqrt(row[f"{name}_std"] ** 2 / row["draws"] + values.var(ddof=1) / len(values))
        assert abs(values.mean() - row[name]) <= 3 * error + 1e-6
