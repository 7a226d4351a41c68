"""The Triton kernels of a batch move parameters as plain PyTorch does, in Triton's interpreter."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NUMPY_OF_INTERPRETER = (2, 3)
FEW = {"negatives_per_positive": 3, "min_negatives": 0}
THINNED = {**FEW, "l2": 0.3, "gradient_floor": 0.9, "init": "glorot"}
PAPER = {**FEW, "replacement": "union", "fit_intercept": False}
EVERY = {"negatives": "all", "gradient_floor": 0.0, "class_weight": "balanced"}
VARIANTS: list[tuple[dict[str, Any], int]] = [
    (options, batch_size)
    for options in (FEW, PAPER, THINNED, {**THINNED, "accumulators": "element"}, EVERY)
    for batch_size in (8, 1)
]


def compare_all() -> None:
    import test_torch_passes as plain
    from torch_backend import open_torch

    from rmls.kernels.gpu import fused_step, passes

    fused_step.LIGHT_PROGRAMS = fused_step.HEAVY_PROGRAMS = fused_step.SCORE_PROGRAMS = 2
    fused_step.LIGHT = 2
    # The interpreter takes its time.
    X, Y = plain.make_rows()
    plain.make_rows = lambda: (X[1:11], Y[1:11])
    for options, batch_size in VARIANTS:
        states = []
        for passes.FUSE_ANYWHERE in (False, True):
            states.append(plain.train(open_torch(), options, batch_size, 1)[0])
        for group in ("params", "accumulators"):
            for wanted, found in zip(*(getattr(state, group) for state in states), strict=True):
                np.testing.assert_allclose(found, wanted, 1e-2, 1e-3, err_msg=str(options))
        print("same", options, batch_size, flush=True)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None,
    reason="the gpu extra is not installed",
)
@pytest.mark.skipif(
    tuple(int(part) for part in np.__version__.split(".")[:2]) >= NUMPY_OF_INTERPRETER,
    reason="Triton's interpreter needs NumPy below 2.3",
)
def test_fused_steps_move_as_plain_ones() -> None:
    # Triton reads the variable when it is imported.
    folder = str(Path(__file__).parent)
    path = os.pathsep.join([folder, *sys.path])
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path}
    ran = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("same") == len(VARIANTS)


if __name__ == "__main__":
    compare_all()
