"""How much fits on a device, and a sentence where that does not suffice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from rmls.core.errors import InputError

# For tests: bytes that a device has, whatever it has.
LIMIT: float | None = None


def free_bytes(device: str) -> float:
    """Return the memory that is free on a device; without bound where the host is the device."""
    if LIMIT is not None:
        return LIMIT
    if not device.startswith("cuda"):
        return math.inf
    kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    return float(torch.cuda.mem_get_info()[0] + kept)


def require_bytes(needed: float, what: str, device: str, unit: float, unit_name: str) -> None:
    """Refuse work that needs more memory than there is; ``unit`` bytes are those of one of what
    could be fewer.
    """
    free = free_bytes(device)
    if needed <= free:
        return
    fits = int(free // unit)
    advice = f"{fits:,} {unit_name} would fit" if fits else "not even one of them would fit"
    raise InputError(
        f"{what} need {needed / 1e9:,.3g} GB on the GPU, which has {free / 1e9:,.3g} GB free; "
        f"{advice}. Use fewer, or device='cpu'."
    )


@contextmanager
def told_of_memory(advice: str) -> Iterator[None]:
    """Say what would help where the memory of the device does not suffice after all."""
    try:
        yield
    except torch.cuda.OutOfMemoryError:
        room = ""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            free, total = torch.cuda.mem_get_info()
            room = f" ({free / 1e9:.1f} of {total / 1e9:.1f} GB free)"
        raise InputError(f"the memory of the GPU does not suffice{room}; {advice}.") from None
