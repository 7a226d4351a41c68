"""Parameters before the first pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmls.core.resources import require_memory
from rmls.kernels import cpu


def start_params(
    shape: tuple[int, int, int], init: str, seed: int, accumulator: float, elementwise: bool
) -> tuple[cpu.Params, cpu.Params]:
    """Return fresh parameters and accumulators for (n_features, n_labels, n_components).

    ``"glorot"`` draws both matrices uniformly within Glorot's bounds; ``"projection"`` starts from
    a random projection of unit rows (``W`` uniform in ±0.3) and label vectors of zero.
    """
    d, m, k = shape
    require_memory(
        4 * (d + m) * (k + (k if elementwise else 1)),
        f"a model of {d} features, {m} labels and {k} components",
        "use fewer components",
    )
    rng = np.random.Generator(np.random.Philox(key=[seed, 2**32]))
    bounds = (0.3, 0.0) if init == "projection" else (np.sqrt(6 / (d + k)), np.sqrt(6 / (m + k)))
    W, L = (_uniform(rng, (rows, k), bound) for rows, bound in zip((d, m), bounds, strict=True))
    params = cpu.Params(W, np.zeros(k, np.float32), L, np.zeros(m, np.float32))
    shapes = param_shapes(shape, k if elementwise else 1).values()
    return params, cpu.Params(*(np.full(size, accumulator, np.float32) for size in shapes))


def param_shapes(shape: tuple[int, int, int], width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of parameters (``width`` = k) or accumulators by name."""
    d, m, k = shape
    return {"W": (d, width), "b": (k,), "L": (m, width), "c": (m,)}


def _uniform(rng: np.random.Generator, shape: tuple[int, int], bound: float) -> NDArray[np.float32]:
    if bound == 0:
        return np.zeros(shape, np.float32)
    values = rng.random(shape, dtype=np.float32)
    values *= np.float32(2 * bound)
    values -= np.float32(bound)
    return values
