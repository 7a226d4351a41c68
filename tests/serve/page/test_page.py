"""The page as people use it: Chromium types a text, asks why and answers, with real keys."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import drop_file
from fake_api import Behaviour, explanation
from playwright.sync_api import expect
from walks import TEXT, labels_of, shows, write

pytestmark = pytest.mark.slow


# -- suggestions


def test_suggestions_come_while_one_types(page: Any, address: str, behaviour: Behaviour) -> None:
    page.goto(address)
    page.get_by_role("textbox", name="Text").press_sequentially("a dog by the sea", delay=10)
    shows(page, labels_of("a dog by the sea"))
    first = page.locator(".suggestions li").first
    expect(first.locator(".share")).to_have_text("94%")
    bar = first.locator(".bar")
    # The bar may still be growing when it is first looked at.
    page.wait_for_function(
        "(bar) => Math.abs(parseFloat(getComputedStyle(bar, '::after').width)"
        " / bar.clientWidth - 0.94) < 0.01",
        arg=bar.element_handle(),
    )
    # One request for sixteen letters, or a few on a machine under load.
    assert len(behaviour.bodies("suggest")) < 16
    write(page, "")
    expect(page.get_by_text("Suggestions appear here while you type.")).to_be_visible()
    shows(page, [])


def test_an_answer_that_comes_late_is_dropped(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    behaviour.slow = "LATE"
    page.goto(address)
    with page.expect_request("**/v1/suggest"):
        write(page, "LATE tree")
    write(page, "a dog")
    shows(page, labels_of("a dog"))
    page.wait_for_timeout(2000)
    shows(page, labels_of("a dog"))


def test_sliders_change_how_many_and_which(page: Any, address: str, behaviour: Behaviour) -> None:
    page.goto(address)
    write(page)
    shows(page, labels_of(TEXT))
    many = page.get_by_role("slider", name="How many")
    for _ in range(4):
        many.press("ArrowLeft")
    shows(page, labels_of(TEXT, 6))
    tail = page.get_by_role("slider", name="Common or rare")
    assert "tail" not in behaviour.bodies("suggest")[-1]
    tail.press("End")
    shows(page, labels_of(TEXT, 6, 1.0))
    assert behaviour.bodies("suggest")[-1]["tail"] == 1
    page.get_by_role("button", name="Reset").click()
    shows(page, labels_of(TEXT, 6))
    expect(tail).to_be_focused()


def test_a_busy_service_is_asked_again(page: Any, address: str, behaviour: Behaviour) -> None:
    behaviour.busy = 2
    page.goto(address)
    write(page)
    expect(page.get_by_text("The service is busy; trying again")).to_be_visible()
    shows(page, labels_of(TEXT))
    assert len(behaviour.bodies("suggest")) == 3


def test_an_error_is_one_sentence(page: Any, address: str) -> None:
    page.goto(address)
    write(page, "REFUSED")
    expect(page.locator(".status")).to_have_text("A text may have 200,000 characters.")
    write(page)
    shows(page, labels_of(TEXT))
    expect(page.locator(".status.error")).to_have_count(0)


def test_a_dropped_text_is_read(page: Any, address: str) -> None:
    page.goto(address)
    expect(page.locator(".write")).to_be_visible()
    drop_file(page, ".write", "note.txt", "A woman under a tree")
    expect(page.get_by_role("textbox", name="Text")).to_have_value("A woman under a tree")
    shows(page, labels_of("A woman under a tree"))
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("textbox", name="Text")).to_have_value("")


def test_models_with_columns_have_a_box_for_each(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    behaviour.columns = ["title", "body"]
    page.goto(address)
    page.get_by_role("textbox", name="title").fill("A boat")
    page.get_by_role("textbox", name="body").fill("by the sea")
    shows(page, labels_of({"title": "A boat", "body": "by the sea"}))
    assert behaviour.bodies("suggest")[-1]["text"] == {"title": "A boat", "body": "by the sea"}
    page.locator("button.name", has_text="sea").click()
    panel = page.locator(".panel:visible")
    expect(panel.locator("h4")).to_have_text(["title", "body"])
    expect(panel.locator(".marked mark", has_text=re.compile("^sea$"))).to_have_count(1)


def test_another_model_can_be_chosen(page: Any, address: str, behaviour: Behaviour) -> None:
    behaviour.models = ["works", "letters"]
    page.goto(address)
    write(page)
    shows(page, labels_of(TEXT))
    with page.expect_response("**/v1/suggest"):
        page.get_by_label("Model", exact=True).select_option("letters")
    expect(page.get_by_role("textbox", name="Text")).to_have_value(TEXT)
    shows(page, labels_of(TEXT))
    assert behaviour.bodies("suggest")[-1]["model"] == "letters"
    page.get_by_role("link", name="Model", exact=True).click()
    expect(page.locator("h1")).to_have_text("letters")


# -- why


def test_enter_on_a_label_shows_why(page: Any, address: str) -> None:
    page.goto(address)
    write(page)
    shows(page, labels_of(TEXT))
    page.locator("button.name", has_text="harbour").focus()
    page.keyboard.press("Enter")
    panel = page.locator(".panel:visible")
    panel.locator(".marked mark.for").first.wait_for()
    found = explanation(TEXT, "harbour")
    # Characters outside the basic plane stand before the word, so places in halves would be wrong.
    assert "harbour" in panel.locator(".marked mark.for").all_inner_texts()
    assert "by" in panel.locator(".marked mark.against").all_inner_texts()
    assert panel.locator(".marked p").inner_text() == TEXT
    values = [
        float(text.replace("−", "-"))
        for text in panel.locator(".parts tbody .number").all_inner_texts()
    ]
    total = float(panel.locator(".parts tfoot .number").inner_text().replace("−", "-"))
    assert sum(values) == pytest.approx(total, abs=0.0005 * (len(values) + 1))
    assert total == pytest.approx(found["score"], abs=0.0006)
    expect(panel.get_by_text("Boats at anchor")).to_be_visible()
    page.keyboard.press("Enter")
    expect(panel).to_have_count(0)


def test_bars_of_the_score_lie_one_behind_the_other(page: Any, address: str) -> None:
    page.goto(address)
    write(page)
    page.locator("button.name").first.click()
    expect(page.locator(".parts")).to_be_visible()
    boxes = [bar.bounding_box() for bar in page.locator(".parts tbody .step").all()]
    values = page.locator(".parts tbody .number").all_inner_texts()
    spans = [
        (box["x"], box["x"] + box["width"])[:: 1 if text[0] == "+" else -1]
        for box, text in zip(boxes, values, strict=True)
    ]
    starts, ends = zip(*spans, strict=True)
    assert starts[1:] == pytest.approx(ends[:-1], abs=1.5)


def test_reasons_follow_the_text(page: Any, address: str) -> None:
    page.goto(address)
    write(page, "a dog")
    page.locator("button.name", has_text="dog").click()
    expect(page.locator(".marked p")).to_have_text("a dog")
    write(page, "a dog and a tree")
    expect(page.locator(".marked p")).to_have_text("a dog and a tree")


# -- feedback


def test_keys_alone_accept_reject_add_and_save(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    page.goto(address)
    expect(page.locator("textarea")).to_be_visible()
    while page.evaluate("document.activeElement.localName") != "textarea":
        page.keyboard.press("Tab")
    page.keyboard.insert_text(TEXT)
    labels = labels_of(TEXT)
    shows(page, labels)
    while "name" not in page.evaluate("document.activeElement.className"):
        page.keyboard.press("Tab")
    for key in ("a", "ArrowDown", "r", "ArrowDown", "ArrowDown", "ArrowUp", "a"):
        page.keyboard.press(key)
    while page.evaluate("document.activeElement.getAttribute('role')") != "combobox":
        page.keyboard.press("Tab")
    page.keyboard.type("pla 01")
    expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    active = page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
    expect(page.locator(f"#{active}")).to_contain_text("place 011")
    page.keyboard.press("Enter")
    expect(page.locator(".added li")).to_contain_text("place 011")
    while page.evaluate("document.activeElement.textContent") != "Save":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saving: 2 labels accepted, 1 label rejected, 1 label")).to_be_visible()
    while page.evaluate("document.activeElement.textContent") != "Save now":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("Saved: 2 labels accepted")
    (body,) = behaviour.bodies("feedback")
    assert body.pop("id")
    assert body == {
        "text": TEXT,
        "model": "works",
        "accepted": [labels[0], labels[2]],
        "rejected": [labels[1]],
        "added": ["place 011"],
    }
    expect(page.locator(".tray li")).to_have_count(0)


def test_what_is_being_saved_can_be_taken_back(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    page.goto(address)
    write(page)
    page.get_by_role("button", name="Accept harbour").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Accept harbour")).to_have_attribute(
        "aria-pressed", "false"
    )
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Accept harbour")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="Save", exact=True).click()
    page.keyboard.press("Control+z")
    expect(page.locator("#notice")).to_be_hidden()
    page.get_by_role("button", name="Take back harbour").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Accept, reject or add a label first.")).to_be_visible()
    page.wait_for_timeout(300)
    assert behaviour.bodies("feedback") == []


def test_feedback_is_sent_by_itself_and_when_the_page_is_left(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    page.goto(address)
    write(page)
    page.get_by_role("button", name="Reject harbour").click()
    with page.expect_response("**/v1/feedback"):
        page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Accept sea").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.reload()
    write(page)
    shows(page, labels_of(TEXT))
    assert [body["accepted"] for body in behaviour.bodies("feedback")] == [[], ["sea"]]


def test_feedback_that_is_refused_is_not_lost(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    behaviour.feedback_status = 404
    page.goto(address)
    write(page)
    page.get_by_role("button", name="Accept harbour").click()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Save now").click()
    expect(page.get_by_role("alert").filter(has_text="Not saved.")).to_have_text(
        "Not saved. This service takes no feedback."
    )
    page.get_by_role("button", name="Back to the labels").click()
    expect(page.locator(".accepted .chips li")).to_contain_text("harbour")
    behaviour.feedback_status = 201
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Save now").click()
    expect(page.locator("#notice")).to_contain_text("Saved: 1 label accepted")


def test_a_label_that_nobody_knows_can_be_added(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    page.goto(address)
    write(page)
    box = page.get_by_role("combobox", name="Add a label")
    box.fill("zeppelin")
    page.get_by_role("option", name="zeppelin").click()
    expect(page.locator(".added li")).to_contain_text("zeppelin")
    box.fill("harb")
    expect(page.get_by_role("option").first).to_contain_text("harbour")
    box.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    box.press("ArrowDown")
    expect(page.get_by_role("option").first).to_be_visible()
    # One that is on the list already is accepted there.
    box.press("Enter")
    expect(page.locator(".accepted .chips li")).to_contain_text("harbour")
