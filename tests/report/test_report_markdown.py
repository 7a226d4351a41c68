"""The report as Markdown: the tables, and every figure as a table."""

from __future__ import annotations

import re

import pytest

from rmls.report.content import Bullets, Code, Facts, Figure, Marked, Piece, Report, Section
from rmls.report.markdown import plain, to_markdown
from rmls.report.tables import Table, TableCell


def report(*parts: object) -> str:
    return to_markdown(Report("Title", "sub", [Section("s", "Section", list(parts))]))  # type: ignore[arg-type]


def test_every_kind_of_part_is_written() -> None:
    table = Table("T", ["method", "F"], [[TableCell("RMLS"), TableCell("0.6", "best")]], "A note.")
    text = report(
        "Words.",
        Facts([("Commit", "abc")]),
        Bullets([("enron", ": best F")]),
        Code("rmls bench"),
        Marked([Piece("The "), Piece("levy", 0.9), Piece(" on "), Piece("b*", -0.1)], "title"),
        Figure("Figure", [], "How to read it.", [table], note="stand-in"),
    )
    for line in (
        "# Title",
        "## Section",
        "Words.",
        "- Commit: abc",
        "- **enron**: best F",
        "rmls bench",
        "### title",
        "The **levy** on b\\*",
        "### Figure (stand-in)",
        "How to read it.",
        "| RMLS | **0.6** |",
        "A note.",
    ):
        assert line in text.splitlines()


@pytest.mark.parametrize("name", ["a|b", "a\nb", "<b>", "*x*", "[x](y)", "`x`"])
def test_no_name_breaks_a_table(name: str) -> None:
    row = report(Table("T", ["m", "F"], [[TableCell(name), TableCell("1")]])).splitlines()[-1]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert "<" not in row


def test_no_command_ends_its_block_early() -> None:
    lines = report(Code("a\n```\nb")).splitlines()
    assert lines[-5:] == ["````", "a", "```", "b", "````"]


def test_plain_words_stay_as_they_are() -> None:
    text = "RMLS, our defaults · k = 50: 0.6 ± 0.01 (α_1)"
    assert plain(text) == text
