"""The service as a program: it starts, takes up new models, survives its workers, and ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from odd_requests import send_odd
from patience import patience
from serve_samples import TEXT, free_port, resident_bytes, running, save, train
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


def test_the_program_answers_odd_requests_too_and_ends_when_told(
    folder: Path, tmp_path: Path
) -> None:
    feedback = tmp_path / "feedback.jsonl"
    with running(f"my={folder}", "--feedback", str(feedback)) as (process, port):
        found = ask(port, "/v1/suggest", {"text": TEXT})
        assert found["model"] == "my"
        ask(port, "/v1/feedback", {"text": TEXT, "accepted": ["sea"], "id": "a"})
        half_closed(port)
        assert len(feedback.read_text().splitlines()) == 1
        assert ask(port, "/readyz")["models"] == ["my"]
        check_odd(process.pid, port, "my", 60)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=patience(5))
    assert f"http://127.0.0.1:{port}/".encode() in told
    assert TEXT.encode() not in told
    assert [json.loads(line)["id"] for line in feedback.read_text().splitlines()].count("a") == 1


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


def check_odd(process: int, port: int, model: str, n_requests: int) -> None:
    """Send odd requests: their answers are sane, and memory stays flat."""
    statuses: Counter[int] = Counter()
    sizes = []
    for found in send_odd(port, model, n_requests):
        sizes.append(resident_bytes(process))
        counts = {name: int(name.rpartition(": ")[2]) for name in found}
    assert ask(port, "/v1/suggest", {"text": TEXT})
    for name, status in counts.items():
        # Who goes away in the middle has no answer; all others have one.
        assert status or name.startswith(("half closed", "slow")), found
        statuses[status] += found[name]
    assert all(status < 500 for status in statuses), found
    assert statuses[200]
    assert statuses[413]
    # The first part of many loads what the others use, too.
    assert n_requests < 100 or sizes[-1] < 1.1 * sizes[0], sizes


@pytest.mark.slow
def test_odd_requests_have_sane_answers_and_memory_stays_flat(folder: Path, tmp_path: Path) -> None:
    arguments = (f"art={folder}", "--feedback", str(tmp_path / "feedback.jsonl"), "-q")
    with running(*arguments) as (process, port):
        check_odd(process.pid, port, "art", 2000)
