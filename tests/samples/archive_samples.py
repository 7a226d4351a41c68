"""A small archive with every corner, and ways to damage its files with valid checksums."""

from __future__ import annotations

import copy
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rmls
from rmls.archive import read_archive, write_archive
from rmls.core.errors import ArchiveError

MISSING = object()

MANIFEST = {
    "method": "RMLS",
    "params": {"n_components": 250, "tol": 1e-4, "preset": None, "shuffle": True},
    "label_names": ["φόρος", "tax law", 'quote " and \\', ""],
    "seed": 2**127,
}
DTYPES = (
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)


def sample_arrays() -> dict[str, np.ndarray]:
    """Every type, with odd sizes in between, so that alignment is not luck."""
    generator = np.random.default_rng(0)
    arrays = {name: (generator.random((3, 5)) * 9).astype(name) for name in DTYPES}
    arrays["scalar"] = np.array(2.5)
    arrays["empty"] = np.zeros((0, 4), dtype=np.float32)
    arrays["thin"] = np.zeros((3, 0), dtype=np.int64)
    return arrays


def write_sample(folder: Path) -> Path:
    write_archive(folder, MANIFEST, sample_arrays())
    return folder


def reseal(folder: Path, change: dict[str, Any] | None = None) -> None:
    """Give ``model.json`` checksums that fit, as somebody with bad intentions would."""
    manifest = json.loads((folder / "model.json").read_bytes())
    manifest["arrays_sha256"] = sha256((folder / "arrays.safetensors").read_bytes()).hexdigest()
    manifest.update(change or {})
    manifest.pop("sha256")
    seal(folder, json.dumps(manifest, ensure_ascii=False)[:-1].encode())


def seal(folder: Path, body: bytes) -> None:
    """Close the text of an object, still open, with its checksum."""
    body += b",\n"
    closing = f'"sha256": "{sha256(body).hexdigest()}"\n}}\n'
    (folder / "model.json").write_bytes(body + closing.encode())


def tensor_file(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    """Return a safetensors file around any header, which may be given as bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def one_sentence(error: BaseException, place: object) -> str:
    """Assert that an error is one sentence that names the place; return it."""
    sentence = str(error)
    assert str(place) in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def assert_refused(folder: Path) -> None:
    """Assert that a folder is not loaded as a model, and that one sentence says why."""
    with pytest.raises(ArchiveError) as caught:
        rmls.load(folder)
    assert one_sentence(caught.value, folder).startswith(str(folder))


def change_model(
    folder: Path, values: dict[str, Any] | None = None, arrays: dict[str, Any] | None = None
) -> None:
    """Write a model again, with good checksums and other values at dotted paths.

    What is `MISSING` is taken out, among the values and among the arrays.
    """
    archive = read_archive(folder)
    manifest = copy.deepcopy(archive.manifest)
    for path, value in (values or {}).items():
        *parents, last = path.split(".")
        place: Any = manifest
        for key in parents:
            place = place[key]
        place[last] = value
        if value is MISSING:
            del place[last]
    stored = {key: np.array(array) for key, array in archive.arrays.items()} | (arrays or {})
    kept = {key: array for key, array in stored.items() if array is not MISSING}
    write_archive(folder, manifest, kept)
