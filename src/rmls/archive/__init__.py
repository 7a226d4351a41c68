"""A fitted model ↔ a folder of one JSON file and memory-mapped arrays, without pickle."""

from rmls.archive._manifest import check_manifest
from rmls.archive._tensors import check_arrays
from rmls.archive.amending import amend_archive
from rmls.archive.copying import copy_archive
from rmls.archive.reading import Archive, read_archive
from rmls.archive.writing import check_target, write_archive

__all__ = [
    "Archive",
    "amend_archive",
    "check_arrays",
    "check_manifest",
    "check_target",
    "copy_archive",
    "read_archive",
    "write_archive",
]
