"""Two processes of torch.distributed train one model: gloo on the CPU stands for devices."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the gpu extra is not installed")

OPTIONS = {"negatives_per_positive": 5}
N_PASSES = 12


def train_here(folder: Path, name: str) -> None:
    """Train vectors and classifiers, and write what became of them."""
    import test_torch_backend as lists
    import test_torch_passes as plain
    from torch_backend import open_torch

    state, losses = plain.train(open_torch(), OPTIONS, 1, N_PASSES)
    problem, backend = lists.make_problem(), open_torch()
    Y = lists.csr_arrays(lists.Y)
    pairs = backend.pair_rows(Y, lists.LISTED, lists.M)
    duals = np.zeros(len(pairs.rows), np.float32)
    found = backend.solve_classifiers(problem, pairs, duals, lists.D, 1)
    columns = lists.Y.tocsc()
    relevant = lists.Pairs(
        columns.indptr.astype(np.int64), columns.indices, np.diff(columns.indptr)
    )
    every = backend.solve_all(problem, relevant, lists.D, 1)
    arrays = [*state.params, *state.accumulators, np.array(losses), *found, duals, *every]
    np.savez(folder / f"{name}.npz", *arrays)


def run_process(folder: Path, rank: int, port: int) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    place |= {"RANK": str(rank), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    command = [sys.executable, __file__, str(folder), str(rank)]
    return subprocess.Popen(command, env=os.environ | place, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_processes_train_the_model_of_one(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [run_process(tmp_path, rank, port) for rank in range(2)]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    train_here(tmp_path, "alone")
    first, second, alone = (
        list(np.load(tmp_path / f"{name}.npz").values()) for name in ("0", "1", "alone")
    )
    for own, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(own, other)
    losses, expected = (each[8][:, 0] for each in (first, alone))
    # Shares of the rows, merged: nearly the same loss in every pass.
    np.testing.assert_allclose(losses, expected, rtol=0.05)
    # Every label is solved by one of them, as it would be alone.
    for own, other in zip(first[9:], alone[9:], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-3, atol=2e-3)


if __name__ == "__main__":
    torch.distributed.init_process_group("gloo")
    train_here(Path(sys.argv[1]), sys.argv[2])
    torch.distributed.destroy_process_group()
