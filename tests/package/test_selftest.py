"""The test of an installation says what is wrong, and goes on."""

from __future__ import annotations

import pytest

from rmls import selftest
from rmls.selftest import Failed, Trial


def right(trial: Trial) -> str:
    return "all is well"


def wrong(trial: Trial) -> str:
    raise Failed("nothing is as it was")


def broken(trial: Trial) -> str:
    raise ZeroDivisionError("division\nby zero")


def test_every_check_has_a_line_and_a_failure_is_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "CHECKS", {"one": right, "two": wrong, "three": broken})
    assert selftest.main() == 1
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first.startswith("rmls ")
    assert lines == [
        "ok      one       all is well",
        "FAILED  two       nothing is as it was",
        "FAILED  three     ZeroDivisionError: division by zero",
    ]
    assert last.startswith("2 of 3 checks failed")


def test_all_right_is_exit_code_0(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "CHECKS", {"one": right})
    assert selftest.main() == 0
    assert "all 1 passed" in capsys.readouterr().out


def test_a_lost_file_of_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "PARTS", ("py.typed", "no/such.css"))
    (result,) = selftest.run_checks({"files": selftest.check_files})
    assert result == ("files", False, "the package lacks no/such.css")


def test_help_says_what_it_does_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        selftest.main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert "Check an installation" in said
    assert "training" not in said
