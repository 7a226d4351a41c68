"""The release program refuses what must not be released, and the files hold what they must."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from places import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools"))

import release

LOG = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- Speed.\n"
WHEEL = [*release.NEEDED, "rmls/__init__.py", "rmls-0.2.0.dist-info/METADATA"]
SOURCE = [f"rmls-0.2.0/src/{name}" for name in release.NEEDED]
SOURCE += [f"rmls-0.2.0/{name}" for name in release.SOURCE_ONLY]


def test_a_changelog_must_have_a_dated_section_with_something_in_it() -> None:
    release.check_changelog(LOG, "0.2.0")
    for wrong in (LOG.replace(" - 2026-12-01", ""), LOG.replace("0.2.0", "0.3.0")):
        with pytest.raises(release.Refused, match="has no section"):
            release.check_changelog(wrong, "0.2.0")
    with pytest.raises(release.Refused, match="lists nothing"):
        release.check_changelog(LOG.replace("- Speed.", ""), "0.2.0")


def test_all_files_state_the_version() -> None:
    import rmls

    release.check_version(REPOSITORY, rmls.__version__)
    release.check_saved_models(REPOSITORY, rmls.__version__)
    with pytest.raises(release.Refused, match=r"pyproject.toml says .*; it must say 9.9.9"):
        release.check_version(REPOSITORY, "9.9.9")
    with pytest.raises(release.Refused, match="saved_9_9 is not there"):
        release.check_saved_models(REPOSITORY, "9.9.9")


@pytest.mark.parametrize("lost", release.NEEDED)
def test_a_lost_file_is_found(lost: str) -> None:
    release.check_wheel(WHEEL)
    release.check_source(SOURCE)
    with pytest.raises(release.Refused, match=f"wheel lacks {lost}"):
        release.check_wheel([name for name in WHEEL if name != lost])
    with pytest.raises(release.Refused, match=f"source archive lacks {lost}"):
        release.check_source([name for name in SOURCE if not name.endswith(lost)])


@pytest.mark.parametrize(
    "odd", ["tests/x.py", "rmls/__pycache__/x.py", "rmls/kernel.nbc", "notes.txt"]
)
def test_a_file_too_much_is_found(odd: str) -> None:
    with pytest.raises(release.Refused, match="does not belong there"):
        release.check_wheel([*WHEEL, odd])


@pytest.mark.parametrize("odd", ["tests/x.py", "src/rmls/kernel.nbc", "notes.txt"])
def test_a_source_file_too_much_is_found(odd: str) -> None:
    with pytest.raises(release.Refused, match="does not belong there"):
        release.check_source([*SOURCE, f"rmls-0.2.0/{odd}"])


def test_nothing_is_uploaded_with_reserved_addresses() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    if "example.org" in project:
        with pytest.raises(release.Refused, match="reserved names"):
            release.check_addresses(project)
    release.check_addresses('[project.urls]\nHomepage = "https://rmls.dev"\n')


def test_a_dirty_tree_and_a_taken_tag_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr(release._git, "__kwdefaults__", {"cwd": tmp_path})

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    git("config", "user.email", "x@example.org")
    git("config", "user.name", "x")
    (tmp_path / "file").write_text("one")
    with pytest.raises(release.Refused, match="not committed"):
        release.check_tree("0.2.0")
    git("add", "file")
    git("commit", "-m", "one")
    release.check_tree("0.2.0")
    git("tag", "v0.2.0")
    with pytest.raises(release.Refused, match="is there already"):
        release.check_tree("0.2.0")
    git("switch", "-c", "other")
    with pytest.raises(release.Refused, match="releases are made from main; this is other"):
        release.check_tree("0.3.0")


def test_the_program_ends_with_a_sentence() -> None:
    tool = str(REPOSITORY / "tools" / "release.py")
    done = subprocess.run([sys.executable, tool, "next"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "release: 'next' is no version such as 0.2.0 or 0.2.0rc1.\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if find_spec("build") is None:
        pytest.skip("build is not installed: pip install 'rmls[release]'")
    if not release._has_new_setuptools():
        pytest.skip("setuptools is older than 77 here")
    return release.build(REPOSITORY, tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
def test_the_built_files_hold_what_they_must_and_nothing_else(built: tuple[Path, Path]) -> None:
    release.check_files(*built)
    sources = {
        path.relative_to(REPOSITORY / "src").as_posix()
        for path in (REPOSITORY / "src" / "rmls").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    import zipfile

    with zipfile.ZipFile(built[0]) as wheel:
        shipped = {name for name in wheel.namelist() if name.startswith("rmls/")}
    assert shipped == sources
    # A sample of real data and all pages; anything else would be an accident.
    assert built[0].stat().st_size < 3 * 2**20


@pytest.mark.slow
def test_the_index_would_take_the_files(built: tuple[Path, Path]) -> None:
    if find_spec("twine") is None:
        pytest.skip("twine is not installed: pip install 'rmls[release]'")
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_wheel_alone_passes_its_own_test(built: tuple[Path, Path], tmp_path: Path) -> None:
    # Unpacked, with the libraries of this environment and without the repository.
    shutil.unpack_archive(built[0], tmp_path / "site", "zip")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    code = "import rmls, rmls.selftest, sys; print(rmls.__file__); sys.exit(rmls.selftest.main())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(str(tmp_path / "site"))
    assert f"all {done.stdout.count('ok    ')} passed" in done.stdout
