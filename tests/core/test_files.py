"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rmls.core.files import replacing, replacing_text, write_text


def test_the_old_content_stands_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("opened", [replacing, replacing_text])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_leaves_what_was_there_and_nothing_else(
    opened, error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write_half() -> None:
        with opened(path) as stream:
            stream.write("half" if opened is replacing_text else b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_content_reaches_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (steps.append("sync"), fsync(handle)))
    monkeypatch.setattr(Path, "replace", lambda *both: (steps.append("rename"), replace(*both)))
    write_text(tmp_path / "file", "text")
    assert steps == ["sync", "rename"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_mode_is_the_one_that_the_umask_gives(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask


def test_text_is_utf_8_with_the_line_ends_it_has(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "é\r\n–\n")
    assert (tmp_path / "file").read_bytes() == "é\r\n–\n".encode()


def test_a_folder_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "none" / "file", "text")
    assert os.listdir(tmp_path) == []
