"""The program behind docs/research/what-sampling-buys.md."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from places import REPOSITORY
from record_samples import make_record

PROGRAM = REPOSITORY / "benchmarks" / "sampling_table.py"
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


def test_pairs_are_differences_of_the_same_folds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        make_record(sampler, value, decision=rule, fold=fold)
        for (sampler, rule), values in VALUES.items()
        for fold, value in enumerate(values)
    ]
    program: dict[str, Any] = runpy.run_path(str(PROGRAM))
    globals_of = program["collect"].__globals__
    monkeypatch.setitem(globals_of, "read_current", lambda folder: (records, {}))
    program["print_pairs"](program["collect"]("a folder"))
    *_, line = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["enron", "+0.100 ± 0.000", "the same"]
    # In brackets: its interval holds 0.
    assert cells[3].startswith("(-0.033 ± ")
    assert cells[4:] == ["-0.100 ± 0.000", "+0.100 ± 0.000"]
