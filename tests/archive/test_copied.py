"""A copied archive is the archive, or nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rmls.archive import copy_archive, read_archive, write_archive
from rmls.core.errors import ArchiveError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_archive(tmp_path / "source", {"method": "one"}, {"W": np.arange(3.0)})
    return tmp_path / "source"


def test_a_copy_has_the_same_bytes_and_no_other_files(source: Path, tmp_path: Path) -> None:
    (source / "notes.txt").write_text("mine")
    copy_archive(source, tmp_path / "copy")
    names = ["arrays.safetensors", "model.json"]
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == names
    for name in names:
        assert (tmp_path / "copy" / name).read_bytes() == (source / name).read_bytes()


def test_a_damaged_source_leaves_what_was_there(source: Path, tmp_path: Path) -> None:
    write_archive(tmp_path / "copy", {"method": "before"}, {})
    with open(source / "arrays.safetensors", "r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"x")
    with pytest.raises(ArchiveError, match="damaged"):
        copy_archive(source, tmp_path / "copy")
    assert read_archive(tmp_path / "copy").manifest == {"method": "before"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "source"]


def test_what_stands_there_is_replaced_only_when_asked(source: Path, tmp_path: Path) -> None:
    write_archive(tmp_path / "copy", {"method": "before"}, {})
    with pytest.raises(ArchiveError, match="exists"):
        copy_archive(source, tmp_path / "copy", overwrite=False)
    copy_archive(source, tmp_path / "copy")
    assert read_archive(tmp_path / "copy").manifest == {"method": "one"}
    with pytest.raises(ArchiveError, match="cannot be written"):
        copy_archive(tmp_path / "nowhere", tmp_path / "copy")
