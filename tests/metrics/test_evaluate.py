from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from metric_samples import random_scores, random_sets, random_truth
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.metrics import METRICS, evaluate, get_metric


def full_report(**options: object) -> object:
    truth = random_truth()
    counts = truth.sum(axis=0) ** 3
    return evaluate(
        truth, random_sets(), random_scores(), train_counts=counts, n_train=99, **options
    )


def test_everything_is_reported_when_everything_is_given() -> None:
    report = full_report(ks=(1, 3))
    wanted = {m.at(k).name for m in METRICS.values() if m.takes_k for k in (1, 3)}
    wanted |= {name for name, m in METRICS.items() if not m.takes_k}
    assert set(report.totals) == wanted
    assert set(report) == wanted | {"head", "torso", "tail"}
    assert set(report["tail"]) == wanted


def test_every_value_equals_the_metric_called_alone() -> None:
    report = full_report()
    truth = random_truth()
    for name, value in report.totals.items():
        if not name.startswith("psp"):
            metric = get_metric(name)
            given = random_sets() if metric.needs == "sets" else random_scores()
            assert value == metric(truth, given)


def test_only_what_the_arguments_allow_is_reported() -> None:
    truth = random_truth()
    sets_only = evaluate(truth, random_sets())
    ranking_only = evaluate(truth, ranking=random_scores(), ks=[2])
    assert all(get_metric(name).needs == "sets" for name in sets_only)
    assert "precision@2" in ranking_only
    assert not any(name.startswith("psp") for name in ranking_only)
    assert sets_only.groups == {}


def test_names_select_and_expand() -> None:
    truth = random_truth()
    report = evaluate(truth, random_sets(), random_scores(), names=["f1", "p@k", "ndcg@7", "p@1"])
    assert list(report) == ["example_f1", "precision@1", "precision@3", "precision@5", "ndcg@7"]
    assert list(evaluate(truth, random_sets(), names="micro-F1")) == ["micro_f1"]


def test_empty_reaches_the_metrics() -> None:
    nothing = np.zeros((2, 3), dtype=int)
    assert evaluate(nothing, nothing, names="f1", empty=1.0)["f1"] == 1.0


def test_groups_can_be_left_out() -> None:
    assert full_report(by_group=False).groups == {}


def test_a_group_nobody_touches_is_left_out_of_row_averages() -> None:
    truth = np.array([[1, 0, 0], [1, 0, 0]])
    report = evaluate(truth, truth, names=["f1", "macro_f1"], train_counts=[9, 3, 1])
    assert report.groups["tail"] == {"macro_f1": 0.0}
    assert " - " in f"{str(report).splitlines()[2]} "


def test_report_survives_json_copy_and_pickle() -> None:
    report = full_report()
    assert json.loads(json.dumps(report.as_dict(), allow_nan=False)) == report.as_dict()
    assert copy.deepcopy(report).as_dict() == report.as_dict()
    assert pickle.loads(pickle.dumps(report)).as_dict() == report.as_dict()


def test_report_reads_by_name_alias_and_attribute() -> None:
    report = full_report()
    assert report["P@1"] == report["precision@1"] == report.totals["precision@1"]
    assert report.example_f1 == report["f1"]
    assert report.tail["micro_f1"] == report.groups["tail"]["micro_f1"]
    assert "recall@77" not in report
    with pytest.raises(KeyError):
        report["nonsense"]
    with pytest.raises(AttributeError, match="has no 'nonsense'"):
        report.nonsense  # noqa: B018


def test_table_has_one_line_per_metric_and_one_column_per_group() -> None:
    lines = str(full_report(names=["f1", "p@1"])).splitlines()
    assert lines[1].split() == ["metric", "all", "head", "torso", "tail"]
    assert [line.split()[0] for line in lines[2:]] == ["example_f1", "precision@1"]
    assert len({len(line) for line in lines[1:]}) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, p, s: evaluate(y), "pass Y_pred=, ranking= or both"),
        (lambda y, p, s: evaluate(y, p, names=["exmple_f1"]), "did you mean example_f1"),
        (lambda y, p, s: evaluate(y, p, names=["qqqq"]), "known are hamming_loss"),
        (lambda y, p, s: evaluate(y, p, names=["p@1"]), "computed from ranking="),
        (lambda y, p, s: evaluate(y, ranking=s, names=["f1"]), "computed from Y_pred="),
        (lambda y, p, s: evaluate(y, ranking=s, names=["psp@1"]), "needs train_counts="),
        (lambda y, p, s: evaluate(y, ranking=s, ks=[0]), "k must be a whole number"),
        (lambda y, p, s: evaluate(y, ranking=s, ks=[]), "nothing to compute"),
        (lambda y, p, s: evaluate(y, p, names=[]), "nothing to compute"),
        (lambda y, p, s: evaluate(y, p[:3]), "Y_pred has 3 rows but Y_true has 40"),
        (lambda y, p, s: evaluate(y, p, train_counts=[1, 2]), "train_counts has shape"),
        (lambda y, p, s: evaluate(y, p * 2), "Y_pred must hold only 0 and 1; found 2"),
        (lambda y, p, s: evaluate(y, ranking=s * np.nan), "NaN"),
        (lambda y, p, s: evaluate(y, ranking=s[0]), "ranking must be 2-d"),
        (lambda y, p, s: evaluate(y, ranking=np.full(s.shape, "x")), "array of numbers"),
        (lambda y, p, s: get_metric("f1").at(3), "takes no k"),
        (lambda y, p, s: get_metric("precision@k")(y, s), "needs a number for k"),
        (lambda y, p, s: get_metric("psp@1")(y, s), "needs propensity="),
        (lambda y, p, s: get_metric("p@1").at(1.5), "k must be a whole number"),
        (lambda y, p, s: get_metric("f1")(y, p, sample_weight=[1]), "one weight per row"),
        (lambda y, p, s: get_metric("f1")(y, p, sample_weight=[-1] * 40), "none below 0"),
    ],
)
def test_misuse_gives_one_clear_sentence(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        call(random_truth(), random_sets(), random_scores())
    assert "\n" not in str(caught.value)


def ranking_of(labels: list[int], scores: list[float]) -> Ranking:
    return Ranking(np.array([0, len(labels)]), np.array(labels), np.array(scores), 3)


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        (ranking_of([3], [0.5]), "names label 3; labels run from 0 to 2"),
        (ranking_of([-1], [0.5]), "names label -1"),
        (ranking_of([1, 1], [0.5, 0.4]), "names a label twice"),
        (ranking_of([1], [np.nan]), "NaN"),
    ],
)
def test_broken_rankings_are_refused(ranking: Ranking, message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_metric("precision@2")([[0, 1, 0]], ranking)


def test_counts_of_a_sparse_matrix_are_one_row():
    Y = sparse.csr_matrix([[1, 0, 1], [1, 1, 0]])
    report = evaluate(Y, Y, train_counts=Y.sum(axis=0), n_train=2)
    assert report.as_dict() == evaluate(Y, Y, train_counts=[2, 1, 1], n_train=2).as_dict()
