"""`rmls demo`: the whole path on data made from a seed."""

from __future__ import annotations

import rmls


def test_demo_shows_the_whole_path(run, fails, tmp_path):
    small = ("--rows", 200, "--labels", 30, "--components", 8, "--passes", 2, "--jobs", 1)
    result = run("demo", *small, "--save", tmp_path / "kept")
    assert result.exit_code == 0, result.stderr
    assert "pass 2/2" in result.stderr
    assert "\x1b" not in result.output
    tables = [line for line in result.stdout.splitlines() if "kept" not in line]
    assert max(map(len, tables)) <= 80
    for text in ("Hamming loss", "example F1", "accuracy", "P@1", "PSP@5", "baseline", "torso"):
        assert text in result.stdout
    commands = [line.split()[1:] for line in result.stdout.splitlines() if "kept" in line]
    assert len(commands) == 3
    assert run(*commands[1]).exit_code == 0
    assert rmls.load(tmp_path / "kept" / "model").n_iter_ == 2
    assert "exists" in fails("demo", "--save", tmp_path / "kept")
