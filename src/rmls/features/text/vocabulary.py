"""Names with numbers, found by a hash of 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rmls.features.text.characters import encode_pieces
from rmls.kernels.cpu.text.words import FIRST_SLOTS, add_codes, find_codes, hash_pieces

Codes = NDArray[np.uint64]
Numbers = NDArray[np.int32]
Places = NDArray[np.int64]
Spell = Callable[[Places], list[str]]


def hash_names(names: Sequence[str]) -> Codes:
    """Return the hash of every name."""
    codes: Codes = hash_pieces(*encode_pieces(names))
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
        self._slots = np.full(FIRST_SLOTS, -1, np.int32)
        self._codes: Codes = np.empty(FIRST_SLOTS, np.uint64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def codes(self) -> Codes:
        """The hashes."""
        return self._codes[: self._size]

    def find(self, codes: Codes) -> Numbers:
        """Return the numbers of hashes, -1 for those that are not known."""
        found: Numbers = find_codes(self._slots, self._codes, codes)
        return found

    def add(self, codes: Codes) -> tuple[Numbers, Places]:
        """Return the numbers of hashes, and the places in ``codes`` of those that were new."""
        before = self._size
        found, self._slots, self._codes, self._size = add_codes(
            self._slots, self._codes, before, codes
        )
        # In a reversed array the last of equal numbers to be written is the first place.
        first = np.empty(self._size - before, np.int64)
        new = np.flatnonzero(found >= before)[::-1]
        first[found[new] - before] = new
        return found, first


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
