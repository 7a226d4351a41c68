"""`rmls methods`: the estimators, and what their parameters may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import print_json, results

if TYPE_CHECKING:
    from rich.text import Text

    from rmls.core.options import Described

Name = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Show the parameters of this one.", show_default=False),
]


def methods(name: Name = None, json: options.Json = False) -> None:
    """List the methods that can be trained, or the parameters of one.

    Every parameter can be given to rmls train by --set NAME=VALUE.
    """
    if name is None:
        _list_methods(json)
    else:
        from rmls.cli.shared.options import find_estimator

        _show_method(find_estimator(name), json)


def _list_methods(json: bool) -> None:
    from rmls.cli.shared.options import list_families, summarize
    from rmls.cli.shared.tables import plain_table

    families = list_families()
    if json:
        listed = ((family, each) for family, found in families.items() for each in found)
        print_json([{"family": family, **_head(each)} for family, each in listed])
        return
    table = plain_table(("method", "what it does"))
    for family, found in families.items():
        table.add_section()
        table.add_row(family, style="dim")
        for estimator in found:
            table.add_row(f"  {estimator.__name__}", summarize(estimator))
    results().print(table)


def _show_method(estimator: Any, json: bool) -> None:
    from rmls.cli.shared.options import describe, summarize
    from rmls.cli.shared.tables import plain_table

    described = describe(estimator)
    if json:
        print_json({**_head(estimator), "options": [_as_dict(each) for each in described]})
        return
    console = results()
    console.print(f"{estimator.__name__}: {summarize(estimator)}\n")
    table = plain_table(("parameter", "default", "what it may be, and what it does"))
    for each in described:
        table.add_row(each.name, _show_default(each.default), _explain(each))
    console.print(table)
    if estimator.__name__ == "RMLS":
        console.print(f"\n{_describe_paper()}")


def _explain(described: Described) -> Text:
    from rich.text import Text

    return Text.assemble((described.option.words, "cyan"), "\n", described.plain_text)


def _show_default(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _describe_paper() -> str:
    from rmls.models.rmls.objective import PAPER

    listed = ", ".join(f"{name}={_show_default(value)}" for name, value in PAPER.items())
    return f"With --paper: {listed}."


def _head(estimator: Any) -> dict[str, Any]:
    from rmls.cli.shared.options import summarize

    return {"name": estimator.__name__, "summary": summarize(estimator)}


def _as_dict(described: Described) -> dict[str, Any]:
    option = described.option
    return {
        "name": described.name,
        "kind": option.words,
        "choices": list(option.choices),
        "auto": option.auto,
        "optional": option.optional,
        "default": described.default,
        "text": described.plain_text,
    }
