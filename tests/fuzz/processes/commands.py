"""The command line with hostile arguments and files: a line of help or of error, no fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from cli_samples import COMMAND, invoke

from rmls.datasets import Dataset, save

from ..cases import Case, Kind
from ..files.texts import arff_text, authors_text, svmlight_text, xmc_text
from ..models.estimators import make, toy_data
from ..mutate import ODD_NUMBERS, mutate

WORDS = [
    *("", "-", "--", "auto", "none", "1e999", "nan", "-1", "0", "3", "0.5", "RMLS", "KNN", "MLROS"),
    *(
        "f1",
        "top_3",
        "threshold=0.5",
        "p@3",
        "p@" + "9" * 40,
        "csv",
        "jsonl",
        "all",
        "test",
        "train",
    ),
    *(
        "9" * 40,
        "1" + "0" * 30,
        "x" * 300,
        "a\nb",
        "é",
        "\\",
        "n_components=2",
        "max_iter=1",
        "a=b=c",
    ),
    *("/dev/null", "../..", ".", "{}", "[]", "null", "true", "name with blanks", "%s", "$HOME"),
]
# They write somewhere else, or ask for much work and get it.
LEFT_OUT = ("--help", "--output", "--passes", "--plot", "--paper", "--resume", "--jobs", "--set")


def options_of(command: Any) -> dict[str, bool]:
    """Return the options of a command, and whether they stand alone."""
    options = [each for each in command.params if each.param_type_name == "option"]
    found = {max(each.opts, key=len): bool(each.is_flag) for each in options}
    return {name: is_flag for name, is_flag in found.items() if name not in LEFT_OUT}


COMMANDS: dict[str, dict[str, bool]] = {
    name: options_of(command)
    for name, command in COMMAND.commands.items()
    if name not in ("demo", "bench", "datasets")
}


class Files(NamedTuple):
    data: Path
    model: Path


def prepare(folder: Path) -> Files:
    X, Y = toy_data()
    files = Files(folder / "cli.npz", folder / "cli-model")
    if not files.data.exists():
        save(Dataset(X, Y, n_train=16), files.data)
        make("RMLS").fit(X, Y).save(files.model)
    return files


def run(case: Case) -> None:
    draw, files = case.random, case.prepared
    command = draw.choice(list(COMMANDS))
    data, out = draw_data(case), draw.choice(("out", "out.npz", "out.json", "out.csv", "out.svm"))
    target = str(case.folder / out)
    fixed: dict[str, list[str]] = {
        "predict": [str(files.model), data, "-o", target],
        "evaluate": [str(files.model), data],
        "convert": [data, target],
        "resample": [data, "-o", target],
        "train": [data, "-o", target, "--passes", "2"],
        "methods": [],
    }
    arguments = [command, *fixed.get(command, [data])]
    options = COMMANDS[command]
    for option in draw.sample(list(options), min(len(options), draw.choice((0, 1, 1, 2)))):
        arguments += [option] if options[option] else [option, draw_word(draw)]
    if draw.random() < 0.05:
        arguments.insert(draw.randrange(len(arguments) + 1), draw_word(draw))
    (case.folder / "arguments.txt").write_text("\n".join(arguments), errors="replace")
    check(case, arguments)


def draw_data(case: Case) -> str:
    """Return the name of a good data file, or of a mutated one."""
    draw = case.random
    if draw.random() < 0.6:
        return str(case.prepared.data)
    makers = (("xmc", xmc_text), ("rmls", authors_text), ("svm", svmlight_text))
    name, make_text = draw.choice(makers)
    text = make_text(draw) if draw.random() < 0.8 else arff_text(draw)[0]
    path = case.folder / f"in.{name}"
    path.write_bytes(mutate(text, draw) if draw.random() < 0.7 else text)
    return str(path)


def draw_word(draw: Any) -> str:
    if draw.random() < 0.3:
        return str(draw.choice(ODD_NUMBERS).decode("utf-8", "replace"))
    return str(draw.choice(WORDS))


def check(case: Case, arguments: list[str]) -> None:
    result = invoke(*arguments)
    said = result.output
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        case.allowed(result.exception)
    elif "fault of rmls" in said or "Traceback" in said:
        case.report(f"fault: {arguments[0]}: {_reason(said)}", " ".join(arguments)[:400], said)


def _reason(said: str) -> str:
    lines = [line for line in said.splitlines() if "fault of rmls" in line]
    return (lines or ["Traceback"])[0].partition("this is a fault")[0][-120:].strip()


KINDS = [Kind("command", "fits", run, prepare)]
