"""Threads as a cluster, results in a folder, values as bytes."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from rmls.cluster import Keeper, current_keeper, keeping, open_cluster, watching
from rmls.cluster.carrying import Packed, pack, unpack
from rmls.core.disk.named import NamedScratch, find_file, map_file
from rmls.core.errors import InputError
from rmls.datasets import make_longtail
from rmls.datasets.store import open_store, write_store


def add(part, *shared):
    return part + sum(shared)


def fail(part):
    if part == 2:
        raise InputError("the second part is wrong.")
    return part


def test_results_come_in_the_order_of_the_parts_and_are_told_as_they_come():
    heard = {}
    with open_cluster("local:3") as engine:
        batch = engine.map(add, list(range(20)), engine.share(100), engine.share(1000))
        found = engine.gather(batch, heard.__setitem__)
    assert found == [part + 1100 for part in range(20)]
    assert [heard[number] for number in range(20)] == found


def test_what_is_reduced_is_shared_with_all():
    with open_cluster("local:2") as engine:
        total = engine.all_reduce(engine.map(add, [1, 2, 3]), sum)
        assert engine.gather(engine.map(add, [0, 10], total)) == [6, 16]


def test_an_error_of_a_part_ends_the_batch_and_leaves_no_thread():
    before = threading.active_count()
    with pytest.raises(InputError, match="second part"), open_cluster("local:2") as engine:
        engine.gather(engine.map(fail, [1, 2, 3]))
    assert threading.active_count() == before


def test_the_work_of_every_node_is_counted():
    with watching() as usage, open_cluster("local:2") as engine:
        engine.gather(engine.map(add, [1, 2, 3]))
    assert {name: node.tasks for name, node in usage.nodes.items()} == {"local": 3}
    assert list(usage.work) == ["add"]


@pytest.mark.parametrize(
    "address", ["local:0", "local:many", "local:-1", "", 4, None, "local:9999"]
)
def test_what_is_no_address_is_told_in_a_sentence(address):
    with pytest.raises(InputError, match="cluster"), open_cluster(address):
        pass


def test_values_come_back_as_they_were_and_can_be_written_to():
    value = {"a": np.arange(5), "b": [np.zeros((2, 3), np.float32), np.zeros(0)], "c": ("x", 1)}
    packed = pack(value)
    still = [array.copy() for array in packed.arrays]
    for array in still:
        array.flags.writeable = False
    found = unpack(Packed(packed.rest, still))
    assert found["c"] == ("x", 1)
    for array, wanted in zip([found["a"], *found["b"]], [value["a"], *value["b"]], strict=True):
        np.testing.assert_array_equal(array, wanted)
        assert array.dtype == wanted.dtype
        # Kernels are compiled for such arrays.
        assert array.flags.writeable


def test_an_array_in_a_file_travels_as_its_name(tmp_path):
    room = NamedScratch(tmp_path)
    array = room.zeros((1000, 100), np.float32)
    array[:] = np.arange(100)
    packed = pack({"rows": array[10:20]})
    assert packed.n_bytes < 1000
    np.testing.assert_array_equal(unpack(packed)["rows"], array[10:20])


def test_rows_of_a_store_travel_as_the_names_of_its_files(tmp_path):
    data = make_longtail(500, 40, 9, random_state=0)
    write_store(data, tmp_path / "rows", shard_rows=120)
    X = open_store(tmp_path / "rows").X
    packed = pack((X.data, X.indices.view(np.uint32)))
    assert packed.n_bytes < 2000
    for found, wanted in zip(unpack(packed), (X.data, X.indices), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert found.flags.writeable


def test_a_file_that_a_node_cannot_see_is_told(tmp_path):
    with pytest.raises(InputError, match="a folder that all nodes of the cluster see"):
        map_file(str(tmp_path / "away"), 0, "<f4", (3,))


def test_files_of_rows_go_with_the_last_array_and_no_address_is_taken_for_another(tmp_path):
    room = NamedScratch(tmp_path)
    array = room.zeros(10, np.int64)
    assert find_file(array) is not None
    assert find_file(np.zeros(10)) is None
    place = array.ctypes.data
    del array, room
    assert list(tmp_path.iterdir()) == []
    from rmls.core.disk import named

    assert place not in named._MAPPED


def test_kept_results_are_taken_up_and_damaged_ones_are_made_again(tmp_path):
    with keeping(tmp_path / "parts") as keeper:
        assert current_keeper() is keeper
        keeper.settle({"data": 1}, 4)
        keeper.put("one", [np.arange(3), np.zeros(2)])
        keeper.put("two", [np.arange(4)])
    assert current_keeper().folder is None
    (tmp_path / "parts" / "two.npz").write_bytes(b"PK\x03\x04 cut off")
    with keeping(tmp_path / "parts", resume=True) as keeper:
        # As it was begun, though there are more workers now.
        assert keeper.settle({"data": 1}, 9) == 4
        found = keeper.get("one")
        assert found is not None
        np.testing.assert_array_equal(found[0], np.arange(3))
        assert keeper.get("two") is None
        assert keeper.found == ["one"]


def test_another_training_is_not_taken_up(tmp_path):
    with keeping(tmp_path) as keeper:
        keeper.settle({"data": 1, "options": 2}, 4)
        keeper.put("one", [np.arange(3)])
    with keeping(tmp_path, resume=True) as keeper, pytest.raises(InputError, match="other data"):
        keeper.settle({"data": 3, "options": 2}, 4)
    with keeping(tmp_path) as keeper:
        keeper.settle({"data": 3, "options": 2}, 4)
        assert keeper.get("one") is None


def test_rows_that_a_killed_driver_has_left_are_removed(tmp_path):
    (tmp_path / "rmls-rows-x").mkdir()
    with keeping(tmp_path, resume=True):
        assert not (tmp_path / "rmls-rows-x").exists()


def test_nothing_is_kept_without_a_folder():
    keeper = Keeper()
    assert keeper.settle({}, 3) == 3
    keeper.put("one", [np.arange(3)])
    assert keeper.get("one") is None


def test_a_training_that_is_refused_before_it_began_leaves_no_folder(tmp_path: Path) -> None:
    rooms = []

    def refuse() -> None:
        # What holds the error holds the rows, too.
        rooms.append(NamedScratch(current_keeper().folder))
        raise InputError("no such cluster")

    with pytest.raises(InputError, match="no such"), keeping(tmp_path / "parts"):
        refuse()
    assert not (tmp_path / "parts").exists()


def test_rows_are_named_so_that_nodes_in_other_folders_find_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with keeping("parts") as keeper:
        array = NamedScratch(keeper.folder).zeros(3, np.int32)
        found = find_file(array)
        assert found is not None
        assert Path(found[0]).is_absolute()
        assert Path(found[0]).is_relative_to(tmp_path)
