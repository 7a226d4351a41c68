"""Feedback is on the disk before the answer, once, whoever is killed; and can be learned from."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import patience
from serve_samples import TEXT, save, train

import rmls
from rmls.serve.feedback import FeedbackFile

WRITER = """
import sys
from pathlib import Path
from rmls.serve.feedback import FeedbackFile

file, name = FeedbackFile(Path(sys.argv[1])), sys.argv[2]
for number in range(100_000):
    entry = {"id": f"{name}-{number}", "text": "x" * (number * 37 % 5000)}
    stored = file.append(entry)
    print(entry["id"], stored, flush=True)
"""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_feedback_is_stored_with_all_that_was_said(client: Any, tmp_path: Path) -> None:
    told = {"text": TEXT, "accepted": ["sea"], "rejected": ["horse"], "added": ["new label"]}
    answer = client.post("/v1/feedback", json=told)
    assert answer.status_code == 201
    (entry,) = lines(tmp_path / "feedback.jsonl")
    assert entry["id"] == answer.json()["id"]
    assert entry["model"] == "art"
    assert {name: entry[name] for name in told} == told
    assert entry["time"].endswith("+00:00")


def test_the_same_id_is_stored_once(client: Any, tmp_path: Path) -> None:
    told = {"text": TEXT, "accepted": ["sea"], "id": "row 7"}
    assert [client.post("/v1/feedback", json=told).status_code for _ in range(3)] == [201, 200, 200]
    assert len(lines(tmp_path / "feedback.jsonl")) == 1


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"accepted": ["no such label"]}, 404),
        ({"rejected": ["no such label"]}, 404),
        ({"accepted": ["sea"], "rejected": ["sea"]}, 409),
        ({"accepted": [""]}, 422),
        ({"accepted": "sea"}, 422),
        ({"text": {"colour": "red"}}, 422),
    ],
)
def test_what_nobody_could_learn_from_is_refused(
    client: Any, told: dict[str, Any], status: int, tmp_path: Path
) -> None:
    answer = client.post("/v1/feedback", json={"text": TEXT, **told})
    assert answer.status_code == status
    assert lines(tmp_path / "feedback.jsonl") == []


def test_without_a_file_no_feedback_is_taken(make_client: Callable[..., Any]) -> None:
    assert make_client().post("/v1/feedback", json={"text": TEXT}).status_code == 404


def test_a_disk_that_is_full_is_told_and_leaves_no_part_of_a_line(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.write

    def fill(file: int, data: Any) -> int:
        if len(data) > 50:
            return own(file, data[:20])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", fill)
        told = {"text": TEXT, "accepted": ["sea"], "id": "1"}
        answer = client.post("/v1/feedback", json=told)
    assert answer.status_code == 503
    assert "No space" in answer.json()["detail"]
    assert (tmp_path / "feedback.jsonl").read_bytes() == b""
    assert client.post("/v1/feedback", json=told).status_code == 201
    assert len(lines(tmp_path / "feedback.jsonl")) == 1


@pytest.mark.parametrize("cut", [1, 5, 20, -2, -1])
def test_a_line_that_was_torn_is_completed_or_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "feedback.jsonl"
    whole = b'{"id": "a", "text": "one"}\n'
    torn = b'{"id": "b", "text": "two"}\n'[:cut]
    path.write_bytes(whole + torn)
    file = FeedbackFile(path)
    is_complete = cut == -1
    assert [entry["id"] for entry in lines(path)] == ["a", "b"][: 1 + is_complete]
    assert file.append({"id": "b", "text": "two"}) is not is_complete
    assert not file.append({"id": "a"})
    assert [entry["id"] for entry in lines(path)] == ["a", "b"]


def test_several_files_open_know_of_one_another(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    first, second = FeedbackFile(path), FeedbackFile(path)
    assert first.append({"id": "a"})
    assert not second.append({"id": "a"})
    # Another process was killed in the middle of a line.
    with path.open("ab") as stream:
        stream.write(b'{"id": "b", "te')
    assert second.append({"id": "c"})
    assert [entry["id"] for entry in lines(path)] == ["a", "c"]


def test_a_file_that_was_moved_away_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    file = FeedbackFile(path)
    file.append({"id": "a"})
    path.rename(tmp_path / "done.jsonl")
    assert file.append({"id": "b"})
    assert not file.append({"id": "a"})
    assert [entry["id"] for entry in lines(path)] == ["b"]


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    file = FeedbackFile(tmp_path / "feedback.jsonl")
    stored: list[bool] = []

    def write(thread: int) -> None:
        stored.extend(
            file.append({"id": f"{(thread * 3 + n) % 40}", "text": "x" * 3000}) for n in range(20)
        )

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [entry["id"] for entry in lines(tmp_path / "feedback.jsonl")]
    assert len(found) == len(set(found)) == sum(stored)


def kill_writers(path: Path, n_kills: int) -> tuple[list[str], list[str]]:
    """Kill processes that append, two at a time; return acknowledged ids and those in the file."""
    acknowledged: list[str] = []
    for round_ in range(n_kills // 2):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), f"{round_}{part}"],
                stdout=subprocess.PIPE,
                text=True,
            )
            for part in "ab"
        ]
        for number, writer in enumerate(writers):
            assert writer.stdout is not None
            # Each in the middle of its own work, another number of lines every time.
            for _ in range(1 + (round_ * 5 + number * 3) % 17):
                name, stored = writer.stdout.readline().split()
                assert stored == "True"
                acknowledged.append(name)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            rest = writer.communicate(timeout=patience(1))[0]
            assert writer.returncode == -signal.SIGKILL
            told = [line.split() for line in rest.splitlines() if line.endswith(("True", "False"))]
            assert all(stored == "True" for _, stored in told)
            acknowledged += [name for name, _ in told]
    FeedbackFile(path).close()
    return acknowledged, [entry["id"] for entry in lines(path)]


@pytest.mark.parametrize("n_kills", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, n_kills: int) -> None:
    acknowledged, found = kill_writers(tmp_path / "feedback.jsonl", n_kills)
    assert len(found) == len(set(found)) > n_kills
    assert set(acknowledged) <= set(found)


def test_a_model_learns_from_the_file(
    make_client: Callable[..., Any], tmp_path: Path, table_folder: Path
) -> None:
    from typer.testing import CliRunner

    from rmls.cli.app import app

    folder = save(tmp_path / "art", train())
    for place, model, texts in (
        ("plain", folder, [TEXT, {"text": "a lion"}]),
        ("columns", table_folder, [TEXT, {"title": "a lion", "body": "in a zoo"}, {"body": "x"}]),
    ):
        file = tmp_path / f"{place}.jsonl"
        client = make_client({place: model}, feedback=file)
        for text in texts:
            told = {"text": text, "rejected": ["horse"], "added": ["wild animals"]}
            assert client.post("/v1/feedback", json=told).status_code == 201
        output = tmp_path / f"{place}-learned"
        done = CliRunner().invoke(app, ["learn", str(model), str(file), "-o", str(output)])
        assert done.exit_code == 0, done.output
        learned = rmls.load(output)
        assert "wild animals" in learned.classes_
        found: Any = learned.suggest(
            [TEXT] if place == "plain" else {"title": [TEXT], "body": [""]}
        )
        assert found[0][0].name in ("wild animals", "sea", "bridge")
