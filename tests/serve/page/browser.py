"""A browser that walks the page, and what every walk must leave clean."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import patience

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# What a browser says of an answer that is no success; the page says it in words of its own.
EXPECTED = "Failed to load resource"


@contextmanager
def start_browser() -> Iterator[Any]:
    """Start a browser without a window; skip where there is none."""
    library = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    command = next(filter(None, map(shutil.which, COMMANDS)), None)
    with library.sync_playwright() as play:
        if command is None and not Path(play.chromium.executable_path).exists():
            pytest.skip("no Chromium is installed")
        # Chromium refuses to run as root inside its sandbox.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=command, args=arguments)
        library.expect.set_options(timeout=1000 * patience(1))
        yield browser
        browser.close()


@contextmanager
def watched_page(browser: Any, address: str, **options: Any) -> Iterator[Any]:
    """Open a page; at its end no error was reported and no request went elsewhere."""
    context = browser.new_context(**options)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: _note(faults, said))
    page.on("request", lambda asked: _note_address(faults, asked.url, address))
    # A machine under load is slow; only a page that hangs should end a walk.
    page.set_default_timeout(1000 * patience(1))
    yield page
    context.close()
    assert faults == []


def _note(faults: list[str], said: Any) -> None:
    if said.type in ("error", "warning") and EXPECTED not in said.text:
        faults.append(said.text)


def _note_address(faults: list[str], url: str, address: str) -> None:
    if not url.startswith((address, f"blob:{address}")):
        faults.append(f"asked {url}")


def read_axe() -> str:
    """Return the program that finds what keeps people out; skip where it is not there."""
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed")
    return Path(found.origin).with_name("axe.min.js").read_text("utf-8")


def violations(page: Any, program: str) -> list[str]:
    """Return what axe-core finds, one line each."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(program)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {node['target']} {node.get('failureSummary', '')}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]


def drop_file(page: Any, place: str, name: str, content: str) -> None:
    """Drop a file on an element, as a hand does."""
    transfer = page.evaluate_handle(
        """([name, content]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([content], name));
            return transfer;
        }""",
        [name, content],
    )
    page.dispatch_event(place, "dragover", {"dataTransfer": transfer})
    page.dispatch_event(place, "drop", {"dataTransfer": transfer})
