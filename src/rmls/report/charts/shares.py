"""Stacked bars: what part of the labels and of their assignments each group holds."""

from __future__ import annotations

from typing import NamedTuple

from rmls.core.show.markup import Markup, element, escape
from rmls.report.charts.frame import WIDTH, nothing_to_show, picture
from rmls.report.charts.marks import colour
from rmls.report.charts.scales import Linear
from rmls.report.charts.text import text_width, words
from rmls.report.numbers import format_percent

START, END = 92.0, WIDTH - 4
THICK = 20.0
TEXT = 11.0
PITCH = 27.0


class Stack(NamedTuple):
    """A named bar with the share of each group."""

    name: str
    shares: list[float]


def share_chart(title: str, stacks: list[Stack], groups: list[str]) -> Markup:
    """Draw one stacked bar for each of ``stacks``, with percents where there is room.

    Examples
    --------
    >>> svg = share_chart("enron", [Stack("labels", [0.25, 0.75])], ["head", "tail"])
    >>> svg.count("<rect"), "labels, head: 25%" in svg
    (2, True)
    """
    if not stacks:
        return nothing_to_show(title)
    scale = Linear(0.0, 1.0, START, END)
    rows = [_row(s, groups, PITCH * position, scale) for position, s in enumerate(stacks)]
    description = "; ".join(
        f"{stack.name}: "
        + ", ".join(
            f"{group} {format_percent(share)}"
            for group, share in zip(groups, stack.shares, strict=True)
        )
        for stack in stacks
    )
    return picture(title, description, PITCH * len(stacks), *rows)


def _row(stack: Stack, groups: list[str], top: float, scale: Linear) -> Markup:
    parts = [words(stack.name, START - 8, top + THICK / 2 + 4, "name", text_anchor="end")]
    # Each share starts where the ones before it end, so that a bar fills the axis exactly.
    done = 0.0
    for position, (group, share) in enumerate(zip(groups, stack.shares, strict=True)):
        left, right = scale(done), scale(done + share)
        done += share
        text = format_percent(share)
        tip = element("title", escape(f"{stack.name}, {group}: {text}"))
        parts.append(
            element(
                "rect",
                tip,
                class_=f"share {colour(position)}",
                x=left,
                y=top,
                width=right - left,
                height=THICK,
            )
        )
        # Percents only where they fit; the tip tells the others.
        if right - left > text_width(text, TEXT) + 2:
            middle = (left + right) / 2
            parts.append(words(text, middle, top + THICK / 2 + 4, "inside", text_anchor="middle"))
    return element("g", *parts)
