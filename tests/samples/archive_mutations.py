"""Models changed by someone with bad intentions: other values, other arrays, good checksums."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rmls.archive import Archive

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 7, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30),
    *(1e308, -1e308, 1e-320, 0.5, -0.0, "", "text", "auto", "0", "\0", "U500000000"),
    *([], {}, [1], ["a"], [[0]], {"rule": {}}, {"estimator": "RMLS", "params": {}}, {"a": 1}),
)
# A thread more costs memory; what is too many is asked elsewhere.
SPARED = ("n_jobs",)
Place = tuple[Any, Any]


def places(value: Any) -> Iterator[Place]:
    """Yield every container in a tree of plain values with each of its keys."""
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = [key for key in value if key not in SPARED]
    elif isinstance(value, list):
        keys = list(range(min(len(value), 3)))
    for key in keys:
        yield value, key
        yield from places(value[key])


def change_value(manifest: dict[str, Any], rng: np.random.Generator) -> str:
    """Put a hostile value, or nothing, somewhere into a manifest; say what."""
    found = list(places(manifest))
    owner, key = found[int(rng.integers(len(found)))]
    choice = int(rng.integers(len(HOSTILE) + 1))
    if choice == len(HOSTILE):
        del owner[key]
        return f"{key} is gone"
    owner[key] = copy.deepcopy(HOSTILE[choice])
    return f"{key} = {HOSTILE[choice]!r}"


def change_array(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> str:
    """Change one array: some numbers, its length, its type or its order; say how."""
    name = str(rng.choice(sorted(arrays)))
    array = np.array(arrays[name])
    kind = str(rng.choice(["numbers", "numbers", "numbers", "length", "type", "order", "zeros"]))
    if kind == "numbers" and array.size:
        at = rng.integers(array.size, size=int(rng.integers(1, 4)))
        array.reshape(-1)[at] = rng.choice(extremes(array.dtype, array.size), size=len(at))
    elif kind == "length" and array.ndim:
        array = array[:-1] if rng.random() < 0.5 else np.concatenate([array, array[:1]])
    elif kind == "type":
        with np.errstate(all="ignore"):
            array = array.astype(str(rng.choice(["int64", "float32", "uint16", "float64"])))
    elif kind == "zeros":
        array = np.zeros_like(array)
    else:
        array = rng.permutation(array.reshape(-1)).reshape(array.shape)
    # As those of an archive are.
    array.flags.writeable = False
    arrays[name] = array
    return f"{name}: {kind}"


def extremes(dtype: np.dtype, size: int) -> np.ndarray:
    """Return numbers of a type that lead far away."""
    if dtype.kind == "f":
        most = np.finfo(dtype).max
        return np.array([np.nan, np.inf, -np.inf, most, -most, 0, -1, 1e-7, size], dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    info = np.iinfo(dtype)
    near = [info.max, info.max - 1, info.min, info.min + 1, 0, 1, size, size + 1, 1000]
    near += [-1, -2, -size] if dtype.kind == "i" else []
    return np.array([np.clip(value, info.min, info.max) for value in near], dtype)


def mutate(archive: Archive, seed: int) -> tuple[Archive, str]:
    """Return a changed copy of an archive, and what was changed."""
    rng = np.random.default_rng(seed)
    manifest, arrays = copy.deepcopy(archive.manifest), dict(archive.arrays)
    done = []
    for _ in range(int(rng.integers(1, 3))):
        use = rng.random() < 0.45 and manifest
        done.append(change_value(manifest, rng) if use else change_array(arrays, rng))
    return Archive(Path("mutated"), manifest, arrays), "; ".join(done)
