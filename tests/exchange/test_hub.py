"""Models on a stand-in of the Hugging Face Hub: what goes up comes down, and nothing else does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from local_hub import LocalHub, running_hub
from typer.testing import CliRunner

import rmls
from rmls.core.errors import ArchiveError, InputError

# Imported before the tests name a server: the library looks at the environment once.
constants = pytest.importorskip(
    "huggingface_hub.constants",
    reason="huggingface_hub is not installed: pip install 'rmls[hub]'",
)
SAVED = Path(__file__).parents[1] / "archive" / "texts_0_1"
TEXTS = ["fishing boats in the harbour", "taxes for the revenue of the court"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LocalHub]:
    with running_hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("RMLS_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", "secret")
        yield server


@pytest.fixture
def model() -> Any:
    return rmls.load(SAVED / "measured")


def run(*arguments: Any) -> Any:
    from rmls.cli.app import app

    return CliRunner().invoke(app, [str(part) for part in arguments])


def test_a_model_comes_back_with_equal_answers(hub: LocalHub, model: Any) -> None:
    address = model.push_to_hub("me/topics", license="cc0-1.0")
    assert address.startswith(f"{hub.address}/me/topics/commit/")
    back = rmls.load("hf://me/topics")
    assert back.suggest(TEXTS) == model.suggest(TEXTS)
    assert np.array_equal(back.decision_function(TEXTS), model.decision_function(TEXTS))
    assert back.quality_record_ == model.quality_record_
    _, (_, files) = hub.repositories["me/topics"].commits
    assert sorted(files) == [".gitattributes", "README.md", "arrays.safetensors", "model.json"]
    assert "cc0-1.0" in files["README.md"].decode()


def test_the_second_load_fetches_no_file(hub: LocalHub, model: Any) -> None:
    model.push_to_hub("me/topics")
    rmls.load("hf://me/topics")
    hub.asked.clear()
    rmls.load("hf://me/topics")
    assert [each for each in hub.asked if "/resolve/" in each] == []


def test_a_model_of_numbers_comes_back_too(hub: LocalHub, tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((20, 5))
    model = rmls.RMLS(4, max_iter=2).fit(X, [["a"] if row[0] > 0.5 else ["b"] for row in X])
    rmls.exchange.push(model, "me/numbers", private=False)
    assert not hub.repositories["me/numbers"].private
    commit = rmls.exchange.pull("me/numbers", tmp_path / "model")
    assert hub.repositories["me/numbers"].commits[-1][0] == commit
    back = rmls.load(tmp_path / "model")
    assert np.array_equal(back.decision_function(X), model.decision_function(X))


def test_a_new_repository_is_private_unless_asked(hub: LocalHub, model: Any) -> None:
    model.push_to_hub("me/hidden")
    assert hub.repositories["me/hidden"].private
    hub.token = "another"
    with pytest.raises(InputError, match="is not on the Hub, or is not yours to see"):
        rmls.load("hf://me/hidden")


def test_only_the_files_of_an_archive_are_fetched(
    hub: LocalHub, model: Any, tmp_path: Path
) -> None:
    model.push_to_hub("me/topics")
    _, files = hub.repositories["me/topics"].commits[-1]
    files |= {"evil.py": b"raise SystemExit", "pytorch_model.bin": b"pickle", "../up.txt": b"x"}
    rmls.exchange.pull("me/topics", tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "arrays.safetensors",
        "model.json",
    ]
    fetched = {each.rpartition("/")[2] for each in hub.asked if each.startswith("GET /me")}
    assert fetched == {"arrays.safetensors", "model.json"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.parametrize("file", ["arrays.safetensors", "model.json"])
def test_a_changed_model_is_refused_and_leaves_nothing(
    hub: LocalHub, model: Any, tmp_path: Path, file: str
) -> None:
    model.push_to_hub("me/topics")
    _, files = hub.repositories["me/topics"].commits[-1]
    files[file] = files[file][:-9] + b"x" + files[file][-8:]
    with pytest.raises(ArchiveError, match="is damaged"):
        rmls.exchange.pull("me/topics", tmp_path / "model")
    with pytest.raises(ArchiveError, match="is damaged"):
        rmls.load("hf://me/topics")
    assert not (tmp_path / "model").exists()


def test_what_is_no_model_is_told_in_a_sentence(hub: LocalHub, model: Any, tmp_path: Path) -> None:
    model.push_to_hub("me/topics")
    del hub.repositories["me/topics"].commits[-1][1]["model.json"]
    with pytest.raises(InputError, match=r"me/topics holds no rmls model: it has no model\.json"):
        rmls.load("hf://me/topics")
    with pytest.raises(InputError, match="has no such revision"):
        rmls.load("hf://me/topics@never")
    with pytest.raises(InputError, match="is no name of the form user/name"):
        rmls.load("hf://a/b/c/d")
    hub.repositories.clear()
    with pytest.raises(InputError, match="is not on the Hub"):
        rmls.exchange.pull("me/topics", tmp_path / "model")


def test_an_older_commit_can_be_asked_for(hub: LocalHub, model: Any) -> None:
    model.push_to_hub("me/topics")
    rmls.load(SAVED / "plain").push_to_hub("me/topics", card=False)
    _, first, second = (commit for commit, _ in hub.repositories["me/topics"].commits)
    assert rmls.load(f"hf://me/topics@{first}").quality_record_ is not None
    assert getattr(rmls.load(f"hf://me/topics@{second}"), "quality_record_", None) is None
    # The card was left as it was.
    _, (_, before), (_, after) = hub.repositories["me/topics"].commits
    assert before["README.md"] == after["README.md"]


def test_a_server_that_is_away_is_a_sentence(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="the Hub cannot be used"):
        rmls.exchange.pull("me/topics", tmp_path / "model")


def test_the_command_line_pushes_and_pulls(hub: LocalHub, tmp_path: Path) -> None:
    source, target = tmp_path / "mine", tmp_path / "theirs"
    shutil.copytree(SAVED / "measured", source)
    done = run("push", source, "me/topics", "--license", "cc0-1.0", "--public")
    assert done.exit_code == 0, done.output
    assert "/me/topics/commit/" in done.stderr
    assert run("pull", "me/topics", "-o", target).exit_code == 0
    for name in ("model.json", "arrays.safetensors"):
        assert (target / name).read_bytes() == (source / name).read_bytes()
    again = run("pull", "me/topics", "-o", target)
    assert again.exit_code == 2
    assert run("pull", "me/topics", "-o", target, "--overwrite").exit_code == 0
