"""The look of the report: colours that can be read, in light, in dark and on paper."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = files("rmls.report").joinpath("style.css").read_text("utf-8")
TEXT = ["ink", "muted", "link", "better", "worse", *(f"c{i}" for i in range(8))]


def themes() -> list[dict[str, str]]:
    """Colours by name: light, dark by the system, dark by choice."""
    blocks = re.findall(r"\{([^{}]*--page:[^{}]*)\}", STYLE)
    return [dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]+)", block)) for block in blocks]


def luminance(colour: str) -> float:
    levels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04 else ((v + 0.055) / 1.055) ** 2.4 for v in levels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_has_the_known_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", [0, 1, 2])
@pytest.mark.parametrize("name", TEXT)
def test_text_stands_out_from_the_page(theme: int, name: str) -> None:
    colours = themes()[theme]
    assert contrast(colours[name], colours["page"]) >= 4.5
    assert contrast(colours[name], colours["surface"]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1, 2])
def test_text_inside_bars_and_the_edges_of_bars_stand_out(theme: int) -> None:
    colours = themes()[theme]
    for group in ("c0", "c1", "c2"):
        assert contrast(colours["on-colour"], colours[group]) >= 4.5
    assert contrast(colours["bar-edge"], colours["page"]) >= 3


@pytest.mark.parametrize("theme", [0, 1, 2])
def test_text_on_the_strongest_marks_can_be_read(theme: int) -> None:
    colours = themes()[theme]
    share = max(int(found) for found in re.findall(r"--share: (\d+)%", STYLE)) / 100
    for side in ("better", "worse"):
        mixed = [
            round(share * int(colours[side][i : i + 2], 16) + (1 - share) * int(page, 16))
            for i, page in ((i, colours["page"][i : i + 2]) for i in (1, 3, 5))
        ]
        assert contrast(colours["ink"], "#" + "".join(f"{level:02x}" for level in mixed)) >= 4.5


def test_dark_is_the_same_by_the_system_and_by_choice() -> None:
    light, system, chosen = themes()
    assert system == chosen
    assert light.keys() == system.keys()


def test_paper_is_light_and_shows_whole_tables() -> None:
    assert len(re.findall(r"@media screen[^{]*\{\s*:root", STYLE)) == 2
    paper = STYLE[STYLE.index("@media print") :]
    assert ".scroll { overflow: visible;" in paper
    assert re.search(r"nav, button, details \{ display: none; \}", paper)
