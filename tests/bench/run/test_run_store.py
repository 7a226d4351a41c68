"""Results are lines that are whole or not there, and one process writes them at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from record_samples import make_record

from rmls.bench.run.store import CUT, RESULTS, ResultStore, read_results, read_study, write_study
from rmls.core.errors import InputError


def line(key: str, status: str = "ok") -> Any:
    failure = None if status == "ok" else "time"
    return {**make_record("RMLS", failure=failure), "key": key}


def keys(folder: Path) -> list[str]:
    return [record["key"] for record in read_results(folder)]


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    with ResultStore(tmp_path / "new" / "folder") as store:
        store.append([line("a"), line("b")])
        store.append([line("c")])
    assert keys(tmp_path / "new" / "folder") == ["a", "b", "c"]


@pytest.mark.parametrize("length", [1, 10, 30])
def test_a_line_cut_short_is_dropped_and_the_others_are_kept(tmp_path: Path, length: int) -> None:
    with ResultStore(tmp_path) as store:
        store.append([line("a")])
    with open(tmp_path / RESULTS, "a") as stream:
        stream.write(json.dumps(line("b"))[:length])
    assert keys(tmp_path) == ["a"]
    with ResultStore(tmp_path) as store:
        assert [record["key"] for record in store.records] == ["a"]
        store.append([line("c")])
    assert keys(tmp_path) == ["a", "c"]


def test_a_result_written_twice_counts_once(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.append([line("a"), line("a")])
    assert keys(tmp_path) == ["a"]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with (
        ResultStore(tmp_path),
        pytest.raises(InputError, match="another bench is writing"),
    ):
        ResultStore(tmp_path)
    ResultStore(tmp_path).close()


def test_failed_results_can_be_forgotten(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.append([line("a"), line("b", "failed"), line("c")])
        assert store.remove_failed() == 1
        store.append([line("d")])
    assert keys(tmp_path) == ["a", "c", "d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json\n", "line 1 is not JSON"),
        ("[1]\n", "line 1 is not a result"),
        ('{"schema": 99, "key": "a"}\n', "has schema 99"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / RESULTS).write_text(text)
    with pytest.raises(InputError, match=message):
        read_results(tmp_path)


def test_a_folder_without_results_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is it the folder of a study"):
        read_results(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; results need a folder"):
        ResultStore(tmp_path / "file")


def facts(**values: Any) -> dict[str, Any]:
    return {"study": "s", "protocol": "5 folds", "datasets": {}, "missing": {}, **values}


def test_a_folder_remembers_data_sets_of_earlier_calls(tmp_path: Path) -> None:
    write_study(tmp_path, facts(datasets={"a": {}}, missing={"b": "not here"}))
    write_study(tmp_path, facts(datasets={"b": {}}))
    found = read_study(tmp_path)
    assert set(found["datasets"]) == {"a", "b"}
    assert found["missing"] == {}


def test_a_folder_holds_one_study(tmp_path: Path) -> None:
    write_study(tmp_path, facts())
    with pytest.raises(InputError, match="holds a study with study 's'; choose another folder"):
        write_study(tmp_path, facts(study="other"))
    with pytest.raises(InputError, match="with protocol '5 folds'; choose another folder"):
        write_study(tmp_path, facts(protocol="3 folds"))


# -- a disk that is full for a moment --------------------------------------------------------------


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """Let files grow to a size only: a write takes what fits, the next one fails."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("room", [0, 1, 20, 45, 60, 80])
def test_a_full_disk_takes_all_of_a_write_or_nothing(tmp_path: Path, room: int) -> None:
    with ResultStore(tmp_path) as store:
        store.append([line("a")])
        size = (tmp_path / RESULTS).stat().st_size
        with (
            disk_of(size + room),
            pytest.raises(InputError, match=r"cannot be written \(File too large\); make room"),
        ):
            store.append([line("b"), line("c")])
        assert (tmp_path / RESULTS).stat().st_size == size
        # The disk has room again.
        store.append([line("d")])
        assert [record["key"] for record in store.records] == ["a", "d"]
    assert keys(tmp_path) == ["a", "d"]
    assert not (tmp_path / CUT).exists()


def test_a_piece_that_could_not_be_taken_back_is_gone_with_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with ResultStore(tmp_path) as store:
        store.append([line("a")])
        size = (tmp_path / RESULTS).stat().st_size
        with monkeypatch.context() as patch, disk_of(size + 10):
            patch.setattr("os.truncate", refuse)
            with pytest.raises(InputError, match="cannot be written"):
                store.append([line("b")])
        assert (tmp_path / RESULTS).stat().st_size == size + 10
        store.append([line("c")])
    assert keys(tmp_path) == ["a", "c"]


def test_a_write_that_takes_a_part_is_continued(tmp_path: Path) -> None:
    class Slow:
        """A file that takes seven bytes at a time."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def write(self, content: Any) -> int:
            return int(self.stream.write(content[:7]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.stream, name)

    with ResultStore(tmp_path) as store:
        store._stream = Slow(store._stream)
        store.append([line("a"), line("b")])
    assert keys(tmp_path) == ["a", "b"]


# -- folders of earlier versions, which glued lines together ---------------------------------------


@pytest.mark.parametrize("length", [1, 12, 30, len(json.dumps(line("b")))])
def test_a_piece_glued_to_the_next_result_loses_no_other_line(tmp_path: Path, length: int) -> None:
    texts = [json.dumps(line(key)) for key in "abcd"]
    content = f"{texts[0]}\n{texts[1][:length]}{texts[2]}\n{texts[3]}\n"
    (tmp_path / RESULTS).write_text(content)
    wanted = ["a", "b", "c", "d"] if length == len(texts[1]) else ["a", "c", "d"]
    assert keys(tmp_path) == wanted
    with ResultStore(tmp_path) as store:
        assert [record["key"] for record in store.records] == wanted
        store.append([line("e")])
    # Every line is whole now, and what was taken out is not lost.
    kept = (tmp_path / RESULTS).read_text().splitlines()
    assert [json.loads(text)["key"] for text in kept] == [*wanted, "e"]
    assert (tmp_path / CUT).read_text() == f"{texts[1][:length]}{texts[2]}\n"


def test_the_end_that_was_cut_is_kept_in_a_file(tmp_path: Path) -> None:
    with ResultStore(tmp_path) as store:
        store.append([line("a")])
    for piece in ("half", "a third"):
        with open(tmp_path / RESULTS, "a") as stream:
            stream.write(piece)
        ResultStore(tmp_path).close()
    assert keys(tmp_path) == ["a"]
    assert (tmp_path / CUT).read_text() == "half\na third\n"


def test_a_study_that_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text("[1]")
    with pytest.raises(InputError, match="it is not an object"):
        read_study(tmp_path)


def test_ctrl_c_behind_the_last_byte_keeps_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(stream: Any) -> None:
        raise KeyboardInterrupt

    with ResultStore(tmp_path) as store:
        with monkeypatch.context() as patch:
            patch.setattr("rmls.bench.run.store.sync", press)
            with pytest.raises(KeyboardInterrupt):
                store.append([line("a")])
        assert keys(tmp_path) == ["a"]
        store.append([line("b")])
    assert keys(tmp_path) == ["a", "b"]
