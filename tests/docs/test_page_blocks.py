"""Every code block of the README and of the site is run, and says what the page states."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_blocks import Block, Step, agree, compare, find_blocks, read_steps, run_python, run_step
from page_files import make_names, write_files
from places import REPOSITORY, real_data_folder

from rmls.core.errors import RmlsWarning

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "examples" not in page.parts and "api" not in page.parts]

SERVICE = "needs a service that listens; tests/serve runs these requests"
INSTALLS = "installs from the package index"
MINUTES = "takes minutes; its parts are run by tests/bench"
FOLDER = "needs a model of sentence-transformers; tests/features runs encoders"
CONTAINER = "needs podman, systemd or root; tests/deploy reads these files and commands"
HUB = "needs the Hub or an account; tests/exchange runs the round trip on a stand-in"
TUNING = "takes the minutes that it is given; tests/tuning runs short ones"
CLUSTER = "needs a Ray cluster; tests/cluster runs one"
# What is not run: words of the block or of one of its commands, and why. In force on all pages.
NOT_RUN = {
    "pip install": INSTALLS,
    "rmls serve": SERVICE,
    "curl -s": SERVICE,
    "AnnifClient(": SERVICE,
    "podman": CONTAINER,
    "systemctl": CONTAINER,
    "/var/lib/rmls": CONTAINER,
    "/etc/": CONTAINER,
    "/opt/": CONTAINER,
    "make fuzz": "takes minutes; tests/fuzz has its own tests",
    "tests.fuzz": "takes minutes; tests/fuzz has its own tests",
    "rmls bench": MINUTES,
    "rmls demo": "run by tests/cli/test_cli_demo.py",
    '"cuda"': "needs a GPU; tests/kernels/gpu runs there",
    "--encoder folder": FOLDER,
    'encoder="folder"': FOLDER,
    "tickets.npy": "needs vectors of an encoder; tests/cli runs --features",
    "--features new.npy": "needs vectors of an encoder; tests/cli runs --features",
    "^C": "needs Ctrl-C at a moment; tests/cli/train does that",
    "cooking.jsonl.gz": "needs a table that is not part of the package",
    'load("debdeps")': "takes minutes",
    'load("rcv1sub1")': "takes minutes",
    "benchmarks/": "a benchmark: its figures are on the page",
    "make demo": "run by tests/cli/test_cli_demo.py",
    "make test": "these are the tests",
    "push_to_hub": HUB,
    "hf auth login": HUB,
    "rmls push": HUB,
    "rmls pull": HUB,
    "rmls card": HUB,
    'cluster="auto"': CLUSTER,
    'os.path.abspath("model")': "needs other engines; run by tests/cluster/test_recipes.py",
    "import mlflow": "needs MLflow; tests/exchange/test_mlflow.py runs it where it is installed",
    "to_onnx(": "needs onnx; tests/exchange/test_onnx.py runs it where it is installed",
    "to_arrow(": "needs rows with names; tests/exchange/test_arrow.py runs it",
    "rmls tune": TUNING,
    "rmls.tune(": TUNING,
    "optuna": "needs Optuna; tests/tuning runs it where it is installed",
    "HalvingGridSearchCV": "takes minutes; tests/tuning runs smaller searches",
}
# Real data sets that pages name; blocks with them are run where the folder RMLS_DATA is.
DATA = ("enron", "emotions", "delicious", "cooking", "rmls datasets list")
# Models that a page has from another one.
WORKS = "rmls train works.csv --text title,artist,medium,date --labels subjects -o model"
PREPARED = {
    "docs/explain.md": [WORKS],
    "docs/reference/archive.md": [WORKS],
    "docs/reference/command-line.md": [
        WORKS.replace("-o model", "-o base"),
        WORKS.replace("-o model", "-o pairs --set pairs=true"),
    ],
    "docs/service/serve.md": ["mkdir models", WORKS.replace("-o model", "-o models/art")],
}
# Trainings that several pages ask for are made once.
KEPT: dict = {}


def find_reason(text: str) -> str:
    """Return why a block or a command is not run; nothing if it is."""
    for words, reason in NOT_RUN.items():
        if words in text:
            return reason
    has_data = real_data_folder().is_dir()
    return "" if has_data or not any(name in text for name in DATA) else "needs real data sets"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    if real_data_folder().is_dir():
        monkeypatch.setenv("RMLS_DATA", str(real_data_folder()))
    before = {name: value for name, value in os.environ.items() if name.startswith("RMLS_")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RmlsWarning)
        yield
    for name, value in before.items():
        monkeypatch.setenv(name, value)


def run_page(path: Path, folder: Path) -> int:
    """Run the blocks of a page one after the other; return how many were run."""
    page = path.read_text("utf-8")
    place = str(path.relative_to(REPOSITORY))
    write_files(page + "".join(PREPARED.get(place, ())), folder)
    names, n_run = make_names(page), 0
    for command in PREPARED.get(place, ()):
        run_step(Step(command, ""), KEPT, place)
    for block in find_blocks(page):
        where = f"{place}, block at line {block.line}"
        if block.kind == "python" and not find_reason(block.text):
            run_python(block, names, place)
            n_run += 1
        elif block.kind == "console":
            for step in read_steps(block.text):
                if not find_reason(step.command + step.stated[:2000]):
                    run_step(step, KEPT, where)
                    n_run += 1
    return n_run


def has_blocks(page: Path) -> bool:
    return any(True for _ in find_blocks(page.read_text("utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [*filter(has_blocks, PAGES)], ids=lambda page: str(page.relative_to(REPOSITORY))
)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    text = page.read_text("utf-8")
    if run_page(page, tmp_path) == 0:
        reasons = {find_reason(block.text) for block in find_blocks(text)}
        pytest.skip("; ".join(sorted(reasons)) or "commands that are not run")


def test_reasons_are_about_blocks_that_are_there() -> None:
    everything = [block.text for page in PAGES for block in find_blocks(page.read_text("utf-8"))]
    unused = [words for words in NOT_RUN if not any(words in text for text in everything)]
    assert not unused


PAGE = """
```python
print(1 + 1)
```

