"""Names with numbers, found by a hash of 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rmls.features.text.characters import encode_pieces
from rmls.kernels.cpu.text.words import (
    FIRST_SLOTS,
    add_codes,
    find_codes,
    hash_pieces,
    hash_together,
    make_slots,
)
from rmls.kernels.jit import runs_compiled

Codes = NDArray[np.uint64]
Numbers = NDArray[np.int32]
Places = NDArray[np.int64]
Spell = Callable[[Places], list[str]]


# So many are worth a look at all of them together, where kernels are not compiled.
MANY = 256


def hash_names(names: Sequence[str]) -> Codes:
    """Return the hash of every name."""
    return hash_text(*encode_pieces(names))


def hash_text(text: NDArray[np.uint8], bounds: Places) -> Codes:
    """Return the hash of every piece of a text."""
    together = len(bounds) > MANY and not runs_compiled()
    codes: Codes = (hash_together if together else hash_pieces)(text, bounds)
    return codes


class CodeTable:
    """Distinct hashes in the order in which they were added.

    Examples
    --------
    >>> table = CodeTable()
    >>> numbers, new = table.add(hash_names(["tax", "law", "tax"]))
    >>> numbers.tolist(), new.tolist()
    ([0, 1, 0], [0, 1])
    """

    def __init__(self) -> None:
        self._codes: Codes = np.empty(0, np.uint64)
        self._size = 0
        # What finds a hash: slots where kernels are compiled, an order by value where they are not.
        self._slots: Numbers | None = None
        self._order: Places | None = None

    def __len__(self) -> int:
        return self._size

    @property
    def codes(self) -> Codes:
        """The hashes."""
        return self._codes[: self._size]

    def find(self, codes: Codes) -> Numbers:
        """Return the numbers of hashes, -1 for those that are not known."""
        if self._order is not None and not runs_compiled():
            return _find_in_order(self.codes, self._order, codes)
        found: Numbers = find_codes(self._make_slots(), self._codes, codes)
        return found

    def add(self, codes: Codes) -> tuple[Numbers, Places]:
        """Return the numbers of hashes, and the places in ``codes`` of those that were new."""
        if self._take_all(codes):
            return np.arange(len(codes), dtype=np.int32), np.arange(len(codes))
        before = self._size
        found, self._slots, self._codes, self._size = add_codes(
            self._make_slots(), self._codes, before, codes
        )
        self._order = None
        # In a reversed array the last of equal numbers to be written is the first place.
        first = np.empty(self._size - before, np.int64)
        new = np.flatnonzero(found >= before)[::-1]
        first[found[new] - before] = new
        return found, first

    def _take_all(self, codes: Codes) -> bool:
        """Take the first hashes as they are, where they are many, distinct and not compiled for."""
        if self._size or len(codes) < MANY or runs_compiled():
            return False
        order = np.argsort(codes)
        if (codes[order[1:]] == codes[order[:-1]]).any():
            return False
        self._codes, self._size, self._order = codes, len(codes), order
        # Those of an empty table know none of them.
        self._slots = None
        return True

    def _make_slots(self) -> Numbers:
        """Return the slots, in which at most every second one is taken."""
        if self._slots is None:
            n_slots = max(FIRST_SLOTS, 1 << (2 * self._size).bit_length())
            room = np.empty(n_slots // 2, np.uint64)
            room[: self._size] = self.codes
            self._codes, self._slots = room, make_slots(room, self._size, n_slots)
        return self._slots


def _find_in_order(known: Codes, order: Places, codes: Codes) -> Numbers:
    """Return the numbers of hashes among those that are known, by their order."""
    places = np.searchsorted(known, codes, sorter=order)
    numbers = order[np.minimum(places, len(order) - 1)]
    return np.where(known[numbers] == codes, numbers, -1).astype(np.int32)


class Vocabulary(CodeTable):
    """Distinct names in the order in which they were added.

    Two names of the same hash would be one; among ten million that happens once in 300,000
    vocabularies.

    Parameters
    ----------
    names : sequence of str
        Later ones that are there already are left out.
    codes : ndarray of uint64, optional
        Their hashes, where they are not those of the text.

    Examples
    --------
    >>> words = Vocabulary(["tax", "law"])
    >>> words.find(hash_names(["law", "art"])).tolist()
    [1, -1]
    """

    def __init__(self, names: Sequence[str] = (), codes: Codes | None = None) -> None:
        super().__init__()
        _, new = self.add(hash_names(names) if codes is None else codes)
        self._names: list[str] | None = [names[place] for place in new.tolist()]
        self._spell: Spell | None = None

    @classmethod
    def of_text(cls, text: NDArray[np.uint8], bounds: Places) -> Vocabulary:
        """Return the vocabulary of the names between bounds, in UTF-8; equal ones are one."""
        codes, content = hash_text(text, bounds), text.tobytes()
        vocabulary = cls()
        _, first = vocabulary.add(codes)
        begins, ends = bounds[first], bounds[first + 1]

        def spell(places: Places) -> list[str]:
            spans = zip(begins[places].tolist(), ends[places].tolist(), strict=True)
            return [content[begin:end].decode() for begin, end in spans]

        vocabulary._names, vocabulary._spell = None, spell
        return vocabulary

    @classmethod
    def spelled_late(cls, codes: Codes, spell: Spell) -> Vocabulary:
        """Return the vocabulary of distinct hashes whose names ``spell`` gives when asked for."""
        vocabulary = cls()
        vocabulary.add(codes)
        vocabulary._names, vocabulary._spell = None, spell
        return vocabulary

    @property
    def names(self) -> list[str]:
        """The names by their numbers."""
        if self._names is None:
            self._names, self._spell = self._name(np.arange(len(self))), None
        return self._names

    def _name(self, places: Places) -> list[str]:
        if self._spell is not None:
            return self._spell(places)
        return [self.names[place] for place in places.tolist()]

    def keep(self, places: Places) -> Vocabulary:
        """Return the vocabulary of some of the names; the others are never spelled."""
        return Vocabulary(self._name(places), self.codes[places])
