"""Text features learned from more text than memory holds: no rows are made on the way."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from rmls.core.disk.scratch import scratch_folder
from rmls.core.errors import InputError
from rmls.core.resources import count_threads, run_parts
from rmls.features.text.column_block import learn_columns
from rmls.features.text.scanning import Rows, scan_names
from rmls.features.text.stem_table import StemTable
from rmls.features.text.term_block import NO_NUMBERS, choose_block, count_columns
from rmls.features.text.terms import WORDS, gather_terms
from rmls.features.text.text_features import TextFeatures

Item = TypeVar("Item")


class Spilled(Sequence[Item]):
    """Things in the order they came, in a file without a name that is gone with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(dir=scratch_folder())  # noqa: SIM115
        self._ends = [0]

    def extend(self, items: Iterable[Item]) -> None:
        """Put some more behind."""
        for item in items:
            # Our own file, which nobody else can write to.
            pickle.dump(item, self._file, protocol=pickle.HIGHEST_PROTOCOL)
            self._ends.append(self._file.tell())

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: Any) -> Any:
        start = self._ends[range(len(self))[place]]
        self._file.seek(start)
        return pickle.load(self._file)

    def __iter__(self) -> Iterator[Item]:
        return (self[place] for place in range(len(self)))


def learn_texts(
    features: TextFeatures, chunks: Iterable[Any], names: Callable[[], Sequence[str]] = list
) -> int:
    """Fit text features to texts that come some at a time; returns the number of rows.

    What comes out is what `TextFeatures.fit` makes of all of them. The counts of the words go to a
    scratch file (about the size of the text), the vocabulary stays in memory; columns of numbers
    take 8 bytes a row. ``names`` is asked at the end for texts whose words are known as well.

    Examples
    --------
    >>> features = TextFeatures(stem="none")
    >>> learn_texts(features, iter([["a tax", "a law"], ["the sea"]]))
    3
    >>> features.transform(["the tax"]).shape
    (1, 5)
    """
    features._check_options()
    if features.encoder is not None or features.vectors is not None:
        raise InputError("vectors beside the texts cannot be learned in parts; leave them out.")
    scans: Spilled[Any] = Spilled()
    columns: list[Any] = []
    fields, n_fields, n_rows = None, 0, 0
    for chunk in chunks:
        found = features.scan([chunk])
        if n_fields and found.n_fields != n_fields:
            raise InputError(
                f"texts have {found.n_fields} field(s) but those before had {n_fields}."
            )
        fields, n_fields = found.fields, found.n_fields
        n_rows += len(found)
        columns += found.columns
        scans.extend(found.use_up())
    roles, limits = features._roles(), (features.min_rows, features.max_terms)
    block = None
    if roles.all:
        weight = float(features.column_weight)
        block = learn_columns(columns, roles, limits, features.hashing, weight)
    _learn_terms(features, scans, names())
    features._columns, features._late, features._n_rows = block, None, n_rows
    features.fields_, features.n_fields_, features.n_dense_ = fields, max(n_fields, 1), 0
    return n_rows


def _learn_terms(features: TextFeatures, scans: Spilled[Any], names: Sequence[str]) -> None:
    """Choose the terms of every kind by the rows they stand in."""
    named = scan_names(names)
    stems = StemTable.learn(scans, features.stem, named, kept=features.hashing is None)
    lengths, limits = features._sequence_lengths(), (features.min_rows, features.max_terms)
    named_words = np.concatenate([NO_NUMBERS, *map(stems.stems_of, named)])
    blocks = {}
    for kind, terms_of in features._kinds(stems).items():
        known = None if features.hashing else gather_terms(kind, scans, stems, lengths)
        size = int(features.hashing or 1) if known is None else len(known)
        wanted = named_words if kind == WORDS else NO_NUMBERS

        def count(scan: Any, of: Any = terms_of, known: Any = known, size: int = size) -> Rows:
            return count_columns(of(scan), known, size)

        counted = _count_all(scans, count, count_threads(features.n_jobs))
        blocks[kind] = choose_block(known, counted, size, limits, wanted).block
    kept = blocks[WORDS].vocabulary
    features._blocks, features.language_ = blocks, stems.language
    features._stems = StemTable.of_language(stems.language) if kept is None else stems.keep(kept)


def _count_all(scans: Sequence[Any], count: Any, n_threads: int) -> Iterator[Rows]:
    """Yield the counts of every scan; as many are in memory as there are threads."""
    for start in range(0, len(scans), n_threads):
        some = [scans[place] for place in range(start, min(start + n_threads, len(scans)))]
        yield from run_parts(count, some, n_threads)
