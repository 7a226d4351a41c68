"""Absurd numbers: every option of every command answers with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_samples import SMALL_RMLS
from typer.main import get_command

from rmls.cli.app import app
from rmls.core.errors import InputError
from rmls.core.words import read_size
from rmls.datasets import make_longtail
from rmls.imbalance import MLROS, MLSMOTE
from rmls.models import RMLS

DIGITS = "9" * 40
ABSURD = (DIGITS, f"-{DIGITS}", "nan", "inf", "-inf", "1e400", "", "9" * 5000)
STUDY = """
datasets = ["{data}"]
methods = ["AllIrrelevant"]
folds = "given"
"""
# What makes a command complete; `{…}` are places.
USES = {
    "demo": (),
    "train": ("{data}", "-o", "{out}/model", *SMALL_RMLS, "--quiet"),
    "tune": ("{data}", "-o", "{out}/model", "--quiet"),
    "stats": ("{data}",),
    "split": ("{data}", "--part", "all", "-o", "{out}/parts.npz"),
    "suggest": ("{model}", "a text"),
    "explain": ("{model}", "a text"),
    "learn": ("{model}", "{data}"),
    "serve": ("{model}",),
    "labels list": ("{model}",),
    "labels add": ("{model}", "{data}"),
    "labels retire": ("{model}", "{data}"),
    "labels rename": ("{model}", "{data}"),
    "labels merge": ("{model}", "{data}"),
    "labels split": ("{model}", "{data}"),
    "check": ("{data}",),
    "methods": (),
    "predict": ("{model}", "{data}", "-o", "-"),
    "evaluate": ("{model}", "{data}"),
    "compare": ("{model}", "{model}", "{data}"),
    "card": ("{model}",),
    "push": ("{model}", "user/name"),
    "pull": ("user/name", "-o", "{out}/model"),
    "convert": ("{data}", "{out}/data.npz"),
    "resample": ("{data}", "-o", "{out}/data.npz", "--method", "mlsmote"),
    "bench paper": ("--datasets", "{data}", "--methods", "Baseline", "--out", "{out}/study"),
    "bench run": ("{out}/study.toml", "--out", "{out}/study"),
    "bench report": ("{out}",),
    "bench compare": ("{out}", "{out}"),
    "datasets list": (),
    "datasets download": ("none",),
}
# Names of methods and files, which are no numbers and have tests of their own.
FILES = {"FOLDER", "FILE", "DIR", "OUT", "MODEL", "COLUMN", "COLUMNS", "TEXT", "ADDRESS"}
WORDS = FILES | {
    "NAME",
    "NAMES",
    "NAME…",
    "FORMAT",
    "PART",
    "WHICH",
    "RULE",
    "NAME=VALUE",
    "LICENCE",
    "SENTENCE",
    "REVISION",
}


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All commands by their names, those of groups too."""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path), command


def numeric_options() -> Iterator[tuple[str, str]]:
    """All options but those that are known to take words: a new one is asked because it exists."""
    for name, command in commands(get_command(app)):
        for option in command.params:
            takes_value = option.param_type_name == "option" and not option.is_flag
            if takes_value and option.metavar not in WORDS:
                yield name, max(option.opts, key=len)


OPTIONS = list(numeric_options())


def test_every_command_is_asked() -> None:
    assert set(USES) == {name for name, _ in commands(get_command(app))}
    found = {name for name, _ in OPTIONS}
    assert found >= {"demo", "train", "predict", "evaluate", "resample", "bench paper", "bench run"}
    assert ("evaluate", "--k") in OPTIONS
    assert ("resample", "--share") in OPTIONS
    assert ("train", "--l2") in OPTIONS


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda part: part)
def test_absurd_numbers_are_refused_in_a_sentence(
    command: str, option: str, fails: Any, model_dir: Path, data_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(STUDY.format(data=data_file), "utf-8")
    places = {"model": model_dir, "data": data_file, "out": tmp_path}
    use = [part.format(**places) for part in USES[command]]
    for value in ABSURD:
        sentence = fails(*command.split(), *use, f"{option}={value}")
        assert len(sentence) < 600
    assert not (tmp_path / "study").exists()
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("value", ABSURD)
def test_numbers_inside_words_are_refused_too(value: str, fails: Any, model_dir, data_file) -> None:
    rules = ["top_{}", "psp@{}", "tail@5={}"]
    # As a score, a number of 40 digits is one that no label reaches.
    rules += [] if DIGITS in value and len(value) < 50 else ["threshold={}"]
    for rule in rules:
        use = ("predict", model_dir, data_file, "-o", "-", "--decision", rule.format(value))
        assert len(fails(*use)) < 600
    for name in ("max_iter", "learning_rate", "l2", "random_state", "n_jobs", "verbose"):
        use = ("train", data_file, "-o", "unused", *SMALL_RMLS, "--set", f"{name}={value}")
        assert len(fails(*use)) < 600


def test_numbers_of_the_right_size_are_told_from_absurd_ones(fails, model_dir, data_file) -> None:
    sentence = fails("predict", model_dir, data_file, "-o", "-", "--top", DIGITS)
    assert sentence.startswith("--top must be a whole number from 1 to 999,999,999; got '9999")
    sentence = fails("evaluate", model_dir, data_file, "--k", f"1,{DIGITS}")
    assert sentence.startswith("every number of --k must be a whole number from 1 to")


@pytest.mark.parametrize("share", [1e9, 1e30])
def test_more_rows_than_can_be_held_are_refused_before_they_are_made(share: float) -> None:
    data = make_longtail(60, 40, 12, random_state=1)
    for resampler in (MLROS(share), MLSMOTE(sampling_strategy=share)):
        with pytest.raises(InputError, match="give a smaller sampling_strategy"):
            resampler.fit_resample(data.X, data.Y)
    with pytest.raises(InputError, match=r"of memory but .* is available; make fewer of them"):
        make_longtail(10**12, 40, 12)


def test_parameters_above_64_bits_are_refused_in_python_too() -> None:
    with pytest.raises(InputError, match=r"max_iter must be below 2\*\*63; got 1000"):
        RMLS(max_iter=10**40).fit([[1.0], [0.0]], [[1], [0]])
    with pytest.raises(InputError, match="a number of 16,610 bits"):
        RMLS(max_iter=10**5000).fit([[1.0], [0.0]], [[1], [0]])
    with pytest.raises(InputError, match="is a size such as 8GB"):
        read_size("memory_limit", "9" * 400)
