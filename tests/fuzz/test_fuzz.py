"""The campaign finds what it should, says how to see it again, and finds nothing in the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import REPOSITORY

from .cases import run_case
from .files.parse_rows import Refused, parse_svmlight, parse_xmc
from .files.readers import compare
from .findings import judge
from .kinds import GROUPS, KINDS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and /proc")
QUICK = "readers=400 archives=30 fits=30"
SLOW = "readers=8000 archives=600 fits=400 kills=16"


def fuzz(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz", *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)


def test_some_cases_of_every_kind_find_nothing(tmp_path: Path) -> None:
    only = ("--only", "readers archives fits", "--workers", 1)
    done = fuzz("--cases", QUICK, *only, "--seed", 3, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_minute_of_all_kinds_finds_nothing(tmp_path: Path) -> None:
    done = fuzz("--cases", SLOW, "--seed", 5, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(kind in done.stdout for kind in KINDS)


@pytest.mark.slow
def test_a_crash_a_hang_and_a_foreign_error_are_found(tmp_path: Path) -> None:
    done = fuzz("--only", "broken", "--cases", 5, "--hang-after", 1, "--out", tmp_path, "--seed", 1)
    assert done.returncode == 1, done.stderr
    for found in ("crash (SIGABRT)", "hang (over 1 s", "TypeError", "long message"):
        assert found in done.stdout
    assert "4 different findings" in done.stdout
    assert (tmp_path / "seed-1" / "broken-1000000000" / "input").read_text() == "fatal"
    again = fuzz("--kind", "broken", "--case", 1_000_000_000, "--out", tmp_path)
    assert again.returncode == 1
    assert "SIGABRT" in again.stdout


def test_a_case_is_the_same_every_time(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        run_case(KINDS["svmlight"], 12345, tmp_path, None)
        texts.append((tmp_path / "data.svm").read_bytes())
    assert texts[0] == texts[1] != b""


def test_a_wrong_load_is_found(tmp_path: Path) -> None:
    from rmls.datasets import load

    path = tmp_path / "data.svm"
    path.write_bytes(b"0,1 0:1 2:0.5\n1 1:2\n")
    found = load(path)
    assert compare(found, parse_svmlight(path.read_bytes())) == ""
    for other, difference in (
        (b"0,1 0:1 2:0.25\n1 1:2\n", "values"),
        (b"0,1 0:1 2:0.5\n0 1:2\n", "labels"),
        (b"0,1 0:1 2:0.5\n1 0:2\n", "features"),
        (b"0,1 0:1 3:0.5\n1 1:2\n", "shape of X"),
    ):
        assert compare(found, parse_svmlight(other)) == difference
    with pytest.raises(Refused):
        parse_xmc(b"2 3 2\n0 1:1\n")


def test_only_errors_raised_on_purpose_are_allowed() -> None:
    import numpy as np

    import rmls
    from rmls.core.labels import read_labels

    def outcome(action: object, *arguments: object) -> bool:
        try:
            action(*arguments)  # type: ignore[operator]
        except Exception as error:
            return judge(error) is None
        raise AssertionError("no error")

    assert outcome(rmls.RMLS(n_components=-1).fit, np.eye(3), np.eye(3))
    assert outcome(rmls.RMLS().fit, "text", np.eye(3))
    assert outcome(read_labels, None)
    assert not outcome(np.zeros(3).reshape, 7)
    assert not outcome({}.__getitem__, "key")


def test_all_groups_have_a_share_of_the_time() -> None:
    assert GROUPS == ["readers", "archives", "fits", "kills"]