```text
2
```

```
$ rmls stats nothing
rmls: error: 'nothing' is neither …
$ echo here | cat
here
```

```
a drawing
```
"""


def test_blocks_are_found_with_what_they_state() -> None:
    python, console = find_blocks(PAGE)
    assert python == Block("python", "print(1 + 1)\n", 2, "2\n")
    assert [step.command for step in read_steps(console.text)] == [
        "rmls stats nothing",
        "echo here | cat",
    ]
    run_python(python, {}, "page")
    for step in read_steps(console.text):
        run_step(step, {}, "page")


def test_a_page_that_states_something_else_fails() -> None:
    python, console = find_blocks(PAGE.replace("\n2\n", "\n3\n").replace("\nhere\n", "\nthere\n"))
    with pytest.raises(AssertionError, match="line 2"):
        run_python(python, {}, "page")
    with pytest.raises(AssertionError, match="there"):
        run_step(read_steps(console.text)[1], {}, "page")
    with pytest.raises(AssertionError, match="page"):
        run_step(read_steps("$ rmls stats nothing\n")[0], {}, "page")


@pytest.mark.parametrize(
    ("stated", "said", "unit", "same"),
    [
        ("0.6488", "0.6475", "", True),
        ("0.6488", "0.5488", "", False),
        ("94%", "93%", "", True),
        ("94%", "60%", "", False),
        ("6,400", "6,401", "", True),
        ("6,400", "5,400", "", False),
        ("12", "13", "", False),
        ("3.5", "31.2", "s", True),
        ("(10.6", "(10.9", "MB)", True),
        ("harbour", "boat", "", False),
    ],
)
def test_figures_may_differ_in_the_last_digits_only(
    stated: str, said: str, unit: str, same: bool
) -> None:
    assert agree(stated, said, unit) is same


def test_what_is_stated_must_come_in_order() -> None:
    compare("one\n…\nthree 3.0 s", "one two three 4.0 s", where="page")
    with pytest.raises(AssertionError):
        compare("three\none", "one two three", where="page")
