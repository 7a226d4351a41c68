"""An archive that says more than it did: the same arrays, all or nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_samples import one_sentence

from rmls.archive import amend_archive, read_archive, write_archive
from rmls.core.errors import ArchiveError

ARRAYS = {"ones": np.ones(3, dtype=np.float32)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_archive(tmp_path / "model", {"method": "RMLS", "training": None}, ARRAYS)
    return tmp_path / "model"


def with_note(manifest: dict[str, Any]) -> dict[str, Any]:
    return {**manifest, "note": "tried"}


@pytest.mark.parametrize("has_links", [True, False])
def test_the_manifest_changes_and_the_arrays_stay(
    path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_links:

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", refuse)
    before = os.stat(path / "arrays.safetensors").st_ino
    mapped = read_archive(path).arrays["ones"]
    assert amend_archive(path, with_note)
    archive = read_archive(path)
    assert archive.manifest == {"method": "RMLS", "training": None, "note": "tried"}
    assert archive.arrays["ones"].tolist() == mapped.tolist() == [1, 1, 1]
    assert (os.stat(path / "arrays.safetensors").st_ino == before) == has_links
    # No sibling is left but the file of the lock.
    assert {entry.name for entry in path.parent.iterdir()} <= {"model", ".model.lock"}


def test_one_that_is_not_meant_is_left_alone(path: Path) -> None:
    before = os.stat(path).st_ino
    assert not amend_archive(path, lambda manifest: None)
    assert os.stat(path).st_ino == before


@pytest.mark.parametrize("changed", [{"x": float("nan")}, {"sha256": "0"}, {"x": object()}])
def test_a_manifest_that_cannot_be_written_leaves_the_old_one(path: Path, changed: Any) -> None:
    with pytest.raises(ArchiveError) as caught:
        amend_archive(path, lambda manifest: changed)
    one_sentence(caught.value, path)
    assert read_archive(path).manifest["method"] == "RMLS"
    assert {entry.name for entry in path.parent.iterdir()} <= {"model", ".model.lock"}


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError):
        amend_archive(tmp_path / "nowhere", with_note)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("mine")
    with pytest.raises(ArchiveError):
        amend_archive(tmp_path / "folder", with_note)
