"""`rmls check`: a table in the terminal, as JSON and as a page; bad files in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    rows = ["id,title,tags"]
    rows += [f"T{row},ticket about printer {row} and ink,printer;Ink" for row in range(20)]
    rows += ["T20,Ticket about printer 3 and ink!,ink", "T21,,printer"]
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_table_is_checked_in_the_terminal(run, tickets):
    result = run("check", tickets)
    assert result.exit_code == 0, result.output
    for text in ("Rows without text", "22 (T21)", "Same text, other labels", "Ink (20), ink (1)"):
        assert text in result.stdout
    assert "labels are separated by ';'" in result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_json_is_the_check(run, tickets):
    found = json.loads(run("check", tickets, "--json").stdout)
    assert found["n_rows"] == 22
    rows = {each["kind"]: each["rows"] for each in found["findings"]}
    assert rows["no_text"] == [22]
    assert rows["torn_text"] == [4, 21]


def test_the_page_is_written_once(run, fails, tickets, tmp_path):
    page = tmp_path / "check.html"
    assert run("check", tickets, "--html", page).exit_code == 0
    assert ElementTree.fromstring(page.read_text("utf-8")).tag == "html"
    assert "exists" in fails("check", tickets, "--html", page)
    assert run("check", tickets, "--html", page, "--overwrite").exit_code == 0


def test_columns_and_separator_can_be_given(run, tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("what\twhy\nred paint\ta+b\nblue paint\tb\n")
    result = run("check", path, "--text", "what", "--labels", "why", "--separator", "+", "--json")
    assert json.loads(result.stdout)["n_labels"] == 2


def test_bad_files_give_the_sentence_of_the_readers(fails, tickets, tmp_path):
    assert "no column 'body'" in fails("check", tickets, "--text", "body")
    assert "none.csv" in fails("check", tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "empty.csv" in fails("check", tmp_path / "empty.csv")
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n3,4\n")
    assert "say which" in fails("check", tmp_path / "odd.csv")
    (tmp_path / "half.jsonl").write_text('{"text": "a", "labels": ["x"]}\n{"text": ')
    assert "half.jsonl" in fails("check", tmp_path / "half.jsonl")
