"""Architecture as a failing test: sizes, docstrings, import direction, start-up."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = REPOSITORY / "src" / "rmls"
FILES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 400
MAX_FUNCTION_LINES = 60
SLOW_IMPORTS = ("numba", "sklearn", "scipy", "pandas", "matplotlib")

every_file = pytest.mark.parametrize(
    "path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES]
)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def test_there_is_source_to_look_at() -> None:
    assert len(FILES) > 20


@every_file
def test_a_file_has_one_subject_and_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


def body_lines(function: Function) -> int:
    """Lines of a function from its signature on, without its docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


@every_file
def test_a_function_fits_a_screen(path: Path) -> None:
    long = {
        node.name: size
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, Function) and (size := body_lines(node)) > allowed_lines(node)
    }
    assert not long


def allowed_lines(function: Function) -> int:
    """A constructor that stores its parameters needs two lines for each."""
    stores = all(
        isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)
        for statement in function.body
    )
    if function.name == "__init__" and stores:
        return 2 * len(function.body) + 5
    return MAX_FUNCTION_LINES


def public_definitions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[str, Definition]]:
    """Public functions and classes of a module, and public methods of its public classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield f"{inside}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{node.name}.")


@every_file
def test_everything_public_has_a_docstring(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "the module has no docstring"
    if path.name.startswith("_") and path.name != "__init__.py":
        return
    bare = [name for name, node in public_definitions(tree.body) if not ast.get_docstring(node)]
    assert not bare


def test_layers_import_only_what_stands_below_them() -> None:
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("import-linter is not installed")
    found = subprocess.run(
        [command, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 0, found.stdout


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Top-level packages loaded when a fresh interpreter has run ``code``."""
    report = "import sys, atexit; atexit.register(lambda: print('LOADED', *sys.modules));"
    found = subprocess.run(
        [sys.executable, "-c", report + code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
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
        for path in (Path(folder, name) for name in sorted(names)):
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
