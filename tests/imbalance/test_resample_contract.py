"""What holds for every resampler: containers, order, seeds, sparsity, wrong input."""

from __future__ import annotations

import inspect
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from resample_samples import (
    IDS,
    OVER,
    RESAMPLERS,
    SETTINGS,
    UNDER,
    counts_of,
    make_problem,
    row_multiset,
)
from scipy import sparse
from sklearn.base import clone

import rmls
from rmls import imbalance
from rmls.core.errors import InputError
from rmls.imbalance.resampling import Resampler

every_resampler = pytest.mark.parametrize("name", RESAMPLERS)
every_setting = pytest.mark.parametrize(("name", "options"), SETTINGS, ids=IDS)
X, Y = make_problem()
N, M = Y.shape
NAMES = [f"topic {label:02d}" for label in range(M)]
INDEX = pd.Index([f"row {row * 7 % N}" for row in range(N)])


def as_lists(Y: Any) -> list[list[str]]:
    return [[NAMES[label] for label in np.flatnonzero(row)] for row in Y.toarray()]


def test_every_subclass_is_public_and_at_the_top_level() -> None:
    ours = [cls for cls in Resampler.__subclasses__() if cls.__module__.startswith("rmls.")]
    assert set(RESAMPLERS) == {cls.__name__ for cls in ours}
    assert set(OVER) | set(UNDER) == set(RESAMPLERS)
    assert all(getattr(rmls, name) is cls for name, cls in RESAMPLERS.items())
    with pytest.raises(AttributeError, match="no attribute 'MLNONE'"):
        _ = imbalance.MLNONE


@every_setting
def test_rows_of_the_output_are_rows_of_the_input(name: str, options: dict) -> None:
    sampler = RESAMPLERS[name](**options)
    X_new, Y_new = sampler.fit_resample(X, Y)
    source = sampler.sample_indices_
    n_synthetic = getattr(sampler, "n_synthetic_", 0)
    copies = slice(0, len(source) - n_synthetic)
    assert len(source) == X_new.shape[0] == Y_new.shape[0] != N
    assert (X_new[copies] != X[source[copies]]).nnz == 0
    if name in OVER:
        assert source[:N].tolist() == list(range(N))
        assert len(source) > N
    else:
        assert (np.diff(source) > 0).all()
    if name != "REMEDIAL":
        assert (Y_new[copies] != Y[source[copies]]).nnz == 0


@every_setting
def test_rows_without_labels_are_there_once(name: str, options: dict) -> None:
    sampler = RESAMPLERS[name](**options)
    _, Y_new = sampler.fit_resample(X, Y)
    bare = np.flatnonzero(np.diff(Y.indptr) == 0)
    assert len(bare) >= 2
    assert np.isin(sampler.sample_indices_, bare).sum() == len(bare)
    # A row that REMEDIAL splits into all its labels and none is no row without labels.
    made = sampler.sample_indices_[(np.diff(Y_new.indptr) == 0)]
    assert np.isin(made, bare).sum() == len(bare)
    if not getattr(sampler, "empty_copies", False):
        assert len(made) == len(bare)


