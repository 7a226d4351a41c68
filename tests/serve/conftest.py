"""A trained model, and clients of services around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

from serve_samples import save, train


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("served") / "art", train())


@pytest.fixture(scope="session")
def table_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("served") / "table", train(title="", body=""))


@pytest.fixture
def make_client(folder: Path) -> Iterator[Callable[..., Any]]:
    from fastapi.testclient import TestClient

    from rmls.serve import Settings, make_app
    from rmls.serve.store import ModelStore

    with ExitStack() as stack:

        def make(paths: dict[str, Path] | None = None, **settings: Any) -> TestClient:
            app = make_app(ModelStore(paths or {"art": folder}), Settings(**settings))
            return stack.enter_context(TestClient(app, raise_server_exceptions=False))

        yield make


@pytest.fixture
def client(make_client: Callable[..., Any], tmp_path: Path) -> Any:
    return make_client(feedback=tmp_path / "feedback.jsonl")
