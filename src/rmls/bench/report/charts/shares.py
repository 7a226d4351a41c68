"""Stacked bars: what part of the labels and of their assignments each group holds."""

from __future__ import annotations

from dataclasses import dataclass

from rmls.bench.report import numbers
from rmls.bench.report.charts.frame import WIDTH, colour, nothing_to_show, picture
from rmls.bench.report.charts.scales import Linear
from rmls.bench.report.charts.words import text_width, words
from rmls.bench.report.markup import Markup, element, escape

START, END = 92.0, WIDTH - 4
THICK = 20.0
TEXT = 11.0
PITCH = 27.0


@dataclass(frozen=True)
class Stack:
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
            f"{group} {numbers.percent(share)}"
            for group, share in zip(groups, stack.shares, strict=True)
        )
        for stack in stacks
    )
    return picture(title, description, PITCH * len(stacks), *rows)


def _row(stack: Stack, groups: list[str], top: float, scale: Linear) -> Markup:
    parts = [words(stack.name, START - 8, top + THICK / 2 + 4, "name", text_anchor="end")]
    done = 0.0
    for position, (group, share) in enumerate(zip(groups, stack.shares, strict=True)):
        left, right = scale(done), scale(done + share)
        done += share
        text = numbers.percent(share)
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
        if right - left > text_width(text, TEXT) + 2:
            middle = (left + right) / 2
            parts.append(words(text, middle, top + THICK / 2 + 4, "inside", text_anchor="middle"))
    return element("g", *parts)
