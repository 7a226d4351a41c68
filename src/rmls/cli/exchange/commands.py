"""`rmls card`, `rmls push` and `rmls pull`: models on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes

Repo = Annotated[str, typer.Argument(metavar="REPO", help="user/name on the Hub.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="The file to write.", show_default="stdout"),
]
Folder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write the model.")
]
License = Annotated[
    str | None,
    typer.Option(metavar="LICENCE", help="Licence of the model, such as cc-by-4.0."),
]
About = Annotated[
    str | None,
    typer.Option("--data", metavar="SENTENCE", help="What the training data are, for the card."),
]
Card = Annotated[
    Path | None,
    typer.Option("--card", metavar="FILE", help="A card of your own, in place of the made one."),
]
Public = Annotated[
    bool, typer.Option("--public", help="Let everybody see a new repository; it is private else.")
]
Revision = Annotated[
    str | None,
    typer.Option(metavar="REVISION", help="Branch, tag or commit.", show_default="the newest"),
]


def card(
    model: options.Model,
    output: Output = None,
    license: License = None,
    data: About = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Describe a model for people who find it, as Markdown.

    How good it is by frequent and rare labels, on what data, what it is not
    good for, its licence and how to load it.
    """
    import rmls
    from rmls.cli.shared.console import check_file_target, open_output

    target = output or Path("-")
    check_file_target(target, overwrite, streams=True)
    fitted = rmls.load(model)
    text = rmls.exchange.make_card(fitted, license=license, data=data)
    with open_output(target) as stream:
        stream.write(text)


def push(
    model: options.Model,
    repo: Repo,
    license: License = None,
    data: About = None,
    card: Card = None,
    public: Public = False,
    quiet: options.Quiet = False,
) -> None:
    """Send a model and its card to the Hugging Face Hub.

    A new repository is private. Label names, the vocabulary and kept rows are
    in the files: make them public only where those may be.
    """
    import rmls

    text = True if card is None else card.read_text("utf-8")
    fitted = rmls.load(model)
    address = rmls.exchange.push(
        fitted, repo, private=not public, license=license, data=data, card=text
    )
    note(notes(quiet), "pushed", address)


def pull(
    repo: Repo,
    output: Folder,
    revision: Revision = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Fetch a model from the Hugging Face Hub.

    Only the two files of a model are taken, and checked before they are used.
    """
    import rmls

    commit = rmls.exchange.pull(repo, output, revision=revision, overwrite=overwrite)
    note(notes(quiet), "wrote", f"{output}: {repo} at {commit[:12]}")
