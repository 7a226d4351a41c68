"""Every resampler of the package, problems for them, and the methods in plain Python."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
from scipy import sparse

from rmls import imbalance
from rmls.datasets import make_longtail

RESAMPLERS: dict[str, type] = {name: getattr(imbalance, name) for name in imbalance.RESAMPLERS}
OVER = ("LPROS", "MLROS", "MLSMOTE", "REMEDIAL")
UNDER = ("LPRUS", "MLRUS")
# Settings that lead to other code.
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in RESAMPLERS),
    ("MLROS", {"sampling_strategy": 1.5}),
    ("MLRUS", {"draw": "labels"}),
    ("MLRUS", {"sampling_strategy": 0.1}),
    ("MLSMOTE", {"labels": "union", "sampling_strategy": 2.5}),
    ("MLSMOTE", {"labels": "intersection", "n_neighbors": 2}),
    ("REMEDIAL", {"threshold": 0.1}),
    ("REMEDIAL", {"empty_copies": False}),
]
IDS = [f"{name}{list(options.values()) or ''}" for name, options in SETTINGS]


def make_problem(
    n_samples: int = 300, n_labels: int = 25, seed: int = 0, n_features: int = 40
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Rows with a long tail of labels, some rows without labels and a label without rows."""
    made = make_longtail(n_samples, n_features, n_labels, random_state=seed)
    Y = made.Y.tolil()
    Y[[3, 50], :] = 0
    Y[:, n_labels // 2] = 0
    return made.X, sparse.csr_matrix(Y)


def counts_of(Y: Any) -> np.ndarray:
    return np.asarray(sparse.csr_matrix(Y).sum(axis=0)).ravel()


def sets_of(Y: Any) -> list[frozenset[int]]:
    return [frozenset(np.flatnonzero(row).tolist()) for row in sparse.csr_matrix(Y).toarray()]


def row_multiset(X: Any, Y: Any) -> list[tuple[bytes, bytes]]:
    """The rows with their labels, whatever their order."""
    X, Y = (sparse.csr_matrix(matrix).toarray() for matrix in (X, Y))
    return sorted((x.tobytes(), y.tobytes()) for x, y in zip(X, Y.astype(np.int32), strict=True))


# -- the methods, straight from the papers, on lists of sets -------------------------------------


def ratios_of(sets: list[frozenset[int]]) -> tuple[dict[int, float], float]:
    """IRLbl of every label that occurs, and MeanIR."""
    counts: dict[int, int] = defaultdict(int)
    for labels in sets:
        for label in labels:
            counts[label] += 1
    ratios = {label: max(counts.values()) / count for label, count in counts.items()}
    return ratios, sum(ratios.values()) / len(ratios)


def reference_mlros(sets: list[frozenset[int]], share: float, draw: random.Random) -> list[int]:
    """Return the rows to clone."""
    to_clone = int(share * len(sets) + 0.5)
    ratios, mean = ratios_of(sets)
    bags = {
        label: [row for row, labels in enumerate(sets) if label in labels]
        for label in sorted(ratios, key=lambda label: -ratios[label])
        if ratios[label] > mean
    }
    clones: list[int] = []
    while to_clone > len(clones) and bags:
        for label in list(bags):
            if to_clone == len(clones):
                break
            now, _ = ratios_of(sets + [sets[row] for row in clones])
            if now[label] > mean:
                clones.append(draw.choice(bags[label]))
                now, _ = ratios_of(sets + [sets[row] for row in clones])
            if now[label] <= mean:
                del bags[label]
    return clones


def reference_mlrus_turns(
    sets: list[frozenset[int]], share: float, draw: random.Random
) -> set[int]:
    """Return the rows to delete."""
    to_delete = int(share * len(sets) + 0.5)
    ratios, mean = ratios_of(sets)
    minority = {label for label in ratios if ratios[label] > mean}
    order = sorted(ratios, key=lambda label: ratios[label])
    bags = {
        label: [r for r, labels in enumerate(sets) if label in labels and not labels & minority]
        for label in order
        if ratios[label] < mean
    }
    deleted: set[int] = set()
    while len(deleted) < to_delete and bags:
        for label in list(bags):
            if len(deleted) == to_delete:
                break
            there = [row for row in bags[label] if row not in deleted]
            now, _ = ratios_of([s for row, s in enumerate(sets) if row not in deleted])
            if there and label in now and now[label] < mean:
                deleted.add(draw.choice(there))
                now, _ = ratios_of([s for row, s in enumerate(sets) if row not in deleted])
            if not there or label not in now or now[label] >= mean:
                del bags[label]
    return deleted


def reference_lp_changes(sets: list[frozenset[int]], share: float, over: bool) -> dict:
    """Return the rows that every label set gains or loses."""
    bags: dict[frozenset[int], int] = defaultdict(int)
    for labels in sets:
        if labels:
            bags[labels] += 1
    mean = sum(bags.values()) / len(bags)
    if over:
        chosen = sorted((s for s in bags if bags[s] < mean), key=lambda s: -bags[s])
        room = [int(np.ceil(mean)) - bags[s] for s in chosen]
    else:
        chosen = sorted((s for s in bags if bags[s] > mean), key=lambda s: bags[s])
        room = [bags[s] - int(np.floor(mean)) for s in chosen]
    left = int(share * len(sets) + 0.5)
    changes = {}
    for turn, labels in enumerate(chosen):
        changes[labels] = min(room[turn], left // (len(chosen) - turn))
        left -= changes[labels]
    return changes
