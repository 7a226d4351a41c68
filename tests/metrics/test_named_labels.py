"""Metrics of lists of names and of frames: the values of the matrices they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from metric_samples import random_scores, random_sets, random_truth, with_propensity
from scipy import sparse

from rmls.core.errors import InputError, RmlsWarning
from rmls.core.ranking import Ranking
from rmls.metrics import METRICS, evaluate, get_metric

NAMES = [f"label {number}" for number in range(13)]
# A label that is neither true nor predicted is in no list.
USED = (random_truth().any(axis=0) | random_sets().any(axis=0)).nonzero()[0]
SETS = [name for name, metric in METRICS.items() if metric.needs == "sets"]


def as_lists(Y: np.ndarray, names: Any = NAMES) -> list[list[Any]]:
    return [[names[label] for label in np.flatnonzero(row)] for row in Y]


@pytest.mark.parametrize("name", SETS)
def test_lists_have_the_value_of_their_matrix(name: str) -> None:
    truth, sets = random_truth(), random_sets()
    wanted = METRICS[name](truth[:, USED], sets[:, USED])
    assert METRICS[name](as_lists(truth), as_lists(sets)) == pytest.approx(wanted)
    report = evaluate(as_lists(truth), as_lists(sets), names=[name])
    assert report[name] == pytest.approx(wanted)


@pytest.mark.parametrize("name", SETS)
def test_columns_of_frames_are_compared_by_name(name: str) -> None:
    truth, sets = random_truth(), random_sets()
    wanted = METRICS[name](truth, sets)
    frames = pd.DataFrame(truth, columns=NAMES), pd.DataFrame(sets, columns=NAMES)[NAMES[::-1]]
    assert METRICS[name](*frames) == pytest.approx(wanted)
    assert evaluate(*frames, names=[name])[name] == pytest.approx(wanted)
    assert METRICS[name](frames[0], sets) == wanted
    assert METRICS[name](frames[0], pd.DataFrame(sets)) == wanted


@pytest.mark.parametrize("name", [name for name in METRICS if name not in SETS])
def test_numbers_in_lists_are_the_columns_of_a_ranking(name: str) -> None:
    found, truth, scores = METRICS[name], random_truth(), random_scores()
    metric = found.at(3) if found.takes_k else found
    options = with_propensity(metric, truth)
    found = metric(as_lists(truth, range(13)), scores, **options)
    assert found == metric(truth, scores, **options)


def everything(truth: Any, sets: Any, scores: Any, **options: Any) -> dict:
    counts = random_truth().sum(axis=0) ** 3
    given = {"train_counts": counts, "n_train": 99, "probabilities": random_scores() / 2}
    return evaluate(truth, sets, scores, **{**given, **options}).as_dict()


def test_a_report_of_names_is_the_report_of_the_matrix() -> None:
    truth, sets, scores = random_truth(), random_sets(), random_scores()
    wanted = everything(truth, sets, scores)
    for given in (as_lists(truth), pd.DataFrame(truth, columns=NAMES)[NAMES[::-1]], truth):
        for predicted in (as_lists(sets), pd.DataFrame(sets, columns=NAMES)[NAMES[::-1]], sets):
            assert everything(given, predicted, scores, label_names=np.array(NAMES)) == wanted
    frames = pd.DataFrame(truth, columns=NAMES), pd.DataFrame(sets, columns=NAMES)[NAMES[::-1]]
    assert everything(*frames, scores) == wanted
    assert everything(as_lists(truth, range(13)), sets, scores) == wanted


@pytest.mark.parametrize(
    "wrap", [lambda s: s, Ranking.from_dense, sparse.csr_matrix], ids=["dense", "Ranking", "sparse"]
)
def test_labels_that_no_column_has_are_never_predicted(wrap: Any) -> None:
    truth, sets = np.pad(random_truth(), ((0, 0), (0, 1))), random_sets()
    # Scores below 0: a label that is not ranked must not come before them.
    scores = random_scores() - 2
    truth[2, -1] = 1
    ranking = replace(Ranking.from_dense(scores), n_labels=14)
    wanted = evaluate(truth, np.pad(sets, ((0, 0), (0, 1))), ranking)
    with pytest.warns(RmlsWarning, match=r"1 of the 13 labels of Y_true are unknown .*\(zinc\)"):
        found = evaluate(as_lists(truth, [*NAMES, "zinc"]), sets, wrap(scores), label_names=NAMES)
    assert found.as_dict() == wanted.as_dict()


def test_nothing_predicted_at_all_is_no_error() -> None:
    assert get_metric("f1")([["a"], ["b"]], [[], []]) == 0
    assert evaluate([["a"], []], [["a"], []])["subset_accuracy"] == 1


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda y, p, s: get_metric("f1")(as_lists(y), p), "Y_true holds lists of label names"),
        (lambda y, p, s: get_metric("f1")(y, as_lists(p)), "Y_pred holds lists of label names"),
        (lambda y, p, s: evaluate(y, as_lists(p)), "Y_pred holds lists of label names"),
        (lambda y, p, s: evaluate(as_lists(y), p), "label_names=model.classes_"),
        (lambda y, p, s: evaluate(as_lists(y), ranking=s), "label_names=model.classes_"),
        (lambda y, p, s: get_metric("p@1")(as_lists(y), s), "label_names=model.classes_"),
        (
            lambda y, p, s: evaluate(as_lists(y), as_lists(p), train_counts=[1] * 13),
            "label_names=model.classes_",
        ),
        (lambda y, p, s: evaluate(y, p, label_names=NAMES[:5]), "label_names has 5"),
        (lambda y, p, s: evaluate(y, p, label_names=["a"] * 13), "have the same name"),
        (
            lambda y, p, s: evaluate(as_lists(y), ranking=s[:, :5], label_names=NAMES),
            "ranking has 5 labels",
        ),
        (
            lambda y, p, s: evaluate(as_lists(y), as_lists(p)[:3]),
            "Y_pred has 3 rows but Y_true has 40",
        ),
        (lambda y, p, s: evaluate([["a"], None], [["a"], ["b"]]), "row 1 of Y is None"),
        (lambda y, p, s: evaluate([["a"], [None, "b"]], [["a"], []]), "got None"),
        (
            lambda y, p, s: evaluate(
                pd.DataFrame(y, columns=NAMES), pd.DataFrame(p, columns=NAMES).add_prefix("x")
            ),
            "without a column of the same name",
        ),
    ],
)
def test_names_that_cannot_be_matched_are_told_in_a_sentence(call: Any, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        call(random_truth(), random_sets(), random_scores())
    assert "\n" not in str(caught.value)
