"""Rows that hold all columns need no column numbers: the arithmetic is the same."""

import numpy as np
import pytest

from rmls.kernels.cpu.linalg.entries import (
    add_sparse,
    column_of,
    copy_columns,
    room_like,
    sparse_dot,
)

N_ROWS, N_COLUMNS = 4, 7
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, N_COLUMNS)).astype(np.float32)
GIVEN = np.tile(np.arange(N_COLUMNS, dtype=np.uint16), N_ROWS)
LEFT_OUT = np.empty((0, N_COLUMNS), np.uint16)
both_forms = pytest.mark.parametrize("indices", [GIVEN, LEFT_OUT], ids=["given", "left out"])


@both_forms
@pytest.mark.parametrize("row", range(N_ROWS))
def test_a_product_is_that_of_the_row(indices, row):
    dense = np.random.default_rng(1).normal(size=N_COLUMNS).astype(np.float32)
    found = sparse_dot(indices, ROWS.ravel(), row * N_COLUMNS, (row + 1) * N_COLUMNS, dense)
    assert found == pytest.approx(float(ROWS[row] @ dense), abs=1e-5)


@both_forms
@pytest.mark.parametrize("row", range(N_ROWS))
def test_a_multiple_of_the_row_is_added(indices, row):
    dense = np.ones(N_COLUMNS, np.float32)
    start, stop = row * N_COLUMNS, (row + 1) * N_COLUMNS
    add_sparse(indices, ROWS.ravel(), start, stop, np.float32(2), dense)
    np.testing.assert_allclose(dense, 1 + 2 * ROWS[row], atol=1e-6)


@both_forms
def test_columns_are_copied_where_they_are_kept(indices):
    room = room_like(indices, N_COLUMNS)
    copy_columns(indices, N_COLUMNS, N_COLUMNS, room, 0)
    start = N_COLUMNS  # of the second row
    assert [column_of(indices, start, start + number) for number in range(N_COLUMNS)] == [*range(7)]
    assert room.size == (N_COLUMNS if indices is GIVEN else 0)
    np.testing.assert_array_equal(room.ravel(), GIVEN[: room.size])
