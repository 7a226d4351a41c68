"""What a ranker is trained on and with, and what it may know besides: names, dense columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace
from rmls.core.lean.learn import clone
from rmls.core.options import is_auto, read_seed
from rmls.core.sparse import as_label_csr, fingerprints, is_mapped, slice_rows
from rmls.kernels.arrays import Pairs
from rmls.kernels.backend import Vectors
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.sampling import count_passes, count_rows
from rmls.models.shared.training_set import TrainingSet, count_folds

Floats = NDArray[np.float32]

# Of the vectors. Over more rows fewer passes of larger steps do what eight of small ones did
# (docs/research/accuracy-log.md). Not on a device: its steps are those of whole batches, and a pass
# costs next to nothing.
REPRESENTATION: dict[str, Any] = {
    "n_components": 128,
    "sampler": "mixture",
    "negatives_per_positive": 20,
    "learning_rate": 0.1,
    "max_iter": 8,
}
SOME_ROWS, MANY_ROWS = 2_000, 8_000
FOR_SOME = {"learning_rate": 0.15, "max_iter": 5}
FOR_MANY = {"negatives_per_positive": 10, "learning_rate": 0.2, "max_iter": 4}
# Labels most of which fit into a list, of rows enough: half of the components and fewer steps rank
# them as well, and models of half of the rows calibrate as well (docs/research/accuracy-log.md).
# Where there are more labels, rare ones would miss the other half.
FEW_LABELS, ENOUGH_ROWS = 200, 1_000
FOR_FEW_LABELS = {
    "n_components": 64,
    "negatives_per_positive": 5,
    "learning_rate": 0.15,
    "max_iter": 5,
}
# Plenty for means; a covariance of 128 columns wants some thousands.
BACKGROUND_ROWS = 5_000
# Rows, and pairs of a label and a row, whose numbers are in memory at a time.
ROWS_AT_ONCE, PAIRS_AT_ONCE = 1_000, 1 << 16
# Of the memory there is, what rows and lists may take before they go to disk.
SHARE_IN_MEMORY = 0.5
# Below, a tenth of the rows is too few to learn the combination from (docs/research/ranker.md).
CROSS_FIT_ROWS = 5_000
MIN_ROWS = 30
# Times 150 listed labels, plenty of pairs for the 30 coefficients of the combination.
HELD_OUT_ROWS = 2_000
# Folds are scored until so many rows are: every one costs a model (docs/research/accuracy-log.md).
FOLD_ROWS = 1_000


class Rows(NamedTuple):
    """Normalised rows, as the stages of a ranker see them.

    Attributes
    ----------
    X : CSR matrix of float32, shape (n_rows, n_features)
    dense : ndarray of float32, shape (n_rows, n_dense), or None
        Columns that a source of their own looks at, and nothing else.
    """

    X: sparse.csr_matrix
    dense: Floats | None = None

    def part(self, start: int, stop: int) -> Rows:
        """Return some rows, one after the other."""
        if start == 0 and stop >= self.X.shape[0]:
            return self
        dense = None if self.dense is None else self.dense[start:stop]
        return Rows(slice_rows(self.X, start, stop), dense)

    @classmethod
    def of(cls, data: TrainingSet) -> Rows:
        """Return the rows of a set."""
        # A compact set is its own rows: a copy would double the memory.
        if data.n_rows == data.X.shape[0] and np.array_equal(data.rows, np.arange(data.n_rows)):
            return cls(data.X, data.dense)
        return cls(data.features, None if data.dense is None else data.dense[data.rows])

    @classmethod
    def split(cls, X: sparse.csr_matrix, n_dense: int) -> Rows:
        """Return rows whose last columns are the dense ones.

        Examples
        --------
        >>> rows = Rows.split(sparse.csr_matrix(np.float32([[1, 0, 2], [0, 3, 0]])), 1)
        >>> rows.X.toarray().tolist(), rows.dense.tolist()
        ([[1.0, 0.0], [0.0, 3.0]], [[2.0], [0.0]])
        """
        if not n_dense:
            return cls(X)
        n_rows, n_sparse = int(X.shape[0]), int(X.shape[1]) - n_dense
        if n_sparse < 1:
            raise InputError(
                f"dense_columns is {n_dense} but X has {X.shape[1]} columns; at least one must be "
                "left. Vectors alone need no dense_columns."
            )
        is_dense = X.indices >= n_sparse
        dense = np.zeros((n_rows, n_dense), np.float32)
        rows = np.repeat(np.arange(n_rows), np.diff(X.indptr))[is_dense]
        dense[rows, X.indices[is_dense] - n_sparse] = X.data[is_dense]
        ends = np.concatenate([[0], np.cumsum(~is_dense)])[X.indptr].astype(X.indptr.dtype)
        parts = (X.data[~is_dense], X.indices[~is_dense], ends)
        return cls(sparse.csr_matrix(parts, (n_rows, n_sparse)), dense)


@dataclass(frozen=True)
class Background:
    """What training rows are like on the whole: what later learning is measured against.

    Attributes
    ----------
    mean, squares, shares : ndarray of float32, shape (n_features,)
        Mean and mean square of every feature, and the share of the rows that have it.
    hidden : ndarray of float32, shape (k,)
        Mean of the vectors of rows.
    spread : ndarray of float32, shape (k, k)
        Their covariance.
    certainty : ndarray of float32, shape (n_labels,)
        Second derivative of the loss of a label's classifier in its bias, at its solution: how
        firmly the rows that it was learned from hold it.
    """

    mean: Floats
    squares: Floats
    shares: Floats
    hidden: Floats
    spread: Floats
    certainty: Floats

    @classmethod
    def of(cls, data: TrainingSet, vectors: Vectors, classifiers: Any) -> Background:
        """Return the background of compact rows and of the classifiers trained on them."""
        # Rows come in the order of their fingerprints: the first ones are a fair sample.
        X, n_rows = slice_rows(data.X, 0, BACKGROUND_ROWS), min(data.n_rows, BACKGROUND_ROWS)
        sums = np.zeros((3, data.n_features))
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = slice_rows(X, start, start + ROWS_AT_ONCE)
            values = part.data.astype(np.float64)
            for total, some in zip(sums, (values, values**2, values != 0), strict=True):
                total += np.bincount(part.indices, some, data.n_features)
        hidden = vectors.hidden(X)
        centre = hidden.mean(axis=0)
        hidden -= centre
        spread = hidden.T @ hidden / np.float32(n_rows)
        mean, squares, shares = (sums / n_rows).astype(np.float32)
        certainty = _certainty(classifiers, data.n_labels)
        return cls(mean, squares, shares, centre, spread, certainty)


def _certainty(classifiers: Any, n_labels: int) -> Floats:
    """Return 1 for the penalty, and what every row adds that has a say in the solution."""
    if classifiers is None:
        return np.ones(n_labels, np.float32)
    if classifiers.curvatures is not None:
        return np.asarray(1 + classifiers.curvatures)
    costs = (classifiers.row_costs, classifiers.label_costs, classifiers.options.loss)
    return 1 + sum_curvatures(classifiers.pairs, classifiers.duals, *costs)


def sum_curvatures(
    pairs: Pairs, duals: Floats, row_costs: Floats, label_costs: Floats, loss: str
) -> Floats:
    """Return what the rows that have a say in the solution of a label add to its certainty."""
    found = np.zeros(len(label_costs))
    for start in range(0, int(pairs.indptr[-1]), PAIRS_AT_ONCE):
        # Few pairs have a say: those at which the loss has a slope.
        places = start + np.flatnonzero(duals[start : start + PAIRS_AT_ONCE] > 0)
        labels = np.searchsorted(pairs.indptr, places, side="right") - 1
        costs = label_costs[labels] * row_costs[pairs.rows[places]]
        if loss == "logistic":
            # With p = a / C, C p (1 - p).
            share = np.minimum(duals[places] / np.maximum(costs, 1e-30), 1)
            costs = duals[places] * (1 - share) / 2
        if len(labels):
            found[labels[0] : labels[-1] + 1] += np.bincount(labels - labels[0], 2 * costs)
    return found.astype(np.float32)


class Source(Protocol):
    """What else is known of a row and a label, besides the vectors and the sparse weights."""

    @property
    def kind(self) -> str:
        """What an archive calls it."""
        ...

    @property
    def n_columns(self) -> int:
        """Numbers of a row and a label."""
        ...

    def look(self, rows: Rows) -> Any:
        """Return what there is to see in a few normalised rows; the next two start from it."""
        ...

    def find(self, seen: Any, most: int) -> NDArray[np.int32]:
        """Return labels that should be listed for every row, at most so many; -1 is none."""
        ...

    def score(self, seen: Any, labels: NDArray[np.int32]) -> Floats:
        """Return the numbers of the listed labels of every row: (n_rows, size, n_columns)."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what an archive keeps."""
        ...


