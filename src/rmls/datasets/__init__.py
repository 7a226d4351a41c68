"""Data sets: the `Dataset` type, readers and writers, a registry and a long-tail generator."""

from rmls.core.lazy import lazy_names
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, formats
from rmls.datasets.io import convert, load, save
from rmls.datasets.longtail import make_longtail
from rmls.datasets.registry import available, download

__all__ = [
    "Dataset",
    "Format",
    "available",
    "convert",
    "download",
    "formats",
    "iterate_texts",
    "load",
    "load_artworks",
    "make_longtail",
    "open_store",
    "read_label_text",
    "read_texts",
    "save",
    "write_store",
]

__getattr__ = lazy_names(
    __name__,
    {
        "iterate_texts": ".tables.text_table",
        "load_artworks": ".artworks",
        "open_store": ".store",
        "read_label_text": ".label_text",
        "read_texts": ".tables.text_table",
        "write_store": ".store",
    },
)
