"""A Ray cluster of two local nodes: the same model, whatever happens to the nodes."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from rmls import RMLSRanker, make_longtail
from rmls.cluster import open_cluster, watching
from rmls.cluster.engine import check_address
from rmls.cluster.ray_engine import RayEngine
from rmls.core.errors import InputError

ray = pytest.importorskip("ray", reason="Ray is not installed; pip install 'rmls[cluster]'")
pytestmark = pytest.mark.slow
STORE = 100 << 20
OPTIONS = {"n_components": 16, "max_iter": 3, "calibration_folds": 0}


@pytest.fixture(scope="module")
def cluster():
    made = start_cluster()
    yield made
    ray.shutdown()
    made.shutdown()


def start_cluster(attempts: int = 3):
    """Start a head without work and two nodes; Ray itself gives up after a fixed time."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray lets workers wait for all others on a busy machine.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    try:
        made = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            made.add_node(num_cpus=1, object_store_memory=STORE)
    except Exception as error:
        if attempts == 1:
            pytest.skip(f"Ray cannot start its nodes on this machine ({error})")
        return start_cluster(attempts - 1)
    return made


def data():
    return make_longtail(700, 200, 40, labels_per_row=2, random_state=3).train


def fit(address):
    return RMLSRanker(**OPTIONS, cluster=address).fit(data().X, data().Y)


def same(one, other) -> bool:
    one, other = one._state()[1], other._state()[1]
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


def test_nodes_of_one_machine_do_not_work_on_more_parts_than_it_has_cores(cluster):
    with open_cluster(cluster.address):
        engine = RayEngine(ray, False, n_cores=1)
        batch = engine.map(abs, [-3, 2, -5, 7])
        assert len(batch.tickets) == 1
        assert engine.gather(batch) == [3, 2, 5, 7]


def test_nodes_share_arrays_and_tell_errors_and_work(cluster):
    with watching() as usage, open_cluster(cluster.address) as engine:
        assert engine.n_workers == 2
        shared = engine.share(np.arange(1_000_000, dtype=np.float32))
        # Functions that nodes can import.
        batch = engine.map(np.isin, [5, -1, 7, 0.5, 9, 2e6], shared, memory=1 << 20)
        found = [bool(each) for each in engine.gather(batch)]
        assert found == [True, False, True, False, True, False]
        with pytest.raises(InputError, match=r"^cluster='local:N' takes a number"):
            engine.gather(engine.map(check_address, ["local:0"]))
        with pytest.raises(InputError, match="the largest node of the cluster announces"):
            engine.map(np.isin, [1], shared, memory=1 << 60)
    nodes = usage.nodes.values()
    assert sum(node.tasks for node in nodes) == 6
    # Once a node, whatever the number of its parts.
    assert all(4_000_000 <= node.bytes_in < 4_100_000 for node in nodes)


def test_a_part_is_refused_more_memory_than_it_announced(cluster):
    # Nested: nodes get it as it is.
    def take(n_bytes: int) -> int:
        import numpy

        return len(numpy.empty(n_bytes, numpy.uint8))

    announced, far = 64 << 20, 1 << 30
    with open_cluster(cluster.address) as engine:
        assert engine.gather(engine.map(take, [announced], memory=announced)) == [announced]
        with pytest.raises(InputError, match=r"\(take\) was refused more memory than the 604.* MB"):
            engine.gather(engine.map(take, [far], memory=announced))
        # Nobody has said anything: nothing is refused, and the bound is gone.
        assert engine.gather(engine.map(take, [far])) == [far]


def test_a_part_that_comes_late_is_given_to_a_second_node(cluster, tmp_path, monkeypatch):
    from rmls.cluster import ray_engine

    monkeypatch.setattr(ray_engine, "STRAGGLES_SECONDS", 1.0)

    # Nested: nodes get it as it is.
    def work(part: int, folder: str) -> tuple[int, str]:
        import os
        import time

        import ray

        node = ray.get_runtime_context().get_node_id()
        if part == 3 and not os.path.exists(f"{folder}/begun"):
            with open(f"{folder}/begun", "w") as file:
                file.write(node)
            # The first one never ends: only another one can answer.
            time.sleep(3600)
        return 10 * part, node

    with watching() as usage, open_cluster(cluster.address) as engine:
        found = engine.gather(engine.map(work, [1, 2, 3], engine.share(str(tmp_path))))
    assert [number for number, _ in found] == [10, 20, 30]
    assert usage.doubled == 1
    assert found[2][1] != (tmp_path / "begun").read_text()


def test_a_folder_that_no_node_sees_is_told(cluster, tmp_path):
    with (
        pytest.raises(InputError, match=r"does not see .*/away; put it into a folder"),
        open_cluster(cluster.address, [str(tmp_path / "away")]),
    ):
        pass


def test_other_versions_are_told(cluster, monkeypatch):
    from rmls.cluster import joining

    monkeypatch.setattr(joining, "VERSION", "9.9.9")
    with (
        pytest.raises(
            InputError, match=r"has rmls .* and this process has 9.9.9; install the same"
        ),
        open_cluster(cluster.address),
    ):
        pass


def test_no_cluster_at_an_address_is_told():
    with (
        pytest.raises(InputError, match=r"there is no Ray cluster at 127\.0\.0\.1:1; start one"),
        open_cluster("127.0.0.1:1"),
    ):
        pass


def test_the_model_is_that_of_as_many_threads_though_a_node_dies(cluster):
    wanted, victim = fit("local:2"), cluster.list_all_nodes()[-1]

    def kill() -> None:
        while sum(node.tasks for node in usage.nodes.values()) < 5:
            time.sleep(0.01)
        os.kill(victim.all_processes["raylet"][0].process.pid, signal.SIGKILL)

    with watching() as usage:
        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        # The node that is left makes the parts of both shards.
        found = fit(cluster.address)
        killer.join()
    assert same(found, wanted)
