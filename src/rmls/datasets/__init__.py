"""Data sets: the `Dataset` type, readers and writers, a registry and a long-tail generator."""

from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, formats
from rmls.datasets.io import available, convert, download, load, save
from rmls.datasets.longtail import make_longtail

__all__ = [
    "Dataset",
    "Format",
    "available",
    "convert",
    "download",
    "formats",
    "load",
    "make_longtail",
    "save",
]
