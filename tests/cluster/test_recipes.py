"""The recipes of docs/reference/scale.md, as they are printed there, by their engines."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
from places import REPOSITORY
from text_samples import make_texts

import rmls
from rmls import RMLSRanker, TextRanker

NEEDS = {
    "Ray Data": ("ray", "pandas", "pyarrow"),
    "Dask": ("dask",),
    "Spark": ("pyspark", "pandas"),
}
NEW, _ = make_texts(20, seed=5)


@cache
def recipes() -> dict[str, str]:
    """Code by the title above it."""
    page = (REPOSITORY / "docs" / "reference" / "scale.md").read_text("utf-8")
    return dict(re.findall(r"^### (.+?)\n.*?^```python\n(.*?)^```", page, re.M | re.S))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return a folder with a model and texts to label."""
    texts, labels = make_texts(120, seed=1)
    TextRanker(RMLSRanker(8, max_iter=3)).fit(texts, labels).save(tmp_path / "model")
    lines = [json.dumps({"number": number, "text": text}) for number, text in enumerate(NEW)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    # Engines send functions of the main module as they are, and others by their names.
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    return tmp_path


def test_every_engine_has_a_recipe():
    assert set(recipes()) >= set(NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("engine", NEEDS)
def test_a_recipe_gives_the_labels_of_the_model(engine, folder):
    for module in NEEDS[engine]:
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if engine == "Spark" and which("java") is None:
        pytest.skip("Spark needs Java")
    exec(compile(recipes()[engine], engine, "exec"), {"__name__": "__main__"})
    files = [
        path for path in (folder / "labelled").rglob("*") if path.suffix in (".json", ".jsonl")
    ]
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    found = {row["text"]: row["labels"] for row in rows}
    ranking = rmls.load(folder / "model").rank(NEW, 3)
    assert found == {
        text: [label.label for label in row] for text, row in zip(NEW, ranking, strict=True)
    }


def test_a_model_is_opened_once_a_process(folder):
    assert rmls.load_once(str(folder / "model")) is rmls.load_once(str(folder / "model"))
