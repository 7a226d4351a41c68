"""The page for everybody: token, colours, print, phones, keys, screen readers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import drop_file, read_axe, violations, watched_page
from fake_api import Behaviour, suggestions
from playwright.sync_api import expect
from walks import ODD_LABEL, TEXT, labels_of, open_view, shows, write

pytestmark = pytest.mark.slow


def test_the_token_is_asked_for_once(page: Any, address: str, behaviour: Behaviour) -> None:
    behaviour.token = "secret"
    page.goto(address)
    page.get_by_label("Token", exact=True).fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("That token was not accepted.")).to_be_visible()
    page.get_by_label("Token", exact=True).fill("secret")
    page.get_by_role("button", name="Continue").click()
    write(page)
    shows(page, labels_of(TEXT))
    page.reload()
    write(page)
    shows(page, labels_of(TEXT))
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]


def test_without_the_token_nothing_is_shown(page: Any, address: str, behaviour: Behaviour) -> None:
    behaviour.token = "secret"
    page.goto(address)
    page.get_by_role("button", name="Not now").click()
    expect(page.get_by_role("alert")).to_have_text(
        "The service asks for a token; reload the page to enter it."
    )


def test_texts_and_labels_are_never_markup(page: Any, address: str) -> None:
    text = "<img src=x onerror=alert(1)> <b>sea</b> more"
    page.goto(address)
    write(page, text)
    shows(page, labels_of(text))
    page.locator("button.name", has_text=ODD_LABEL).click()
    expect(page.locator(".marked p")).to_have_text(text)
    assert page.locator("main img, main b").count() == 0


def test_colours_can_be_chosen_and_are_kept(page: Any, address: str) -> None:
    page.goto(address)
    button = page.get_by_role("button", name="Colours")
    seen = [page.evaluate("getComputedStyle(document.body).backgroundColor")]
    for name in ("Light", "Dark"):
        button.click()
        expect(button).to_have_text(name)
        seen.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert seen[0] == seen[1] != seen[2]
    page.reload()
    expect(button).to_have_text("Dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == seen[2]


def test_the_first_tab_leads_past_the_menu(page: Any, address: str) -> None:
    page.goto(address)
    expect(page.locator("textarea")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("textarea")).to_be_focused()


def test_print_shows_the_text_and_its_labels_alone(page: Any, address: str) -> None:
    page.goto(address)
    write(page)
    shows(page, labels_of(TEXT))
    page.emulate_media(media="print")
    for place in (".top", ".sliders", ".combobox", ".actions", "button.mark"):
        assert not page.locator(place).first.is_visible()
    assert page.locator("textarea").is_visible()
    assert page.locator("button.name").first.is_visible()


def prepare(page: Any, address: str, view: str) -> None:
    """Open a view with all that it can show."""
    if view == "table":
        open_view(page, address, "table")
        drop_file(page, ".zone", "t.csv", "id,text\n" + "1,the sea and a dog\n" * 12)
        page.get_by_role("button", name="Add labels").click()
        expect(page.get_by_role("button", name="Download")).to_be_visible()
    elif view == "suggest":
        page.goto(address)
        write(page)
        page.locator("button.name").first.click()
        expect(page.locator(".parts")).to_be_visible()
        page.get_by_text("Words as numbers").click()
        page.get_by_role("button", name="Accept harbour").click()
        page.get_by_role("button", name="Reject sea").click()
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("button", name="Undo").focus()
        page.get_by_role("combobox").fill("place")
        expect(page.get_by_role("option").first).to_be_visible()
    else:
        open_view(page, address, view)
        for summary in page.locator("summary").all():
            summary.click()


VIEWS = ["", "suggest", "table", "review", "labels", "label/sea", "model", "nowhere"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_nobody_is_kept_out(
    browser: Any, address: str, behaviour: Behaviour, width: int, scheme: Any
) -> None:
    program = read_axe()
    row = {"id": "1", "text": "a dog", "why": "uncertain", "suggestions": suggestions("a dog")}
    behaviour.queue = [row]
    size = {"width": width, "height": 844}
    for view in VIEWS:
        with watched_page(
            browser, address, viewport=size, color_scheme=scheme, reduced_motion="reduce"
        ) as page:
            prepare(page, address, view)
            assert violations(page, program) == [], view
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, view


def test_the_question_for_the_token_keeps_nobody_out(
    page: Any, address: str, behaviour: Behaviour
) -> None:
    behaviour.token = "secret"
    page.goto(address)
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    assert violations(page, read_axe()) == []
