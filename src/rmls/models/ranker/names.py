"""Names of labels as evidence: which of their words stand in a row, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive, check_arrays
from rmls.core.errors import ArchiveError
from rmls.core.sparse import check_csr
from rmls.kernels.arrays import NameMatches, NamePostings
from rmls.kernels.backend import csr_arrays, get_backend
from rmls.models.ranker.combination import N_NAME_COLUMNS, Frequencies, HeldOut
from rmls.models.ranker.label_words import LabelWords, read_label_words
from rmls.models.ranker.scoring import Stages
from rmls.models.ranker.sources import Rows
from rmls.models.shared.training_set import TrainingSet

if TYPE_CHECKING:
    from rmls.models.ranker.ranker import RMLSRanker

# Labels that are listed for their names; they take the places of the weakest proposals.
N_FOUND = 30
# A word of so many names says too little about any of them to be looked up for each.
MAX_NAMES = 10_000
# What a word of a name is worth is counted in the rows of its labels, as if these many more had
# shown what the words of names are worth on average.
PRIOR_ROWS = 5.0
# Standard errors by which names must match better in rows of their labels than in others, and what
# the variance of few labels is at least.
CLEAR, LEAST_VARIANCE = 3.0, 0.01


@dataclass(frozen=True)
class NameIndex:
    """An inverted index over the words of names."""

    postings: NamePostings
    n_labels: int
    device: str = "cpu"
    kind = "names"
    n_columns = N_NAME_COLUMNS

    def look(self, rows: Rows) -> NameMatches:
        """Return the labels whose names stand in every row."""
        backend = get_backend(self.device)
        return backend.match_names(csr_arrays(rows.X), self.postings, self.n_labels)

    def find(self, seen: NameMatches, most: int) -> NDArray[np.int32]:
        """Return the labels whose names match every row best; -1 stands for none."""
        return get_backend(self.device).best_names(seen, min(N_FOUND, most, self.n_labels))

    def score(self, seen: NameMatches, labels: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return how the names of the listed labels match: five numbers of a row and a label."""
        return get_backend(self.device).score_names(seen, labels, self.n_labels)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what an archive keeps."""
        return {f"name_{part}": array for part, array in self.postings._asdict().items()}


def read_names(archive: Archive, n_features: int, n_labels: int, device: str = "cpu") -> NameIndex:
    """Read the index of an archive, refusing parts that do not belong together."""
    kinds: dict[str, tuple[Any, tuple[int | None]]] = {
        "indptr": (np.int64, (n_features + 1,)),
        "names": (np.int32, (None,)),
        "shares": (np.float32, (None,)),
        "cosines": (np.float32, (None,)),
        "owners": (np.int32, (None,)),
    }
    check_arrays(archive, {f"name_{part}": kind for part, kind in kinds.items()})
    postings = NamePostings(*(archive.arrays[f"name_{part}"] for part in kinds))
    shape = (n_features, len(postings.owners))
    check_csr(postings.shares, postings.names, postings.indptr, shape, "names")
    good = postings.cosines.shape == postings.shares.shape and bool((postings.shares > 0).all())
    good = good and bool(((postings.owners >= 0) & (postings.owners < n_labels)).all())
    if not good:
        raise ArchiveError(f"{archive.path} is damaged: the names do not belong to its labels.")
    return NameIndex(postings, n_labels, device)


@dataclass(frozen=True)
class NameTrainer:
    """Learns from rows what the words of names are worth."""

    names: LabelWords
    n_labels: int
    device: str = "cpu"
    # What a word is worth hardly changes with a tenth of the rows.
    learns_rest = False

    @classmethod
    def of(cls, model: RMLSRanker, label_text: Any) -> NameTrainer:
        """Read what `RMLSRanker.fit` was given."""
        labels, names = model._space.names, getattr(model, "feature_names_in_", None)
        n_features = int(model.n_features_in_) - int(model.dense_columns)
        names = None if names is None else names[:n_features]
        words = read_label_words(label_text, labels, n_features, names)
        return cls(words, len(labels), model.device)

    def learn(self, data: TrainingSet) -> NameIndex:
        """Return the index of the names, each word weighted by how rare and how telling it is."""
        rarity = inverse_frequencies(data.X)
        shares, cosines = weigh_names(self.names.words, rarity, self._worth(data))
        by_word, other = shares.tocsc(), cosines.tocsc()
        postings = NamePostings(
            by_word.indptr.astype(np.int64),
            by_word.indices.astype(np.int32),
            by_word.data.astype(np.float32),
            other.data.astype(np.float32),
            self.names.owners,
        )
        return NameIndex(postings, self.n_labels, self.device)

    def _worth(self, data: TrainingSet) -> NDArray[np.float64]:
        """Return how often every word of a name stands in rows that have the label."""
        words, owners = self.names.words, self.names.owners
        place = (owners, np.arange(len(owners)))
        owned = sparse.csr_matrix((np.ones(len(owners)), place), (self.n_labels, len(owners)))
        by_label = sparse.csr_matrix(owned @ abs(words))
        counts, hits = get_backend(self.device).count_name_words(
            csr_arrays(data.X), csr_arrays(data.Y), csr_arrays(by_label), data.rows, data.n_features
        )
        seen = counts > 0
        mean = float((hits[seen] / counts[seen]).mean()) if seen.any() else 1.0
        # Never 0: a word that is new says something.
        return np.asarray((hits + PRIOR_ROWS * max(mean, 0.01)) / (counts + PRIOR_ROWS))


def inverse_frequencies(X: sparse.csr_matrix) -> NDArray[np.float64]:
    """Return the logarithm of how rare every feature is, and 1."""
    counts = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
    return np.asarray(np.log((1 + X.shape[0]) / (1 + counts)) + 1)


def weigh_names(
    words: sparse.csr_matrix, rarity: NDArray[np.float64], worth: NDArray[np.float64]
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return the part of its name that every word makes up, and its part of the name's vector."""
    kept = np.bincount(words.indices, minlength=words.shape[1]) <= MAX_NAMES
    by_name = sparse.csr_matrix(
        (kept[words.indices], words.indices, words.indptr), words.shape, dtype=np.float64
    )
    by_name.eliminate_zeros()
    shares = _rows_over(_weighted(by_name, rarity * worth), 1)
    return shares, _rows_over(_weighted(by_name, rarity), 2)


