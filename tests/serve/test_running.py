"""The service as a program: it starts, takes up new models, survives its workers, and ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import patience
from serve_samples import TEXT, free_port, running, save, train
from typer.testing import CliRunner

import rmls
from rmls.cli.app import app

TOKEN = "a-token-of-some-length"


def ask(port: int, path: str, body: Any = None, **headers: str) -> Any:
    data = None if body is None else json.dumps(body).encode()
    values = {"content-type": "application/json", **headers}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, values)
    with urllib.request.urlopen(request, timeout=patience(2)) as answer:
        return json.load(answer)


def test_the_program_answers_and_ends_when_told(folder: Path, tmp_path: Path) -> None:
    feedback = tmp_path / "feedback.jsonl"
    with running(f"my={folder}", "--feedback", str(feedback)) as (process, port):
        found = ask(port, "/v1/suggest", {"text": TEXT})
        assert found["model"] == "my"
        ask(port, "/v1/feedback", {"text": TEXT, "accepted": ["sea"], "id": "a"})
        half_closed(port)
        assert ask(port, "/readyz")["models"] == ["my"]
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=patience(5))
    assert f"http://127.0.0.1:{port}/".encode() in told
    assert TEXT.encode() not in told
    assert len(feedback.read_text().splitlines()) == 1


def half_closed(port: int) -> None:
    """Send beginnings of requests and go away."""
    head = b"POST /v1/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for sent in (b"", b"GET", head, head + b"Content-Length: 100\r\n\r\n{", b"\0\xff\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                connection.recv(1000)


@pytest.mark.slow
def test_a_connection_that_asks_nothing_is_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    from rmls.serve import make_app
    from rmls.serve.protocol import Patient
    from rmls.serve.store import ModelStore

    monkeypatch.setattr(Patient, "seconds", 1.0)
    port, limit = free_port(), patience(2)
    served = make_app(ModelStore({"art": folder}))
    server = uvicorn.Server(uvicorn.Config(served, port=port, http=Patient, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        silent = []
        live = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for number in range(12):
            silent.append(socket.create_connection(("127.0.0.1", port), limit))
            # Nothing, half of a head, and half of a second one.
            silent[-1].sendall((b"", b"POST / HTTP/1.1\r\nHost:", live + b"GET /")[number % 3])
        for number, connection in enumerate(silent):
            answer = b"".join(iter(lambda here=connection: here.recv(1000), b""))
            assert answer.startswith(b"HTTP/1.1 200") == (number % 3 == 2)
            connection.close()
        assert ask(port, "/healthz")
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.slow
def test_workers_that_are_killed_lose_no_feedback(folder: Path, tmp_path: Path) -> None:
    feedback = tmp_path / "feedback.jsonl"
    arguments = (str(folder), "--feedback", str(feedback), "--workers", "2")
    acknowledged = []
    with running(*arguments) as (process, port):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for number in range(60):
            if number % 20 == 10:
                # The last children are the workers; others keep their resources.
                os.kill(int(children.read_text().split()[-1]), signal.SIGKILL)
            with contextlib.suppress(OSError):
                told = {"text": TEXT, "accepted": ["sea"], "id": str(number)}
                acknowledged.append(ask(port, "/v1/feedback", told)["id"])
    found = [json.loads(line)["id"] for line in feedback.read_bytes().splitlines()]
    assert len(acknowledged) > 40
    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)


def test_a_model_written_anew_is_taken_up_without_dropping_a_request(
    make_client: Callable[..., Any], tmp_path: Path
) -> None:
    path = save(tmp_path / "art", train())
    client = make_client({"art": path}, refresh_seconds=0.02)
    failures: list[Any] = []
    done = threading.Event()

    def keep_asking() -> None:
        while not done.is_set():
            answer = client.post("/v1/suggest", json={"text": TEXT})
            if answer.status_code != 200:
                failures.append(answer.text)

    asking = threading.Thread(target=keep_asking)
    asking.start()
    model = rmls.load(path, mmap=False)
    for number in range(3):
        label = f"label {number}"
        model.add_labels([label]).save(path)
        end = time.monotonic() + patience(1)
        while client.get(f"/v1/labels/{label}").status_code != 200:
            assert time.monotonic() < end, client.get("/readyz").text
            time.sleep(0.01)
    done.set()
    asking.join()
    assert failures == []


def test_a_model_that_breaks_stays_as_it_was(
    make_client: Callable[..., Any], tmp_path: Path
) -> None:
    path = save(tmp_path / "art", train())
    client = make_client({"art": path}, refresh_seconds=0.02)
    # A file that is mapped is replaced, never written to.
    shutil.copy(path / "model.json", tmp_path / "kept.json")
    (tmp_path / "broken.json").write_text("{}")
    os.replace(tmp_path / "broken.json", path / "model.json")
    end = time.monotonic() + patience(1)
    while not client.get("/readyz").json()["failures"]:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert client.post("/v1/suggest", json={"text": TEXT}).status_code == 200
    os.replace(tmp_path / "kept.json", path / "model.json")
    while client.get("/readyz").json()["failures"]:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "0.0.0.0"], "can be reached by others"),
        (["--host", "192.168.0.1"], "can be reached by others"),
        (["--host", "example.org"], "can be reached by others"),
        (["--token-file", "no-such-file"], "cannot be read"),
        (["--feedback", "no/such/folder/file"], "feedback cannot be written"),
        (["--port", "70000"], "65,535"),
    ],
)
def test_what_is_not_safe_or_not_there_is_refused(
    folder: Path, arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RMLS_TOKEN", raising=False)
    found = CliRunner().invoke(app, ["serve", str(folder), *arguments])
    assert found.exit_code == 2
    assert sentence in found.output


def test_a_short_token_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short\n")
    arguments = ["serve", str(folder), "--token-file", str(tmp_path / "token")]
    assert "a token has 16" in CliRunner().invoke(app, arguments).output


def test_models_need_names_of_their_own(folder: Path) -> None:
    found = CliRunner().invoke(app, ["serve", str(folder), str(folder)])
    assert "two models are called 'art'" in found.output
    assert "give the folder" in CliRunner().invoke(app, ["serve"]).output


def test_without_the_extra_a_sentence_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    found = CliRunner().invoke(app, ["serve", str(folder)])
    assert "pip install 'rmls[serve]'" in found.output


@pytest.mark.slow
def test_a_token_opens_the_service_to_others(folder: Path) -> None:
    with running(str(folder), "--host", "0.0.0.0", RMLS_TOKEN=TOKEN) as (_, port):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(port, "/v1/models")
        assert ask(port, "/v1/models", authorization=f"Bearer {TOKEN}")


@pytest.mark.slow
def test_the_demo_needs_nothing(tmp_path: Path) -> None:
    with running("--demo", XDG_CACHE_HOME=str(tmp_path)) as (_, port):
        found = ask(port, "/v1/suggest", {"text": "Horses in a field, oil on canvas"})
        assert "horse" in [each["label"] for each in found["results"][0]["suggestions"]]
    assert list(tmp_path.rglob("feedback.jsonl"))


def odd_bodies(n_bodies: int) -> Iterator[bytes]:
    """Yield bodies that are no requests, or nearly none."""
    draw = random.Random(0)
    whole = json.dumps({"text": TEXT, "k": 3}).encode()
    for number in range(n_bodies):
        kind = number % 10
        if kind == 0:
            yield draw.randbytes(draw.randrange(2000))
        elif kind == 1:
            yield whole[: draw.randrange(len(whole))]
        elif kind == 2:
            place = draw.randrange(len(whole))
            yield whole[:place] + draw.randbytes(1) + whole[place + 1 :]
        elif kind == 3:
            yield b'{"text": ' + b"[" * draw.randrange(20_000)
        elif kind == 4:
            yield json.dumps({"text": "🚢\0\u202e" * draw.randrange(500)}).encode()
        elif kind == 5:
            yield json.dumps({"texts": [""] * draw.randrange(200)}).encode()
        elif kind == 6:
            yield b'{"text": "' + b"x" * draw.randrange(300_000) + b'"}'
        elif kind == 7:
            yield json.dumps({"text": {str(draw.random()): draw.random()}}).encode()
        elif kind == 8:
            yield json.dumps({"text": TEXT, "label": draw.random(), "tail": 1e308}).encode()
        else:
            yield b"x" * (10_000_000 if number % 500 == 9 else 10)


@pytest.mark.slow
def test_odd_requests_have_sane_answers_and_memory_stays_flat(folder: Path, tmp_path: Path) -> None:
    arguments = (str(folder), "--feedback", str(tmp_path / "feedback.jsonl"), "-q")
    n_bodies = int(os.environ.get("RMLS_ODD_REQUESTS", "3000"))
    paths = ("suggest", "explain", "feedback", "review/rows")
    statuses: Counter[int] = Counter()
    sizes = []
    with running(*arguments) as (process, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience(5))
        for number, body in enumerate(odd_bodies(n_bodies)):
            if number % (n_bodies // 3) == 0:
                sizes.append(resident(process.pid))
            try:
                path = f"/v1/{paths[number // 10 % 4]}"
                connection.request("POST", path, body, {"content-type": "application/json"})
                answer = connection.getresponse()
                json.load(answer)
                statuses[answer.status] += 1
            except (ConnectionError, http.client.HTTPException):
                # What is far too large is not read to its end: the answer may be lost.
                assert len(body) > 4_000_000
                connection.close()
        sizes.append(resident(process.pid))
    assert all(status < 500 for status in statuses), statuses
    assert statuses[200] > n_bodies / 20
    assert sizes[-1] < 1.1 * sizes[1], sizes


def resident(process: int) -> int:
    """Return the pages that a process holds in memory."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1])
