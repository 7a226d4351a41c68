"""A ranker that is trained on a cluster: the same stages, the same file, nearly the same model."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache

import numpy as np
import pytest

import rmls
from rmls import RMLSRanker, TextRanker, make_longtail
from rmls.cluster import keeping, labels, watching
from rmls.cluster.labels import LabelBlocks
from rmls.cluster.merging import Touched, merge_touched
from rmls.cluster.passes import SpreadPasses, shard_bounds
from rmls.core.errors import InputError
from rmls.core.sparse import distinct_rows
from rmls.datasets.store import open_store, write_store
from rmls.kernels.cpu.sgd.passes import VectorPasses, merge_copies
from rmls.models.ranker.large import on_disk, spread

OPTIONS = {"n_components": 16, "max_iter": 3}


@cache
def data():
    return make_longtail(700, 200, 40, labels_per_row=2, random_state=3)


def arrays_of(model):
    return model._state()[1]


def fit(**options):
    return RMLSRanker(**{**OPTIONS, **options}).fit(data().train.X, data().train.Y)


def precision(model) -> float:
    """Precision at 5 on test rows."""
    found, truth = model.rank(data().test.X, 5), data().test.Y.tocsr()
    pairs = zip(found.rows, found.labels, strict=True)
    return float(np.mean([truth[row, label] for row, label in pairs]))


def same(one, other) -> bool:
    one, other = arrays_of(one), arrays_of(other)
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_one_shard_is_one_machine_bit_for_bit(n_workers, monkeypatch):
    monkeypatch.setattr(spread, "paying_shards", lambda touches, n_workers: 1)
    assert same(fit(), fit(cluster=f"local:{n_workers}"))


@pytest.mark.parametrize(
    "options", [{}, {"calibration_folds": 0}, {"n_models": 2, "loss": "logistic"}]
)
def test_two_trainings_on_as_many_shards_are_equal(options):
    assert same(fit(cluster="local:3", **options), fit(cluster="local:3", **options))


def test_classifiers_and_lists_are_those_of_one_machine(monkeypatch):
    """Given the same vectors nothing else differs, whatever the blocks."""
    from rmls.models.ranker.large.spread import SpreadTrainer
    from rmls.models.ranker.trainer import StageTrainer

    monkeypatch.setattr(SpreadTrainer, "_start", StageTrainer._start)
    assert same(fit(calibration_folds=0), fit(calibration_folds=0, cluster="local:3"))


def test_shards_cost_next_to_no_quality():
    scores = []
    for cluster in (None, "local:2", "local:4"):
        model = fit(max_iter=8, cluster=cluster)
        scores.append(precision(model))
    assert scores[0] > 0.25
    assert min(scores) > scores[0] - 0.01


def test_the_file_says_nothing_of_the_cluster(tmp_path):
    fit(cluster="local:2").save(tmp_path / "model")
    manifest = next((tmp_path / "model").glob("*.json"))
    assert "cluster" not in json.loads(manifest.read_text())["params"]
    assert rmls.load(tmp_path / "model").cluster is None


def test_texts_pass_the_cluster_on():
    texts = [f"word{i % 7} word{i % 5} and more" for i in range(60)]
    labels = [[f"label{i % 7}"] for i in range(60)]
    model = TextRanker(RMLSRanker(8, cluster="local:2")).fit(texts, labels)
    assert model.suggest(["word3 and"], k=1)[0][0].name == "label3"


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_store_is_trained_from_where_it_lies(in_memory, tmp_path, monkeypatch):
    monkeypatch.setenv("RMLS_SCRATCH", str(tmp_path))
    monkeypatch.setattr(on_disk, "needs_disk", lambda model, data: not in_memory)
    write_store(data().train, tmp_path / "store", shard_rows=77)
    found = RMLSRanker(**OPTIONS, cluster="local:2").fit(open_store(tmp_path / "store"))
    assert same(found, fit(cluster="local:2"))
    del found
    assert not list(tmp_path.glob("rmls-rows-*"))


def test_rows_that_lie_in_order_are_trained_in_their_files(tmp_path, monkeypatch):
    monkeypatch.setenv("RMLS_SCRATCH", str(tmp_path))
    monkeypatch.setattr(on_disk, "needs_disk", lambda model, data: True)
    monkeypatch.setattr(on_disk, "_copy", None)
    # As if a few rows were many: blocks of labels are those whose rows memory has room for.
    monkeypatch.setattr(labels, "BLOCK_ENTRIES", 5_000)
    rows = data().train
    order, _ = distinct_rows(rows.X, rows.Y, np.ones(rows.n_samples))
    write_store(rows.take(order), tmp_path / "store", shard_rows=77)
    with watching() as usage:
        options = {**OPTIONS, "normalize": "none", "cluster": "local:2"}
        found = RMLSRanker(**options).fit(open_store(tmp_path / "store"))
    assert same(found, fit(normalize="none", cluster="local:2"))
    assert usage.nodes["local"].tasks > 100


class Killed(BaseException):
    """What no training expects."""


@pytest.mark.parametrize("options", [{}, {"calibration_folds": 0}])
@pytest.mark.parametrize("moment", [1, 3, 9, 21])
def test_a_driver_that_dies_at_any_moment_goes_on_to_the_same_model(
    moment, options, tmp_path, monkeypatch
):
    from rmls.cluster.keeping import Keeper

    wanted = fit(cluster="local:2", **options)
    n_kept, put = [0], Keeper.put

    def die(self, name, arrays):
        n_kept[0] += 1
        if n_kept[0] == moment:
            raise Killed
        put(self, name, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "put", die)
        with keeping(tmp_path / "parts"), suppress(Killed):
            fit(cluster="local:2", **options)
    # The nodes have become more meanwhile.
    with keeping(tmp_path / "parts", resume=True) as keeper:
        found = fit(cluster="local:4", **options)
    assert same(found, wanted)
    assert bool(keeper.found) == (moment > 1)


def test_passes_of_one_shard_are_taken_up_where_they_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(spread, "paying_shards", lambda touches, n_workers: 1)
    made, run = [], VectorPasses.run

    def run_or_die(self, visits, tick=None):
        made.append(1)
        if len(made) == 3:
            raise Killed
        return run(self, visits, tick)

    monkeypatch.setattr(VectorPasses, "run", run_or_die)
    with keeping(tmp_path / "parts"), suppress(Killed):
        fit(calibration_folds=0, cluster="local:2")
    with keeping(tmp_path / "parts", resume=True):
        found = fit(calibration_folds=0, cluster="local:2")
    # Two of three, the one that died, and it again.
    assert len(made) == 4
    assert same(found, fit(calibration_folds=0))


def test_finished_stages_are_not_made_again(tmp_path, monkeypatch):
    with keeping(tmp_path):
        wanted = fit(cluster="local:2")
    monkeypatch.setattr(SpreadPasses, "_cut", None)
    monkeypatch.setattr(LabelBlocks, "_run", lambda self, blocks, done: None)
    with keeping(tmp_path, resume=True):
        assert same(fit(cluster="local:2"), wanted)


def test_other_options_are_not_mixed_in(tmp_path):
    with keeping(tmp_path):
        fit(cluster="local:2")
    with keeping(tmp_path, resume=True), pytest.raises(InputError, match="other options"):
        fit(cluster="local:2", max_iter=4)


def test_what_nodes_touch_is_merged_as_copies_are():
    rng = np.random.default_rng(0)
    theta, acc = rng.random((50, 4), np.float32), 0.1 + rng.random((50, 1), np.float32)
    copies, thetas, accs = [], [], []
    for number in range(3):
        rows = np.flatnonzero(rng.random(50) < (0.0, 0.3, 0.8)[number])
        here, grown = theta.copy(), acc.copy()
        here[rows] += rng.normal(size=(len(rows), 4)).astype(np.float32)
        grown[rows] += rng.random((len(rows), 1), np.float32)
        copies.append(Touched(rows, here[rows], grown[rows]))
        thetas.append(here)
        accs.append(grown)
    wanted, wanted_acc = theta.copy(), acc.copy()
    merge_copies(wanted, wanted_acc, np.array(thetas), np.array(accs), np.zeros(0, np.float32))
    merge_touched(theta, acc, copies)
    np.testing.assert_allclose(theta, wanted, rtol=1e-6)
    np.testing.assert_allclose(acc, wanted_acc, rtol=1e-6)


def test_every_row_belongs_to_one_shard():
    bounds = shard_bounds(1001, 4)
    shards = np.searchsorted(bounds, np.arange(1001), side="right")
    assert np.bincount(shards).tolist() == [250, 250, 251, 250]


def test_a_cluster_of_processors_refuses_a_gpu():
    with pytest.raises(InputError, match="device must be 'cpu'"):
        fit(cluster="local:2", device="cuda")


def test_training_without_a_cluster_imports_nothing_of_it(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys, rmls; from rmls import RMLSRanker\n"
        "RMLSRanker(4, max_iter=1).fit([[1, 0], [0, 1]] * 4, [['a'], ['b']] * 4)\n"
        "print(sorted(name for name in sys.modules if 'cluster' in name and 'rmls' in name))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip().endswith("[]") or "rmls.cluster" not in found.stdout, found.stderr
    assert found.returncode == 0, found.stderr


def test_what_takes_no_time_is_sent_in_one_part(monkeypatch):
    monkeypatch.undo()
    with watching() as usage:
        found = fit(calibration_folds=0, cluster="local:4")
    # Lists, classifiers, and these again with the rows that were held out.
    assert sum(node.tasks for node in usage.nodes.values()) == 3
    assert same(found, fit(calibration_folds=0))
