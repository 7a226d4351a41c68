"""Training rows that a ranker keeps, so that it can show what its answers rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError
from rmls.core.sparse import are_within, check_csr, is_row_pointer
from rmls.models.ranker.explanation import SimilarRow
from rmls.models.shared.sparse_archive import read_csr, sparse_state
from rmls.models.shared.training_set import TrainingSet

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

# Characters of a text that are kept.
BEGINNING = 200
X, NUMBERS, TEXTS, BOUNDS = "kept_x", "kept_numbers", "kept_texts", "kept_bounds"
LABEL_PTR, LABELS = "kept_y_indptr", "kept_y_indices"


@dataclass(frozen=True)
class KeptRows:
    """Distinct training rows.

    Attributes
    ----------
    X : CSR matrix of float32, shape (n_rows, n_features)
        Scaled, without dense columns.
    label_ptr, labels : ndarray of int64 and int32
        The labels of every row.
    numbers : ndarray of int64, shape (n_rows,)
        Their numbers among the rows that `fit` was given.
    texts, bounds : ndarray of uint8 and int64, optional
        UTF-8 bytes of the beginnings of their texts, and where each begins and ends.
    """

    X: sparse.csr_matrix
    label_ptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    numbers: NDArray[np.int64]
    texts: NDArray[np.uint8] | None = None
    bounds: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, data: TrainingSet, numbers: NDArray[np.int64]) -> KeptRows:
        """Return the rows of a set that holds no others."""
        Y = data.Y
        return cls(data.X, Y.indptr.astype(np.int64), Y.indices.astype(np.int32), numbers)

    def with_texts(self, beginnings: Sequence[str]) -> KeptRows:
        """Return the rows with the beginnings of the texts of all rows that `fit` was given."""
        chosen = [beginnings[number].encode("utf-8", "replace") for number in self.numbers.tolist()]
        bounds = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum([len(text) for text in chosen], out=bounds[1:])
        return replace(self, texts=np.frombuffer(b"".join(chosen), np.uint8), bounds=bounds)

    def renumbered(self, place: NDArray[np.int64]) -> KeptRows:
        """Return the rows with other numbers of their labels; -1 is no label any more.

        Examples
        --------
        >>> none = sparse.csr_matrix((2, 1), dtype=np.float32)
        >>> kept = KeptRows(none, np.array([0, 2, 3]), np.int32([0, 2, 1]), np.arange(2))
        >>> kept.renumbered(np.array([1, 0, 1])).labels.tolist()
        [1, 0]
        """
        rows = np.repeat(np.arange(len(self.numbers)), np.diff(self.label_ptr))
        labels = place[np.asarray(self.labels)]
        # Two labels of a row may have become one.
        pairs = np.unique(np.stack([rows, labels], axis=1)[labels >= 0], axis=0)
        counts = np.bincount(pairs[:, 0], minlength=len(self.numbers))
        label_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return replace(self, label_ptr=label_ptr, labels=pairs[:, 1].astype(np.int32))

    def widened(self, n_new: int) -> KeptRows:
        """Return the rows with features behind, which none of them has."""
        parts = (self.X.data, self.X.indices, self.X.indptr)
        shape = (self.X.shape[0], self.X.shape[1] + n_new)
        return replace(self, X=sparse.csr_matrix(parts, shape))

    def append(self, rows: sparse.csr_matrix, Y: sparse.csr_matrix, first: int) -> KeptRows:
        """Return these rows and further ones, the first of which has a given number."""
        ends = self.label_ptr[-1] + Y.indptr[1:].astype(np.int64)
        numbers = np.arange(first, first + rows.shape[0])
        bounds = self.bounds
        if bounds is not None:
            bounds = np.concatenate([bounds, np.repeat(bounds[-1:], len(numbers))])
        return replace(
            self,
            X=sparse.vstack([self.X, rows], format="csr"),
            label_ptr=np.concatenate([self.label_ptr, ends]),
            labels=np.concatenate([self.labels, Y.indices.astype(np.int32)]),
            numbers=np.concatenate([self.numbers, numbers]),
            bounds=bounds,
        )

    def with_last_texts(self, beginnings: Sequence[str]) -> KeptRows:
        """Return the rows with the beginnings of the texts of the last of them."""
        if self.texts is None or self.bounds is None:
            return self
        chosen = [text.encode("utf-8", "replace") for text in beginnings]
        before = self.bounds[: len(self.numbers) - len(chosen) + 1]
        ends = before[-1] + np.cumsum([len(text) for text in chosen])
        added = np.frombuffer(b"".join(chosen), np.uint8)
        return replace(
            self,
            texts=np.concatenate([self.texts, added]),
            bounds=np.concatenate([before, ends]).astype(np.int64),
        )

    def nearest(
        self, row: sparse.csr_matrix, label: int, k: int, names: Sequence[Any]
    ) -> list[SimilarRow]:
        """Return the rows with a label whose features have the largest cosine with a row."""
        places = np.flatnonzero(np.asarray(self.labels) == label)
        having = np.searchsorted(self.label_ptr, places, side="right") - 1
        # A row may be long and another short: the cosine knows no length.
        own = self.X[having]
        lengths = np.sqrt(np.asarray(own.multiply(own).sum(axis=1)).ravel() * row.power(2).sum())
        products = np.asarray((own @ row.T).todense()).ravel()
        cosines = products / np.where(lengths > 0, lengths, 1)
        best = np.lexsort([self.numbers[having], -cosines])[:k]
        return [
            SimilarRow(
                int(self.numbers[having[at]]),
                float(cosines[at]),
                [names[each] for each in self._labels_of(int(having[at]))],
                self._text_of(int(having[at])),
            )
            for at in best.tolist()
        ]

    def _labels_of(self, row: int) -> list[int]:
        start, stop = self.label_ptr[row : row + 2].tolist()
        found: list[int] = self.labels[start:stop].tolist()
        return found

    def _text_of(self, row: int) -> str | None:
        if self.texts is None or self.bounds is None:
            return None
        start, stop = self.bounds[row : row + 2].tolist()
        return self.texts[start:stop].tobytes().decode("utf-8", "replace")

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what an archive keeps."""
        found = sparse_state(X, self.X)
        found |= {LABEL_PTR: self.label_ptr, LABELS: self.labels, NUMBERS: self.numbers}
        if self.texts is not None and self.bounds is not None:
            found |= {TEXTS: self.texts, BOUNDS: self.bounds}
        return found


