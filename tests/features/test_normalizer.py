"""Normalisation against dense arithmetic, and what `auto` chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from tolerances import assert_close

from rmls.core.errors import InputError
from rmls.features import Normalizer, fit_normalizer, unit_rows
from rmls.features.normalize import MAX_DEVIATIONS, MODES, choose_mode

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(0.4, (30, 8)).astype(np.float32)
SIGNED = (RNG.standard_normal((30, 8)) * (RNG.random((30, 8)) < 0.4)).astype(np.float32)
DENSE = (RNG.standard_normal((30, 8)) * 10.0 ** np.arange(8) + 3).astype(np.float32)


def csr(table: np.ndarray) -> sparse.csr_matrix:
    return sparse.csr_matrix(np.asarray(table, dtype=np.float32))


def by_length(table: np.ndarray) -> np.ndarray:
    lengths = np.sqrt((table.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    return table / np.where(lengths > 0, lengths, 1)


def normalize_slowly(mode: str, table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The definition of every mode, dense and in float64."""
    table = table.astype(np.float64)
    share = (weights / weights.sum())[:, None]
    if mode == "none":
        return table
    if mode == "l2":
        return by_length(table)
    if mode == "log_l2":
        return by_length(np.log1p(table))
    if mode == "rescale":
        root = np.sqrt((share * table**2).sum(axis=0))
        return by_length(np.clip(table / root, -MAX_DEVIATIONS, MAX_DEVIATIONS))
    mean = (share * table).sum(axis=0)
    deviation = np.sqrt((share * (table - mean) ** 2).sum(axis=0))
    limited = np.clip((table - mean) / deviation, -MAX_DEVIATIONS, MAX_DEVIATIONS)
    return limited / np.sqrt(table.shape[1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_follows_its_definition(mode: str, weighted: bool) -> None:
    table = {"rescale": SIGNED, "standardize": DENSE}.get(mode, COUNTS)
    weights = RNG.integers(1, 4, 30).astype(float) if weighted else np.ones(30)
    X = csr(table)
    found = fit_normalizer(X, mode, np.arange(30), weights).apply(X)
    np.testing.assert_allclose(
        found.toarray(), normalize_slowly(mode, table, weights), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("mode", MODES)
def test_normalising_leaves_the_input_as_it_was(mode: str) -> None:
    X = csr(COUNTS)
    fit_normalizer(X, mode).apply(X)
    np.testing.assert_array_equal(X.toarray(), COUNTS)


@pytest.mark.parametrize("mode", MODES)
def test_rows_are_normalised_one_by_one_as_together(mode: str) -> None:
    X = csr(COUNTS)
    normalizer = fit_normalizer(X, mode)
    whole = normalizer.apply(X).toarray()
    for row in range(5):
        assert_close(normalizer.apply(X[row]).toarray(), whole[[row]])


@pytest.mark.parametrize("mode", ["standardize", "rescale"])
def test_only_the_given_rows_are_looked_at(mode: str) -> None:
    rows = np.arange(10)
    wild = DENSE.copy()
    wild[10:] *= 1000
    found = fit_normalizer(csr(wild), mode, rows)
    wanted = fit_normalizer(csr(DENSE[:10]), mode)
    np.testing.assert_array_equal(found.mean, wanted.mean)
    np.testing.assert_array_equal(found.scale, wanted.scale)


def test_standardised_columns_have_equal_spread_and_rows_about_unit_length() -> None:
    X = csr(DENSE)
    found = fit_normalizer(X).apply(X).toarray()
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(found.std(axis=0), 1 / np.sqrt(8), rtol=1e-4)
    assert np.sqrt((found**2).sum(axis=1)).mean() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e6, -1e-6])
def test_a_constant_column_becomes_zero(value: float) -> None:
    table = DENSE.copy()
    table[:, 3] = value
    found = fit_normalizer(csr(table), "standardize").apply(csr(table)).toarray()
    assert (found[:, 3] == 0).all()
    assert np.isfinite(found).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.1, 7.3, 1e5 / 3, -1e-6])
