"""Run the tests on every Python that is installed, with the lowest and the newest libraries.

``python tests/tools/version_matrix.py`` makes an environment for each Python and each
end, installs the package there, and prints a table. ``--python 3.10 --end lowest`` runs one
of them, ``--pins`` prints the lowest versions for ``pip install --constraint``. Everything after
``--`` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
ENDS = ("lowest", "newest")
DEFAULT_ARGUMENTS = ["-n", "auto", "--dist", "loadfile", "-m", "not slow", "-p", "no:cacheprovider"]
BOUND = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)>=(?P<version>[0-9.]+)(?P<marker>\s*;.*)?$")
SHOWN = ("numpy", "scipy", "scikit-learn", "numba")


class Outcome(NamedTuple):
    """A line of the table."""

    python: str
    end: str
    versions: str
    result: str
    seconds: float


def lowest_pins(project: dict[str, Any]) -> list[str]:
    """Return the lowest version of every library that the package itself asks for.

    >>> lowest_pins({"dependencies": ["numpy>=1.26", "tomli>=2; python_version < '3.11'"]})
    ['numpy==1.26.*', "tomli==2.*; python_version < '3.11'"]
    """
    pins, extras = [], project.get("optional-dependencies", {})
    for wanted in [*project["dependencies"], *extras.get("plots", [])]:
        found = BOUND.match(wanted)
        if found is None:
            raise SystemExit(f"{wanted!r} in pyproject.toml has no lower bound like name>=1.2")
        pins.append(f"{found['name']}=={found['version']}.*{found['marker'] or ''}")
    return pins


def read_project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    project: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    return project["project"]


def candidates(version: str) -> Iterator[str]:
    """Yield the places where a Python of this version may be."""
    if version == ".".join(map(str, sys.version_info[:2])):
        yield sys.executable
    yield from filter(None, [shutil.which(f"python{version}")])
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from (str(path) for path in sorted(folder.glob(f"{version}.*/bin/python")))


def find_python(version: str) -> str | None:
    """Return an interpreter of the version that starts, or None."""
    ask = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    for path in candidates(version):
        told = subprocess.run([path, "-c", ask], capture_output=True, text=True)
        if told.stdout.strip() == version:
            return path
    return None


def make_environment(python: str, folder: Path, end: str) -> tuple[Path, str]:
    """Install the package and its tests in ``folder``; return its Python and why it failed."""
    subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
    own = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pins = folder / "pins.txt"
    pins.write_text("\n".join(lowest_pins(read_project()) if end == "lowest" else []) + "\n")
    # Nobody compiles numpy to try a version: without a wheel it is not supported there.
    command = [str(own), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    command += ["--constraint", str(pins), "--editable", f"{REPOSITORY}[test]"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return own, "" if done.returncode == 0 else (lines or [done.stderr])[0].strip()


def installed(python: Path) -> str:
    """Return the versions that matter, as they are installed."""
    code = f"from importlib.metadata import version; print(*map(version, {SHOWN!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    pairs = zip(SHOWN, done.stdout.split(), strict=True)
    return ", ".join(f"{name} {number}" for name, number in pairs)


def run_tests(python: Path, folder: Path, arguments: list[str]) -> str:
    """Run pytest there; return its last line and the tests that failed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "numba"), "PYTHONUTF8": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(python), "-m", "pytest", *arguments],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    lines = done.stdout.splitlines()
    (folder / "tests.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    last = lines[-1].strip("= ") if lines else done.stderr.strip()[-200:]
    return "\n    ".join([last or f"exit code {done.returncode}", *failed])


def measure(version: str, end: str, folder: Path, arguments: list[str]) -> Outcome:
    """Return the line of the table of one Python and one end."""
    began = time.perf_counter()
    python = find_python(version)
    if python is None:
        return Outcome(version, end, "", "skipped: this Python is not installed", 0.0)
    own, reason = make_environment(python, folder, end)
    if reason:
        return Outcome(version, end, "", f"skipped: {reason}", time.perf_counter() - began)
    result = run_tests(own, folder, arguments)
    return Outcome(version, end, installed(own), result, time.perf_counter() - began)


def main() -> None:
    """Run what was asked for and print the table; the exit code is 1 where a test failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", default=PYTHONS, metavar="VERSION")
    parser.add_argument("--end", nargs="+", default=ENDS, choices=ENDS)
    parser.add_argument("--folder", type=Path, help="where the environments and logs stay")
    parser.add_argument("--pins", action="store_true", help="print the lowest versions and end")
    ours, theirs = split(sys.argv[1:])
    options = parser.parse_args(ours)
    if options.pins:
        print(*lowest_pins(read_project()), sep="\n")
        return
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="rmls-matrix-") as scratch:
        for version in options.python:
            for end in options.end:
                place = (options.folder or Path(scratch)).resolve() / f"{version}-{end}"
                outcomes.append(measure(version, end, place, theirs or DEFAULT_ARGUMENTS))
                print(show(outcomes[-1]), flush=True)
    sys.exit(any("failed" in outcome.result or "error" in outcome.result for outcome in outcomes))


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return what comes before ``--``, for this program, and what comes after it, for pytest."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:place], arguments[place + 1 :]


def show(outcome: Outcome) -> str:
    """Return a line of the table."""
    head = f"Python {outcome.python}  {outcome.end:6s}  {outcome.seconds:5.0f} s"
    return f"{head}  {outcome.result}" + (f"\n    {outcome.versions}" if outcome.versions else "")


if __name__ == "__main__":
    main()
