"""A model that is changed in its place, or written elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rmls.cli.shared.console import check_model_target, note, notes
from rmls.core.errors import InputError

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where to write.",
        show_default="in the place of MODEL",
    ),
]


def open_model(path: Path, output: Path | None, overwrite: bool) -> Any:
    """Load a ranker to change; whether it can be written is found out before."""
    import rmls

    if output is not None and output != path:
        check_model_target(output, overwrite)
    # In memory: the files it was read from are about to be replaced.
    model = rmls.load(path, mmap=False)
    inner = getattr(model, "estimator_", model)
    if not hasattr(inner, "add_labels"):
        name = type(inner).__name__
        raise InputError(
            f"{path} is a {name}, which does not change once trained; RMLSRanker does."
        )
    return model


@contextmanager
def changing(path: Path, output: Path | None, overwrite: bool, quiet: bool) -> Iterator[Any]:
    """Open a ranker, and write what became of it when all went well."""
    model = open_model(path, output, overwrite)
    yield model
    save_model(model, path, output, quiet)


def save_model(model: Any, path: Path, output: Path | None, quiet: bool) -> None:
    """Write a changed model, all of it or nothing."""
    target = output or path
    model.save(target)
    note(notes(quiet), "saved", str(target))
