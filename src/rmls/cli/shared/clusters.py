"""Clusters on the command line: what is kept of a training, and labels for tables by many nodes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmls.cli.shared.console import note, notes
from rmls.core.errors import InputError
from rmls.core.words import count, size

if TYPE_CHECKING:
    from rmls.cluster import Usage

# Tables that are sent before a worker is free for them, for every worker.
AHEAD = 2


@contextmanager
def parts_of(output: Path, *, resume: bool, quiet: bool) -> Iterator[None]:
    """Keep the finished parts of a training beside its model until the model is complete."""
    from rmls.cluster import keeping, watching

    folder = output.with_name(f"{output.name}.parts")
    if resume and not folder.is_dir():
        raise InputError(f"there is no {folder} to go on from; train without --resume.")
    with watching() as usage, keeping(folder, resume=resume) as keeper:
        yield
    console = notes(quiet)
    if keeper.found:
        note(console, "resumed", f"{count(len(keeper.found), 'part')} of {folder} taken up")
    show_usage(usage, quiet)
    shutil.rmtree(folder, ignore_errors=True)


def show_usage(usage: Usage, quiet: bool) -> None:
    """Print what every node has done."""
    for name, node in usage.nodes.items():
        moved = f"{size(node.bytes_in)} in, {size(node.bytes_out)} out"
        text = f"{count(node.tasks, 'part')}, {node.cpu:.1f} s of processor time, {moved}"
        note(notes(quiet), "node", f"{name[:12]}: {text}")
    if usage.repeated or usage.doubled:
        text = f"{usage.repeated} lost with a node, {usage.doubled} given to a second one"
        note(notes(quiet), "repeated", text)


def suggest_on_cluster(
    address: str, model: Path, tables: Iterable[Any], choice: Any, quiet: bool
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield tables with their suggestions, in order; every node opens the model by its path."""
    from rmls.cluster import open_cluster, watching

    path = str(model.resolve())
    with watching() as usage, open_cluster(address, [path]) as engine:
        asked = engine.share((path, choice))
        source = iter(tables)
        some = list(islice(source, AHEAD * engine.n_workers))
        batch = engine.map(suggest_table, some, asked)
        while some:
            # The next tables are read and sent while these are worked on.
            more = list(islice(source, AHEAD * engine.n_workers))
            found = engine.gather(batch)
            batch = engine.map(suggest_table, more, asked)
            yield from zip(some, found, strict=True)
            some = more
    show_usage(usage, quiet)


def suggest_table(table: Any, asked: tuple[str, Any]) -> list[Any]:
    """Return the suggestions for the rows of a table; the model is opened once a process."""
    from rmls.cli.shared.suggestions import suggestions
    from rmls.models.shared.load_once import load_once

    path, choice = asked
    return list(suggestions(load_once(path), table, choice, None))
