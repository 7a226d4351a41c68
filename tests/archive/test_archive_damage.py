"""Whatever is done to the files, the answer is one sentence, and nothing half-read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from archive_samples import one_sentence, reseal, seal, tensor_file, write_sample

from rmls.archive import read_archive, write_archive
from rmls.archive.layout import MAX_MANIFEST_SIZE
from rmls.core.errors import ArchiveError

FILES = ("model.json", "arrays.safetensors")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "model")


def refused(folder: Path, *, verify: bool = True) -> str:
    with pytest.raises(ArchiveError) as caught:
        read_archive(folder, verify=verify)
    return one_sentence(caught.value, folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("verify", [True, False])
def test_a_file_that_is_cut_off_is_refused(model: Path, name: str, verify: bool) -> None:
    content = (model / name).read_bytes()
    # Without the checksum a manifest may lose the line break after its last brace.
    last = len(content) - (name == "model.json" and not verify)
    for size in range((last - 1) % 2, last, 2 if verify else 7):
        (model / name).write_bytes(content[:size])
        refused(model, verify=verify)


@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_is_refused(model: Path, name: str) -> None:
    content = (model / name).read_bytes()
    generator = np.random.default_rng(0)
    for position in range(0, len(content), 2):
        changed = bytearray(content)
        changed[position] ^= int(generator.integers(1, 256))
        (model / name).write_bytes(changed)
        refused(model)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("extra", [b"\0", b" ", b"\n", b"}", b"x" * 4096])
def test_bytes_added_at_either_end_are_refused(model: Path, name: str, extra: bytes) -> None:
    content = (model / name).read_bytes()
    for changed in (content + extra, extra + content):
        (model / name).write_bytes(changed)
        refused(model)


@pytest.mark.parametrize("name", FILES)
def test_random_edits_never_give_anything_but_a_sentence(model: Path, name: str) -> None:
    """Without checksums an edit may go unnoticed, but it must not do harm."""
    content = (model / name).read_bytes()
    generator = np.random.default_rng(1)
    for _ in range(200):
        changed = bytearray(content)
        for position in generator.integers(0, len(content), size=3):
            changed[position] = int(generator.integers(0, 256))
        (model / name).write_bytes(changed)
        try:
            archive = read_archive(model, verify=False)
        except ArchiveError:
            continue
        for array in archive.arrays.values():
            assert len(array.tobytes()) == array.nbytes


def test_the_files_of_two_models_do_not_mix(tmp_path: Path, model: Path) -> None:
    other = tmp_path / "other"
    write_archive(other, {}, {"float32": np.zeros((3, 5), dtype=np.float32)})
    shutil.copy(other / "arrays.safetensors", model)
    assert "are not those that model.json lists" in refused(model, verify=False)


def test_missing_and_misplaced_things_are_named(tmp_path: Path, model: Path) -> None:
    assert "does not exist" in refused(tmp_path / "nothing")
    assert "not a folder" in refused(model / "model.json")
    (tmp_path / "empty").mkdir()
    assert "is not an rmls model: it has no model.json" in refused(tmp_path / "empty")
    (model / "arrays.safetensors").unlink()
    assert "arrays.safetensors is missing" in refused(model)
    (model / "arrays.safetensors").mkdir()
    assert "arrays.safetensors is not a file" in refused(model)
    with pytest.raises(ArchiveError, match="cannot be read"):
        read_archive("null\0byte")


def test_a_newer_version_asks_for_an_upgrade(model: Path) -> None:
    reseal(model, {"format_version": 2})
    sentence = refused(model)
    assert "newer version of rmls (format 2; this version reads up to 1)" in sentence
    assert "upgrade rmls" in sentence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is not an rmls model"),
        ({"format": ["rmls-model"]}, "is not an rmls model"),
        ({"format_version": "1"}, "no valid format_version"),
        ({"format_version": True}, "no valid format_version"),
        ({"format_version": 0}, "no valid format_version"),
        ({"format_version": None}, "no valid format_version"),
        ({"arrays": None}, "are not those"),
        ({"arrays": []}, "are not those"),
        ({"arrays": {"float32": 3}}, "are not those"),
        ({"arrays_sha256": None}, "was changed"),
        ({"arrays_sha256": "0" * 64}, "was changed"),
    ],
)
def test_a_manifest_of_wrong_types_is_refused(
    model: Path, change: dict[str, object], message: str
) -> None:
    reseal(model, change)
    assert message in refused(model)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"format": "rmls-model", "x": NaN', "holds NaN"),
        (b'{"format": "rmls-model", "x": -Infinity', "holds -Infinity"),
        (b'{"format": "rmls-model", "x": 1e999', "too large"),
        (b'{"format": "rmls-model", "x": ' + b"9" * 5000, "more than 1000 digits"),
        (b'{"format": "rmls-model", "format": 1', "same key twice"),
        (b'{"format": "rmls-model", "x": ' + b"[" * 200_000, "nests too deep"),
        (b'{"x": ' * 200_000, "nests too deep"),
        (b'{"format": "\xff"', "not UTF-8"),
        (b'["format"', "Expecting"),
        (b"\0" * 100, "cannot be read"),
    ],
)
def test_hostile_json_is_refused(model: Path, body: bytes, message: str) -> None:
    seal(model, body)
    assert message in refused(model)


def test_a_manifest_that_is_no_object_is_refused(model: Path) -> None:
    for text in ("[]", "null", "3", '"rmls-model"'):
        (model / "model.json").write_text(text)
        assert "is not a JSON object" in refused(model)


def test_a_huge_manifest_is_refused_before_it_is_read(model: Path) -> None:
    os.truncate(model / "model.json", MAX_MANIFEST_SIZE + 1)
    assert f"has {MAX_MANIFEST_SIZE + 1} bytes" in refused(model)


def entry(**change: object) -> dict[str, object]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **change}}


def two(first: list[int], second: list[int]) -> dict[str, object]:
    one = {"dtype": "U8", "shape": [4]}
    return {"a": {**one, "data_offsets": first}, "b": {**one, "data_offsets": second}}


HOSTILE = {
    "claims 2^60 bytes": tensor_file(entry(), bytes(8), length=1 << 60),
    "claims all bits": tensor_file(entry(), bytes(8), length=(1 << 64) - 1),
    "claims one byte too many": tensor_file(b"{}      ", length=9),
    "too short for a length": b"\1\0\0",
    "empty": b"",
    "no header": bytes(8),
    "not JSON": tensor_file(b"hello   "),
    "a list": tensor_file([]),
    "same name twice": tensor_file(
        json.dumps(entry())[:-1].encode() + b"," + json.dumps(entry())[1:].encode(), bytes(8)
    ),
    "deep": tensor_file(b'{"a":' * 100_000, bytes(8)),
    "entry is a number": tensor_file({"a": 3}),
    "entry lacks shape": tensor_file({"a": {"dtype": "F32", "data_offsets": [0, 8]}}, bytes(8)),
    "entry has more": tensor_file(entry(exec="rm"), bytes(8)),
    "unknown type": tensor_file(entry(dtype="OBJ"), bytes(8)),
    "type is a list": tensor_file(entry(dtype=["F32"]), bytes(8)),
    "negative extent": tensor_file(entry(shape=[-2]), bytes(8)),
    "two negative extents": tensor_file(entry(shape=[-2, -1]), bytes(8)),
    "extent is a float": tensor_file(entry(shape=[2.0]), bytes(8)),
    "extent is a boolean": tensor_file(entry(shape=[True, 2]), bytes(8)),
    "shape is a number": tensor_file(entry(shape=2), bytes(8)),
    "shape too large": tensor_file(entry(shape=[1 << 61, 8]), bytes(8)),
    "shape too small": tensor_file(entry(shape=[1]), bytes(8)),
    "product overflows to 8": tensor_file(entry(shape=[(1 << 62) + 1, 2]), bytes(8)),
    "empty but too large": tensor_file(entry(shape=[0, 1 << 62], data_offsets=[0, 0])),
    "too many dimensions": tensor_file(entry(shape=[2] + [1] * 60), bytes(8)),
    "range beyond the end": tensor_file(entry(data_offsets=[8, 16]), bytes(8)),
    "range backwards": tensor_file(entry(data_offsets=[8, 0]), bytes(8)),
    "range negative": tensor_file(entry(data_offsets=[-8, 0]), bytes(8)),
    "range of three": tensor_file(entry(data_offsets=[0, 8, 8]), bytes(8)),
    "range is text": tensor_file(entry(data_offsets="ab"), bytes(8)),
    "overlap": tensor_file(two([0, 4], [2, 6]), bytes(6)),
    "the same bytes twice": tensor_file(two([0, 4], [0, 4]), bytes(4)),
    "gap": tensor_file(two([0, 4], [5, 9]), bytes(9)),
    "bytes left over": tensor_file(entry(), bytes(9)),
    "bytes missing": tensor_file(entry(), bytes(7)),
    "unaligned": tensor_file(
        {"x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, **entry(data_offsets=[1, 9])},
        bytes(9),
    ),
    "bool that is 2": tensor_file(entry(dtype="BOOL", data_offsets=[0, 2]), b"\1\2"),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("verify", [True, False])
def test_a_hostile_header_with_valid_checksums_is_refused(
    model: Path, case: str, verify: bool
) -> None:
    (model / "arrays.safetensors").write_bytes(HOSTILE[case])
    shape = [2] if case == "bool that is 2" else []
    reseal(model, {"arrays": {"a": {"dtype": "bool", "shape": shape}}})
    sentence = refused(model, verify=verify)
    assert "arrays.safetensors cannot be used" in sentence
    if not case.startswith("bool"):
        assert "are not those" not in sentence


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda file, aside: file.symlink_to(aside),
    "dangling link": lambda file, aside: file.symlink_to(aside.with_name("nowhere")),
    "link to itself": lambda file, aside: file.symlink_to(file),
    "pipe": lambda file, aside: os.mkfifo(file),
}


@pytest.mark.skipif(os.name == "nt", reason="needs pipes with names and links for everybody")
@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize("name", FILES)
def test_links_out_of_the_folder_and_pipes_are_refused(
    tmp_path: Path, model: Path, name: str, kind: str
) -> None:
    (model / name).rename(tmp_path / "aside")
    LINKS[kind](model / name, tmp_path / "aside")
    sentence = refused(model)
    assert "is a link" in sentence if "link" in kind else "is not a file" in sentence


@pytest.mark.skipif(os.name == "nt", reason="needs links for everybody")
def test_a_link_to_the_folder_is_followed(tmp_path: Path, model: Path) -> None:
    (tmp_path / "latest").symlink_to(model)
    assert read_archive(tmp_path / "latest").manifest == read_archive(model).manifest
