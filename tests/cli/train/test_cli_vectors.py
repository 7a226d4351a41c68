"""`--features` and `--encoder`: vectors of any encoder beside the texts of a table."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import rmls
from rmls.features.text import vectors as reading

N_KINDS, WIDTH = 5, 12
CENTERS = np.random.default_rng(3).normal(size=(N_KINDS, WIDTH)).astype(np.float32)


def write(path: Path, first: int, n_rows: int, unlabelled: int = 0) -> Any:
    """Write texts of which only the vectors tell the label, every so many rows without one."""
    kinds = [(first + row) % N_KINDS for row in range(n_rows)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["id", "text", "tags"])
        for row, kind in enumerate(kinds):
            known = not unlabelled or row % unlabelled
            label = f"kind {kind}; all" if known else ""
            rows.writerow([row, f"secret{first + row} word{row % 7}", label])
    vectors = CENTERS[kinds]
    np.save(path.with_suffix(".npy"), vectors)
    return kinds


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    write(tmp_path / "old.csv", 0, 200, unlabelled=4)
    write(tmp_path / "new.csv", 1000, 50)
    return tmp_path / "old.csv", tmp_path / "new.csv"


def features(path: Path) -> Path:
    return path.with_suffix(".npy")


def test_vectors_of_a_file_decide_what_words_do_not(files: Any, run: Any, tmp_path: Path) -> None:
    old, new = files
    model = tmp_path / "model"
    result = run("train", old, "--features", features(old), "-o", model)
    assert result.exit_code == 0, result.stderr
    assert f"{WIDTH} numbers a row" in result.stderr
    assert "--features FILE.npy" in result.stderr
    asked = ("-i", new, "--features", features(new), "--format", "jsonl")
    lines = run("suggest", model, *asked).stdout.splitlines()
    found = [{each["label"] for each in json.loads(line)["labels"][:2]} for line in lines]
    # Vectors and rows stay together, although rows without labels were left out.
    assert np.mean([f"kind {row % N_KINDS}" in names for row, names in enumerate(found)]) > 0.95
    result = run(
        "evaluate", model, new, "--features", features(new), "--json", "--metrics", "macro_f1"
    )
    assert json.loads(result.stdout)["all"]["macro_f1"] > 0.95
    python = rmls.load(model)
    table = {"text": ["secret1 word2"], "vectors": CENTERS[[2]]}
    assert {each.name for each in python.suggest(table, 2)[0]} == {"kind 2", "all"}


def test_one_text_has_one_vector(files: Any, run: Any, tmp_path: Path) -> None:
    old, _ = files
    model = tmp_path / "model"
    assert run("train", old, "--features", features(old), "-o", model).exit_code == 0
    np.save(tmp_path / "one.npy", CENTERS[[3]])
    result = run("suggest", model, "a text", "--features", tmp_path / "one.npy", "--top", 2)
    assert "kind 3" in result.stdout


def test_rows_kept_for_a_test_keep_their_vectors(files: Any, run: Any, tmp_path: Path) -> None:
    old, _ = files
    given = ("--features", features(old), "--test-share", "0.3")
    assert run("train", old, *given, "-o", tmp_path / "model").exit_code == 0


def test_an_archive_of_one_array_is_a_file_of_vectors(files: Any, run: Any, tmp_path: Path) -> None:
    old, _ = files
    np.savez(tmp_path / "v.npz", vectors=np.load(features(old)))
    assert run("train", old, "--features", tmp_path / "v.npz", "-o", tmp_path / "m").exit_code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.zeros((199, 3)), "holds 199 vectors, and the table has more rows"),
        (np.zeros((201, 3)), "holds 201 vectors but the table has 200 rows"),
        (np.zeros(200), r"of shape (200,)"),
        (np.zeros((200, 0)), "vectors without numbers"),
        (np.full((200, 2), "a"), "it needs a row of numbers"),
        (np.full((200, 2), np.nan), "not finite"),
        (np.array([{}, {}], dtype=object), "is no .npy file of numbers"),
        (None, "is no file"),
    ],
)
def test_bad_vectors_are_one_sentence_and_no_model(
    content: Any, message: str, files: Any, run: Any, tmp_path: Path
) -> None:
    path = tmp_path / "bad.npy"
    if content is not None:
        np.save(path, content, allow_pickle=True)
    result = run("train", files[0], "--features", path, "-o", tmp_path / "model")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "model").exists()


def test_what_does_not_go_together_is_one_sentence(files: Any, run: Any, tmp_path: Path) -> None:
    old, new = files
    for model, given in (("with", ("--features", features(old))), ("without", ())):
        assert run("train", old, *given, "-o", tmp_path / model, "--no-report").exit_code == 0

    def told(*command: Any) -> str:
        result = run(*command)
        assert result.exit_code == 2, result.stderr
        return " ".join(result.stderr.split())

    assert "--features FILE.npy" in told("suggest", tmp_path / "with", "-i", new)
    assert "--features FILE.npy" in told("evaluate", tmp_path / "with", new)
    more = ("--features", features(new))
    assert "drop it" in told("suggest", tmp_path / "without", "-i", new, *more)
    np.save(tmp_path / "wide.npy", np.zeros((50, 3)))
    wide = ("--features", tmp_path / "wide.npy")
    assert "of 3 numbers but" in told("suggest", tmp_path / "with", "-i", new, *wide)
    other = ("train", old, "-o", tmp_path / "x", "--features", features(old))
    assert "RMLS takes no vectors" in told(*other, "--method", "RMLS")
    assert "exclude each other" in told(*other, "--encoder", tmp_path)


def test_a_folder_of_an_encoder_is_used_and_remembered(
    files: Any, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fake:
        def __init__(self, folder: str, **options: Any) -> None:
            assert Path(folder).is_absolute()

        def encode(self, texts: list[str], **options: Any) -> Any:
            numbers = [int(text.split()[0].removeprefix("secret")) for text in texts]
            return CENTERS[np.array(numbers) % N_KINDS]

    module: Any = ModuleType("sentence_transformers")
    module.SentenceTransformer = Fake
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.chdir(tmp_path)
    reading._load_folder.cache_clear()
    Path("encoder").mkdir()
    old, _ = files
    result = run("train", old, "--encoder", "encoder", "-o", tmp_path / "model")
    assert result.exit_code == 0, result.stderr
    assert "kind 2" in run("suggest", tmp_path / "model", "secret2002 word", "--top", 2).stdout
