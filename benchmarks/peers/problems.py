"""Data sets, their splits and features, the same for every peer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from exchange import Problem, write_problem
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize

from rmls.core.errors import RmlsError
from rmls.datasets import Dataset, load, make_longtail

SMALL = ("enron", "cooking")
GENERATED = "generated"
TEXT = frozenset({"eurlex57k_4k", "eurlex57k", "debdeps", "tate", "debtags", "cooking", GENERATED})
N_FOLDS = 5
MAX_SAMPLE_ROWS = 10_000
# Share of its entries that a drawn row keeps.
KEPT_ENTRIES = 0.6


@dataclass(frozen=True)
class Split:
    """One training and test part of a data set, with raw and prepared features."""

    dataset: str
    fold: str
    features: str
    train: Dataset
    test: Dataset
    X_train: sparse.csr_matrix
    X_test: sparse.csr_matrix
    sample: np.ndarray

    @property
    def title(self) -> str:
        """Describe the data in a line."""
        return (
            f"{self.train.n_samples:,} training and {self.test.n_samples:,} test rows, "
            f"{self.train.n_features:,} features, {self.train.n_labels:,} labels"
        )

    def write(self, path: Path, raw: bool) -> None:
        """Write what an adapter may see to a file."""
        X_train, X_test = (self.train.X, self.test.X) if raw else (self.X_train, self.X_test)
        write_problem(path, Problem(X_train, self.train.Y, X_test, self.sample))


def read_dataset(name: str) -> Dataset:
    """Load a data set by name; ``generated`` is made here and needs no files."""
    if name == GENERATED:
        data = make_longtail(1500, 1000, 200)
        data.name = GENERATED
        return data
    return load(name)


def default_names() -> list[str]:
    """Return the small data sets that are at hand, or the generated one."""
    return [name for name in SMALL if _at_hand(name)] or [GENERATED]


def _at_hand(name: str) -> bool:
    try:
        load(name)
    except RmlsError:
        return False
    return True


def draw_rows(data: Dataset, n_rows: int) -> Dataset:
    """Return rows drawn from a data set, of which each keeps six in ten of its entries.

    More rows of many labels than there are sets of: time and memory at that size, not quality.
    """
    rng = np.random.default_rng(0)
    drawn = data.take(rng.integers(0, data.n_samples, n_rows), f"{data.name}, drawn")
    drawn.X.data[rng.random(drawn.X.nnz) >= KEPT_ENTRIES] = 0
    drawn.X.eliminate_zeros()
    return drawn


def splits(
    data: Dataset, name: str, features: str, folds: list[int] | None, n_drawn: int | None = None
) -> Iterator[Split]:
    """Yield the wanted splits of a data set.

    Without ``folds`` that is the data set's own split, or all five folds where it has none. With
    ``n_drawn`` so many rows are drawn from the training rows.
    """
    for split in _own_splits(data, name, features, folds):
        if n_drawn is None:
            yield split
            continue
        train, fold = draw_rows(split.train, n_drawn), f"{split.fold}, {n_drawn} rows drawn"
        yield make_split(name, fold, split.features, train, split.test)


def _own_splits(
    data: Dataset, name: str, features: str, folds: list[int] | None
) -> Iterator[Split]:
    kind = features if features != "auto" else ("tfidf" if name in TEXT else "raw")
    if folds is None and data.n_train is not None:
        yield make_split(name, "given", kind, data.train, data.test)
        return
    parts = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(data.X))
    for number in range(N_FOLDS) if folds is None else folds:
        train, test = (data.take(rows) for rows in parts[number])
        yield make_split(name, str(number), kind, train, test)


def make_split(name: str, fold: str, features: str, train: Dataset, test: Dataset) -> Split:
    """Prepare the features of a split; tf-idf is fitted on the training rows."""
    X_train, X_test = train.X, test.X
    if features == "unit":
        X_train, X_test = normalize(X_train), normalize(X_test)
    if features == "tfidf":
        transform = TfidfTransformer(sublinear_tf=True).fit(X_train)
        X_train, X_test = transform.transform(X_train), transform.transform(X_test)
    n_sample = min(MAX_SAMPLE_ROWS, train.n_samples)
    sample = np.random.default_rng(0).permutation(train.n_samples)[:n_sample]
    return Split(name, fold, features, train, test, X_train, X_test, np.sort(sample))
