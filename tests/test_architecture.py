"""Architecture as a failing test: sizes, docstrings, import direction, start-up."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import patience
from places import REPOSITORY

SOURCE = REPOSITORY / "src" / "rmls"
FILES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_FILES = 20
MAX_VISITED = 50
MIN_COMMENTS = 2.5  # in a hundred lines of code
BETWEEN = {tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
NO_COMMENT = re.compile(r"# (type|noqa|fmt|pragma|ruff|mypy):?|# --")
SLOW_IMPORTS = ("numba", "sklearn", "scipy", "pandas", "matplotlib")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def show(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_there_is_source_to_look_at() -> None:
    assert len(FILES) > 20


def test_a_file_has_one_subject_and_at_most_400_lines() -> None:
    lines = {show(path): len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_a_folder_is_a_family_of_at_most_20_files() -> None:
    files = Counter(show(path.parent) for path in FILES)
    assert {folder: count for folder, count in files.items() if count > MAX_FILES} == {}


def body_lines(function: Function) -> int:
    """Lines of a function from its signature on, without its docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


def test_a_function_fits_a_screen() -> None:
    long = {
        f"{show(path)}: {node.name}": size
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, Function) and (size := body_lines(node)) > MAX_FUNCTION_LINES
    }
    assert long == {}


def public_definitions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[str, Definition]]:
    """Public functions and classes of a module, and public methods of its public classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield f"{inside}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{node.name}.")


def without_docstring(path: Path) -> Iterator[str]:
    """Public names of a file that say nothing about themselves, and the file if it does not."""
    tree = ast.parse(path.read_text("utf-8"))
    if not ast.get_docstring(tree):
        yield show(path)
    if path.name == "__init__.py" or not path.name.startswith("_"):
        for name, node in public_definitions(tree.body):
            if not ast.get_docstring(node):
                yield f"{show(path)}: {name}"


def test_everything_public_has_a_docstring() -> None:
    assert [name for path in FILES for name in without_docstring(path)] == []


def count_comments(path: Path) -> tuple[int, int]:
    """Count comments, without orders to tools and titles of sections, and lines of code."""
    comments, code, at_start = 0, set(), True
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                comments += not NO_COMMENT.match(token.string)
            elif token.type in BETWEEN:
                at_start = at_start or token.type != tokenize.NL
            # A text at the start of a statement is a docstring.
            elif not (at_start and token.type == tokenize.STRING):
                code.update(range(token.start[0], token.end[0] + 1))
                at_start = False
    return comments, len(code)


def test_readers_find_the_ideas_in_comments() -> None:
    found = {show(path): count_comments(path) for path in FILES}
    comments, code = (sum(counts) for counts in zip(*found.values(), strict=True))
    few = {name: counts for name, counts in found.items() if 50 * counts[0] < counts[1]}
    assert 100 * comments / code >= MIN_COMMENTS, (comments, code, few)


def test_layers_import_only_what_stands_below_them() -> None:
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("import-linter is not installed")
    found = subprocess.run(
        [command, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, timeout=patience(5)
    )
    assert found.returncode == 0, found.stdout


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Top-level packages loaded when a fresh interpreter has run ``code``."""
    report = "import sys, atexit; atexit.register(lambda: print('LOADED', *sys.modules));"
    found = subprocess.run(
        [sys.executable, "-c", report + code, *arguments],
        capture_output=True,
        text=True,
        timeout=patience(1),
    )
    assert "LOADED" in found.stdout, found.stderr
    return {name.partition(".")[0] for name in found.stdout.rpartition("LOADED")[2].split()}


def test_importing_the_package_loads_nothing_slow() -> None:
    loaded = loaded_by("import rmls")
    assert "rmls" in loaded
    assert not loaded.intersection({*SLOW_IMPORTS, "numpy"})


def test_the_help_of_the_command_line_loads_nothing_slow() -> None:
    code = "import runpy; sys.argv[1:] = ['--help']; runpy.run_module('rmls', run_name='__main__')"
    loaded = loaded_by(code)
    assert "typer" in loaded
    assert not loaded.intersection(SLOW_IMPORTS)


def texts_of_the_tree() -> Iterator[tuple[str, str]]:
    """Text files that belong to the project, with their paths."""
    skipped = {".git", ".venv", "build", "dist", "out", "__pycache__", ".hypothesis"}
    for folder, folders, names in os.walk(REPOSITORY):
        folders[:] = [
            name
            for name in folders
            if name not in skipped and not name.endswith(("_cache", ".egg-info"))
        ]
        # In a worktree `.git` is a file.
        for path in (Path(folder, name) for name in sorted(names) if name not in skipped):
            yield str(path.relative_to(REPOSITORY)), path.read_text("utf-8", errors="replace")


def test_no_file_names_a_place_of_one_machine() -> None:
    # Written apart, so that this file does not name them itself.
    places = ["/wo" + "rk/", "/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/", "index" + "-url"]
    pattern = re.compile("|".join(rf"(?<![\w.-]){re.escape(place)}" for place in places))
    texts = dict(texts_of_the_tree())
    assert "pyproject.toml" in texts
    assert [name for name, text in texts.items() if pattern.search(text)] == []


def test_the_version_is_the_one_of_the_project_file() -> None:
    import rmls

    stated = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text(), re.M)
    assert stated is not None
    assert rmls.__version__ == stated[1]


def test_every_public_name_of_the_package_can_be_imported() -> None:
    import rmls

    assert all(hasattr(rmls, name) for name in rmls.__all__)
    assert set(rmls.__all__) <= set(dir(rmls))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = rmls.no_such_name


def test_packages_can_be_reached_without_importing_them_first() -> None:
    loaded = loaded_by("import rmls; rmls.metrics.evaluate; rmls.decide.make_rule")
    assert "scipy" in loaded


@pytest.mark.slow
def test_training_a_ranker_visits_at_most_50_files(tmp_path: Path) -> None:
    from rmls.datasets import make_longtail, save

    data = tmp_path / "data.npz"
    save(make_longtail(200, 50, 10, labels_per_row=2), data)
    tool = REPOSITORY / "tests" / "tools" / "trace_training.py"
    # The first run compiles what is not in the cache yet, which visits the compiler's helpers.
    for output in ("first", "second"):
        command = ["train", str(data), "--method", "RMLSRanker", "-o", str(tmp_path / output)]
        found = subprocess.run(
            [sys.executable, str(tool), *command], capture_output=True, text=True
        )
    assert found.returncode == 0, found.stderr
    visited = found.stdout.split("\n")[1:-1]
    assert 30 < len(visited) <= MAX_VISITED, found.stdout
