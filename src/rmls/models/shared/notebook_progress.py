"""Progress in notebooks: a line for every stage, which moves where it stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rmls.core.show.fragments import fragment
from rmls.core.show.markup import Markup, element, escape

# Seconds between two changes of what is shown: each of them travels to the browser.
PAUSE = 0.1


@dataclass
class _Line:
    name: str
    note: str = ""
    share: float = 0.0
    started: float = field(default_factory=time.monotonic)
    seconds: float | None = None

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started if self.seconds is None else self.seconds


class Bundle:
    """What a notebook shows of the lines: HTML, and text where HTML is not shown."""

    def __init__(self, html: str, text: str) -> None:
        self.html, self.text = html, text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


class NotebookLines:
    """Lines with the methods of rich's ``Progress`` that stages use.

    Parameters
    ----------
    show : callable, optional
        Shows something in the output of a cell and returns a handle with ``update``; IPython's
        ``display`` without it.
    """

    def __init__(self, show: Callable[..., Any] | None = None) -> None:
        self._show, self._handle = show, None
        self._lines: list[_Line] = []
        self._last = 0.0

    def start(self) -> None:
        """Begin; nothing is shown before there is a line."""
        if self._show is None:
            from IPython.display import display

            self._show = display

    def add_task(self, name: str, total: float = 1.0, note: str = "") -> int:
        """Add a line; returns its number."""
        self._lines.append(_Line(name, note))
        self._refresh()
        return len(self._lines) - 1

    def update(self, task: int, completed: float | None = None, note: str | None = None) -> None:
        """Move a line on."""
        line = self._lines[task]
        line.share = line.share if completed is None else completed
        line.note = line.note if note is None else note
        if line.share >= 1.0 and line.seconds is None:
            line.seconds = line.elapsed
            self._refresh()
        elif time.monotonic() - self._last >= PAUSE:
            self._refresh()

    def stop_task(self, task: int) -> None:
        """Let the clock of a line stand still."""
        line = self._lines[task]
        line.seconds = line.elapsed
        self._refresh()

    def stop(self) -> None:
        """Show the lines as they are in the end."""
        for line in self._lines:
            line.seconds = line.elapsed
        if self._lines:
            self._refresh()

    def _refresh(self) -> None:
        if self._show is None:
            return
        self._last = time.monotonic()
        bundle = Bundle(self._html(), self._text())
        if self._handle is None:
            self._handle = self._show(bundle, display_id=True)
        else:
            self._handle.update(bundle)

    def _html(self) -> str:
        return fragment(element("table", *(_row(line) for line in self._lines)))

    def _text(self) -> str:
        return "\n".join(
            f"{line.name:<12}  {line.share:4.0%}  {line.elapsed:.1f} s  {line.note}".rstrip()
            for line in self._lines
        )


def _row(line: _Line) -> Markup:
    filled = element("span", style=f"width:{100 * min(max(line.share, 0.0), 1.0):.0f}%")
    cells = [
        element("td", escape(line.name)),
        element("td", element("span", filled, class_="bar")),
        element("td", escape(f"{line.elapsed:.1f} s"), class_="figure"),
        element("td", escape(line.note), class_="muted"),
    ]
    return element("tr", *cells)