@every_setting
def test_a_label_without_rows_stays_without_rows(name: str, options: dict) -> None:
    _, Y_new = RESAMPLERS[name](**options).fit_resample(X, Y)
    assert Y_new.shape[1] == M
    assert counts_of(Y_new)[M // 2] == 0


@every_setting
def test_a_seed_gives_the_same_rows_and_another_seed_others(name: str, options: dict) -> None:
    first, again = RESAMPLERS[name](**options), RESAMPLERS[name](**options)
    one, two = first.fit_resample(X, Y), again.fit_resample(X, Y)
    assert (one[0] != two[0]).nnz == (one[1] != two[1]).nnz == 0
    assert first.sample_indices_.tolist() == again.sample_indices_.tolist()
    other = RESAMPLERS[name](random_state=7, **options).fit_resample(X, Y)
    assert (row_multiset(*other) != row_multiset(*one)) == (name != "REMEDIAL")
    state = np.random.RandomState(5)
    RESAMPLERS[name](random_state=state, **options).fit_resample(X, Y)
    RESAMPLERS[name](random_state=None, **options).fit_resample(X, Y)


@every_setting
def test_the_order_of_the_rows_does_not_matter(name: str, options: dict) -> None:
    order = np.random.default_rng(3).permutation(N)
    first = RESAMPLERS[name](**options).fit_resample(X, Y)
    second = RESAMPLERS[name](**options).fit_resample(X[order], Y[order])
    assert row_multiset(*first) == row_multiset(*second)


@every_setting
def test_the_order_of_the_labels_does_not_matter(name: str, options: dict) -> None:
    order = np.random.default_rng(4).permutation(M)
    first, second = RESAMPLERS[name](**options), RESAMPLERS[name](**options)
    X_one, Y_one = first.fit_resample(X, Y)
    X_two, Y_two = second.fit_resample(X, Y[:, order])
    assert first.sample_indices_.tolist() == second.sample_indices_.tolist()
    assert (X_one != X_two).nnz == (Y_one[:, order] != Y_two).nnz == 0


FEATURES = {
    "csr": lambda X: X,
    "csc": lambda X: X.tocsc(),
    "coo": lambda X: X.tocoo(),
    "array": sparse.csr_array,
    "float64": lambda X: X.astype(np.float64),
    "dense": lambda X: X.toarray(),
    "whole numbers": lambda X: (10 * X).astype(np.int64).toarray(),
    "frame": lambda X: pd.DataFrame(
        X.toarray(), columns=[f"f{j}" for j in range(X.shape[1])], index=INDEX
    ),
    "lists": lambda X: X.toarray().tolist(),
}
LABELS = {
    "csr": lambda Y: Y,
    "csc": lambda Y: Y.tocsc().astype(np.int8),
    "lil": lambda Y: Y.tolil(),
    "array": lambda Y: sparse.csr_array(Y.astype(bool)),
    "dense": lambda Y: Y.toarray(),
    "bool": lambda Y: Y.toarray().astype(bool),
    "frame": lambda Y: pd.DataFrame(Y.toarray(), columns=NAMES, index=INDEX),
}


@pytest.mark.parametrize("give", FEATURES.values(), ids=FEATURES)
@every_resampler
def test_features_come_back_in_their_container(name: str, give: Any) -> None:
    given, sampler = give(X), RESAMPLERS[name]()
    found, _ = sampler.fit_resample(given, Y)
    if isinstance(given, list):
        given = np.asarray(given)
    assert type(found) is type(given)
    whole = np.asarray(given.dtypes.iloc[0] if isinstance(given, pd.DataFrame) else given.dtype)
    if name != "MLSMOTE" or whole.item().kind == "f":
        dtype = found.dtypes.iloc[0] if isinstance(found, pd.DataFrame) else found.dtype
        assert dtype == whole.item()
    if isinstance(given, pd.DataFrame):
        assert list(found.columns) == list(given.columns)
        assert found.index.tolist() == INDEX[sampler.sample_indices_].tolist()
        found, given = found.to_numpy(), given.to_numpy()
    plain = RESAMPLERS[name]().fit_resample(sparse.csr_matrix(given), Y)[0]
    np.testing.assert_array_equal(sparse.csr_matrix(found).toarray(), plain.toarray())


@pytest.mark.parametrize("give", LABELS.values(), ids=LABELS)
@every_resampler
def test_labels_come_back_in_their_container(name: str, give: Any) -> None:
    given, sampler = give(Y), RESAMPLERS[name]()
    _, found = sampler.fit_resample(X, given)
    assert type(found) is type(given)
    if isinstance(given, pd.DataFrame):
        assert list(found.columns) == NAMES
        assert found.index.tolist() == INDEX[sampler.sample_indices_].tolist()
        found, given = found.to_numpy(), given.to_numpy()
    assert found.dtype == given.dtype
    plain = RESAMPLERS[name]().fit_resample(X, Y)[1].toarray()
    np.testing.assert_array_equal(sparse.csr_matrix(found).toarray(), plain)


@every_resampler
def test_lists_of_names_come_back_as_lists_of_names(name: str) -> None:
    used = counts_of(Y) > 0
    _, found = RESAMPLERS[name]().fit_resample(X, as_lists(Y))
    _, wanted = RESAMPLERS[name]().fit_resample(X, Y)
    assert found == as_lists(wanted)
    assert not used.all()


@every_resampler
def test_a_series_of_lists_stays_one_with_its_index(name: str) -> None:
    sampler = RESAMPLERS[name]()
    _, found = sampler.fit_resample(X, pd.Series(as_lists(Y), index=INDEX, name="topics"))
    assert found.name == "topics"
    assert found.index.tolist() == INDEX[sampler.sample_indices_].tolist()
    assert found.tolist() == sampler.fit_resample(X, as_lists(Y))[1]


@every_setting
def test_the_input_is_not_changed(name: str, options: dict) -> None:
    X_given, Y_given = X.copy(), Y.copy()
    RESAMPLERS[name](**options).fit_resample(X_given, Y_given)
    assert (X_given != X).nnz == (Y_given != Y).nnz == 0


@every_resampler
def test_stored_zeros_and_unsorted_columns_change_nothing(name: str) -> None:
    pairs = sparse.csr_matrix(X, dtype=np.float64)
    # Every row backwards, and a stored zero in the first column.
    unsorted = pairs[:, ::-1].tocsc()[:, ::-1].tocsr()
    unsorted.indices, unsorted.data = unsorted.indices.copy(), unsorted.data.copy()
    for start, stop in zip(pairs.indptr[:-1], pairs.indptr[1:], strict=True):
        unsorted.indices[start:stop] = pairs.indices[start:stop][::-1]
        unsorted.data[start:stop] = pairs.data[start:stop][::-1]
    unsorted.has_sorted_indices = False
    coo = unsorted.tocoo()
    entries = (np.append(coo.data, 0.0), (np.append(coo.row, 0), np.append(coo.col, 0)))
    given = sparse.coo_matrix(entries, shape=X.shape)
    found = RESAMPLERS[name]().fit_resample(given, Y)
    assert row_multiset(*found) == row_multiset(*RESAMPLERS[name]().fit_resample(pairs, Y))


@every_resampler
def test_labels_that_are_equally_frequent_stay_as_they_are(name: str) -> None:
    Y_even = np.eye(4, dtype=int)[np.arange(40) % 4]
    X_even = np.random.default_rng(0).random((40, 3))
    X_new, Y_new = RESAMPLERS[name]().fit_resample(X_even, Y_even)
    np.testing.assert_array_equal(X_new, X_even)
    np.testing.assert_array_equal(Y_new, Y_even)


@every_resampler
def test_a_minority_of_single_rows_is_taken_in_stride(name: str) -> None:
    Y_few = np.zeros((10, 4), dtype=int)
    Y_few[:, 0] = 1
    Y_few[[4, 7], [1, 2]] = 1
    X_new, Y_new = RESAMPLERS[name]().fit_resample(np.arange(10.0)[:, None], Y_few)
    assert len(X_new) == len(Y_new)
    assert (Y_new[:, 1:3].sum(axis=0) >= 1).all()


@every_resampler
def test_rows_without_features_are_rows(name: str) -> None:
    X_new, Y_new = RESAMPLERS[name]().fit_resample(sparse.csr_matrix((N, 5)), Y)
    assert X_new.shape[0] == Y_new.shape[0]
    assert X_new.nnz == 0


# -- sparsity ------------------------------------------------------------------------------------


class NeverDense(sparse.csr_matrix):
    def toarray(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("made dense")

    todense = toarray


@every_setting
def test_never_asks_for_a_dense_matrix(
    name: str, options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cls in (sparse.csr_matrix, sparse.csc_matrix):
        monkeypatch.setattr(cls, "toarray", NeverDense.toarray)
        monkeypatch.setattr(cls, "todense", NeverDense.toarray)
    RESAMPLERS[name](**options).fit_resample(X, Y)


@every_setting
def test_memory_is_far_below_a_dense_matrix_of_anything(name: str, options: dict) -> None:
    n_samples, n_features, n_labels = 6000, 50_000, 3000
    rng = np.random.default_rng(0)
    wide = sparse.random(n_samples, n_features, 2e-4, "csr", np.float32, rng)
    popular = np.minimum(rng.geometric(0.002, (n_samples, 3)), n_labels) - 1
    rows = np.repeat(np.arange(n_samples), 3)
    many = sparse.csr_matrix(
        (np.ones(rows.size), (rows, popular.ravel())), shape=(n_samples, n_labels)
    ).sign()
    RESAMPLERS[name](**options).fit_resample(X, Y)
    tracemalloc.start()
    RESAMPLERS[name](**options).fit_resample(wide, many.astype(np.int32))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # One byte for every pair of rows, or of a row and a label, would be 36 and 18 million.
    assert peak < 15e6


# -- parameters and wrong input ------------------------------------------------------------------


@every_setting
def test_parameters_are_those_of_scikit_learn(name: str, options: dict) -> None:
    sampler = RESAMPLERS[name](**options)
    assert sampler.get_params().items() >= options.items()
    copy = clone(sampler)
    assert copy is not sampler
    assert copy.get_params() == sampler.get_params()
    assert repr(sampler).startswith(f"{name}(")
    known = inspect.signature(RESAMPLERS[name]).parameters
    assert set(sampler.get_params()) == set(known)
    key, value = next(iter(sampler.get_params().items()))
    assert sampler.set_params(**{key: value}) is sampler


def with_value(value: float) -> np.ndarray:
    changed = X.toarray()
    changed[3, 1] = value
    return changed


WRONG_DATA: dict[str, tuple[Any, Any, str]] = {
    "fewer labels": (X, Y[:-1], f"Y has {N - 1} rows but X has {N}"),
    "fewer rows": (X[:-1], Y, f"Y has {N} rows but X has {N - 1}"),
    "no labels given": (X, None, "y is None"),
    "1-d classes": (X, np.arange(N) % 3, "y is 1-d"),
    "a 2 among the labels": (X, Y * 2, "Y must hold only 0 and 1"),
    "one label": (X, Y[:, :1], "Y has 1 label; balancing needs at least 2 labels"),
    "one row": (X[:1], Y[:1], "Y has 1 row; balancing needs at least 2 rows"),
    "no columns": (X, Y[:, :0], "Y has no columns"),
    "no positive": (X, Y * 0, "no row of Y has a label"),
    "no name": (X, [[] for _ in range(N)], "Y names no label"),
    "nan": (with_value(np.nan), Y, "Input X contains NaN"),
    "infinity": (with_value(np.inf), Y, "Input X contains infinity"),
    "sparse nan": (sparse.csr_matrix(with_value(np.nan)), Y, "Input X contains NaN"),
    "no rows": (X[:0], Y[:0], "0 sample"),
    "1-d X": (np.arange(N), Y, "Expected 2D array"),
    "text": ([["a"]] * N, Y, "could not convert"),
}


@pytest.mark.parametrize(("X", "y", "words"), WRONG_DATA.values(), ids=WRONG_DATA)
@every_resampler
def test_wrong_data_are_refused_in_a_sentence(name: str, X: Any, y: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        RESAMPLERS[name]().fit_resample(X, y)
    assert "\n" not in str(caught.value)


WRONG_OPTIONS = {
    "sampling_strategy": [-0.1, 0, "auto", None, np.nan, np.inf, True],
    "n_neighbors": [0, -1, 2.5, "5", None],
    "labels": ["mean", None, 3],
    "draw": ["both", None],
    "threshold": [-0.1, "median", None, np.nan],
}


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        (name, option, value)
        for name, cls in RESAMPLERS.items()
        for option, values in WRONG_OPTIONS.items()
        if option in inspect.signature(cls).parameters
        for value in values
    ],
)
def test_wrong_options_are_refused_by_name(name: str, option: str, value: Any) -> None:
    sampler = RESAMPLERS[name](**{option: value})
    with pytest.raises(InputError, match=f"^{option} must .*got") as caught:
        sampler.fit_resample(X, Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", UNDER)
@pytest.mark.parametrize("share", [1.0, 1.5])
def test_all_rows_cannot_be_deleted(name: str, share: float) -> None:
    with pytest.raises(InputError, match="sampling_strategy must lie between 0 and 1"):
        RESAMPLERS[name](share).fit_resample(X, Y)
