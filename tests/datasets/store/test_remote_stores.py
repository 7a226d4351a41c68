"""Stores behind addresses, by the file systems of fsspec that need no network."""

from __future__ import annotations

import numpy as np
import pytest

from rmls.core.errors import InputError, MissingExtraError
from rmls.datasets import load, make_longtail
from rmls.datasets.store import StoreWriter, open_store, write_store
from rmls.datasets.store.places import local_copy


def test_an_address_without_fsspec_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rmls\[remote\]'"):
        open_store("s3://bucket/rows")


class TestWithFsspec:
    @pytest.fixture(autouse=True)
    def _needs(self):
        fsspec = pytest.importorskip("fsspec", reason="the extra 'remote' is not installed")
        self.memory = fsspec.filesystem("memory")
        yield
        self.memory.store.clear()

    def test_rows_come_back(self):
        rows = make_longtail(300, 50, 8, labels_per_row=2)
        write_store(rows, "memory://bucket/rows", shard_rows=110)
        found = load("memory://bucket/rows")
        assert np.array_equal(found.X.toarray(), rows.X.toarray())
        assert np.array_equal(found.Y.toarray(), rows.Y.toarray())
        assert open_store("memory://bucket/rows").shard(2).n_samples == 80

    def test_a_writer_goes_on(self):
        rows = make_longtail(300, 50, 8, labels_per_row=2)
        with StoreWriter("memory://bucket/rows", 50, 8, shard_rows=100) as writer:
            writer.add(rows.X[:250], rows.Y[:250])
        with StoreWriter("memory://bucket/rows", 50, 8, shard_rows=100) as writer:
            assert writer.n_rows == 200
            writer.add(rows.X[200:], rows.Y[200:])
            writer.finish()
        assert np.array_equal(load("memory://bucket/rows").X.toarray(), rows.X.toarray())

    def test_one_shard_is_read_alone(self):
        write_store(make_longtail(300, 50, 8), "memory://bucket/rows", shard_rows=100)
        for name in list(self.memory.store):
            if "shard-00001" not in name and "store.json" not in name:
                del self.memory.store[name]
        assert open_store("memory://bucket/rows").shard(1).n_samples == 100

    def test_a_file_is_copied_while_it_is_used(self):
        self.memory.pipe_file("/in/data.txt", b"1 1 1\n0 0:1\n")
        with local_copy("memory://in/data.txt") as path:
            assert load(path).n_samples == 1
        with pytest.raises(InputError, match="cannot be read"), local_copy("memory://in/none.txt"):
            pass
        with pytest.raises(InputError, match="no address that can be opened"):
            open_store("what://bucket/rows")
