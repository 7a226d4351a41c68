"""The backend of PyTorch on the CPU: what a GPU runs, without its kernels."""

from __future__ import annotations

from typing import Any


def open_torch() -> Any:
    from rmls.kernels.gpu.backend import TorchBackend

    return TorchBackend("cpu")
