"""More than one device on one machine: processes of torch.distributed that train one model.

Every process calls `fit` with the same rows. Each makes a share of the visits of a pass, and what
they moved is merged some times a pass; each solves a share of the classifiers, which all get.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import distributed

# Merges in a pass: between two of them a process does not hear of the others.
MERGES = 16


def place() -> tuple[int, int]:
    """Return the number of this process and how many there are."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def merge(params: Any, sums: Any, old_params: Any, old_sums: Any) -> None:
    """Put together what all processes moved since ``old_params``, in place.

    AdaGrad goes ``2 rate G / (sqrt(a + S) + sqrt(a))`` with gradients G whose squares add S to the
    accumulator a. The gradients of all processes, and all squares, stand in that formula: a row
    that one process moved moves by as much, one that all of them moved by no more than all the
    visits in one process would have.
    """
    for own, total, old, start in zip(params, sums, old_params, old_sums, strict=True):
        root = start.sqrt()
        push = (own - old) * (total.sqrt() + root)
        grown = total - start
        distributed.all_reduce(push)
        distributed.all_reduce(grown)
        total.copy_(start + grown)
        own.copy_(old + push / (total.sqrt() + root))


def start_together(parts: Any) -> None:
    """Give all processes the arrays of the first one."""
    for part in parts:
        for array in part:
            distributed.broadcast(array, 0)


def add_up(*numbers: float) -> tuple[float, ...]:
    """Return the sums of numbers over all processes."""
    if place()[1] == 1:
        return numbers
    found: list[Any] = [None] * place()[1]
    distributed.all_gather_object(found, numbers)
    return tuple(float(total) for total in np.sum(found, axis=0))


def share_of(lengths: np.ndarray) -> tuple[int, int]:
    """Return the first and the end of the labels of this process, by the lengths of their lists."""
    rank, size = place()
    ends = np.concatenate([[0], np.cumsum(lengths + 1)])
    cuts = np.searchsorted(ends, ends[-1] * np.arange(size + 1) / size)
    cuts[-1] = len(lengths)
    return int(cuts[rank]), int(cuts[rank + 1])


def gather(part: Any) -> list[Any]:
    """Return what every process found, in their order."""
    if place()[1] == 1:
        return [part]
    found: list[Any] = [None] * place()[1]
    distributed.all_gather_object(found, part)
    return found


def take_device(number: int) -> None:
    """Use the device of this number, as the one that is meant by ``"cuda"``."""
    torch.cuda.set_device(number % torch.cuda.device_count())
