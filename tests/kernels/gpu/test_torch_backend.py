"""The operations in PyTorch agree with the Numba kernels, and whole models train on them."""

from __future__ import annotations

import builtins
import importlib.util
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import make_blocks
from scipy import sparse

import rmls
from rmls import RMLS, BinaryRelevance, RMLSRanker
from rmls.core.errors import InputError
from rmls.core.numeric import NewtonSteps
from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Params, Problem
from rmls.kernels.backend import DEVICES, csr_arrays, device_here, get_backend

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="the gpu extra is not installed")
RNG = np.random.default_rng(0)
N, D, M, K = 60, 12, 20, 5
X = sparse.random(N, D, 0.4, "csr", np.float32, random_state=RNG)
Y = sparse.csr_matrix((RNG.random((N, M)) < 0.15).astype(np.int32))
VECTORS = Params(*(RNG.normal(size=shape).astype(np.float32) for shape in ((D, K), K, (M, K), M)))
HIDDEN = RNG.normal(size=(N, K)).astype(np.float32)
LISTED = np.sort([RNG.permutation(M)[:9] for _ in range(N)], axis=1).astype(np.int32)


def both() -> tuple[Any, Any]:
    from torch_backend import open_torch

    return open_torch(), get_backend("cpu")


def make_problem(prune: float = 0.0, tolerance: float = 1e-3) -> Problem:
    # The same costs whichever test comes first.
    rng = deepcopy(RNG)
    squares = np.asarray(X.multiply(X).sum(axis=1), np.float32).ravel()
    costs = rng.uniform(0.5, 1.5, N).astype(np.float32)
    return Problem(
        X.indptr.astype(np.int64),
        X.indices.astype(np.uint16),
        X.data,
        squares,
        costs,
        rng.uniform(0.5, 1.5, M).astype(np.float32),
        np.zeros(0, bool),
        np.zeros(0, np.float32),
        DUAL_LOSSES.index("squared_hinge"),
        np.float32(tolerance),
        1000,
        np.float32(prune),
    )


def objective_of(problem: Problem, targets: Any, scores: Any, weights: Any, bias: Any) -> Any:
    costs = problem.costs[:, None] * problem.label_costs[None, :]
    hinge = costs * np.maximum(1 - targets * scores, 0) ** 2
    return 0.5 * ((weights**2).sum(axis=0) + bias**2) + hinge.sum(axis=0)


@needs_torch
@pytest.mark.parametrize("activation", ["tanh", "linear", "relu"])
def test_vectors_of_rows(activation: str) -> None:
    found, wanted = (each.hidden(csr_arrays(X), VECTORS, activation) for each in both())
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@needs_torch
@pytest.mark.parametrize("k", [1, 6, M - 1, M])
@pytest.mark.parametrize("tile", [7, 1 << 16])
def test_best_labels_from_tiles(k: int, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import rmls.kernels.gpu.lists as module

    monkeypatch.setattr(module, "TILE_LABELS", tile)
    found, wanted = (each.best_labels(HIDDEN, VECTORS.L, VECTORS.c, k) for each in both())
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-5)


@needs_torch
def test_rows_of_listed_labels() -> None:
    rng = np.random.default_rng(1)
    listed = np.where(rng.random(LISTED.shape) < 0.1, -1, LISTED).astype(np.int32)
    found, wanted = (each.pair_rows(csr_arrays(Y), listed, M) for each in both())
    for own, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(own, other)


@needs_torch
def test_logistic_regression() -> None:
    rng = np.random.default_rng(1)
    design = rng.normal(size=(400, 3)).astype(np.float32)
    total = rng.uniform(0.5, 2, 400).astype(np.float32)
    positive = total * (design[:, 0] + rng.normal(size=400) > 0)
    given = (design, total, positive, 1.0, NewtonSteps(30, 5.0, 1e-3), 1)
    found, wanted = (each.fit_logistic(*given) for each in both())
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@needs_torch
def test_classifiers_on_lists_are_as_good_as_those_of_the_dual() -> None:
    problem = make_problem()
    pairs = get_backend("cpu").pair_rows(csr_arrays(Y), LISTED, M)
    values = []
    for backend in both():
        duals = np.zeros(len(pairs.rows), np.float32)
        solved = backend.solve_classifiers(problem, pairs, duals, D, 1)
        lengths, indices, weights, bias = solved
        table = np.zeros((D, M), np.float32)
        table[indices, np.repeat(np.arange(M), lengths)] = weights
        labels = np.repeat(np.arange(M), np.diff(pairs.indptr))
        place = np.arange(len(labels)) - pairs.indptr[labels]
        targets = np.where(place < pairs.n_relevant[labels], 1, -1)
        scores = np.einsum("ij,ji->i", X.toarray()[pairs.rows], table[:, labels]) + bias[labels]
        costs = problem.costs[pairs.rows] * problem.label_costs[labels]
        hinge = np.bincount(labels, costs * np.maximum(1 - targets * scores, 0) ** 2, M)
        values.append(0.5 * ((table**2).sum(axis=0) + bias**2) + hinge)
        # What a later solve starts from: w = sum of a t x.
        np.testing.assert_allclose(
            np.bincount(labels, duals * targets, M),
            np.where(pairs.n_relevant > 0, bias, 0),
            atol=0.1,
        )
    np.testing.assert_allclose(values[0], values[1], rtol=0.01)


