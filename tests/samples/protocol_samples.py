"""A small service that other tools talk to: one model of texts, one of texts with columns."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from patience import patience
from text_samples import make_texts

from rmls import RMLSRanker, TextRanker
from rmls.serve import Settings
from rmls.serve.store import ModelStore

SEA = "fishing boats and the quota of the harbour"
# Labels as a thesaurus has them: addresses.
URIS = {name: f"http://vocabulary.example/{name}" for name in ("tax", "sea", "farm", "law")}


def train(texts: Any, labels: list[list[str]]) -> TextRanker:
    return TextRanker(RMLSRanker(n_components=8, max_iter=3, random_state=0)).fit(texts, labels)


@cache
def model_folders() -> dict[str, Path]:
    """Return three models: ``topics``, ``columns`` (title and body), ``uris``."""
    folder = Path(tempfile.mkdtemp(prefix="rmls-protocols-"))
    texts, labels = make_texts(120)
    titles, bodies = np.array([text.split(" ", 1) for text in texts]).T.tolist()
    made = {
        "topics": train(texts, labels),
        "columns": train({"title": titles, "body": bodies}, labels),
        "uris": train(texts, [[URIS[name] for name in row] for row in labels]),
    }
    for name, model in made.items():
        model.save(folder / name)
    return {name: folder / name for name in made}


@cache
def store() -> ModelStore:
    return ModelStore(model_folders())


def settings(feedback: Path | None = None, **more: Any) -> Settings:
    return Settings(feedback=feedback, **more)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Serve an application on a free port of this machine; yields its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until = time.monotonic() + patience(1)
        while not server.started:
            assert time.monotonic() < until, "the service does not start"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