def test_a_column_that_was_constant_says_nothing_about_a_new_row(value: float) -> None:
    table = DENSE.copy()
    table[:, 3] = value
    # Some of these weights leave a deviation of rounding size instead of 0.
    for seed in range(20):
        weights = np.random.default_rng(seed).random(30)
        normalizer = fit_normalizer(csr(table), "standardize", np.arange(30), weights)
        new = table[:1].copy()
        new[0, 3] = 2 * value + 1
        assert normalizer.apply(csr(new)).toarray()[0, 3] == 0


@pytest.mark.filterwarnings("error")
def test_a_column_without_numbers_in_training_stays_zero_when_rescaled() -> None:
    table = SIGNED.copy()
    table[:, 3] = 0
    normalizer = fit_normalizer(csr(table), "rescale")
    new = table[:2].copy()
    new[:, 3] = [5, -5]
    found = normalizer.apply(csr(new)).toarray()
    assert (found[:, 3] == 0).all()
    assert np.isfinite(found).all()


def test_an_outlier_is_cut_off() -> None:
    table = RNG.standard_normal((1000, 4))
    table[0, 0] = 1e6
    found = fit_normalizer(csr(table), "standardize").apply(csr(table)).toarray()
    assert found[0, 0] == pytest.approx(MAX_DEVIATIONS / np.sqrt(4))


CHOICES = {
    "counts": (COUNTS, "log_l2"),
    "counts as tenths": (COUNTS / 10, "l2"),
    "unit rows": (by_length(COUNTS), "none"),
    "unit rows with signs": (by_length(SIGNED), "none"),
    "dense unit rows": (by_length(DENSE), "none"),
    "sparse with signs": (SIGNED, "rescale"),
    "dense": (DENSE, "standardize"),
    "dense counts": (COUNTS + 1, "standardize"),
    "exactly half stored": (np.eye(2) * 3, "standardize"),
    "nothing stored": (np.zeros((3, 4)), "none"),
    "one row of unit length": (np.array([[1, 0, 0]]), "log_l2"),
}


@pytest.mark.parametrize(("table", "mode"), CHOICES.values(), ids=CHOICES)
def test_auto_chooses_by_what_the_numbers_look_like(table: np.ndarray, mode: str) -> None:
    assert choose_mode(csr(table)) == mode
    assert fit_normalizer(csr(table)).mode == mode
    assert fit_normalizer(csr(table), "auto").mode == mode


@pytest.mark.parametrize("table", [COUNTS, SIGNED, DENSE], ids=["counts", "signed", "dense"])
def test_auto_does_not_see_the_order_of_rows_and_columns(table: np.ndarray) -> None:
    rows, columns = RNG.permutation(30), RNG.permutation(8)
    assert choose_mode(csr(table[rows][:, columns])) == choose_mode(csr(table))


@pytest.mark.parametrize("nothing", [None, False, "none"])
def test_normalisation_can_be_switched_off(nothing: object) -> None:
    X = csr(DENSE)
    normalizer = fit_normalizer(X, nothing)  # type: ignore[arg-type]
    assert normalizer.mode == "none"
    assert normalizer.apply(X) is X


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(InputError, match="normalize must be 'auto' or one of none, l2"):
        fit_normalizer(csr(COUNTS), "l1")


def test_logarithms_of_negative_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="normalize='log_l2' needs non-negative"):
        fit_normalizer(csr(SIGNED), "log_l2")


@pytest.mark.filterwarnings("ignore:invalid value")
def test_counts_below_zero_at_prediction_do_not_become_nan() -> None:
    normalizer = fit_normalizer(csr(COUNTS), "log_l2")
    try:
        found = normalizer.apply(csr(-2 * COUNTS))
    except InputError:
        return
    assert np.isfinite(found.data).all()


@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 4)),
        elements=st.floats(-(2.0**50), 2.0**50, width=32).map(lambda x: x * (abs(x) > 2.0**-40)),
    )
)
def test_unit_rows_have_length_one_or_zero(table: np.ndarray) -> None:
    lengths = np.sqrt((unit_rows(csr(table)).toarray().astype(np.float64) ** 2).sum(axis=1))
    np.testing.assert_allclose(lengths, (table != 0).any(axis=1), atol=1e-5)


