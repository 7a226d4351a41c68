"""Write docs/reference/options.md, all options of all estimators, from what these declare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rmls.cli.shared.options import describe, list_families, summarize
from rmls.core.options import Described

PAGE = Path(__file__).parent / "reference" / "options.md"
INTRODUCTION = """# Options

Every option of every estimator, as the estimators declare them: the checks, `rmls methods NAME` and
`rmls train --set NAME=VALUE` read the same. On the [command line](command-line.md) texts stand for
the values: `auto`, `none`, `true`, `0.5`, `[1, 2]`. This page is made by
`python docs/make_options.py`.
"""


def make_page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for family, estimators in list_families().items():
        parts.append(f"## {family}\n")
        parts += [_make_section(estimator) for estimator in estimators]
    return "\n".join(parts)


def _make_section(estimator: Any) -> str:
    rows = [_make_row(each) for each in describe(estimator)]
    table = ["| option | what it may be | default | |", "|---|---|---|---|", *rows]
    lines = table if rows else ["It has no options."]
    return "\n".join([f"### {estimator.__name__}\n", f"{summarize(estimator)}\n", *lines, ""])


def _make_row(described: Described) -> str:
    # A bar ends a cell of Markdown even inside code.
    text = described.text.replace("``", "`").replace("|", "\\|")
    cells = (f"`{described.name}`", described.option.words, f"`{described.default!r}`", text)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(make_page(), "utf-8")
