"""What the walks through the page have in common."""

from __future__ import annotations

from typing import Any

from fake_api import suggestions

TEXT = "🚢 Fishing boats in the harbour at Whitby, by the sea"
ODD_LABEL = "a/b: 50% & <more>?"


def write(page: Any, text: str = TEXT) -> None:
    page.get_by_role("textbox", name="Text").fill(text)


def shows(page: Any, labels: list[str]) -> None:
    from playwright.sync_api import expect

    expect(page.locator("button.name")).to_have_text(labels)


def labels_of(text: Any, k: int = 10, tail: float | None = None) -> list[str]:
    return [found["label"] for found in suggestions(text, k, tail)]


def open_view(page: Any, address: str, view: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{address}#/{view}")
    expect(page.locator("main[aria-busy]")).to_have_count(0)
    expect(page.locator("main h1")).to_be_visible()