@dataclass(frozen=True)
class Silent:
    """Says nothing: keeps the columns of a source where a block of labels has none."""

    n_columns: int
    kind = "silent"

    def look(self, rows: Rows) -> int:
        """Return the number of rows."""
        return int(rows.X.shape[0])

    def find(self, seen: int, most: int) -> NDArray[np.int32]:
        """Return no label."""
        return np.full((seen, 1), -1, np.int32)

    def score(self, seen: int, labels: NDArray[np.int32]) -> Floats:
        """Return zeros."""
        return np.zeros((*labels.shape, self.n_columns), np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return nothing."""
        return {}


class SourceTrainer(Protocol):
    """What learns a source."""

    @property
    def learns_rest(self) -> bool:
        """Whether it is worth to learn again when the held-out rows may be learned from."""
        ...

    def learn(self, data: TrainingSet) -> Source:
        """Return the source that was learned from normalised rows."""
        ...


def lay_out(model: Any, data: TrainingSet) -> TrainingSet:
    """Return the rows normalised and compact, with the dense columns apart.

    Rows of a store go from file to file where memory has no room for them.
    """
    if is_mapped(data.X):
        from rmls.models.ranker.large.on_disk import lay_out_on_disk, needs_disk

        if needs_disk(model, data):
            return lay_out_on_disk(model, data)
    X, dense = Rows.split(data.X, int(model.dense_columns))
    return cast(TrainingSet, model._normalized(replace(data, X=X, dense=dense)).compact())


class Folds(NamedTuple):
    """So many folds, of which the first ones are scored by models of the other rows."""

    n_folds: int
    n_scored: int


def split_rows(
    data: TrainingSet, folds: int | str, fraction: float, seed: int
) -> tuple[TrainingSet, Folds]:
    """Return the set, with rows held out where there are no folds, and the folds."""
    count, auto = count_folds(folds, data.n_rows, CROSS_FIT_ROWS), is_auto(folds)
    # Too few to leave any out: the combination has to trust the scores of training rows.
    if data.n_rows < MIN_ROWS:
        return data, Folds(0, 0)
    if not count:
        return data.hold_out(min(fraction, HELD_OUT_ROWS / data.n_rows), seed), Folds(0, 0)
    if not auto:
        return data, Folds(count, count)
    count = 2 if has_few_labels(data) else count
    return data, Folds(count, min(count, math.ceil(FOLD_ROWS * count / data.n_rows)))


def has_few_labels(data: TrainingSet) -> bool:
    """Whether there are so few labels, and so many rows of them, that less work does as well."""
    return data.n_labels <= FEW_LABELS and data.n_rows > ENOUGH_ROWS


def make_sources(model: Any, label_text: Any) -> list[SourceTrainer]:
    """Return what learns the further sources of a ranker that is being fitted."""
    sources: list[SourceTrainer] = []
    if label_text is not None:
        from rmls.models.ranker.names import NameTrainer

        # Names come first: the combination knows their columns.
        sources.append(NameTrainer.of(model, label_text))
    if model.dense_columns:
        from rmls.models.ranker.archive import precise
        from rmls.models.ranker.dense import DenseTrainer

        sources.append(DenseTrainer(precise(model.precision), model.device))
    return sources


def _for_size(n_rows: int, data: TrainingSet) -> dict[str, Any]:
    """Return what is other than usual with so many rows and labels."""
    if n_rows >= MANY_ROWS:
        return FOR_MANY
    if has_few_labels(data):
        return FOR_FEW_LABELS
    return FOR_SOME if n_rows >= SOME_ROWS else {}


def make_members(ranker: Any, data: TrainingSet) -> list[RMLS]:
    """Return the settings of the representations, with as many passes on parts of the rows."""
    first = read_seed(ranker.random_state)
    n_rows = count_rows(data.weights)
    # More than RMLS alone takes: vectors that only propose may be short (docs/research/ranker.md).
    l2 = min(max(0.001, 5.0 / n_rows), 0.01)
    given = REPRESENTATION | (_for_size(n_rows, data) if ranker.device == "cpu" else {})
    own = {name: getattr(ranker, name) for name in ("n_components", "max_iter")}
    given = given | {name: value for name, value in own.items() if not is_auto(value)}
    model = RMLS(l2=l2, **given)
    if ranker.representation is not None:
        model = clone(ranker.representation)
    fixed = {
        "max_iter": count_passes(model.max_iter, n_rows),
        "normalize": "none",
        "n_jobs": ranker.n_jobs,
        "verbose": ranker.verbose,
        "device": ranker.device,
    }
    seeds = range(first, first + ranker.n_models)
    return [clone(model).set_params(random_state=seed, **fixed) for seed in seeds]


@dataclass(frozen=True)
class Twins:
    """Kinds of labels; labels of one kind are in the same rows, and share a vector.

    Where most labels are rare, many come in one row only, some of them in the same one, and many in
    none: vectors that are learned from rows cannot tell them apart. Equal vectors are learned once,
    and a search looks at them once (`rmls.models.ranker.label_index`).

    Attributes
    ----------
    kinds : ndarray of int32, shape (n_labels,)
        The kind of every label; kinds are numbered by their first labels.
    firsts : ndarray of int64, shape (n_kinds,)
        The first label of every kind.

    Examples
    --------
    >>> twins = Twins.of(sparse.csr_matrix([[1, 0, 1, 0, 0], [0, 1, 0, 0, 0]]))
    >>> twins.kinds.tolist(), twins.firsts.tolist()
    ([0, 1, 0, 2, 2], [0, 1, 3])
    """

    kinds: NDArray[np.int32]
    firsts: NDArray[np.int64]

    @classmethod
    def of(cls, Y: sparse.csr_matrix) -> Twins:
        """Find the kinds of labels."""
        prints = fingerprints(as_label_csr(Y).T.tocsr())
        _, firsts, kinds = np.unique(prints, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order))
        return cls(numbers[kinds], firsts[order].astype(np.int64))

    @classmethod
    def none(cls, n_labels: int) -> Twins:
        """Let every label be of its own kind."""
        return cls(np.arange(n_labels, dtype=np.int32), np.arange(n_labels))

    def merge(self, space: LabelSpace, data: TrainingSet) -> tuple[LabelSpace, TrainingSet]:
        """Return the labels and the rows with one label of every kind."""
        if len(self.firsts) == len(self.kinds):
            return space, data
        names = [space.names[first] for first in self.firsts]
        return replace(space, names=names), replace(data, Y=as_label_csr(data.Y[:, self.firsts]))

    def spread(self, vectors: Vectors) -> Vectors:
        """Return the vectors of all labels from those of the kinds."""
        params = vectors.params
        own = params._replace(L=params.L[self.kinds], c=params.c[self.kinds])
        return replace(vectors, params=own)
