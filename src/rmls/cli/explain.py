"""`rmls explain`: why a model suggests a label for a text, word by word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared import options, texts
from rmls.cli.shared.console import check_file_target, note, notes, print_json, results
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.models.text.why import TextExplanation

DEFAULT_TOP = 3
N_SIMILAR = 3
STDIN = "-"

Text = Annotated[str, typer.Argument(metavar="TEXT", help="A text, or - for standard input.")]
Label = Annotated[
    str | None,
    typer.Option("--label", "-l", metavar="NAME", help="Explain this label, suggested or not."),
]
Top = Annotated[
    int,
    typer.Option(
        "--top", "-k", metavar="K", parser=options.whole(1), help="Explain the best K labels."
    ),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="OUT", help="Write a page, too.")]


def explain(
    model: options.Model,
    text: Text,
    label: Label = None,
    top: Top = DEFAULT_TOP,
    html: Html = None,
    json: options.Json = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Say why MODEL suggests labels for TEXT: which words speak for them.

    Words for a label are green, those against it red, the stronger the more.
    The parts below add up to the score that ranks the label.
    """
    import rmls
    from rmls.core.files import write_text
    from rmls.report.terminal import print_report
    from rmls.review.explanations import explanation_html, explanation_report

    if html is not None:
        check_file_target(html, overwrite)
    given = _read_stdin() if text == STDIN else text
    if not given.strip():
        raise InputError("the text is empty; give one with words in it.")
    fitted = rmls.load(model)
    if not texts.is_text_model(fitted):
        raise InputError(
            f"{model} was trained on features, not on texts; in Python model.explain takes a row "
            "of features."
        )
    found = [fitted.explain(given, label)] if label is not None else fitted.explain(given, k=top)
    # As `rmls suggest` lists them; labels are chosen by their scores.
    found.sort(key=lambda each: -each.probability)
    if not any(part.part for part in found[0].words):
        note(notes(), "note", "the model knows no word of the text")
    more = {"fields": fitted.features_.fields_, "similar": _similar_rows(fitted, given, found)}
    if json:
        print_json([_plain(each) for each in found])
    else:
        print_report(explanation_report(found, **more), results())
    if html is not None:
        write_text(html, explanation_html(found, **more))
        note(notes(), "wrote", str(html))


def _read_stdin() -> str:
    from rmls.datasets.tables.streams import STDIN as SOURCE
    from rmls.datasets.tables.streams import open_text

    with open_text(SOURCE, None) as stream:
        text: str = stream.read()
        return text


def _similar_rows(model: Any, text: str, found: list[TextExplanation]) -> dict[Any, Any]:
    """Return training rows to show, where the model keeps some."""
    if getattr(model.estimator_, "_kept_rows", None) is None:
        return {}
    return {each.label: model.similar_rows(text, each.label, N_SIMILAR) for each in found}


def _plain(found: TextExplanation) -> dict[str, Any]:
    return {
        "label": found.label,
        "score": found.score,
        "probability": found.probability,
        "listed": found.listed,
        "parts": found.parts,
        "words": [word._asdict() for word in found.words],
        "columns": [part._asdict() for part in found.columns],
    }
