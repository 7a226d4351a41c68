"""A file is written whole or not at all."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rmls.core.errors import InputError
from rmls.core.files import open_standing, replacing, replacing_text, replacing_together, write_text


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


def test_behind_a_link_the_file_is_replaced_and_not_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "to nothing").symlink_to("new")
    write_text(tmp_path / "link", "text")
    write_text(tmp_path / "to nothing", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == (tmp_path / "new").read_text() == "text"
    assert sorted(os.listdir(tmp_path)) == ["link", "new", "real", "to nothing"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_what_is_no_file_is_refused_and_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    kinds = {"pipe": "a pipe", "folder": "a folder", "circle": "a link in a circle"}
    for name, kind in kinds.items():
        before = os.lstat(tmp_path / name)
        with pytest.raises(InputError, match=f"is {kind}; give the name of a file"):
            write_text(tmp_path / name, "text")
        assert os.path.samestat(os.lstat(tmp_path / name), before)
    with pytest.raises(InputError, match="is a device"):
        write_text(Path(os.devnull), "text")
    assert sorted(os.listdir(tmp_path)) == sorted(kinds)


def die_at(call: str, number: int, work) -> int:
    """Run ``work`` in a child that is killed before it calls ``Path.replace`` and the like."""
    child = os.fork()
    if child == 0:
        real, left = getattr(Path, call), [number]

        def killed(*arguments, **options):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        setattr(Path, call, killed)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write_pair(folder: Path, text: bytes) -> None:
    with replacing_together([folder / "data", folder / "names"]) as streams:
        for stream in streams:
            stream.write(text)


def read_pair(folder: Path) -> set[bytes]:
    found = set()
    for name in ("data", "names"):
        with open_standing(folder / name, folder / "data") as stream:
            found.add(stream.read())
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("linked", [False, True])
def test_files_written_together_are_of_one_version_after_any_kill(
    linked: bool, tmp_path: Path
) -> None:
    if linked:
        (tmp_path / "real").mkdir()
        (tmp_path / "names").symlink_to("real/names")
    write_pair(tmp_path, b"0")
    kept = sorted(os.listdir(tmp_path))
    versions = set()
    for call in ("replace", "unlink"):
        for number in range(4):
            version = f"{call}{number}".encode()
            before = read_pair(tmp_path)
            code = die_at(call, number, lambda version=version: write_pair(tmp_path, version))
            found = read_pair(tmp_path)
            assert found in (before, {version})
            versions.add((code, found == {version}))
            write_pair(tmp_path, b"next")
            assert read_pair(tmp_path) == {b"next"}
            assert sorted(os.listdir(tmp_path)) == kept
    # Some kills came before the new version was complete, some after it, and some never.
    assert versions == {(-9, False), (-9, True), (0, True)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_a_killed_writer_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert die_at("replace", 0, lambda: write_text(path, "half")) == -9
    (tmp_path / ".other.0123456789ab.tmp").write_text("of another name")
    assert len(os.listdir(tmp_path)) == 2
    with replacing(path) as first:
        # That of a living writer stays.
        write_text(path, "second")
        first.write(b"first")
    assert path.read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == [".other.0123456789ab.tmp", "file"]


def test_an_odd_list_of_complete_files_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"data")
    (tmp_path / "secret").write_bytes(b"secret")
    for odd in (b"", b"[]", b"[" * 100_000, b'{"data": 5}', b'{"data": "secret"}', b"\xff"):
        (tmp_path / ".data.new").write_bytes(odd)
        with open_standing(tmp_path / "data", tmp_path / "data") as stream:
            assert stream.read() == b"data"
    write_text(tmp_path / "data", "new")
    assert sorted(os.listdir(tmp_path)) == ["data", "secret"]
