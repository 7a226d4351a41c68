"""Results are lines that are whole or not there, and one process writes them at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rmls.bench.run.records import SCHEMA
from rmls.bench.run.store import RESULTS, ResultStore, read_results, read_study, write_study
from rmls.core.errors import InputError


def line(key: str, status: str = "ok") -> Any:
    return {"schema": SCHEMA, "key": key, "status": status}


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
