"""What every chart has around it: the picture with its description, and the axes."""

from __future__ import annotations

from typing import NamedTuple

from rmls.core.show.markup import NOTHING, Markup, coordinate, element, escape
from rmls.report.charts.marks import Place, line
from rmls.report.charts.scales import Scale
from rmls.report.charts.text import text_width, words

# That of a phone: a wider screen stands several charts side by side, none is made smaller.
WIDTH = 360.0


class Box(NamedTuple):
    """The area between the axes of a chart."""

    left: float
    top: float
    right: float
    bottom: float


def picture(title: str, description: str, height: float, *parts: Markup) -> Markup:
    """Return a picture as wide as a phone with its description for those who do not see it."""
    return element(
        "svg",
        element("title", escape(title)),
        # What a screen reader says in the place of the picture.
        element("desc", escape(description)),
        *parts,
        viewBox=f"0 0 {coordinate(WIDTH)} {coordinate(height)}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )


def nothing_to_show(title: str, reason: str = "no values") -> Markup:
    """Return the picture of a chart that has nothing to draw."""
    text = words(reason, WIDTH / 2, 24, "tick", text_anchor="middle")
    return picture(title, reason, 40, text)


def x_axis(
    scale: Scale, box: Box, label: str = "", names: dict[float, str] | None = None
) -> Markup:
    """Return grid lines and marks below ``box``; ``names`` stand in the place of values."""
    parts = []
    for value in scale.ticks() if names is None else names:
        x = scale(value)
        text = scale.text(value) if names is None else names[value]
        parts.append(line(Place(x, box.top), Place(x, box.bottom), "grid"))
        # A text at the very end of the axis is moved inward rather than cut off.
        half = text_width(text, 11) / 2
        inside = min(max(x, half), WIDTH - half)
        parts.append(words(text, inside, box.bottom + 14, "tick", text_anchor="middle"))
    if label:
        middle = (box.left + box.right) / 2
        parts.append(words(label, middle, box.bottom + 30, "axis", text_anchor="middle"))
    return element("g", *parts) if parts else NOTHING


def y_axis(scale: Scale, box: Box, label: str = "") -> Markup:
    """Return grid lines and marks left of ``box``; the label stands above it."""
    parts = []
    for value in scale.ticks():
        y = scale(value)
        parts.append(line(Place(box.left, y), Place(box.right, y), "grid"))
        parts.append(words(scale.text(value), box.left - 5, y + 4, "tick", text_anchor="end"))
    if label:
        parts.append(words(label, 0, box.top - 9, "axis"))
    return element("g", *parts) if parts else NOTHING
