from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_samples import MANIFEST, one_sentence, write_sample

from rmls.archive import read_archive, write_archive, writing
from rmls.core import files
from rmls.core.errors import ArchiveError
from rmls.core.files import lock_folder, unlock

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


def test_a_model_that_appears_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files = writing._write_files

    def disturbed(*arguments: object) -> None:
        monkeypatch.undo()
        write_files(*arguments)
        write_archive(tmp_path / "model", {"theirs": True}, ONES)

    monkeypatch.setattr(writing, "_write_files", disturbed)
    assert "exists" in refused(tmp_path / "model", {"ours": True}, ONES, overwrite=False)
    assert read_archive(tmp_path / "model").manifest == {"theirs": True}
    assert entries(tmp_path) == ["model"]


def test_a_lock_that_somebody_holds_on_the_folder_is_none_of_ours(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    held = lock_folder(tmp_path, wait=False)
    try:
        write_archive(tmp_path / "model", MANIFEST, ONES)
    finally:
        unlock(held)
    assert entries(tmp_path) == ["model"]


def test_a_writer_that_hangs_is_told_instead_of_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    with files.name_locked(tmp_path / "model"):
        assert "another process has held" in refused(tmp_path / "model", MANIFEST, ONES)
    write_archive(tmp_path / "model", MANIFEST, ONES)
    assert entries(tmp_path) == ["model"]


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


STEPS = ("mkdir", "open", "fsync", "rename", "unlink", "rmdir")


def fail_at(step: int, number: int, patch: pytest.MonkeyPatch) -> list[str]:
    """Let the ``step``-th call of the system fail; returns the list of all that were made."""
    done: list[str] = []

    def counted(name: str, function: Callable) -> Callable:
        def call(*arguments: Any, **options: Any) -> Any:
            done.append(name)
            if len(done) == step + 1:
                raise OSError(number, os.strerror(number))
            return function(*arguments, **options)

        return call

    for name in STEPS:
        patch.setattr(os, name, counted(name, getattr(os, name)))
    patch.setattr("builtins.open", counted("open", open))
    return done


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("existing", [True, False])
def test_an_error_at_every_single_step_leaves_the_old_version_or_the_new(
    tmp_path: Path, existing: bool, number: int
) -> None:
    path, step = tmp_path / "model", 0
    while True:
        writing.remove_archive(path)
        if existing:
            write_archive(path, {"version": 1}, ONES)
        with pytest.MonkeyPatch.context() as patch:
            done = fail_at(step, number, patch)
            try:
                write_archive(path, {"version": 2}, ONES)
                wanted = 2
            except ArchiveError as error:
                wanted, sentence = 1, str(error)
        if wanted == 1:
            assert os.strerror(number) in sentence
        if existing or wanted == 2:
            assert read_archive(path).manifest == {"version": wanted}
        else:
            assert not path.exists()
        write_archive(path, {"version": 3}, ONES)
        assert read_archive(path).manifest == {"version": 3}
        assert entries(tmp_path) == ["model"]
        if len(done) <= step:
            break
        step += 1
    assert step > 10


@pytest.mark.parametrize("existing", [True, False])
def test_a_disk_that_is_full_at_any_byte_leaves_what_was_there(
    tmp_path: Path, existing: bool
) -> None:
    resource = pytest.importorskip("resource")
    path, arrays = tmp_path / "model", {"large": np.zeros(600)}
    write_archive(path, {}, arrays)
    largest = max(file.stat().st_size for file in path.iterdir())
    writing.remove_archive(path)
    if existing:
        write_archive(path, MANIFEST, ONES)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in range(0, largest, largest // 40):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            assert "File too large" in refused(path, {}, arrays)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert entries(tmp_path) == (["model"] if existing else [])
    if existing:
        assert read_archive(path).manifest == MANIFEST
