"""A sentence where the memory of a device does not suffice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from rmls.core.errors import InputError


@contextmanager
def told_of_memory(advice: str) -> Iterator[None]:
    """Say what would fit where the memory of the device does not suffice."""
    try:
        yield
    except torch.cuda.OutOfMemoryError:
        room = ""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            free, total = torch.cuda.mem_get_info()
            room = f" ({free / 1e9:.1f} of {total / 1e9:.1f} GB free)"
        raise InputError(f"the memory of the GPU does not suffice{room}; {advice}.") from None