def _weighted(names: sparse.csr_matrix, weights: NDArray[np.float64]) -> sparse.csr_matrix:
    return sparse.csr_matrix((weights[names.indices], names.indices, names.indptr), names.shape)


def _rows_over(names: sparse.csr_matrix, power: int) -> sparse.csr_matrix:
    """Divide every row by the root of the sum of its powers."""
    sums = np.add.reduceat(np.append(names.data**power, 0.0), names.indptr[:-1])
    length = np.repeat(sums ** (1 / power), np.diff(names.indptr))
    return sparse.csr_matrix((names.data / length, names.indices, names.indptr), names.shape)


def without_idle_names(
    stages: Stages, held: HeldOut, frequencies: Frequencies
) -> tuple[Stages, HeldOut]:
    """Return a model without its names where they say nothing of its rows, and its scores.

    Labels without rows keep them: their names are all there is.
    """
    if (frequencies.positives == 0).any() or names_tell(held):
        return stages, held
    assert held.more is not None
    names, *rest = stages.proposer.sources
    more = held.more[:, :, names.n_columns :]
    proposer = replace(stages.proposer, sources=tuple(rest))
    kept = replace(held, more=more if rest else None, has_names=False)
    return replace(stages, proposer=proposer), kept


def names_tell(held: HeldOut) -> bool:
    """Tell whether names stand in rows of their labels rather than in others that list them.

    Label by label: a name made of frequent words stands in many rows, those of its label or not.
    """
    if not held.n_more:
        return False
    labels, n_labels = held.labels.ravel(), held.truth.shape[1]
    shares, relevant = held.scores.more[:, :, 1].ravel(), held.relevant.ravel()
    means, known = np.zeros((2, n_labels)), np.ones(n_labels, dtype=bool)
    for mean, part in zip(means, (relevant, ~relevant), strict=True):
        counts = np.bincount(labels[part], minlength=n_labels)
        mean[:] = np.bincount(labels[part], shares[part], minlength=n_labels)
        mean /= np.maximum(counts, 1)
        known &= counts > 0
    gain = (means[0] - means[1])[known]
    error = np.sqrt((gain.var() + LEAST_VARIANCE) / len(gain)) if len(gain) else np.inf
    return bool(gain.sum() > CLEAR * error * len(gain))
