"""Rows and labels that do not fit on a device are streamed, and what cannot fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the gpu extra is not installed")

import test_torch_passes as plain
from torch_backend import open_torch

import rmls.kernels.gpu.memory as memory
from rmls.core.errors import InputError
from rmls.kernels.backend import get_backend

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(90, 8)).astype(np.float32)
VECTORS, BIAS = RNG.normal(size=(300, 8)).astype(np.float32), np.zeros(300, np.float32)


@pytest.mark.parametrize("options", [{}, {"negatives": "all"}, {"sampler": "mixture"}], ids=str)
def test_streamed_rows_train_the_same_vectors(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wanted, losses = plain.train(open_torch(), options, 8, 2)
    # Room for the parameters and a few batches, not for the rows.
    monkeypatch.setattr(memory, "LIMIT", 12_000)
    with caplog.at_level("INFO", logger="rmls"):
        found, streamed = plain.train(open_torch(), options, 8, 2)
    assert "rows stay in the memory of the host" in caplog.text
    np.testing.assert_allclose(streamed, losses, rtol=1e-5)
    for own, other in zip(found.params, wanted.params, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-6)


def test_pieces_follow_one_another_while_the_next_is_on_its_way() -> None:
    from rmls.kernels.gpu.rows import ResidentRows, StreamedRows
    from rmls.models.rmls.sgd import label_rows
    from rmls.models.shared.training_set import read_training_set

    model = plain.RMLS()
    model._check_options()
    rows = label_rows(read_training_set(model, *plain.make_rows()))
    visited, cuts = RNG.permutation(plain.N), [0, 7, 40, plain.N]
    streamed, resident = (
        list(kind(rows, plain.M, "cpu").pieces(visited, cuts))
        for kind in (StreamedRows, ResidentRows)
    )
    assert len(streamed) == len(resident) == 3
    for own, other in zip(streamed, resident, strict=True):
        for found, wanted in zip(own.features, other.features, strict=True):
            np.testing.assert_array_equal(found, wanted)
        y, z = own.labelled, other.labelled
        counts = (z.indptr[other.rows + 1] - z.indptr[other.rows]).numpy()
        np.testing.assert_array_equal(np.diff(y.indptr.numpy()), counts)


@pytest.mark.parametrize("limit", [3_000, 30_000])
def test_labels_from_the_host_are_searched_as_those_on_the_device(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rmls.kernels.gpu.lists as lists

    monkeypatch.setattr(lists, "TILE_LABELS", 64)
    wanted = get_backend("cpu").best_labels(HIDDEN, VECTORS, BIAS, 7)
    monkeypatch.setattr(memory, "LIMIT", limit)
    found = open_torch().best_labels(HIDDEN, VECTORS, BIAS, 7)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-5)


def test_candidates_of_half_precision_are_scored_again() -> None:
    import torch

    from rmls.kernels.gpu.lists import Resident, best_of_tiles

    L = Resident(VECTORS, BIAS, True, "cpu")
    found = best_of_tiles(torch.from_numpy(HIDDEN), L, 7)
    wanted = get_backend("cpu").best_labels(HIDDEN, VECTORS, BIAS, 7)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-5)


def test_a_model_that_does_not_fit_is_told_what_would(monkeypatch: pytest.MonkeyPatch) -> None:
    # 70 rows of parameters, each of two numbers a component and their accumulators.
    monkeypatch.setattr(memory, "LIMIT", 1_000)
    with pytest.raises(InputError, match=r"30 features and 40 labels with 7 components .* 2 comp"):
        plain.train(open_torch(), {}, 8, 1)
