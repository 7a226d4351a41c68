"""A saved TextRanker answers the same in another process; nothing in it can be executed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import plain_params
from text_samples import make_texts, write_csv
from typer.testing import CliRunner

import rmls
from rmls import KNN, RMLS, Calibrated, TextRanker
from rmls.archive import Archive, read_archive
from rmls.cli.app import app
from rmls.core.errors import ArchiveError, InputError
from rmls.models.text.archive import build_text_ranker

TEXTS, LABELS = make_texts()
NEW, _ = make_texts(12, seed=5)
ASK = """
import json, sys, rmls
model = rmls.load(sys.argv[1])
answers = model.suggest(json.load(sys.stdin), 3)
print(json.dumps([[list(each) for each in row] for row in answers]))
"""
MODELS: dict[str, Any] = {
    "words": {},
    "all kinds": {"pairs": True, "characters": (2, 4), "min_rows": 2, "max_terms": 300},
    "hashed": {"hashing": 64},
    "no stems": {"stem": "none"},
    "calibrated": {"estimator": Calibrated(KNN(n_neighbors=5))},
    "RMLS": {"estimator": RMLS(n_components=4, max_iter=5)},
}


def as_lists(answers: Any) -> list[Any]:
    return [[list(each) for each in row] for row in answers]


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_is_the_same_model(name: str, tmp_path: Path) -> None:
    model = TextRanker(**MODELS[name]).fit(TEXTS, LABELS)
    model.save(tmp_path / "m")
    again = rmls.load(tmp_path / "m")
    assert again.suggest(NEW, 3) == model.suggest(NEW, 3)
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    assert again.predict(NEW) == model.predict(NEW)
    assert plain_params(again) == plain_params(model)
    assert again.features_.language_ == model.features_.language_


def test_another_process_gives_the_same_answers(tmp_path: Path) -> None:
    rows = [tuple(text.split(" ", 1)) for text in TEXTS]
    model = TextRanker(field_weights=[2, 1], pairs=True).fit(rows, LABELS)
    model.save(tmp_path / "m")
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path / "m")],
        input=json.dumps([text.split(" ", 1) for text in NEW]),
        capture_output=True,
        text=True,
        check=True,
    )
    new = [tuple(text.split(" ", 1)) for text in NEW]
    assert json.loads(done.stdout) == as_lists(model.suggest(new, 3))


def test_the_folder_holds_numbers_and_json_alone(tmp_path: Path) -> None:
    TextRanker(pairs=True).fit(TEXTS, LABELS).save(tmp_path / "m")
    names = sorted(file.name for file in (tmp_path / "m").iterdir())
    assert [name for name in names if not name.endswith((".json", ".safetensors"))] == []
    for file in (tmp_path / "m").iterdir():
        content = file.read_bytes()
        assert b"sklearn" not in content
        # How pickle begins since its second protocol.
        assert content[:1] != b"\x80"


def test_a_model_of_the_command_line_is_one_of_python(tmp_path: Path) -> None:
    write_csv(tmp_path / "tickets.csv")
    arguments = ["train", "tickets.csv", "-o", "m", "--method", "RMLSRanker", "--quiet"]
    paths = [str(tmp_path / each) if each in ("tickets.csv", "m") else each for each in arguments]
    assert CliRunner().invoke(app, paths).exit_code == 0
    model = rmls.load(tmp_path / "m")
    assert isinstance(model, TextRanker)
    rows = {
        "title": [text.split(" ", 1)[0] for text in TEXTS],
        "body": [text.split(" ", 1)[1] for text in TEXTS],
    }
    expected = TextRanker().fit(rows, LABELS)
    assert as_lists(model.suggest(NEW)) == as_lists(expected.suggest(NEW))
    assert isinstance(model.predict(NEW)[0], list)
    assert model.training_record_["rows"] == 60


def test_an_unfitted_model_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="not fitted"):
        TextRanker().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


DAMAGE: dict[str, Any] = {
    "fields": lambda manifest, _: manifest["text"].update(fields=[1]),
    "number of fields": lambda manifest, _: manifest["text"].update(n_fields=0),
    "language": lambda manifest, _: manifest["text"].update(language="klingon"),
    "kinds": lambda manifest, _: manifest["text"].update(kinds=["words", "pairs"]),
    "no text": lambda manifest, _: manifest.pop("text"),
    "option": lambda manifest, _: manifest["params"].update(min_rows=0),
    "unknown option": lambda manifest, _: manifest["params"].update(colour=1),
    "method": lambda manifest, _: manifest["estimator"].update(method="os.system"),
    "features": lambda manifest, _: manifest["estimator"].update(n_features=3),
    "record": lambda manifest, _: manifest.update(training=[1]),
    "weights": lambda _, arrays: arrays.update(text_words_idf=-arrays["text_words_idf"]),
    "words": lambda _, arrays: arrays.pop("text_words_text"),
    "bounds": lambda _, arrays: arrays.update(
        text_words_bounds=arrays["text_words_bounds"][::-1].copy()
    ),
    "stems": lambda _, arrays: arrays.update(text_lexicon_stem=arrays["text_lexicon_stem"] + 999),
    "letters": lambda _, arrays: arrays.update(
        text_lexicon_text=np.full_like(arrays["text_lexicon_text"], 0xFF)
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "m"
    TextRanker().fit(TEXTS, LABELS).save(path)
    return path


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_description_is_refused(name: str, folder: Path) -> None:
    archive = read_archive(folder, mmap=False)
    manifest, arrays = json.loads(json.dumps(archive.manifest)), dict(archive.arrays)
    build_text_ranker(Archive(folder, manifest, arrays))
    DAMAGE[name](manifest, arrays)
    with pytest.raises((InputError, KeyError, TypeError, ValueError)):
        build_text_ranker(Archive(folder, manifest, arrays))


def test_an_edited_folder_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    for file in folder.iterdir():
        (tmp_path / "m" / file.name).write_bytes(file.read_bytes())
    (weights,) = (tmp_path / "m").glob("*.safetensors")
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ArchiveError) as told:
        rmls.load(tmp_path / "m")
    assert str(tmp_path / "m") in str(told.value)
    assert "\n" not in str(told.value)
