"""Tables, the review queue, labels and the model: Chromium walks them with real clicks and keys."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import drop_file
from fake_api import LABELS, Behaviour
from playwright.sync_api import expect
from walks import ODD_LABEL, labels_of, open_view

pytestmark = pytest.mark.slow


# -- tables

TABLE = [
    ["id", "text", "labels"],
    *([str(row), f'Row {row}: a "dog", a tree\nand the sea', "old"] for row in range(120)),
    ["120", "REFUSED", "old"],
    ["121", "", "old"],
]


def table_file(folder: Path, encoding: str = "utf-8-sig") -> Path:
    path = folder / "works.csv"
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=";").writerows(TABLE)
    return path


def open_table(page: Any, address: str, path: Path) -> None:
    open_view(page, address, "table")
    page.set_input_files("input[type=file]", path)
    expect(page.locator("main").get_by_text("122 rows, 3 columns")).to_be_visible()


def test_a_table_comes_back_with_labels(
    page: Any, address: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.busy = 2
    open_table(page, address, table_file(tmp_path))
    assert page.get_by_label("Text column").locator("option:checked").inner_text() == "text"
    page.get_by_label("Labels a row, at most").fill("3")
    page.get_by_label("Add their probabilities").check()
    page.get_by_role("button", name="Add labels").click()
    expect(page.locator("main").get_by_text("Done: 122 of 122 rows.")).to_be_visible()
    expect(page.locator("main").get_by_text("1 row could not be labelled")).to_be_visible()
    expect(page.locator("td.new").first).to_have_text("|".join(labels_of(TABLE[1][1], 3)))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "works-labels.csv"
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=";"))
    assert rows[0] == [*TABLE[0], "labels_2", "probabilities"]
    assert [row[:3] for row in rows] == TABLE
    for row in rows[1:121]:
        assert row[3].split("|") == labels_of(row[1], 3)
        assert len(row[4].split("|")) == 3
    assert [row[3:] for row in rows[121:]] == [["", ""], ["", ""]]
    sent = [text for body in behaviour.bodies("suggest") for text in body["texts"]]
    assert "" not in sent


def test_a_table_that_runs_can_be_cancelled(
    page: Any, address: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.slow = "Row 60"
    open_table(page, address, table_file(tmp_path))
    page.get_by_role("button", name="Add labels").click()
    expect(page.locator("main").get_by_text("50 of 122 rows")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("main").get_by_text("Stopped: 50 of 122 rows.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download what is done").click()
    rows = list(
        csv.reader(io.StringIO(Path(download.value.path()).read_text("utf-8-sig")), delimiter=";")
    )
    assert [bool(row[3]) for row in rows[1:]] == [True] * 50 + [False] * 72


def test_a_table_runs_on_while_one_looks_at_other_pages(
    page: Any, address: str, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.slow = "Row 60"
    open_table(page, address, table_file(tmp_path))
    page.get_by_role("button", name="Add labels").click()
    page.get_by_role("link", name="Labels").click()
    expect(page.locator("h1")).to_have_text("Labels")
    page.get_by_role("link", name="Table").click()
    expect(page.locator("main").get_by_text("Done: 122 of 122 rows.")).to_be_visible()


def test_a_table_dropped_on_the_text_opens_as_a_table(page: Any, address: str) -> None:
    page.goto(address)
    expect(page.locator(".write")).to_be_visible()
    drop_file(page, ".write", "small.tsv", "name\tabstract\na\tthe sea\n")
    expect(page.locator("main").get_by_text("1 row, 2 columns")).to_be_visible()
    assert page.get_by_label("Text column").locator("option:checked").inner_text() == "abstract"
    drop_file(page, ".zone", "empty.csv", "name,text\n")
    expect(page.get_by_role("alert")).to_have_text(
        "empty.csv has no rows below its header; open another file."
    )


def test_columns_of_a_table_go_to_those_of_the_model(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    behaviour.columns = ["title", "body"]
    open_view(page, address, "table")
    drop_file(page, ".zone", "t.csv", "body,title\nthe sea,A boat\n")
    page.get_by_role("button", name="Add labels").click()
    expect(page.locator("main").get_by_text("Done: 1 of 1 row.")).to_be_visible()
    assert behaviour.bodies("suggest")[-1]["texts"] == [{"title": "A boat", "body": "the sea"}]


# -- review


def test_rows_are_reviewed_one_by_one(page: Any, address: str, behaviour: Behaviour) -> None:
    open_view(page, address, "review")
    expect(page.get_by_role("heading", name="Nothing waits for review")).to_be_visible()
    page.get_by_label("Texts, one a line").fill("a dog\n\na tree\nthe sea")
    page.get_by_role("button", name="Add to the queue").click()
    expect(page.get_by_role("heading", name="Row 1 of 3")).to_be_focused()
    expect(page.locator(".reading")).to_have_text("a dog")
    page.get_by_role("button", name="Accept dog").click()
    page.get_by_role("button", name="Save and go on").click()
    expect(page.get_by_role("heading", name="Row 2 of 3")).to_be_focused()
    expect(page.locator("main").get_by_text("A rare label may fit here")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="Row 1 of 3")).to_be_focused()
    expect(page.get_by_role("button", name="Accept dog")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Save and go on").click()
    page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="Accept sea").click()
    page.get_by_role("button", name="Save and go on").click()
    # What was skipped waits; what is being saved does not come again.
    expect(page.get_by_role("heading", name="Row 1 of 1")).to_be_focused()
    expect(page.locator(".reading")).to_have_text("a tree")
    page.get_by_role("button", name="Save now").click()
    expect(page.locator("#notice")).to_contain_text("Saved")
    assert [(body["text"], body["accepted"]) for body in behaviour.bodies("feedback")] == [
        ("a dog", ["dog"]),
        ("the sea", ["sea"]),
    ]


def test_rows_of_a_table_can_be_sent_to_review(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    open_view(page, address, "table")
    drop_file(page, ".zone", "t.csv", "id,text\n1,the sea\n2,\n3,a dog\n")
    page.get_by_role("button", name="Add labels").click()
    page.get_by_role("button", name="Send the rows to review").click()
    page.get_by_role("link", name="Open the review queue").click()
    expect(page.get_by_role("heading", name="Row 1 of 2")).to_be_visible()
    assert behaviour.bodies("review/rows")[0]["texts"] == ["the sea", "a dog"]


# -- the model and its labels


def test_the_model_tells_what_it_is_and_how_good(page: Any, address: str) -> None:
    open_view(page, address, "model")
    for name in ("Quality by group", "Labels that do worst", "Training record"):
        expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.locator("svg .column")).to_have_count(12)
    expect(page.locator("svg .point")).to_have_count(10)
    expect(page.locator(".record").first).to_contain_text("works.csv")
    main = page.locator("main")
    expect(main).to_contain_text("Measured on 1,200 training rows, before the model learned")
    expect(main).to_contain_text("70% ±2.0")
    expect(page.get_by_role("rowheader", name="… nearest neighbours").first).to_be_visible()
    page.get_by_role("link", name=ODD_LABEL).click()
    expect(page.locator("h1")).to_have_text(ODD_LABEL)


def test_a_model_without_a_record_says_so(page: Any, address: str, behaviour: Behaviour) -> None:
    behaviour.has_quality = False
    open_view(page, address, "model")
    expect(
        page.locator("main").get_by_text("This model has no record of its quality.")
    ).to_be_visible()
    open_view(page, address, "label/sea")
    expect(page.locator("main").get_by_text("It was not measured")).to_be_visible()


def test_labels_are_found_and_opened(page: Any, address: str) -> None:
    open_view(page, address, "labels")
    expect(page.locator("main").get_by_text(f"{len(LABELS)} labels")).to_be_visible()
    expect(page.locator(".labels li")).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".labels li")).to_have_count(100)
    expect(page.locator(".labels li a").nth(50)).to_be_focused()
    page.get_by_label("Order").select_option("rows")
    expect(page.locator(".labels li a").first).to_have_text("boat, sailing")
    page.get_by_label("Search").fill("boat fi")
    expect(page.locator(".labels li a")).to_have_text(["boat, fishing"])
    expect(page.locator(".labels li")).to_contain_text("trawler; smack")
    page.locator(".labels li a").click()
    expect(page.locator("h1")).to_have_text("boat, fishing")
    expect(page.locator("main").get_by_text("Also called trawler; smack.")).to_be_visible()
    expect(page.locator("h1")).to_be_focused()
    expect(page.locator(".bars").first).to_contain_text("boats")
    page.get_by_role("link", name="harbour").click()
    expect(page.locator("h1")).to_have_text("harbour")
    page.go_back()
    expect(page.locator("h1")).to_have_text("boat, fishing")
    page.get_by_role("link", name="All labels").click()
    expect(page.get_by_label("Search")).to_have_value("boat fi")


@pytest.mark.parametrize("label", [ODD_LABEL, "名前", "🚢 ships"])
def test_any_name_of_a_label_has_a_page(page: Any, address: str, label: str) -> None:
    open_view(page, address, "labels")
    page.get_by_label("Order").select_option("name")
    page.get_by_label("Search").fill(re.findall(r"\w+", label)[0])
    page.get_by_role("link", name=label, exact=True).click()
    expect(page.locator("h1")).to_have_text(label)


def test_an_unknown_label_or_page_is_one_sentence(page: Any, address: str) -> None:
    open_view(page, address, "label/nothing")
    expect(page.get_by_role("alert")).to_have_text("There is no label 'nothing'.")
    open_view(page, address, "nowhere")
    expect(page.get_by_role("alert")).to_have_text("There is no such page; choose one above.")
