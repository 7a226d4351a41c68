from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from archive_samples import MANIFEST, one_sentence, write_sample

from rmls.archive import read_archive, write_archive, writing
from rmls.core.errors import ArchiveError

ONES = {"ones": np.ones(3, dtype=np.float32)}


def refused(path: object, manifest: object, arrays: object, **options: bool) -> str:
    with pytest.raises(ArchiveError) as caught:
        write_archive(path, manifest, arrays, **options)
    return one_sentence(caught.value, path)


def entries(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class Strange:
    pass


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"a": {"b": float("nan")}}, "a.b is nan"),
        ({"a": [1.0, float("-inf")]}, "a.1 is -inf"),
        ({"a": {"b": [{"c": Strange()}]}}, "a.b.0.c is of type Strange"),
        ({"a": np.int64(3)}, "a is of type int64"),
        ({"a": np.zeros(2)}, "a is of type ndarray"),
        ({"a": {1, 2}}, "a is of type set"),
        ({"a": b"bytes"}, "a is of type bytes"),
        ({"a": {1: 2}}, "a has the key 1; keys must be text"),
        ({3: 2}, "the manifest has the key 3"),
        ({"a": "\ud800"}, "a holds text that UTF-8 cannot encode"),
        ({"a": {"\ud800": 1}}, "keys must be text"),
        ({"a": 10**1000}, "a has more than 1000 digits"),
        ({"a": nested(200)}, "a nests deeper than 100 levels"),
        ({"format": "mine"}, "the key 'format' belongs to the archive"),
        ({"sha256": "mine"}, "the key 'sha256' belongs to the archive"),
        ([1, 2], "the manifest must be a dictionary"),
    ],
)
def test_a_manifest_that_is_not_json_is_refused_by_key(
    tmp_path: Path, manifest: object, message: str
) -> None:
    assert message in refused(tmp_path / "model", manifest, ONES)
    assert entries(tmp_path) == []


def test_a_manifest_that_contains_itself_is_refused(tmp_path: Path) -> None:
    circle: dict[str, object] = {}
    circle["again"] = circle
    assert "nests deeper" in refused(tmp_path / "model", circle, ONES)


def test_the_deepest_manifest_that_is_written_is_read(tmp_path: Path) -> None:
    manifest = {"a": nested(99)}
    write_archive(tmp_path / "model", manifest, {})
    assert read_archive(tmp_path / "model").manifest == manifest


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.array([Strange()])}, "the array 'a' is of type object"),
        ({"a": np.array(["text"])}, "is of type <U4"),
        ({"a": np.zeros(1, dtype=complex)}, "is of type complex128"),
        ({"a": np.zeros(1, dtype=[("x", "f4")])}, "only booleans, integers and floats"),
        ({"a": [1, 2]}, "'a' is no array but list"),
        ({"": np.zeros(1)}, "'' cannot name an array"),
        ({"__metadata__": np.zeros(1)}, "cannot name an array"),
        ({3: np.zeros(1)}, "3 cannot name an array"),
        ({"a\nb": np.zeros(1)}, "cannot name an array"),
    ],
)
def test_arrays_that_cannot_be_stored_are_refused_by_name(
    tmp_path: Path, arrays: object, message: str
) -> None:
    assert message in refused(tmp_path / "model", {}, arrays)
    assert entries(tmp_path) == []


def test_only_an_archive_or_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    write_archive(folder, MANIFEST, ONES)
    write_archive(folder, {}, ONES)
    (folder / "notes.txt").write_text("mine")
    assert "holds 'notes.txt'" in refused(folder, {}, ONES)
    (folder / "model.json").write_text('{"mine": 1}')
    assert "something other than an rmls model" in refused(folder, {}, ONES)
    assert entries(folder) == ["arrays.safetensors", "model.json", "notes.txt"]
    assert entries(tmp_path) == ["photos"]


def test_files_missing_parents_and_strange_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert "is a file" in refused(tmp_path / "file", {}, ONES)
    assert "no is not a folder" in refused(tmp_path / "no" / "model", {}, ONES)
    assert "file is not a folder" in refused(tmp_path / "file" / "model", {}, ONES)
    assert "something other" in refused(tmp_path, {}, ONES)
    assert "something other" in refused("/", {}, ONES)
    assert "cannot be written" in refused("null\0byte", {}, ONES)
    assert "cannot be written" in refused(tmp_path / ("x" * 250), {}, ONES)
    assert entries(tmp_path) == ["file"]


def test_overwriting_can_be_forbidden(tmp_path: Path) -> None:
    write_archive(tmp_path / "model", MANIFEST, ONES, overwrite=False)
    assert "exists" in refused(tmp_path / "model", {}, ONES, overwrite=False)
    assert read_archive(tmp_path / "model").manifest == MANIFEST


def test_writing_through_a_link_replaces_what_it_points_to(tmp_path: Path) -> None:
    write_sample(tmp_path / "model")
    (tmp_path / "latest").symlink_to("model")
    write_archive(tmp_path / "latest", {"new": True}, ONES)
    assert (tmp_path / "latest").is_symlink()
    assert read_archive(tmp_path / "model").manifest == {"new": True}


@pytest.mark.parametrize("existing", [False, True])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, existing: bool) -> None:
    resource = pytest.importorskip("resource")
    if existing:
        write_archive(tmp_path / "model", MANIFEST, ONES)
    before = entries(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        sentence = refused(tmp_path / "model", {}, {"large": np.zeros(1 << 20)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot be written (File too large)" in sentence
    assert entries(tmp_path) == before
    if existing:
        assert read_archive(tmp_path / "model").manifest == MANIFEST


@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_an_error_while_renaming_leaves_the_old_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, error: BaseException
) -> None:
    write_archive(tmp_path / "model", MANIFEST, ONES)
    renames: list[object] = []

    def rename(source: object, target: object) -> None:
        renames.append(source)
        if len(renames) == step + 1:
            raise error
        real(source, target)

    real = os.rename
    monkeypatch.setattr(writing.os, "rename", rename)
    if step < 3:
        with pytest.raises(ArchiveError if isinstance(error, OSError) else KeyboardInterrupt):
            write_archive(tmp_path / "model", {"new": True}, ONES)
    else:
        write_archive(tmp_path / "model", {"new": True}, ONES)
    assert entries(tmp_path) == ["model"]
    found = read_archive(tmp_path / "model").manifest
    assert found == (MANIFEST if step < 3 else {"new": True})


def test_temporary_folders_of_dead_runs_are_cleaned_and_live_ones_kept(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    dead = tmp_path / ".model.tmp-dead"
    dead.mkdir()
    (dead / "arrays.safetensors").write_bytes(b"half")
    live, lock = writing.make_temporary(tmp_path / "model")
    stranger = tmp_path / ".model.tmp-mine"
    stranger.mkdir()
    (stranger / "notes.txt").write_text("mine")
    write_archive(tmp_path / "model", {}, ONES)
    assert entries(tmp_path) == sorted([".model.tmp-mine", live.name, "model"])
    os.close(lock)
    write_archive(tmp_path / "model", {}, ONES)
    assert entries(tmp_path) == [".model.tmp-mine", "model"]
    assert (stranger / "notes.txt").read_text() == "mine"
