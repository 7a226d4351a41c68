"""Limits, tokens, headers and problems: whatever is sent, the answer is a sane one."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from serve_samples import TEXT

TOKEN = "a-token-of-some-length"
JSON = {"content-type": "application/json"}


def is_problem(answer: Any, status: int) -> bool:
    document = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == status, answer.text
    assert document["status"] == status
    assert document["detail"].endswith(".")
    return True


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/suggest", 405),
        ("DELETE", "/v1/feedback", 405),
        ("GET", "/v1/labels/no such label", 404),
        ("GET", "/v1/models/none", 404),
        ("GET", "/v1/labels?limit=0", 422),
        ("GET", "/v1/labels?model=none", 404),
        ("GET", "/page/../app.py", 404),
        ("GET", "/page/%2e%2e/app.py", 404),
        ("GET", "/page//etc/passwd", 404),
    ],
)
def test_errors_are_problem_documents(client: Any, method: str, path: str, status: int) -> None:
    assert is_problem(client.request(method, path), status)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"null", 422),
        (b"[]", 422),
        (b'{"text": "\xff\xfe"}', 400),
        (b'{"text": "\\ud800"}', 400),
        (b"[" * 100_000, 400),
        (b'{"text": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400),
        (b'{"text": NaN}', 422),
        (b'{"text": "a", "k": 0}', 422),
        (b'{"text": "a", "k": 101}', 422),
        (b'{"text": "a", "tail": 2}', 422),
        (b'{"text": "a", "tail": 1e999}', 422),
        (b'{"text": "a", "decision": "top_101"}', 422),
        (b'{"text": "a", "decision": "best"}', 422),
        (b'{"text": "a", "texts": ["b"]}', 422),
        (b'{"text": "a", "path": "/etc/passwd"}', 422),
        (b'{"text": "a", "model": "../art"}', 404),
        (b'{"text": {}}', 422),
        (b'{"text": {"text": 3}}', 422),
        (b'{"text": 10' + b"0" * 5000 + b"}", 400),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(client: Any, body: bytes, status: int) -> None:
    answer = client.post("/v1/suggest", content=body, headers=JSON)
    assert is_problem(answer, status)
    assert len(answer.content) < 3000


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\0",
        "a\0b",
        "🚢" * 1000,
        "סירה בים",
        "\u202eaes",
        "é" * 100,
        "\n\r\t",
        "𝕤𝕖𝕒",
        "x" * 50_000,
    ],
)
def test_odd_texts_are_answered(client: Any, text: str) -> None:
    answer = client.post("/v1/suggest", json={"text": text, "k": 3})
    assert answer.status_code == 200
    assert len(answer.json()["results"][0]["suggestions"]) == 3
    why = client.post("/v1/explain", json={"text": text, "label": "sea"})
    assert why.status_code in (200, 409, 422)


def test_a_character_in_two_escapes_is_one(client: Any) -> None:
    body = b'{"text": "the sea \\ud83d\\udea2"}'
    assert client.post("/v1/suggest", content=body, headers=JSON).status_code == 200


def test_a_form_is_not_json(client: Any) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    body = json.dumps({"text": TEXT})
    assert is_problem(client.post("/v1/suggest", content=body, headers=kind), 415)
    assert is_problem(client.post("/v1/suggest", content=body), 415)


def test_a_body_has_a_limit_with_and_without_its_length(make_client: Callable[..., Any]) -> None:
    client = make_client(max_body=1000)

    def chunks() -> Iterator[bytes]:
        yield b'{"text": "'
        for _ in range(100):
            yield b"x" * 100

    long = json.dumps({"text": "x" * 2000}).encode()
    assert is_problem(client.post("/v1/suggest", content=long, headers=JSON), 413)
    assert is_problem(client.post("/v1/suggest", content=chunks(), headers=JSON), 413)
    small = json.dumps({"text": "x" * 100}).encode()
    assert client.post("/v1/suggest", content=small, headers=JSON).status_code == 200


def test_texts_have_a_limit_of_number_and_length(make_client: Callable[..., Any]) -> None:
    client = make_client(max_texts=2, max_characters=10)
    for body in (
        {"texts": ["a", "b", "c"]},
        {"text": "x" * 11},
        {"text": {"text": "x" * 11}},
        {"texts": ["a", "x" * 11]},
    ):
        assert is_problem(client.post("/v1/suggest", json=body), 413)
    assert client.post("/v1/suggest", json={"texts": ["a", "x" * 10]}).status_code == 200
    for path in ("explain", "feedback"):
        body = {"text": "x" * 11, **({"label": "sea"} if path == "explain" else {})}
        assert is_problem(client.post(f"/v1/{path}", json=body), 413)


def test_a_token_is_asked_for_everywhere_but_for_health_and_the_page(
    make_client: Callable[..., Any],
) -> None:
    client = make_client(token=TOKEN)
    assert client.get("/healthz").status_code == 200
    assert client.get("/").status_code in (200, 404)
    for given in ({}, {"authorization": TOKEN}, {"authorization": f"Bearer {TOKEN}x"}):
        for path in ("/v1/models", "/metrics", "/readyz", "/openapi.json", "/nowhere"):
            answer = client.get(path, headers=given)
            assert is_problem(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"
    own = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/v1/models", headers=own).status_code == 200


def test_a_name_that_is_not_ours_is_refused(make_client: Callable[..., Any]) -> None:
    client = make_client(hosts=("localhost", "[::1]"))
    for host, status in (
        ("localhost:80", 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("", 421),
    ):
        assert client.get("/v1/models", headers={"host": host}).status_code == status


def test_every_answer_has_the_headers_that_keep_a_browser_in(client: Any) -> None:
    for path in ("/healthz", "/nowhere", "/v1/models", "/v1/suggest", "/"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert "cache-control" in headers


def test_the_log_holds_no_text_unless_it_is_asked_to(
    make_client: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "rmls.serve")
    for log_texts in (False, True):
        client = make_client(log_texts=log_texts)
        client.post("/v1/suggest", json={"text": "secret words"})
        client.get("/v1/labels", params={"query": "secret words"})
        client.get("/v1/labels/secret words")
        assert ("secret" in caplog.text) == log_texts
        assert "/v1/labels" in caplog.text


def test_a_failure_of_ours_is_a_problem_without_a_trace(
    make_client: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from rmls.serve import answers

    def fail(*_: Any) -> None:
        raise KeyError("secret words")

    client = make_client()
    monkeypatch.setattr(answers, "explain", fail)
    answer = client.post("/v1/explain", json={"text": TEXT, "label": "sea"})
    assert is_problem(answer, 500)
    assert "secret" not in answer.text + caplog.text
    assert "KeyError in" in caplog.text


def test_who_comes_to_a_full_line_is_told_to_come_again(
    make_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rmls.serve import batches

    client = make_client(max_running=1, max_waiting=2)
    own, go = batches.suggest_together, threading.Event()

    def wait(*given: Any) -> Any:
        go.wait()
        return own(*given)

    monkeypatch.setattr(batches, "suggest_together", wait)
    found: list[Any] = []

    def ask() -> None:
        found.append(client.post("/v1/suggest", json={"text": TEXT}))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    gate = client.app.state.service.gate
    for number, thread in enumerate(threads):
        thread.start()
        while gate.running + gate.waiting <= number:
            time.sleep(0.01)
    refused = client.post("/v1/suggest", json={"text": TEXT})
    assert is_problem(refused, 429)
    assert int(refused.headers["retry-after"]) >= 1
    go.set()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in found] == [200] * 3
    assert client.post("/v1/suggest", json={"text": TEXT}).status_code == 200
    assert gate.waiting == 0


def test_work_that_takes_too_long_is_given_up_and_makes_room(
    make_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rmls.serve import batches

    client = make_client(max_running=1, max_seconds=0.1)
    own, go = batches.suggest_together, threading.Event()
    monkeypatch.setattr(batches, "suggest_together", lambda *given: go.wait() and own(*given))
    answer = client.post("/v1/suggest", json={"text": TEXT})
    assert is_problem(answer, 503)
    assert "retry-after" in answer.headers
    go.set()
    while client.app.state.service.gate.running:
        time.sleep(0.01)
    client.app.state.service.gate.settings.__dict__["max_seconds"] = 60.0
    assert client.post("/v1/suggest", json={"text": TEXT}).status_code == 200


def test_a_client_that_sends_slowly_is_given_up(make_client: Callable[..., Any]) -> None:
    app = make_client(max_upload_seconds=0.05).app
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(10)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/suggest",
        "headers": [(b"content-type", b"application/json")],
        "query_string": b"",
    }
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 408


def test_requests_that_wait_together_are_answered_as_if_alone(
    make_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rmls.serve import batches

    client = make_client(max_running=1)
    bodies: list[dict[str, Any]] = [
        {"text": TEXT, "k": 2},
        {"texts": ["a horse", "the sea"], "tail": 1.0},
        {"text": "bridge", "min_probability": 0.3},
        {"text": {"colour": "red"}},
        {"text": "a garden", "k": 6, "tail": 0},
    ]
    alone = [client.post("/v1/suggest", json=body) for body in bodies]
    own, go, sizes = batches.suggest_together, threading.Event(), []

    def wait(served: Any, asked: Any) -> Any:
        go.wait()
        sizes.append(len(asked))
        return own(served, asked)

    monkeypatch.setattr(batches, "suggest_together", wait)
    together: dict[int, Any] = {}

    def ask(number: int) -> None:
        together[number] = client.post("/v1/suggest", json=bodies[number])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(bodies))]
    gate = client.app.state.service.gate
    for number, thread in enumerate(threads):
        thread.start()
        while gate.running + gate.waiting <= number:
            time.sleep(0.01)
    go.set()
    for thread in threads:
        thread.join()
    assert sizes == [1, 4]
    for number, answer in enumerate(alone):
        assert together[number].status_code == answer.status_code
        for one, other in zip(
            answer.json().get("results", []),
            together[number].json().get("results", []),
            strict=True,
        ):
            assert [each["label"] for each in one["suggestions"]] == [
                each["label"] for each in other["suggestions"]
            ]
