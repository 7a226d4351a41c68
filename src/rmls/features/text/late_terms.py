"""Terms that fitted features took up later: columns behind all others, which stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.features.text.stem_table import StemTable
from rmls.features.text.term_block import (
    KIND_WEIGHTS,
    Floats,
    TermBlock,
    count_columns,
    join_kinds,
    spell_terms,
)
from rmls.features.text.terms import Terms
from rmls.features.text.vocabulary import Numbers
from rmls.kernels.cpu.text.terms import weigh_late_rows


@dataclass(frozen=True)
class LateBlock:
    """Late terms of one kind, in the order in which they were added.

    Attributes
    ----------
    terms : TermBlock
    calls : ndarray of int32, shape (n_terms,)
        Which call added every term: 1, 2, and so on, rising.
    """

    terms: TermBlock
    calls: Numbers

    def weigh(self, found: Terms, scales: Floats) -> tuple[sparse.csr_matrix, Numbers]:
        """Return tf-idf rows by the scales of the learned terms, and whose scale every row has."""
        idf = self.terms.idf
        rows = count_columns(found, self.terms.vocabulary, len(idf))
        firsts: Numbers = weigh_late_rows(rows, idf, self.calls, scales)
        indptr, indices, values = rows
        return sparse.csr_matrix((values, indices, indptr), (len(scales), len(idf))), firsts


@dataclass(frozen=True)
class LateTerms:
    """All late terms; whoever adds some makes a new object.

    The length of a row is that of its learned terms, and late ones are multiplied by what these
    were. So no late term changes the value of a learned one. The same holds among late terms:
    where a row has no learned term, its length is that of its terms of the first call.

    Attributes
    ----------
    n_rows : int
        Rows of the training, and those that late terms came from.
    stems : StemTable
        Late words and their stems, behind those of the training.
    blocks : dict of LateBlock
        For every kind of terms.
    """

    n_rows: int
    stems: StemTable
    blocks: dict[str, LateBlock]

    @property
    def n_terms(self) -> int:
        """Number of columns."""
        return sum(len(block.calls) for block in self.blocks.values())

    @cached_property
    def columns(self) -> dict[str, Numbers]:
        """The column of every term of a kind: by call, then by kind, then as they came."""
        calls = [block.calls for block in self.blocks.values()]
        order = np.argsort(np.concatenate(calls), kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        ends = np.cumsum([len(each) for each in calls])[:-1]
        return dict(zip(self.blocks, np.split(place, ends), strict=True))

    @property
    def names(self) -> list[str]:
        """The term of every column."""
        names = np.empty(self.n_terms, object)
        for kind, block in self.blocks.items():
            names[self.columns[kind]] = spell_terms({kind: block.terms})
        return list(names)

    def transform(
        self, found: Mapping[str, Terms], blocks: Mapping[str, TermBlock]
    ) -> list[sparse.csr_matrix]:
        """Return the rows of the learned terms, as they are without late ones, and of the late."""
        learned, late, firsts = {}, {}, []
        for kind, terms in found.items():
            block = blocks[kind]
            counts = count_columns(terms, block.vocabulary, len(block.idf))
            learned[kind], scales = block.weigh_and_tell(counts)
            late[kind], first = self.blocks[kind].weigh(terms, scales)
            firsts.append(first)
        return [join_kinds(learned), self._join(late, np.array(firsts))]

    def _join(
        self, parts: Mapping[str, sparse.csr_matrix], firsts: NDArray[np.int32]
    ) -> sparse.csr_matrix:
        """Return the columns of all kinds, multiplied as `join_kinds` does with learned ones."""
        weights = np.array([KIND_WEIGHTS[kind] for kind in parts])
        # Parts have length 1 by their terms of the first call; those of the first of all count.
        began = firsts == firsts.min(axis=0)
        scale = 1 / np.sqrt(weights**2 @ began)
        placed = []
        for weight, (kind, part) in zip(weights, parts.items(), strict=True):
            factor = np.repeat((weight * scale).astype(np.float32), np.diff(part.indptr))
            entries = (part.data * factor, self.columns[kind][part.indices], part.indptr)
            placed.append(sparse.csr_matrix(entries, (part.shape[0], self.n_terms)))
        joined: sparse.csr_matrix = reduce(add, placed)
        return joined
