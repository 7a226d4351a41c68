"""Texts into a store of rows, in two passes, and the text features that go with it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rmls.archive import read_archive, write_archive
from rmls.core.disk.scratch import scratch_folder
from rmls.core.errors import ArchiveError, FileFormatError, InputError
from rmls.core.version import VERSION
from rmls.datasets.store import DEFAULT_SHARD_ROWS, StoreWriter
from rmls.datasets.store.layout import (
    LEARNED,
    LEARNED_TEXT,
    MANIFEST,
    Manifest,
    decode_values,
    encode_values,
)
from rmls.datasets.store.places import Place
from rmls.datasets.store.writing import copy_folder
from rmls.datasets.tables import TextTable
from rmls.features import TextFeatures
from rmls.features.text.state import restore_text, text_state
from rmls.features.text.streaming import learn_texts
from rmls.models.shared.model_archive import from_plain, to_plain
from rmls.models.shared.training_set import read_targets
from rmls.models.text.naming import name_labels

METHOD = "TextFeatures"
Say = Callable[[str, str], None]


def save_features(features: TextFeatures, folder: Path) -> None:
    """Write fitted text features as an archive."""
    fitted, arrays = text_state(features)
    roles = features.column_roles_
    columns = {"categories": roles.categories or None, "numbers": roles.numbers or None}
    params = {**features.get_params(deep=False), **columns, "encoder": None, "n_jobs": None}
    plain = {name: to_plain(name, value) for name, value in params.items()}
    manifest = {"method": METHOD, "rmls_version": VERSION, "params": plain, "text": fitted}
    write_archive(folder, manifest, arrays)


def load_features(folder: Path) -> TextFeatures:
    """Return the text features of an archive that `save_features` wrote."""
    archive = read_archive(folder)
    if archive.manifest.get("method") != METHOD:
        raise ArchiveError(f"{folder} holds no text features.")
    try:
        params = from_plain(archive.manifest["params"])
        if isinstance(params.get("characters"), list):
            params["characters"] = tuple(params["characters"])
        return restore_text(params, archive.manifest["text"], archive.arrays)
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise ArchiveError(f"{folder} is damaged ({error}).") from None


def same_features(one: TextFeatures, other: TextFeatures) -> bool:
    """Tell whether two fitted text features make the same rows of the same texts."""
    (values, arrays), (others, other_arrays) = text_state(one), text_state(other)
    return (
        values == others
        and arrays.keys() == other_arrays.keys()
        and all(np.array_equal(array, other_arrays[name]) for name, array in arrays.items())
    )


@dataclass
class TextSource:
    """A table of texts that is read twice.

    Attributes
    ----------
    read : callable
        Returns the rows from the first one on, some at a time.
    description : dict
        Plain values by which the same table is known again.
    rows_of : callable
        What the features take of some rows; their columns by default.
    """

    read: Callable[[], Iterator[TextTable]]
    description: dict[str, Any]
    rows_of: Callable[[TextTable], Any] = field(default=lambda table: table.columns)


@dataclass
class Learned:
    """What the first pass over the texts tells.

    Attributes
    ----------
    features : TextFeatures
    labels : list of str
        All labels; empty where the table has none.
    keeps_all : bool
        Whether rows without labels are stored, too.
    has_ids : bool
    """

    features: TextFeatures
    labels: list[str]
    keeps_all: bool
    has_ids: bool


def store_texts(
    source: TextSource,
    where: str | Path,
    features: TextFeatures,
    *,
    fitted: bool = False,
    shard_rows: int = DEFAULT_SHARD_ROWS,
    overwrite: bool = False,
    say: Say = lambda title, text: None,
) -> Manifest:
    """Write a table of texts as a store; memory holds the vocabulary and some rows at a time.

    Parameters
    ----------
    source : TextSource
    where : str or path
    features : TextFeatures
        Fitted to the texts in a first pass, unless they are ``fitted``: then rows without labels
        are stored, too.
    fitted : bool
    shard_rows : int
    overwrite : bool
    say : callable
        Gets the title and the text of every note.

    Notes
    -----
    A process that was killed goes on: after the first pass with the second, in the second with the
    first shard that is missing.
    """
    place = Place(where)
    if place.exists(MANIFEST) and not overwrite:
        raise InputError(
            f"{place} holds a store; choose another name or pass overwrite=True "
            "(--overwrite on the command line)."
        )
    description = {**source.description, "fitted": fitted}
    learned = None if fitted else _take_up(place, description, say)
    if learned is None:
        learned = _learn(source, features, fitted, say)
        if not fitted:
            _note(place, learned, description)
    sizes = (learned.features.n_terms_, len(learned.labels))
    with StoreWriter(
        place,
        *sizes,
        source=description,
        shard_rows=shard_rows,
        has_ids=learned.has_ids,
        overwrite=overwrite,
    ) as writer:
        if writer.n_rows:
            say("resumed", f"{writer.n_rows:,} rows are stored already")
        _add_rows(writer, source, learned)
        with _saved(learned.features) as folder:
            names = learned.labels or None
            return writer.finish(label_names=names, text=folder)


def _learn(source: TextSource, features: TextFeatures, fitted: bool, say: Say) -> Learned:
    """Learn the vocabulary and the labels of a table."""
    seen: dict[str, None] = {}
    has = {"labels": False, "ids": False}

    def labelled() -> Iterator[Any]:
        n_rows = n_left = 0
        for table in source.read():
            if not n_rows:
                for text in table.found:
                    say("found", text)
                has.update(labels=table.labels is not None, ids=table.ids is not None)
            n_rows += len(table)
            for labels in table.labels or ():
                seen.update(dict.fromkeys(labels))
            kept = table if fitted else _labelled_rows(table)
            n_left += len(table) - len(kept)
            if len(kept):
                yield kept
        if n_left:
            say("note", f"{n_left:,} rows without labels left out")

    if fitted:
        for _ in labelled():
            pass
        return Learned(features, _ordered(seen), True, has["ids"])
    chunks = (source.rows_of(table) for table in labelled())
    n_rows = learn_texts(features, chunks, lambda: _names_of(seen))
    if not n_rows:
        raise InputError("no row has a label; there is nothing to store to learn from.")
    if not features.n_terms_:
        raise InputError("the texts hold no words to learn from.")
    say("words", f"{features.n_words_:,} different in {n_rows:,} rows")
    return Learned(features, _ordered(seen), not has["labels"], has["ids"])


def _ordered(labels: dict[str, None]) -> list[str]:
    """Return labels in the order of their columns."""
    return [str(name) for name in read_targets([list(labels)])[0].names] if labels else []


def _names_of(labels: dict[str, None]) -> list[str]:
    """Return what labels are called, where these are words."""
    named = name_labels([_ordered(labels)]) if labels else None
    return [] if named is None else named.texts


def _labelled_rows(table: TextTable) -> TextTable:
    """Return the rows that have labels; all of them where the table has no such column."""
    if table.labels is None or all(table.labels):
        return table
    return table.take([row for row, labels in enumerate(table.labels) if labels])


def _add_rows(writer: StoreWriter, source: TextSource, learned: Learned) -> None:
    """Write the rows of the table that are not there yet."""
    column = {name: number for number, name in enumerate(learned.labels)}
    start = 0
    for whole in source.read():
        table = whole if learned.keeps_all else _labelled_rows(whole)
        done, start = min(max(writer.n_rows - start, 0), len(table)), start + len(table)
        if done == len(table):
            continue
        if done:
            table = table.take(slice(done, None))
        ids = table.ids if learned.has_ids else None
        X = learned.features.transform(source.rows_of(table))
        writer.add(X, _labels(table, column), ids)
    if start < writer.n_rows:
        raise InputError("the table has fewer rows than are stored; pass overwrite=True.")


def _labels(table: TextTable, column: dict[str, int]) -> sparse.csr_matrix:
    rows = [sorted({column[name] for name in labels}) for labels in table.labels or ()]
    if not rows:
        rows = [[] for _ in range(len(table))]
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.array([label for labels in rows for label in labels], np.int32)
    shape = (len(rows), len(column))
    return sparse.csr_matrix((np.ones(len(indices), np.int32), indices, ends), shape)


# -- what a first pass has learned, kept for a writer that is killed in the second ----------------


@contextmanager
def _saved(features: TextFeatures) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rmls-", dir=scratch_folder()) as above:
        folder = Path(above, "text")
        save_features(features, folder)
        yield folder


def _note(place: Place, learned: Learned, description: dict[str, Any]) -> None:
    place.make()
    place.remove(LEARNED)
    with _saved(learned.features) as folder:
        copy_folder(folder, place, LEARNED_TEXT)
    values = {
        "source": description,
        "labels": learned.labels,
        "keeps_all": learned.keeps_all,
        "ids": learned.has_ids,
    }
    place.write(LEARNED, encode_values(values))


def _take_up(place: Place, description: dict[str, Any], say: Say) -> Learned | None:
    """Return what a killed writer had learned from the same texts."""
    if not place.exists(LEARNED):
        return None
    try:
        values = decode_values(place.read(LEARNED), place.path(LEARNED))
        if values["source"] != description:
            return None
        with tempfile.TemporaryDirectory(prefix="rmls-", dir=scratch_folder()) as folder:
            archive = Path(folder, "text")
            for name in ("model.json", "arrays.safetensors"):
                place.fetch(f"{LEARNED_TEXT}/{name}", archive / name)
            features = load_features(archive)
            # Its arrays are mapped, and the folder goes.
            say("resumed", "the words were learned already")
            return Learned(features, values["labels"], values["keeps_all"], values["ids"])
    except (FileFormatError, ArchiveError, KeyError, TypeError, OSError):
        return None