@needs_torch
def test_a_second_solve_takes_up_the_first() -> None:
    from torch_backend import open_torch

    problem, backend = make_problem(), open_torch()
    pairs = backend.pair_rows(csr_arrays(Y), LISTED, M)
    duals = np.zeros(len(pairs.rows), np.float32)
    first = backend.solve_classifiers(problem, pairs, duals, D, 1)
    second = backend.solve_classifiers(problem, pairs, duals, D, 1)
    np.testing.assert_allclose(first[3], second[3], atol=0.05)


@needs_torch
def test_one_vs_rest_reaches_the_optimum_on_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    import rmls.kernels.gpu.one_vs_rest as module

    monkeypatch.setattr(module, "SAMPLED_ROWS", 20)
    monkeypatch.setattr(module, "COUNTED_ROWS", 20)
    columns = Y.tocsc()
    relevant = Pairs(columns.indptr.astype(np.int64), columns.indices, np.diff(columns.indptr))
    targets, dense = np.where(Y.toarray() > 0, 1, -1), X.toarray()
    problem, values = make_problem(tolerance=0.003), []
    for backend in both():
        weights, bias = backend.solve_all(problem, relevant, D, 1)
        scores = dense @ weights + bias
        values.append(objective_of(problem, targets, scores, weights, bias))
    np.testing.assert_allclose(values[0], values[1], rtol=2e-3)


@needs_torch
@pytest.mark.parametrize(
    "make",
    [
        lambda: RMLS(8, max_iter=30, device="torch", calibration=None),
        lambda: RMLSRanker(8, device="torch", shortlist_size=4, calibration_folds=0),
        lambda: BinaryRelevance(loss="squared_hinge", device="torch", normalize="l2"),
    ],
    ids=["RMLS", "RMLSRanker", "BinaryRelevance"],
)
def test_models_train_and_their_archives_load_anywhere(
    make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(DEVICES, "torch", "torch_backend:open_torch")
    rows, labels = make_blocks()
    model = make().fit(rows, labels)
    assert model.score(rows, labels) > 0.9
    model.save(tmp_path / "model")
    again = rmls.load(tmp_path / "model")
    np.testing.assert_allclose(
        again.decision_function(rows), model.decision_function(rows), atol=1e-5
    )


def test_without_pytorch_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import rmls.kernels.gpu.device as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs PyTorch; pip install 'rmls\[gpu\]'"):
        module.open_cuda()


@needs_torch
def test_without_a_gpu_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    import rmls.kernels.gpu.device as module

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="there is none; use device='cpu'"):
        module.open_cuda()


@needs_torch
def test_a_sentence_tells_when_the_memory_of_the_device_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch
    from torch_backend import open_torch

    import rmls.kernels.gpu.lists as module

    def full(*given: Any) -> Any:
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(module, "best_of_tiles", full)
    with pytest.raises(InputError, match=r"^the memory of the GPU does not suffice.*device='cpu'"):
        open_torch().best_labels(HIDDEN, VECTORS.L, VECTORS.c, 3)


def test_a_model_of_a_gpu_loads_on_the_cpu_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import rmls.kernels.gpu.device as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert device_here("cuda") == "cpu"
    assert device_here("auto") == "auto"


def test_auto_keeps_small_work_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = make_blocks()
    real = builtins.__import__

    def guarded(name: str, *rest: Any, **more: Any) -> Any:
        assert name.partition(".")[0] != "torch", "PyTorch was imported"
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", guarded)
    model = RMLSRanker(8, device="auto", shortlist_size=4).fit(rows, labels)
    assert model.score(rows, labels) > 0.9


def test_auto_takes_the_gpu_for_large_work_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import rmls.kernels.gpu.device as module

    chosen = object()
    monkeypatch.setattr(module, "open_cuda", lambda: chosen)
    backend = module.AutoBackend()
    with caplog.at_level("INFO", logger="rmls"):
        assert backend._choose(module.LARGE_WORK, "training") is chosen
    assert backend._choose(1, "training") is None
    assert "training on the GPU" in caplog.text
