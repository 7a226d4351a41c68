"""Rows that wait for a review: shared by the processes of a service, all or nothing."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serve_samples import TEXT, running

from rmls.serve.review import ReviewQueue

SUGGESTED = [[{"label": "sea", "probability": chance, "rows": 3}] for chance in (0.9, 0.5, 0.7)]
GROUPS = [["tail"]] * 3


def test_processes_see_the_same_rows(tmp_path: Path) -> None:
    one, other = (ReviewQueue(10, tmp_path / "q.db") for _ in range(2))
    ids = one.add("art", ["a", {"title": "b"}, "c"], SUGGESTED, GROUPS)
    found = other.first("art", 5)
    assert [row.text for row in found] == [{"title": "b"}, "c", "a"]
    assert found == one.first("art", 5)
    other.answered(ids[1])
    assert [row.text for row in one.first("art", 5)] == ["c", "a"]
    assert one.first("law", 5) == []


@pytest.mark.parametrize("has_file", [True, False])
def test_the_least_helpful_make_room(tmp_path: Path, has_file: bool) -> None:
    queue = ReviewQueue(2, tmp_path / "q.db" if has_file else None)
    queue.add("art", ["a", "b", "c"], SUGGESTED, GROUPS)
    assert [row.text for row in queue.first("art", 5)] == ["b", "c"]
    # Of equals those that came first stay.
    queue.add("art", ["d"], SUGGESTED[1:2], GROUPS[:1])
    assert [row.text for row in queue.first("art", 5)] == ["b", "d"]


def test_rows_that_come_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    queues = [ReviewQueue(1000, tmp_path / "q.db") for _ in range(4)]

    def add(queue: ReviewQueue) -> None:
        for _ in range(10):
            queue.add("art", ["a", "b", "c"], SUGGESTED, GROUPS)

    threads = [threading.Thread(target=add, args=(queue,)) for queue in queues]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(queues[0].first("art", 1000)) == 120


def test_a_row_is_stored_as_it_came(make_client: Callable[..., Any]) -> None:
    client = make_client()
    text = 'half a "quote", 名前 🚢 \\ and \n a line'
    client.post("/v1/review/rows", json={"texts": [text]})
    assert client.get("/v1/review").json()["rows"][0]["text"] == text


@pytest.mark.slow
def test_several_workers_have_one_queue(folder: Path, tmp_path: Path) -> None:
    feedback = str(tmp_path / "f.jsonl")
    with running(str(folder), "--workers", "2", "--feedback", feedback) as (_, port):

        def ask(method: str, path: str, body: Any = None) -> Any:
            # A connection each, so that both processes are asked.
            connection = http.client.HTTPConnection("127.0.0.1", port)
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            connection.close()
            return answer

        ids = ask("POST", "/v1/review/rows", {"texts": [TEXT, "a horse"]})["ids"]
        for _ in range(10):
            assert sorted(row["id"] for row in ask("GET", "/v1/review")["rows"]) == sorted(ids)
        ask("POST", "/v1/feedback", {"text": TEXT, "accepted": [], "id": ids[0]})
        for _ in range(10):
            assert [row["id"] for row in ask("GET", "/v1/review")["rows"]] == ids[1:]
