"""Names, limits and keys of an archive, shared by writing and reading."""

from __future__ import annotations

MANIFEST_NAME = "model.json"
ARRAYS_NAME = "arrays.safetensors"
FILE_NAMES = (MANIFEST_NAME, ARRAYS_NAME)

FORMAT = "rmls-model"
FORMAT_VERSION = 1
RESERVED_KEYS = ("format", "format_version", "arrays", "arrays_sha256", "sha256")

# Names of ten million labels fit; more would take the memory of the process while parsing.
MAX_MANIFEST_SIZE = 1 << 29
# Python's own parser gives up near 1000 levels, counted from wherever it is called.
MAX_DEPTH = 100
# Well below the 4300 digits beyond which Python by default refuses to read a number.
MAX_DIGITS = 1000
