"""Stores: rows on disk in shards, memory-mapped, for data sets larger than memory."""

from rmls.datasets.store.places import is_address
from rmls.datasets.store.reading import Store, is_store, open_store
from rmls.datasets.store.writing import DEFAULT_SHARD_ROWS, StoreWriter, write_store

__all__ = [
    "DEFAULT_SHARD_ROWS",
    "Store",
    "StoreWriter",
    "is_address",
    "is_store",
    "open_store",
    "write_store",
]
