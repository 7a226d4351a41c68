"""The report at the end of a training on texts: in the terminal and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmls.archive import amend_archive
from rmls.cli.shared.console import results
from rmls.core.files import write_text
from rmls.datasets.tables import TextTable
from rmls.datasets.tables.streams import STDIN
from rmls.models.shared.model_archive import QUALITY
from rmls.models.shared.progress import showing, stage
from rmls.review import Review
from rmls.review.duplicates import Fingerprints, fingerprint_texts, group_texts
from rmls.review.held_out import read_held_out, read_trained
from rmls.review.leaks import TextSides
from rmls.review.model_review import review_rows
from rmls.review.own_rows import read_own_rows

if TYPE_CHECKING:
    from rmls.cli.train.run import Rows
    from rmls.cli.train.texts import TextRun

# Half a gigabyte of fingerprints; texts of larger tables are not compared.
MAX_COMPARED = 1_000_000

Ints = NDArray[np.int64]


class Reread(NamedTuple):
    """What a second reading of a table gives: the words of the first one were let go.

    Attributes
    ----------
    table : TextTable
        The rows that are judged, in their order.
    numbers : ndarray of int64
        Places in the file of all rows with labels.
    prints : Fingerprints or None
        Of all rows with labels; None where there are too many.
    """

    table: TextTable
    numbers: Ints
    prints: Fingerprints | None


def report(run: TextRun, model: Any, rows: Rows) -> None:
    """Write the page beside the model, then print the review in short."""
    with showing(not run.quiet), stage("report"):
        review = _review(run, model, rows)
        name = Path(run.data).name
        write_text(run.page, review.html(name))
        _keep(run, model, review)
    if rows.test is not None or not run.quiet:
        review.print_summary(results(), name)
    run.say("wrote", f"{run.page}: the whole report, with examples")


def _keep(run: TextRun, model: Any, review: Review) -> None:
    """Write the figures to the folder of the model, whose arrays stay as they are."""
    if review.record is None:
        return
    quality = {QUALITY: review.record.as_dict()}
    # Another training may have put its model there meanwhile.
    own = json.dumps(model.training_record_)
    amend_archive(
        run.output,
        lambda saved: {**saved, **quality} if json.dumps(saved["training"]) == own else None,
    )


def _review(run: TextRun, model: Any, rows: Rows) -> Review:
    n_jobs = getattr(model, "n_jobs", None)
    if rows.test is None or rows.is_test is None:
        held, trained = read_own_rows(model, rows.train)
        places, train_places = held.places, np.arange(rows.train.n_samples)
    else:
        held = read_held_out(model, rows.test)
        trained = read_trained(model, rows.train, held.Y.shape[1])
        places, train_places = np.flatnonzero(rows.is_test), np.flatnonzero(~rows.is_test)
    again = _read_again(run, places, len(np.union1d(places, train_places)), n_jobs)
    sides: TextSides | None = None
    if again is not None:
        held = replace(held, table=again.table, places=again.numbers[places])
        sides = _compare(again, places, train_places)
    return review_rows(type(model).__name__, held, trained, sides, n_jobs=n_jobs)


def _compare(again: Reread, places: Ints, train_places: Ints) -> TextSides | None:
    if again.prints is None:
        return None
    near = group_texts(again.prints).near
    texts = dict(zip(again.numbers[places].tolist(), again.table.texts, strict=True))
    return TextSides(near[train_places], near[places], again.numbers[train_places], texts)


def _read_again(run: TextRun, places: Ints, n_rows: int, n_jobs: int | None) -> Reread | None:
    """Return the texts of some rows; None where the table cannot be read a second time."""
    if Path(run.data) == STDIN:
        return None
    prints: list[Fingerprints] = []
    numbers: list[Ints] = []
    picked: TextTable | None = None
    wanted, n_read = np.sort(places), 0
    for table, known in _labelled(run):
        chosen = wanted[(wanted >= n_read) & (wanted < n_read + len(known))] - n_read
        part = table.take(chosen.tolist())
        if picked is None:
            picked = part
        else:
            picked.extend(part)
        if n_rows <= MAX_COMPARED:
            prints.append(fingerprint_texts(table.texts, n_jobs))
        numbers.append(known)
        n_read += len(known)
    # The file may have changed since it was read.
    if picked is None or n_read != n_rows:
        return None
    in_order = picked.take(np.searchsorted(wanted, places).tolist())
    return Reread(in_order, np.concatenate(numbers), Fingerprints.stack(prints) if prints else None)


def _labelled(run: TextRun) -> Iterator[tuple[TextTable, Ints]]:
    """Yield the rows that have labels, some at a time, with their places in the file."""
    n_rows = 0
    for table in run.reading.iterate(run.data, needs_labels=True):
        known = np.flatnonzero([bool(names) for names in table.labels or []])
        yield table.take(known.tolist()), n_rows + known
        n_rows += len(table)
