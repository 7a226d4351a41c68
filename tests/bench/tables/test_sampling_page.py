"""The program behind docs/research/what-sampling-buys.md."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from places import REPOSITORY
from record_samples import make_record

PROGRAM = REPOSITORY / "benchmarks" / "sampling_table.py"
PAGE = REPOSITORY / "docs" / "research" / "what-sampling-buys.md"
VALUES = {
    ("uniform, alpha 5", "f1"): (0.5, 0.6, 0.7),
    ("all labels", "f1"): (0.4, 0.5, 0.6),
    ("all labels", "cardinality"): (0.3, 0.4, 0.5),
    ("uniform", "cardinality"): (0.3, 0.4, 0.5),
    ("frequency ** 0.5", "cardinality"): (0.1, 0.6, 0.4),
    ("frequency", "macro_f1"): (0.2, 0.2, 0.2),
    ("uniform", "macro_f1"): (0.3, 0.3, 0.3),
    ("uniform", "f1"): (0.5, 0.5, 0.5),
    ("uniform, not calibrated", "f1"): (0.4, 0.4, 0.4),
}


# The changes of Table 1 that no pair of Table 2 looks at.
MORE = {
    ("uniform, alpha 5", "cardinality"): (0.5, 0.6, 0.7),
    ("uniform, alpha 5", "macro_f1"): (0.5, 0.6, 0.7),
    ("frequency", "cardinality"): (0.5, 0.6, 0.7),
}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The functions of the program, which read results of a few folds."""
    records = [
        make_record(sampler, value, decision=rule, fold=fold)
        for (sampler, rule), values in (VALUES | MORE).items()
        for fold, value in enumerate(values)
    ]
    found: dict[str, Any] = runpy.run_path(str(PROGRAM))
    monkeypatch.setitem(found["collect"].__globals__, "read_current", lambda folder: (records, {}))
    return found


def test_what_is_printed_of_the_tables_is_what_the_page_says_of_them(
    program: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found, page = program["collect"]("a folder"), PAGE.read_text().splitlines()
    program["print_effects"](found)
    program["print_pairs"](found)
    lines = capsys.readouterr().out.splitlines()
    # All but the figures: captions, what stands below them, and the names of the columns.
    said = [line for line in lines if line and not line.startswith(("| enron", "|---"))]
    assert len(said) == 5
    assert [line for line in said if line not in page] == []


def test_pairs_are_differences_of_the_same_folds(
    program: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    program["print_pairs"](program["collect"]("a folder"))
    *_, line = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["enron", "+0.100 ± 0.000", "the same"]
    # In brackets: its interval holds 0.
    assert cells[3].startswith("(-0.033 ± ")
    assert cells[4:] == ["-0.100 ± 0.000", "+0.100 ± 0.000"]