def read_kept_rows(model: RMLSRanker, archive: Archive) -> KeptRows | None:
    """Read the rows of an archive, refusing parts that do not belong together."""
    if NUMBERS not in archive.arrays:
        return None
    check_arrays(archive, {NUMBERS: (np.int64, (None,))})
    numbers = archive.arrays[NUMBERS]
    n_rows = len(numbers)
    kinds: dict[str, Any] = {LABEL_PTR: (np.int64, (n_rows + 1,)), LABELS: (np.int32, (None,))}
    check_arrays(archive, kinds)
    rows = read_csr(archive, X, (n_rows, int(model.n_features_in_) - int(model.dense_columns)))
    label_ptr, labels = archive.arrays[LABEL_PTR], archive.arrays[LABELS]
    check_csr(labels, labels, label_ptr, (n_rows, model._space.n_labels), "kept_y")
    if not are_within(numbers, model.n_samples_):
        raise ArchiveError(f"{archive.path} is damaged: it keeps rows that it was not given.")
    kept = KeptRows(rows, label_ptr, labels, numbers)
    if TEXTS not in archive.arrays:
        return kept
    check_arrays(archive, {TEXTS: (np.uint8, (None,)), BOUNDS: (np.int64, (n_rows + 1,))})
    texts, bounds = archive.arrays[TEXTS], archive.arrays[BOUNDS]
    if not is_row_pointer(bounds, n_rows, len(texts)):
        raise ArchiveError(f"{archive.path} is damaged: the kept texts do not fit the kept rows.")
    return replace(kept, texts=texts, bounds=bounds)


def text_beginning(fields: Sequence[Any]) -> str:
    """Return the beginning of a row of texts, in one line.

    Examples
    --------
    >>> text_beginning(["A title", None, "and  a body"])
    'A title and a body'
    """
    # Twice as much: blanks are put together afterwards.
    start = [field[: 2 * BEGINNING] for field in fields if isinstance(field, str)]
    return " ".join(" ".join(start).split())[:BEGINNING]
