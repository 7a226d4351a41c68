"""Merging copies of parameters that were trained apart."""

import numpy as np
import pytest
from model_samples import train_on_threads

from rmls.kernels.cpu.sgd.passes import VectorPasses, merge_copies


def merge(start, acc_start, moves, growths, visits=()):
    theta = np.full((1, 2), start, np.float32)
    acc = np.full((1, 1), acc_start, np.float32)
    thetas = np.stack([theta + np.float32(move) for move in moves])
    accs = np.stack([acc + np.float32(growth) for growth in growths])
    merge_copies(theta, acc, thetas, accs, np.float32(visits))
    return theta, acc, thetas, accs


def test_a_row_that_one_copy_touched_takes_its_move_whole():
    theta, acc, thetas, accs = merge(1.0, 0.1, [0.25, 0.0], [4.0, 0.0])
    np.testing.assert_allclose(theta, 1.25)
    np.testing.assert_allclose(acc, 4.1, rtol=1e-6)
    assert (thetas == theta).all()
    assert (accs == acc).all()


def test_equal_moves_add_up_as_one_longer_run_of_adagrad_would():
    """From an accumulator of 0, twice the gradients reach the square root of two as far."""
    theta, acc, _, _ = merge(0.0, 1e-12, [0.3, 0.3], [1.0, 1.0])
    np.testing.assert_allclose(theta, 0.3 * np.sqrt(2), rtol=1e-5)
    np.testing.assert_allclose(acc, 2.0, rtol=1e-6)


def test_small_moves_against_a_large_accumulator_add_up():
    theta, _, _, _ = merge(0.0, 1000.0, [0.1, 0.2], [0.1, 0.1])
    np.testing.assert_allclose(theta, 0.3, rtol=1e-3)


def test_copies_that_visited_a_row_often_are_averaged():
    """They agree where it belongs, and the sum of their moves would go past it."""
    moves, growths = [0.2, 0.4, 0.0], [0.1, 0.1, 0.0]
    seldom, often = (merge(0.0, 1000.0, moves, growths, [n])[0] for n in (1e-3, 1e6))
    np.testing.assert_allclose(seldom, 0.6, rtol=1e-3)
    np.testing.assert_allclose(often, 0.3, rtol=1e-3)
    alone = merge(0.0, 1000.0, [0.2, 0.0], [0.1, 0.0], [1e6])[0]
    np.testing.assert_allclose(alone, 0.2, rtol=1e-3)


def test_nothing_learned_changes_nothing():
    theta, acc, _, _ = merge(0.7, 0.1, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(theta, np.float32(0.7))
    np.testing.assert_array_equal(acc, np.float32(0.1))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_of_a_small_model_give_the_same_model_every_time(n_jobs, monkeypatch):
    from rmls import RMLS, make_longtail

    train_on_threads(monkeypatch)
    data = make_longtail(600, 200, 40, labels_per_row=3.0)
    first, second = (
        RMLS(16, max_iter=3, n_jobs=n_jobs).fit(data.X, data.Y).decision_function(data.X)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_every_copy_starts_again_from_the_bounded_model(monkeypatch):
    from rmls import RMLS, make_longtail

    train_on_threads(monkeypatch)
    made = []
    make_copies = VectorPasses._make_copies

    def keep(self):
        made.append((self, make_copies(self)))
        return made[-1][1]

    monkeypatch.setattr(VectorPasses, "_make_copies", keep)
    data = make_longtail(200, 60, 20)
    bounds = {"max_feature_norm": 3.0, "max_label_norm": 0.01, "calibration": None}
    RMLS(8, max_iter=1, n_jobs=2, **bounds).fit(data.X, data.Y)
    ((passes, copies),) = made
    assert len(copies.workers) == 2
    for worker in copies.workers:
        for own, shared in zip(worker.params, passes.params, strict=True):
            np.testing.assert_array_equal(own, shared)


def test_copies_take_a_bounded_share_of_memory(monkeypatch):
    from rmls import RMLS, make_longtail

    train_on_threads(monkeypatch)
    monkeypatch.setattr("rmls.kernels.cpu.sgd.passes.ALL_COPIES_BYTES", 1 << 12)
    made = []
    make_copies = VectorPasses._make_copies
    monkeypatch.setattr(
        VectorPasses, "_make_copies", lambda self: made.append(make_copies(self)) or made[-1]
    )
    data = make_longtail(200, 60, 20)
    RMLS(8, max_iter=1, n_jobs=2, calibration=None).fit(data.X, data.Y)
    assert [copies.target for copies in made] == [None]
