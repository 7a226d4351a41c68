"""Folders of a study that were damaged or edited: read, or one sentence with the place."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from record_samples import folds, make_record
from rich.console import Console

from rmls.bench.pages.study_report import report_folder
from rmls.bench.run.store import RESULTS, STUDY, read_results, read_study
from rmls.bench.tables.compare import compare
from rmls.bench.tables.comparison_tables import comparison_tables
from rmls.cli.bench.tables import print_study
from rmls.core.errors import InputError
from rmls.imbalance import describe

HOSTILE: list[Any] = [
    *(None, True, -1, 0, 2, -0.5, 0.5, 10**400, 1e308, float("nan"), float("inf")),
    *("", "x", "\ud800", "a\x00b\n", "0.5", "<b>", "round", "a" * 5000),
    *([], {}, [None], [[[]]], {"a": None}, {"n_components": "x"}, [0.5] * 3),
]


seeds = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))]
)


def sample_records() -> list[Any]:
    good = [*folds("RMLS", 0.5, 2), *folds("PLST", 0.4, 2, decision="round")]
    for record in good[:2]:
        record["measured"]["calibration"] = {"ece": 0.1, "ece_tail": None, "brier": 0.2}
        record["measured"]["reliability"] = {
            "edges": [0.0, 0.1, 1.0],
            "pairs": [90, 10],
            "predicted": [0.01, None],
            "observed": [0.02, None],
        }
    alpha = make_record("RMLS", experiment="alpha", params={"negatives_per_positive": 2})
    return [*good, alpha, make_record("KNN", k=None, failure="time")]


def sample_study() -> dict[str, Any]:
    facts = {
        "checksum": "sha256:enron",
        "n_samples": 100,
        "n_features": 7,
        "n_labels": 5,
        "note": "",
        "imbalance": describe([[1, 0, 0], [1, 1, 0], [1, 0, 1]]).as_dict(),
    }
    named = {"schema": 1, "study": "paper", "protocol": "p", "title": "t", "command": "c"}
    return {**named, "n_results": 6, "datasets": {"enron": facts}, "missing": {"wiki": "gone"}}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every object and list inside with every name or number in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for name, each in list(items):
        yield value, name
        if isinstance(each, dict | list):
            yield from places(each)


def damage(value: Any, chance: random.Random) -> None:
    """Take away or replace something somewhere."""
    parent, name = chance.choice(list(places(value)))
    if chance.random() < 0.3:
        del parent[name]
    else:
        parent[name] = deepcopy(chance.choice(HOSTILE))


def write(folder: Path, records: list[Any], study: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / RESULTS).write_text(text, encoding="utf-8")
    (folder / STUDY).write_text(json.dumps(study, indent=1), encoding="utf-8")


def use(folder: Path) -> None:
    """Do all that a user can do with the folder of a study."""
    report_folder(folder)
    print_study(Console(file=io.StringIO(), width=80), folder)
    comparison_tables(compare(read_results(folder), read_results(folder)))


def use_or_be_told(folder: Path, named: str) -> bool:
    """Return whether the folder was refused, which must be in one sentence that names a place."""
    try:
        use(folder)
    except InputError as error:
        text = str(error)
        assert "\n" not in text
        assert len(text) < 500
        if "in common" not in text and "no finished result" not in text:
            assert named in text
        return True
    return False


@seeds
def test_an_edited_result_is_read_or_its_line_is_named(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    refused = 0
    for _ in range(25):
        records = sample_records()
        number = chance.randrange(len(records))
        damage(records[number], chance)
        write(tmp_path, records, sample_study())
        refused += use_or_be_told(tmp_path, f"{RESULTS}, line {number + 1} ")
    assert refused > 3


@seeds
def test_an_edited_study_is_read_or_the_file_is_named(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    refused = 0
    for _ in range(20):
        study = sample_study()
        damage(study, chance)
        write(tmp_path, sample_records(), study)
        refused += use_or_be_told(tmp_path, f"{STUDY} is damaged")
    assert refused > 3


@pytest.mark.parametrize("name", [RESULTS, STUDY])
def test_broken_bytes_are_one_sentence(name: str, tmp_path: Path) -> None:
    write(tmp_path, sample_records(), sample_study())
    content = (tmp_path / name).read_bytes()
    chance = random.Random(0)
    for _ in range(25):
        broken = bytearray(content)
        place = chance.randrange(len(broken))
        broken[place : place + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
        (tmp_path / name).write_bytes(broken)
        use_or_be_told(tmp_path, name)


@pytest.mark.parametrize("field", sorted(make_record()))
def test_a_field_that_is_missing_is_named(field: str, tmp_path: Path) -> None:
    records = sample_records()
    del records[2][field]
    write(tmp_path, records, sample_study())
    wanted = "is not a result" if field in ("key", "schema") else f"damaged: {field} is missing"
    with pytest.raises(InputError, match=rf"{RESULTS}, line 3 .*{wanted}"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "it is not an object"),
        ("5", "it is not an object"),
        ('{"datasets": []}', "datasets is not an object"),
        ('{"datasets": {"a": 5}}', "datasets.a is not an object"),
        ('{"datasets": {"a": {"n_labels": "5"}}}', "datasets.a.n_labels is not a whole number"),
        ('{"missing": {"a": null}}', "missing.a is not a text"),
        ('{"title": "a",\n\n "study" 3}', "line 3 is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
    ids=lambda text: text[:30],
)
def test_a_study_file_of_another_shape_is_one_sentence(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / STUDY).write_text(text)
    with pytest.raises(InputError, match=rf"{STUDY}.*{said}.*; remove the file"):
        read_study(tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("status", "failed", "status contradicts measured and failure"),
        ("config.params.n_components", "25", "config.params.n_components is not a whole number"),
        ("config.folds", "some", "config.folds is none of 'shuffled', 'stratified', 'given'"),
        (
            "measured.metrics.all.example_f1",
            None,
            "measured.metrics.all.example_f1 is not a number",
        ),
        ("measured.train_cpu_seconds", -1.0, "measured.train_cpu_seconds is negative"),
        ("measured.reliability", {"edges": [0, 1]}, "measured.reliability.pairs is missing"),
        ("machine.memory", "much", "machine.memory is not a number"),
        ("versions.numpy", 2, "versions.numpy is not a text"),
        ("commit", "\ud800", "commit holds half of a letter"),
    ],
)
def test_the_sentence_says_what_is_wrong(path: str, value: Any, said: str, tmp_path: Path) -> None:
    records = sample_records()
    *parents, name = path.split(".")
    place: Any = records[1]
    for parent in parents:
        place = place[parent]
    place[name] = value
    write(tmp_path, records, {})
    with pytest.raises(InputError, match=rf"line 2 is damaged: {said}; remove the line"):
        read_results(tmp_path)


def test_what_later_versions_add_is_passed_over(tmp_path: Path) -> None:
    records = sample_records()
    expected = deepcopy(records)
    for record in records:
        record["new"] = {"a": 1}
        record["config"]["new"] = [1]
    write(tmp_path, records, {**sample_study(), "new": 1})
    found = read_results(tmp_path)
    assert [record["key"] for record in found] == [record["key"] for record in expected]
    use(tmp_path)
