"""`rmls train --label-text`: what labels are called, from a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rmls
from rmls.cli.app import app
from rmls.datasets import make_longtail, save

WORDS = {"t1": "tax", "s2": "sugar", "f3": "fish", "l4": "law", "w5": "wood", "c6": "coal"}
# No row has it.
NEW = {"y7": "yacht"}


def run(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return found.exit_code, found.output


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    rng = np.random.default_rng(0)
    fill = ["on", "of", "a", "the", "in", "by", "new", "old", "big", "small", "north", "south"]
    with open(folder / "rows.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "labels"])
        for _ in range(400):
            chosen = rng.choice(list(WORDS), 2, replace=False)
            words = [*(WORDS[label] for label in chosen), *rng.choice(fill, 6)]
            rows.writerow([" ".join(rng.permutation(words)), "|".join(chosen)])
    with open(folder / "names.csv", "w", newline="") as file:
        names = csv.writer(file)
        names.writerow(["id", "name"])
        names.writerows((WORDS | NEW).items())
    return folder


def test_labels_without_rows_are_suggested_by_their_names(folder: Path) -> None:
    model = folder / "model"
    given = ("train", folder / "rows.csv", "-o", model, "--no-report")
    code, output = run(*given, "--label-text", folder / "names.csv")
    assert code == 0, output
    assert "1 label without rows can be suggested by their names" in output
    code, output = run("suggest", model, "a new yacht in the north", "--format", "jsonl")
    assert code == 0, output
    assert json.loads(output)["labels"][0]["label"] == "y7"
    fitted = rmls.load(model)
    assert [entry.name for entry in fitted.suggest(["a yacht"], 1)[0]] == ["y7"]
    assert set(fitted.classes_) == {*WORDS, *NEW}
    assert fitted.other_names_ == {label: [name] for label, name in (WORDS | NEW).items()}


def test_without_a_file_codes_say_nothing(folder: Path) -> None:
    model = folder / "plain"
    code, output = run("train", folder / "rows.csv", "-o", model, "--no-report")
    assert code == 0, output
    assert "label text" not in output
    fitted = rmls.load(model)
    assert set(fitted.classes_) == set(WORDS)
    assert not fitted.estimator_._scorer.proposer.sources


def test_names_can_be_left_unused(folder: Path) -> None:
    rows = (folder / "rows.csv").read_text()
    for label, word in WORDS.items():
        rows = rows.replace(label, word)
    (folder / "words.csv").write_text(rows)
    for flags, kinds in (((), ["names"]), (("--no-names",), [])):
        model = folder / f"words{len(kinds)}"
        code, output = run("train", folder / "words.csv", "-o", model, "-q", "--no-report", *flags)
        assert code == 0, output
        fitted = rmls.load(model)
        found = [source.kind for source in fitted.estimator_._scorer.proposer.sources]
        assert found == kinds
        assert fitted.use_names is not bool(flags)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--label-text", "names.csv", "--no-names"), "drop it or --no-names"),
        (("--label-text", "names.csv", "--method", "KNN"), "KNN learns nothing from names"),
        (("--label-text", "absent.csv"), "absent.csv"),
        (("--label-text", "others.csv"), "has none of the 6 labels"),
    ],
)
def test_names_that_cannot_be_used_are_one_sentence(
    folder: Path, flags: tuple[str, ...], sentence: str
) -> None:
    (folder / "others.csv").write_text("id,name\nx1,nothing\nx2,of\nx3,ours\n")
    places = [folder / flag if flag.endswith(".csv") else flag for flag in flags]
    code, output = run("train", folder / "rows.csv", "-o", folder / "none", *places)
    assert code != 0
    assert sentence in " ".join(output.split())
    assert not (folder / "none").exists()


def test_rows_of_numbers_need_features_that_are_words(tmp_path: Path) -> None:
    save(make_longtail(60, 20, 5, labels_per_row=2), tmp_path / "data.npz")
    names = {str(label): f"name {label}" for label in range(5)}
    (tmp_path / "names.json").write_text(json.dumps(names))
    given = ("train", tmp_path / "data.npz", "-o", tmp_path / "model")
    code, output = run(*given, "--label-text", tmp_path / "names.json")
    assert code != 0
    assert "the features have none" in " ".join(output.split())
