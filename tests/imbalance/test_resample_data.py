"""Resamplers on real data: what they claim holds, within seconds."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest
from resample_samples import OVER, RESAMPLERS, counts_of

from rmls.datasets import Dataset, load
from rmls.imbalance import MLROS, MLRUS, MLSMOTE, REMEDIAL, cvir, mean_ir, scumble
from rmls.imbalance.minority import find_sides

pytestmark = pytest.mark.data
NAMES = ("yeast", "enron", "debtags", "delicious")


@cache
def data(name: str) -> Dataset:
    return load(name)


@pytest.mark.parametrize("method", RESAMPLERS)
@pytest.mark.parametrize("name", NAMES)
def test_takes_seconds_and_changes_the_rows(name: str, method: str) -> None:
    X, Y = data(name).X, data(name).Y
    RESAMPLERS[method]().fit_resample(X[:100], Y[:100])
    started = time.process_time()
    _, Y_new = RESAMPLERS[method]().fit_resample(X, Y)
    assert time.process_time() - started < 20
    assert (Y_new.shape[0] > Y.shape[0]) == (method in OVER)


@pytest.mark.parametrize("name", NAMES)
def test_mlros_lowers_mean_ir_and_cvir_and_raises_every_minority_label(name: str) -> None:
    Y = data(name).Y
    _, Y_new = MLROS().fit_resample(data(name).X, Y)
    minority = find_sides(Y).minority
    assert mean_ir(Y_new) < 0.9 * mean_ir(Y)
    assert cvir(Y_new) < cvir(Y)
    assert (counts_of(Y_new)[minority] > counts_of(Y)[minority]).all()


@pytest.mark.parametrize("name", NAMES)
def test_mlrus_lowers_mean_ir_and_keeps_every_minority_label(name: str) -> None:
    Y = data(name).Y
    _, Y_new = MLRUS().fit_resample(data(name).X, Y)
    minority = find_sides(Y).minority
    assert mean_ir(Y_new) < 0.9 * mean_ir(Y)
    assert (counts_of(Y_new)[minority] == counts_of(Y)[minority]).all()


@pytest.mark.parametrize("name", NAMES)
def test_remedial_lowers_scumble_and_keeps_the_counts(name: str) -> None:
    Y = data(name).Y
    _, Y_new = REMEDIAL().fit_resample(data(name).X, Y)
    assert scumble(Y_new) < scumble(Y)
    assert counts_of(Y_new).tolist() == counts_of(Y).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_mlsmote_adds_a_row_for_every_row_of_a_minority_label(name: str) -> None:
    X, Y = data(name).X, data(name).Y
    sampler = MLSMOTE()
    X_new, Y_new = sampler.fit_resample(X, Y)
    counts = counts_of(Y)[find_sides(Y).minority]
    assert sampler.n_synthetic_ == counts[counts > 1].sum()
    made, seeds = X_new[Y.shape[0] :], X[sampler.sample_indices_[Y.shape[0] :]]
    assert np.isfinite(made.data).all()
    if X.min() >= 0:
        assert made.min() >= 0
    assert made.max() <= X.max() * (1 + 1e-6)
    # A new row shares a label with its seed: the one it was made for.
    together = Y_new[Y.shape[0] :].multiply(Y[sampler.sample_indices_[Y.shape[0] :]])
    assert (together.sum(axis=1) > 0).all()
    assert seeds.shape == made.shape


def test_remedial_splits_every_row_of_enron_above_the_mean_scumble() -> None:
    X, Y = data("enron").X, data("enron").Y
    added = [
        len(REMEDIAL(empty_copies=empty).fit_resample(X, Y)[1].indptr) - 1 - Y.shape[0]
        for empty in (True, False)
    ]
    # The authors' code splits all 845; 776 of them have labels of one kind only.
    assert added == [845, 845 - 776]
