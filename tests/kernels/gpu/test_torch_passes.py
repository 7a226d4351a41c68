"""Passes in PyTorch make the draws and the moves of the Numba kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from rmls import RMLS
from rmls.kernels.backend import get_backend
from rmls.models.rmls.objective import PAPER
from rmls.models.rmls.sampling import Totals, plan_visits
from rmls.models.rmls.sgd import Settled, Sgd, label_rows
from rmls.models.shared.training_set import read_training_set

torch = pytest.importorskip("torch", reason="the gpu extra is not installed")

N, D, M, K = 60, 30, 40, 7
PAPER_OF_PASSES = (
    *("negatives_per_positive", "min_negatives", "replacement", "fit_intercept", "l2"),
    *("accumulators", "initial_accumulator", "learning_rate", "init", "gradient_floor"),
)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"negatives": "all"},
    {"negatives": "all", "gradient_floor": 0.0},
    {"negatives": "all", "gradient_floor": 0.0, "class_weight": "balanced", "l2": 0.1},
    {"negatives": "all", "gradient_floor": 0.0, "accumulators": "element", "loss": "focal"},
    {"negatives": "all", "gradient_floor": 0.0, "max_label_norm": 0.5, "fit_intercept": False},
    {"negatives_per_positive": 2, "min_negatives": 3},
    {"sampler": "mixture", "negatives_per_positive": 3},
    {"sampler": "frequency", "replacement": False, "negatives_per_positive": 3},
    {"sampler": "mixture", "log_q": True, "negatives_per_positive": 3},
    {"log_q": True, "negatives_per_positive": 2},
    {"sampler": "frequency", "log_q": True, "replacement": False, "negatives_per_positive": 2},
    {"loss": "squared", "activation": "relu"},
    {"loss": "squared_hinge", "activation": "linear", "learning_rate": 0.02},
    {"loss": "focal"},
    {"loss": "asymmetric"},
    {"accumulators": "element"},
    {"max_label_norm": 0.5},
    {"class_weight": "balanced"},
    {"gradient_floor": 0.3, "init": "glorot"},
    {"max_feature_norm": 3.0},
    {"replacement": "union", "negatives_per_positive": 3},
    {"replacement": "union", "log_q": True, "negatives_per_positive": 2},
    {"sampler": "frequency", "replacement": "union", "log_q": True},
    {"fit_intercept": False},
    {"l2": 0.3, "gradient_floor": 0.9, "init": "glorot"},
    {"l2": 0.3, "gradient_floor": 0.9, "init": "glorot", "accumulators": "element"},
    {"l2": 0.3, "gradient_floor": 0.9, "init": "glorot", "max_label_norm": 0.5},
    {"loss": "squared_hinge", "l2": 0.3, "fit_intercept": False, "learning_rate": 0.02},
    {name: PAPER[name] for name in PAPER_OF_PASSES},
]


def make_rows() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sparse.random(N, D, 0.3, "csr", np.float32, random_state=rng)
    Y = (rng.random((N, M)) < 0.1).astype(int)
    # A row with nearly all labels, and one with none.
    Y[0], Y[1] = 1, 0
    Y[0, -1] = 0
    return X, Y


def train(backend: Any, options: dict[str, Any], batch_size: int, n_passes: int) -> Any:
    model = RMLS(K, batch_size=batch_size, **options)
    model._check_options()
    data = read_training_set(model, *make_rows())
    settled = Settled.of(model, model._space, Totals.of(data))
    state = Sgd.of(model, (D, M, K))
    passes = backend.start_passes(
        label_rows(data),
        state.params,
        state.accumulators,
        settled.objective,
        batch_size=batch_size,
        n_threads=1,
        max_feature_norm=model.max_feature_norm,
    )
    rate = model.learning_rate
    losses = [
        passes.run(plan_visits(data, 0, number, (rate, rate / 2), batch_size))
        for number in range(n_passes)
    ]
    passes.pull()
    return state, losses


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_batches_move_as_on_the_cpu(options: dict[str, Any]) -> None:
    from torch_backend import open_torch

    # More passes would let rounding grow; these draw some thousand labels each.
    (found, losses), (wanted, expected) = (
        train(backend, options, 8, 2) for backend in (open_torch(), get_backend("cpu"))
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for own, other in zip(found.params, wanted.params, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-2, atol=1e-3)
    for own, other in zip(found.accumulators, wanted.accumulators, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-2, atol=1e-3)


def test_one_visit_at_a_time_becomes_batches_that_learn_as_well() -> None:
    from torch_backend import open_torch

    (_, losses), (_, expected) = (
        train(backend, {"negatives_per_positive": 5}, 1, 12)
        for backend in (open_torch(), get_backend("cpu"))
    )
    # Batches, but the same rate and passes: nearly the same loss in every pass.
    np.testing.assert_allclose(losses, expected, rtol=0.05)
    assert losses[-1][0] < 0.85 * losses[0][0]


def test_visits_of_thinned_slopes_pay_the_penalty_in_batches_that_stand_for_them() -> None:
    from torch_backend import open_torch

    options = {"negatives_per_positive": 5, "init": "glorot", "gradient_floor": 1.0}
    norms = [
        [
            float(np.linalg.norm(train(backend, {**options, "l2": l2}, 1, 3)[0].params.L))
            for backend in (open_torch(), get_backend("cpu"))
        ]
        for l2 in (0.0, 0.1)
    ]
    found, wanted = (penalised / free for free, penalised in zip(*norms, strict=True))
    # A floor of the largest slope that there is rounds most slopes to 0.
    assert wanted < 0.8
    assert found == pytest.approx(wanted, rel=0.1)


def test_without_intercept_no_bias_moves() -> None:
    from torch_backend import open_torch

    params = train(open_torch(), {"fit_intercept": False}, 1, 2)[0].params
    assert not params.b.any()
    assert not params.c.any()


def test_labels_of_the_batch_are_drawn_on_the_cpu_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from torch_backend import open_torch

    options = {"sampler": "in_batch"}
    with caplog.at_level("INFO", logger="rmls"):
        found, wanted = (train(each, options, 8, 1) for each in (open_torch(), get_backend("cpu")))
    assert caplog.text.count("trains vectors on the CPU") == 1
    np.testing.assert_array_equal(found[0].params.L, wanted[0].params.L)


def test_a_pass_is_the_same_every_time() -> None:
    from torch_backend import open_torch

    first, second = (train(open_torch(), {}, 1, 3)[0] for _ in range(2))
    for own, other in zip(first.params, second.params, strict=True):
        np.testing.assert_array_equal(own, other)


def test_the_size_of_batches_follows_rows_and_labels() -> None:
    from rmls.kernels.gpu.passes import MAX_BATCH, choose_batch

    assert choose_batch(5, 10, 3.0) == 2
    assert choose_batch(1_123, 53, 53.0) == 17
    assert choose_batch(15_539, 3_513, 405.0) == 64
    assert choose_batch(28_596, 50_341, 30.0) == 256
    assert choose_batch(10**7, 10**6, 100.0) == MAX_BATCH
