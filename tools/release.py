"""Release a version: every step of docs/versions.md, and no upload without being asked.

``python tools/release.py 0.2.0`` checks the tree, the changelog and the version, runs the tests,
builds and checks the files, tries them in a fresh environment and makes the tag. ``--upload`` also
sends them to the package index, ``--skip-tests`` is for trying this program.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+(rc\d+)?")
# What is no Python and must be in both files, below src/ or not.
NEEDED = (
    "rmls/py.typed",
    "rmls/selftest.py",
    "rmls/bench/study/paper_figures.json",
    "rmls/datasets/samples/artworks.csv.xz",
    "rmls/report/style.css",
    "rmls/serve/page/index.html",
    "rmls/serve/page/app.js",
)
# What a file may be called that is shipped.
ENDINGS = (".py", ".pyi", ".typed", ".json", ".xz", ".css", ".js", ".svg", ".html")
SOURCE_ONLY = {
    *("CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md"),
    *("SECURITY.md", "pyproject.toml", "setup.cfg"),
}


class Refused(Exception):
    """The version cannot be released; the sentence says why."""


def check_tree(version: str, branch: str = "main") -> None:
    """Refuse changes that are not committed, another branch, and a tag that is there."""
    if _git("status", "--porcelain"):
        raise Refused("the tree has changes that are not committed; commit or stash them.")
    if (found := _git("branch", "--show-current")) != branch:
        raise Refused(f"releases are made from {branch}; this is {found or 'no branch'}.")
    if _git("tag", "--list", f"v{version}"):
        raise Refused(f"the tag v{version} is there already; choose the next version.")


def check_changelog(text: str, version: str) -> None:
    """Refuse a changelog without a dated section of this version, or with nothing in it.

    >>> check_changelog("## [0.2.0] - 2026-12-01\\n\\n- Faster.\\n\\n## [0.1.0]\\n", "0.2.0")
    >>> check_changelog("## [Unreleased]\\n\\n- Faster.\\n", "0.2.0")
    Traceback (most recent call last):
    release.Refused: CHANGELOG.md has no section "## [0.2.0] - YYYY-MM-DD"; ...
    """
    heading = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", text, re.M)
    if heading is None:
        raise Refused(
            f'CHANGELOG.md has no section "## [{version}] - YYYY-MM-DD"; name what is under '
            "Unreleased so, and begin a new Unreleased above it."
        )
    body = text[heading.end() :].partition("\n## ")[0]
    if not re.search(r"^- ", body, re.M):
        raise Refused(f"the section of {version} in CHANGELOG.md lists nothing.")


def check_version(folder: Path, version: str) -> None:
    """Refuse files that state another version."""
    stated = {
        "pyproject.toml": r'^version = "(.+)"$',
        "src/rmls/core/version.py": r'^VERSION = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
        "recipe/meta.yaml": r'^{% set version = "(.+)" %}$',
    }
    for name, pattern in stated.items():
        found = re.search(pattern, (folder / name).read_text("utf-8"), re.M)
        if found is None or found[1] != version:
            told = found[1] if found else "no version"
            raise Refused(f"{name} says {told}; it must say {version}.")


def check_saved_models(folder: Path, version: str) -> None:
    """Refuse a version without saved models that later ones must load."""
    number = "_".join(version.split(".")[:2])
    for kind in ("saved", "texts"):
        if not (folder / "tests" / "archive" / f"{kind}_{number}").is_dir():
            missing = f"tests/archive/{kind}_{number}"
            raise Refused(f"{missing} is not there; docs/versions.md says how to write it.")


def check_wheel(names: Iterable[str]) -> None:
    """Refuse a wheel that lacks a file or has one that nobody needs.

    >>> check_wheel(["rmls/py.typed"])
    Traceback (most recent call last):
    release.Refused: the wheel lacks rmls/selftest.py, ...
    """
    files = {name for name in names if not name.endswith("/")}
    _check_needed("wheel", files)
    odd = [
        name
        for name in sorted(files)
        if not re.match(r"rmls-[^/]+\.dist-info/", name)
        and not (name.startswith("rmls/") and name.endswith(ENDINGS) and "__pycache__" not in name)
    ]
    if odd:
        raise Refused(f"the wheel has {odd[0]}, which does not belong there.")


def check_source(names: Iterable[str]) -> None:
    """Refuse a source archive that lacks a file or has one that nobody needs."""
    files = {name.partition("/")[2] for name in names}
    below = {name.removeprefix("src/") for name in files if name.startswith("src/rmls/")}
    _check_needed("source archive", below)
    if lacks := sorted(SOURCE_ONLY - files):
        raise Refused(f"the source archive lacks {', '.join(lacks)}.")
    kept = ("src/rmls.egg-info/",)
    odd = [
        name
        for name in sorted(files - SOURCE_ONLY - {""})
        if not name.startswith(kept)
        and not (name.startswith("src/rmls/") and name.endswith(ENDINGS))
    ]
    if odd:
        raise Refused(f"the source archive has {odd[0]}, which does not belong there.")


def _check_needed(kind: str, files: set[str]) -> None:
    if lacks := [name for name in NEEDED if name not in files]:
        raise Refused(f"the {kind} lacks {', '.join(lacks)}.")


def check_addresses(text: str) -> None:
    """Refuse to upload with addresses that nobody can reach."""
    if re.search(r'^\w+ = "https://[^"]*\bexample\.(org|com|net)\b', text, re.M):
        raise Refused("[project.urls] in pyproject.toml has reserved names; give real addresses.")


def build(folder: Path, target: Path) -> tuple[Path, Path]:
    """Build from a copy of what git knows, so that nothing else can slip in; return both files."""
    with tempfile.TemporaryDirectory(prefix="rmls-release-") as scratch:
        copy = Path(scratch) / "source"
        listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=folder)
        for name in filter(None, listed.split("\0")):
            if (folder / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(folder / name, copy / name)
        isolated = ["--no-isolation"] if _has_new_setuptools() else []
        command = [sys.executable, "-m", "build", *isolated, "--outdir", str(target), str(copy)]
        _run(command, quiet=True)
    (wheel,), (source,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, source


def _has_new_setuptools() -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return int(version("setuptools").partition(".")[0]) >= 77
    except PackageNotFoundError:
        return False


def check_files(wheel: Path, source: Path) -> None:
    """Look at what was built."""
    with zipfile.ZipFile(wheel) as archive:
        check_wheel(archive.namelist())
    with tarfile.open(source) as packed:
        check_source(each.name for each in packed if each.isfile())


def try_wheel(wheel: Path) -> None:
    """Install the wheel in a fresh environment and run its own test there."""
    with tempfile.TemporaryDirectory(prefix="rmls-release-") as scratch:
        _run([sys.executable, "-m", "venv", scratch])
        python = str(Path(scratch) / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        _run([python, "-m", "pip", "install", "--quiet", str(wheel)], cwd=Path(scratch))
        _run([python, "-m", "rmls.selftest"], cwd=Path(scratch))


def _git(*arguments: str, cwd: Path = REPOSITORY) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _run(command: list[str], cwd: Path = REPOSITORY, *, quiet: bool = False) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=quiet, text=True)
    if done.returncode:
        # What was kept quiet is worth reading now.
        print(done.stdout or "", done.stderr or "", sep="", file=sys.stderr)
        raise Refused(f"{' '.join(command[:4])} … failed; see above.")


def release(version: str, tests: bool, upload: bool) -> None:
    """Go through all steps."""
    if not VERSION.fullmatch(version):
        raise Refused(f"{version!r} is no version such as 0.2.0 or 0.2.0rc1.")
    check_tree(version)
    check_changelog((REPOSITORY / "CHANGELOG.md").read_text("utf-8"), version)
    check_version(REPOSITORY, version)
    check_saved_models(REPOSITORY, version)
    if upload:
        check_addresses((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    if tests:
        for target in ("lint", "test", "test-slow"):
            _run(["make", target])
    dist = REPOSITORY / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    wheel, source = build(REPOSITORY, dist)
    _run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source)])
    check_files(wheel, source)
    try_wheel(wheel)
    _git("tag", "--annotate", f"v{version}", "--message", f"rmls {version}")
    print(f"dist/{wheel.name} and dist/{source.name} are ready, and the tag v{version} is made.")
    if upload:
        _run([sys.executable, "-m", "twine", "upload", str(wheel), str(source)])
        _run(["git", "push", "origin", f"v{version}"])
    else:
        print("Nothing was uploaded; --upload does it.")


def main() -> int:
    """Read the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("--skip-tests", action="store_true", help="to try this program")
    parser.add_argument("--upload", action="store_true", help="send the files to the index")
    options = parser.parse_args()
    try:
        release(options.version, not options.skip_tests, options.upload)
    except Refused as reason:
        print(f"release: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