def test_a_normalizer_for_a_mode_without_columns_holds_no_arrays() -> None:
    for mode in ("none", "l2", "log_l2"):
        normalizer = fit_normalizer(csr(COUNTS), mode)
        assert isinstance(normalizer, Normalizer)
        assert len(normalizer.mean) == len(normalizer.scale) == 0


SIZES = [1e-42, 1e-40, 1e-38, 1e-30, 1e-20, 1e20, 1e30, 1e37]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", SIZES)
def test_unit_rows_have_length_one_whatever_their_size(size: float) -> None:
    table = (SIGNED * np.float64(size)).astype(np.float32)
    found = unit_rows(csr(table)).toarray()
    # Numbers near the smallest float32 have few digits, their direction is that of what is left.
    np.testing.assert_allclose(found, by_length(table.astype(np.float64)), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [*SIZES, 3e38])
@pytest.mark.parametrize("mode", ["auto", *MODES])
def test_numbers_of_any_size_give_finite_rows(mode: str, size: float) -> None:
    table = np.abs(SIGNED)
    table /= table.max()
    X = csr(table * np.float32(size))
    fitted = fit_normalizer(X, mode)
    for rows in (X, csr(-table * np.float32(3e38)), csr(table * np.float32(1e-44))):
        assert np.isfinite(fitted.apply(rows).toarray()).all()


@pytest.mark.filterwarnings("error")
def test_a_new_row_at_the_other_end_of_the_numbers_is_cut_off() -> None:
    largest = np.finfo(np.float32).max
    fitted = fit_normalizer(csr([[largest, 1], [largest, 2]]), "standardize")
    found = fitted.apply(csr([[-largest, largest]])).toarray()
    np.testing.assert_allclose(found, [[0, MAX_DEVIATIONS / np.sqrt(2)]], rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_weights_without_a_finite_sum_are_weights() -> None:
    X, weights = csr(DENSE), np.full(30, 1e308)
    found = fit_normalizer(X, "standardize", np.arange(30), weights).apply(X)
    wanted = fit_normalizer(X, "standardize").apply(X)
    np.testing.assert_allclose(found.toarray(), wanted.toarray(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("power", [-45, -42, -39, -38, -30, 30, 37, 38])
def test_rows_of_any_size_become_unit_rows(power: int) -> None:
    table = np.float32([[1, 2, 0], [0, 1, 0]]) * np.float64(10.0**power)
    X = csr(table)
    found = unit_rows(X).toarray()
    # What float32 has kept of the numbers, exactly.
    np.testing.assert_allclose(found, by_length(X.toarray().astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_columns_of_any_size_stay_finite(mode: str) -> None:
    powers = np.array([-45, -40, -30, 0, 18, 30, 37, 38])
    X = csr(np.abs(SIGNED) % 3 * 10.0**powers)
    new = csr(np.abs(SIGNED[::-1]) % 3 * 10.0 ** powers[::-1])
    normalizer = fit_normalizer(X, mode)
    for rows in (X, new):
        assert np.isfinite(normalizer.apply(rows).data).all()


def test_a_constant_column_says_nothing_about_a_new_value() -> None:
    table = np.float32([[3e38, 1], [3e38, 2], [3e38, 4]])
    normalizer = fit_normalizer(csr(table), "standardize")
    found = normalizer.apply(csr(np.float32([[-3e38, 1]]))).toarray()
    assert found[0, 0] == 0
    assert np.isfinite(found).all()


def test_centring_a_matrix_that_does_not_fit_is_refused() -> None:
    X = sparse.csr_matrix((1_000_000, 50_000_000), dtype=np.float32)
    scale = np.zeros(X.shape[1], np.float32)
    with pytest.raises(InputError, match="centring 1000000 rows"):
        Normalizer("standardize", scale, scale).apply(X)
