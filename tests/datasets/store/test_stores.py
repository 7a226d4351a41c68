"""Stores: rows come back as they were, whatever became of their writer and their files."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from rmls.core.disk import mapping
from rmls.core.disk.ahead import read_ahead
from rmls.core.disk.mapping import GRANULE, find_parts, map_again
from rmls.core.errors import FileFormatError, InputError
from rmls.datasets import Dataset, formats, load, make_longtail, save
from rmls.datasets.store import StoreWriter, is_store, open_store, write_store

ALL = pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)


def same(one: sparse.csr_matrix, other: sparse.csr_matrix) -> bool:
    parts = ((one.data, other.data), (one.indices, other.indices), (one.indptr, other.indptr))
    return one.shape == other.shape and all(np.array_equal(*pair) for pair in parts)


@pytest.fixture
def rows() -> Dataset:
    made = make_longtail(700, 90, 12, labels_per_row=2, random_state=3)
    X, Y = made.X.tolil(), made.Y.tolil()
    # Rows without features, rows without labels, a label without rows, at the ends of shards too.
    X[[0, 99, 100, 699]], Y[[0, 50, 199, 200]], Y[:, 3] = 0, 0, 0
    names = [f"topic {label}" for label in range(12)]
    return Dataset(X.tocsr(), Y.tocsr(), names, [f"word {i}" for i in range(90)], n_train=600)


@ALL
@pytest.mark.filterwarnings("ignore::rmls.core.errors.RmlsWarning")
def test_every_format_comes_back_from_a_store(format, rows, tmp_path):
    path = tmp_path / f"data{format.extensions[0]}"
    save(rows, path)
    read = load(path)
    write_store(read, tmp_path / "store", shard_rows=100)
    found = load(tmp_path / "store")
    assert same(found.X, read.X)
    assert same(found.Y, read.Y)
    assert (found.label_names, found.feature_names) == (read.label_names, read.feature_names)
    assert found.n_train == read.n_train


@pytest.mark.parametrize("shard_rows", [1, 7, 699, 700, 701])
def test_shards_of_any_size_are_one_matrix(rows, shard_rows, tmp_path):
    write_store(rows, tmp_path / "store", shard_rows=shard_rows)
    store = open_store(tmp_path / "store")
    assert store.n_shards == -(-700 // shard_rows)
    assert same(store.X, rows.X)
    assert same(store.Y, rows.Y)
    parts = [store.shard(number) for number in range(store.n_shards)]
    assert same(sparse.vstack([part.X for part in parts], format="csr"), rows.X)
    store.verify()


def test_shards_that_end_inside_a_page_are_joined(tmp_path):
    rng = np.random.default_rng(0)
    # Some granules a shard, never a whole number of them.
    X = sparse.random(400, 3000, 0.05, "csr", np.float32, rng=rng)
    assert X.nnz * 4 > 3 * GRANULE
    write_store(Dataset(X, name="pages"), tmp_path / "store", shard_rows=130)
    store = open_store(tmp_path / "store")
    assert [shard.lead > 0 for shard in store.manifest.shards] == [False, True, True, True]
    assert same(store.X, Dataset(X).X)


def test_no_rows_at_all_are_a_store(tmp_path):
    with StoreWriter(tmp_path / "store", 4, 2) as writer:
        writer.finish(label_names=["a", "b"])
    store = open_store(tmp_path / "store")
    assert (store.X.shape, store.Y.shape) == ((0, 4), (0, 2))


def test_rows_have_names(tmp_path):
    names = ["first\nrow", 2, "dritte – ünï"]
    with StoreWriter(tmp_path / "store", 1, 0, has_ids=True, shard_rows=2) as writer:
        writer.add(np.ones((3, 1)), ids=names)
        writer.finish()
    assert open_store(tmp_path / "store").ids == names
    assert not open_store(tmp_path / "store").dataset().is_labelled


def test_what_is_mapped_takes_no_memory_and_no_file_changes(rows, tmp_path):
    write_store(rows, tmp_path / "store", shard_rows=300)
    store = open_store(tmp_path / "store")
    store.X.data[:] = 7
    assert same(open_store(tmp_path / "store").X, rows.X)


def test_arrays_of_a_store_are_found_in_their_files_and_mapped_again(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_store(rows, "store", shard_rows=300)
    X = open_store("store").X
    some = X.indices[100:-7].view(np.uint32)
    found = find_parts(some)
    assert found is not None
    # Another process stands elsewhere.
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(map_again(*found, some.dtype.str, some.shape), some)
    assert find_parts(X.indptr) is None
    before = len(mapping._LAID)
    del X, some
    assert len(mapping._LAID) < before


def test_rows_in_files_are_read_ahead_and_others_need_nothing(rows, tmp_path):
    write_store(rows, tmp_path / "store", shard_rows=300)
    X = open_store(tmp_path / "store").X
    places = np.array([5, 5, 698, 1])
    first, last = X.indptr[places], X.indptr[places + 1]
    most = sum(
        -(-4 * int(stop - start) // mmap.PAGESIZE) + 1
        for start, stop in zip(first, last, strict=True)
    )
    assert 0 < read_ahead((X.data,), X.indptr, places) <= most
    assert read_ahead((X.data, X.indices), X.indptr, np.arange(700)) >= 8 * X.nnz // mmap.PAGESIZE
    assert read_ahead((X.data,), X.indptr, places[:0]) == 0
    assert read_ahead((rows.X.data,), rows.X.indptr, places) == 0
    assert same(X, rows.X)


def test_the_matrix_outlives_its_store(rows, tmp_path):
    write_store(rows, tmp_path / "store", shard_rows=300)
    part = open_store(tmp_path / "store").X[650:]
    assert same(part, rows.X[650:])


# -- writers that do not come to an end -----------------------------------------------------------

KILLED = """
import os, signal, sys
from rmls.datasets import load
from rmls.datasets.store import StoreWriter
data, where, stop = load(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with StoreWriter(where, data.n_features, data.n_labels, shard_rows=100, source={"a": 1}) as writer:
    for row in range(writer.n_rows, data.n_samples, 10):
        if row >= stop:
            os.kill(os.getpid(), signal.SIGKILL)
        writer.add(data.X[row:row + 10], data.Y[row:row + 10])
    writer.finish(n_train=data.n_train)
"""


def test_a_killed_writer_goes_on(rows, tmp_path):
    save(rows, tmp_path / "data.npz")
    where = tmp_path / "store"
    for stop, done in ((250, 2), (290, 2), (600, 6)):
        command = [sys.executable, "-c", KILLED, str(tmp_path / "data.npz"), str(where), str(stop)]
        assert subprocess.run(command).returncode == -signal.SIGKILL
        assert len(list(where.glob("shard-*/shard.json"))) == done
        assert is_store(where)
        with pytest.raises(FileFormatError, match="not complete; run the command"):
            open_store(where)
    untouched = (where / "shard-00001" / "X.data.bin").stat().st_mtime_ns
    assert subprocess.run([*command[:-1], "10000"]).returncode == 0
    assert same(open_store(where).X, rows.X)
    assert (where / "shard-00001" / "X.data.bin").stat().st_mtime_ns == untouched
    assert not (where / "plan.json").exists()
    open_store(where).verify()


def test_only_the_same_rows_go_on(rows, tmp_path):
    with StoreWriter(tmp_path / "s", 90, 12, shard_rows=100, source={"file": "a"}) as writer:
        writer.add(rows.X[:150], rows.Y[:150])
    with pytest.raises(InputError, match="of other rows or options; delete it, or"):
        StoreWriter(tmp_path / "s", 90, 12, shard_rows=100, source={"file": "b"})
    with StoreWriter(tmp_path / "s", 90, 12, shard_rows=100, source={"file": "a"}) as writer:
        assert writer.n_rows == 100
    with StoreWriter(
        tmp_path / "s", 90, 12, shard_rows=100, source={"file": "b"}, overwrite=True
    ) as writer:
        assert writer.n_rows == 0


def test_one_writer_at_a_time(tmp_path):
    with (
        StoreWriter(tmp_path / "store", 2, 1),
        pytest.raises(InputError, match="another process is writing"),
    ):
        StoreWriter(tmp_path / "store", 2, 1)


def test_nothing_of_others_is_touched(rows, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds other files, such as thesis\.tex"):
        write_store(rows, tmp_path, overwrite=True)
    write_store(rows, tmp_path / "store")
    with pytest.raises(InputError, match="holds a store; choose another name"):
        write_store(rows, tmp_path / "store")
    write_store(rows, tmp_path / "store", overwrite=True, shard_rows=50)
    assert open_store(tmp_path / "store").n_shards == 14


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(rows, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot be written"):
            write_store(rows, tmp_path / "store")
    finally:
        tmp_path.chmod(0o700)


def test_a_read_only_store_is_read(rows, tmp_path):
    write_store(rows, tmp_path / "store", shard_rows=100)
    files = [*(tmp_path / "store").rglob("*"), tmp_path / "store"]
    for file in files:
        file.chmod(0o500 if file.is_dir() else 0o400)
    try:
        assert same(load(tmp_path / "store").X, rows.X)
    finally:
        for file in reversed(files):
            file.chmod(0o700 if file.is_dir() else 0o600)


# -- damaged files --------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def touch_everything(folder: Path) -> None:
    store = open_store(folder)
    _ = store.dataset(), store.ids
    store.verify()


@pytest.mark.parametrize("harm", [cut, flip, Path.unlink], ids=["cut", "flipped", "deleted"])
@pytest.mark.parametrize(
    "name",
    [
        "store.json",
        "labels.json",
        "shard-00002/X.indptr.bin",
        "shard-00002/X.indices.bin",
        "shard-00002/X.data.bin",
        "shard-00002/Y.indptr.bin",
        "shard-00002/Y.indices.bin",
    ],
)
def test_a_damaged_file_is_one_sentence(rows, tmp_path, name, harm):
    write_store(rows, tmp_path / "store", shard_rows=100)
    harm(tmp_path / "store" / name)
    with pytest.raises(InputError) as failure:
        touch_everything(tmp_path / "store")
    assert str(tmp_path) in str(failure.value)
    assert len(str(failure.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rows", 10**15),
        ("rows", -1),
        ("features", "many"),
        ("labels", True),
        ("n_train", 701),
        ("shards", {}),
        ("shards", [{}]),
        ("files", 3),
        ("version", 2),
        ("kind", "rmls-model"),
        ("surprise", 1),
    ],
)
def test_a_manifest_is_not_trusted(rows, tmp_path, key, value):
    write_store(rows, tmp_path / "store", shard_rows=100)
    path = tmp_path / "store" / "store.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(FileFormatError):
        open_store(tmp_path / "store")


def test_an_index_outside_is_found_before_it_is_used(rows, tmp_path):
    write_store(rows, tmp_path / "store", shard_rows=100)
    path = tmp_path / "store" / "shard-00006" / "X.indices.bin"
    content = np.fromfile(path, "<i4")
    content[-1] = 2_000_000_000
    content.tofile(path)
    with pytest.raises(InputError, match="outside its 90 columns"):
        load(tmp_path / "store")


def test_a_store_that_lost_its_manifest_is_not_taken_for_something_else(tmp_path: Path) -> None:
    write_store(make_longtail(50, 20, 5, labels_per_row=2), tmp_path / "rows")
    (tmp_path / "rows" / "store.json").unlink()
    with pytest.raises(FileFormatError, match="the store is not complete"):
        load(tmp_path / "rows")
