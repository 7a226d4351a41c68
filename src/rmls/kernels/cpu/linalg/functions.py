"""Functions of one number, inlined into the kernels that call them."""

from __future__ import annotations

import numpy as np

from rmls.kernels.jit import njit


@njit(cache=True, inline="always")
def sigmoid(logit):
    """Return ``1 / (1 + exp(-logit))`` of a float32; an overflow of the power gives 0."""
    return np.float32(1.0) / (np.float32(1.0) + np.exp(-logit))
