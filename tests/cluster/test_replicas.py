"""Parameters that stay on a node between merges: nothing depends on what a node has kept."""

from __future__ import annotations

import numpy as np
import pytest

from rmls import RMLS, RMLSRanker, make_longtail
from rmls.cluster import open_cluster, passes, replicas
from rmls.cluster.keeping import Keeper
from rmls.cluster.merging import State, Touched, merge_touched
from rmls.cluster.passes import (
    PassRecord,
    SpreadPasses,
    count_touches,
    paying_shards,
    shard_bounds,
)
from rmls.cluster.rows import SharedRows
from rmls.core.labels import read_labels
from rmls.kernels.arrays import Params
from rmls.models.ranker.large import spread
from rmls.models.rmls.sampling import Totals, plan_visits
from rmls.models.rmls.sgd import Settled, Sgd
from rmls.models.shared.training_set import TrainingSet


def make_passes(engine, n_shards=2, **options):
    data = make_longtail(300, 80, 30, labels_per_row=2, random_state=1).train
    rows = TrainingSet(data.X, data.Y, np.arange(data.X.shape[0]), np.ones(data.X.shape[0]))
    given = RMLS(8, sampler="mixture", negatives_per_positive=5, l2=0.01, **options)
    state = Sgd.of(given, (data.X.shape[1], data.Y.shape[1], 8))
    settled = Settled.of(given, read_labels(data.Y)[0], Totals.of(rows))
    shared = SharedRows(engine, data.X, data.Y)
    bounds = shard_bounds(data.X.shape[0], n_shards)
    record = PassRecord(Keeper(), "vectors", state.params, state.accumulators)
    made = SpreadPasses(engine, record, shared, bounds, settled.objective, 1, None)
    return made, rows


def run(made, rows, n_passes=3):
    for number in range(n_passes):
        made.run(plan_visits(rows, 0, number, (0.1, 0.05), 1))
    record = made.record
    return [np.array(array) for group in (record.params, record.accumulators) for array in group]


def same(one, other) -> bool:
    return all(np.array_equal(ours, theirs) for ours, theirs in zip(one, other, strict=True))


@pytest.fixture
def wanted():
    with open_cluster("local:2") as engine:
        return run(*make_passes(engine))


@pytest.mark.parametrize("forgetful", [True, False])
def test_a_node_that_has_kept_nothing_learns_the_same(forgetful, wanted, monkeypatch):
    """As after the death of another: it takes the last whole state and all changes."""
    visit = replicas.visit_shard

    def visit_anew(part, *shared):
        if forgetful or part.version % 3 == 0:
            replicas._HELD.clear()
        return visit(part, *shared)

    monkeypatch.setattr(passes, "visit_shard", visit_anew)
    with open_cluster("local:1") as engine:
        assert same(run(*make_passes(engine)), wanted)


def test_a_part_that_is_made_twice_is_made_the_same(wanted, monkeypatch):
    visit = replicas.visit_shard

    def visit_twice(part, *shared):
        first, second = visit(part, *shared), visit(part, *shared)
        for one, other in zip(first.touched, second.touched, strict=True):
            assert same(one, other)
        return second

    monkeypatch.setattr(passes, "visit_shard", visit_twice)
    with open_cluster("local:1") as engine:
        assert same(run(*make_passes(engine)), wanted)


@pytest.mark.parametrize("again", [0.0, 1e9])
def test_how_often_the_whole_state_is_sent_does_not_matter(again, wanted, monkeypatch):
    monkeypatch.setattr(passes, "WHOLE_AGAIN", again)
    monkeypatch.setattr(passes, "WHOLE_BYTES", 0)
    with open_cluster("local:2") as engine:
        assert same(run(*make_passes(engine)), wanted)


@pytest.mark.parametrize("options", [{"accumulators": "element"}, {"max_label_norm": 0.5}])
def test_other_forms_of_training_keep_replicas_equal(options, monkeypatch):
    with open_cluster("local:2") as engine:
        kept = run(*make_passes(engine, **options))
        monkeypatch.setattr(passes, "WHOLE_AGAIN", 0.0)
        monkeypatch.setattr(passes, "WHOLE_BYTES", 0)
        assert same(run(*make_passes(engine, **options)), kept)


def test_nothing_stays_in_memory_after_a_training(wanted):
    assert not replicas._HELD


def test_rows_that_only_the_penalty_has_moved_are_told():
    rng = np.random.default_rng(0)
    groups = [
        Params(*(rng.random(size, np.float32) for size in ((9, 4), (4,), (6, 4), (6,))))
        for _ in range(2)
    ]
    clean = State(*groups)._replace(
        accumulators=Params(*(np.ones(n, np.float32) for n in ((9, 1), (4,), (6, 1), (6,))))
    )
    state = clean.copy()
    state.params.L[2] *= np.float32(0.5)
    state.params.L[4, 3] += np.float32(1.0)
    nothing = [np.zeros(0, np.int32)] * 4
    found = state.moved_from(clean, nothing, nothing)
    assert [each.rows.tolist() for each in found] == [[], [], [2, 4], []]


def test_moves_of_a_crowd_are_averaged_and_those_of_few_visits_are_added():
    theta, acc = np.zeros((3, 2), np.float32), np.full((3, 1), 1e6, np.float32)
    rows, moved = np.arange(3), np.ones((3, 2), np.float32)
    grown = acc + np.float32(1.0)
    visits = np.array([0, 10, 10**6], np.int32)
    copies = [Touched(rows, moved, grown, visits)] * 4
    delta = merge_touched(theta, acc, copies)
    np.testing.assert_allclose(theta[:, 0], [4.0, 2.5, 1.0], rtol=1e-3)
    np.testing.assert_array_equal(delta.theta, theta[delta.rows])


def test_a_row_that_one_node_alone_has_moved_takes_its_move_whole():
    theta, acc = np.zeros((2, 2), np.float32), np.ones((2, 1), np.float32)
    one = Touched(np.array([1]), np.full((1, 2), 3, np.float32), acc[:1] + 1, np.array([10**6]))
    none = Touched(
        np.zeros(0, np.int64), np.zeros((0, 2), np.float32), np.zeros((0, 1), np.float32)
    )
    merge_touched(theta, acc, [none, one])
    assert theta.tolist() == [[0, 0], [3, 3]]


def test_shards_are_as_many_as_pay_and_never_more_than_workers():
    with open_cluster("local:1") as engine:
        made, _ = make_passes(engine)
        touches = count_touches(made.rows, made.objective)
    X, Y = made.rows.X, made.rows.Y
    assert touches == pytest.approx((X.nnz + 6 * Y.nnz) / (80 + 30))
    assert [paying_shards(touches * times, 8) for times in (0, 1, 10**6)] == [1, 1, 8]


def test_a_training_says_that_not_all_workers_learn_vectors(monkeypatch, capfd):
    monkeypatch.setattr(spread, "paying_shards", paying_shards)
    data = make_longtail(300, 80, 30, labels_per_row=2, random_state=1).train
    options = {"max_iter": 2, "calibration_folds": 0, "cluster": "local:4", "verbose": True}
    RMLSRanker(8, **options).fit(data.X, data.Y)
    told = " ".join(" ".join(capfd.readouterr()).split())
    assert "vectors on 1 of 4 workers: on so few rows" in told
