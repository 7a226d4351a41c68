"""A report of anything, written as a page and as Markdown."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from rmls.report.charts.dots import DotRow, dot_chart
from rmls.report.content import (
    Bullets,
    Code,
    Facts,
    Figure,
    Key,
    Marked,
    Panel,
    Piece,
    Report,
    Section,
)
from rmls.report.output import write_report
from rmls.report.tables import Mark, Table, TableCell, table_row

SVG = "{http://www.w3.org/2000/svg}"


def page_of(folder: Path, *parts: object, title: str = "Report") -> ElementTree.Element:
    sections = [Section("first", "First", list(parts)), Section("last", "Last", ["Words."])]  # type: ignore[arg-type]
    html, _ = write_report(folder, Report(title, "of anything", sections))
    return ElementTree.fromstring(html.read_text("utf-8"))


def figure(n_keys: int) -> Figure:
    picture = dot_chart("a chart", [DotRow("row", [None])], ["group"])
    table = Table("the same", ["name", "value"], [table_row("row", "1")])
    legend = [Key(position, f"series {position}") for position in range(n_keys)]
    return Figure("A figure", [Panel("panel", picture, "a note")], data=[table], legend=legend)


def test_every_part_finds_its_place_on_the_page(tmp_path: Path) -> None:
    parts = ("Text.", Facts([("name", "fact")]), Bullets([("one", ": more")]), Code("a < b"))
    page = page_of(tmp_path, *parts, figure(2))
    section = page.find(".//section[@id='first']")
    assert section is not None
    assert [part.tag for part in section] == ["h2", "p", "dl", "ul", "pre", "figure"]
    assert section.findtext(".//code") == "a < b"
    assert section.find(f".//figure//{SVG}svg/{SVG}title").text == "a chart"  # type: ignore[union-attr]
    assert section.find(".//details//table") is not None
    assert [link.attrib["href"] for link in page.iter("a")] == ["#first", "#last"]


def test_marked_pieces_have_a_side_a_level_and_a_tip(tmp_path: Path) -> None:
    pieces = [Piece("A <tax>", 1.0, "+2.00"), Piece(" on "), Piece("boats", -0.3), Piece("!", 0.01)]
    text = page_of(tmp_path, Marked(pieces, "body")).find(".//div[@class='marked']")
    assert text is not None
    assert text.findtext("h3") == "body"
    assert "".join(text.itertext()) == "bodyA <tax> on boats!"
    assert [mark.attrib for mark in text.iter("mark")] == [
        {"class": "for level4", "title": "+2.00"},
        {"class": "against level1"},
    ]


@pytest.mark.parametrize(("n_keys", "shown"), [(0, 0), (1, 0), (2, 2)])
def test_a_legend_is_shown_where_there_is_something_to_tell_apart(
    tmp_path: Path, n_keys: int, shown: int
) -> None:
    assert len(page_of(tmp_path, figure(n_keys)).findall(".//ul[@class='legend']/li")) == shown


@pytest.mark.parametrize("mark", ["best", "better", "worse", "muted"])
def test_a_marked_cell_has_its_class_on_the_page(tmp_path: Path, mark: Mark) -> None:
    table = Table("T", ["name", "value"], [table_row("row", TableCell("1", mark), "2")])
    cells = page_of(tmp_path, table).findall(".//tbody//td")
    assert [(cell.text, cell.get("class")) for cell in cells] == [("1", mark), ("2", None)]


def test_a_row_without_a_name_goes_on_with_the_one_above(tmp_path: Path) -> None:
    table = Table("T", ["name", "value"], [table_row("row", "1"), table_row("", "2")])
    rows = page_of(tmp_path, table).findall(".//tbody/tr")
    assert [row.get("class") for row in rows] == ["starts", None]


def test_both_files_are_written_or_neither(tmp_path: Path) -> None:
    page_of(tmp_path, "old")
    before = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    with pytest.raises(AttributeError):
        page_of(tmp_path, object())
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["report.html", "report.md"]
