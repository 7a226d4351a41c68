"""Every link of the README and of the pages leads to a file, or to a heading of one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import REPOSITORY

PAGES = sorted(
    path
    for place in (".", "docs", "benchmarks", "deploy")
    for path in (REPOSITORY / place).glob("*.md" if place == "." else "**/*.md")
)
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.M | re.S)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|(?:src|href)=\"([^\"]+)\"")


def find_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    anchors: set[str] = set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))
    for heading in re.findall(r"^#{1,6} (.+)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (anchor := f"{slug}-{number}" if number else slug) in anchors:
            number += 1
        anchors.add(anchor)
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8"))
    broken = []
    for found in LINK.finditer(text):
        target = found[1] or found[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        misses_heading = anchor and there.suffix == ".md" and there.exists()
        if not there.exists() or (misses_heading and anchor not in find_anchors(there)):
            broken.append(target)
    assert not broken


def test_a_page_begins_with_its_title_and_has_a_name_of_its_own() -> None:
    pages = [page for page in PAGES if page.is_relative_to(REPOSITORY / "docs")]
    names = [page.name for page in pages if page.stem != "index"]
    assert len(set(names)) == len(names)
    for page in pages:
        assert re.search(r"\A(---\n.*?\n---\n+)?# \S", page.read_text("utf-8"), re.S), page
