"""What passes between the main script and a peer: matrices and rankings as plain npz files.

Used on both sides, also inside the peers' environments: numpy and scipy only.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from scipy import sparse


class Ranked(NamedTuple):
    """The best labels of every row, best first: row i owns ``indptr[i]:indptr[i + 1]``."""

    indptr: np.ndarray
    labels: np.ndarray
    scores: np.ndarray


class Problem(NamedTuple):
    """What an adapter may see: the labels of the test rows are not in it."""

    X_train: sparse.csr_matrix
    Y_train: sparse.csr_matrix
    X_test: sparse.csr_matrix
    sample: np.ndarray


def write_problem(path, problem):
    """Write a `Problem` to one npz file."""
    parts = {"sample": problem.sample}
    for name in ("X_train", "Y_train", "X_test"):
        matrix = getattr(problem, name)
        parts[f"{name}_data"] = matrix.data.astype(np.float32)
        parts[f"{name}_indices"] = matrix.indices.astype(np.int32)
        parts[f"{name}_indptr"] = matrix.indptr.astype(np.int64)
        parts[f"{name}_shape"] = np.array(matrix.shape, dtype=np.int64)
    np.savez(path, **parts)


def read_problem(path):
    """Read what `write_problem` wrote."""
    with np.load(path, allow_pickle=False) as parts:
        matrices = [_read_matrix(parts, name) for name in ("X_train", "Y_train", "X_test")]
        return Problem(*matrices, parts["sample"])


def _read_matrix(parts, name):
    arrays = (parts[f"{name}_data"], parts[f"{name}_indices"], parts[f"{name}_indptr"])
    matrix = sparse.csr_matrix(arrays, shape=tuple(parts[f"{name}_shape"].tolist()))
    matrix.sort_indices()
    return matrix


def write_rankings(path, **rankings):
    """Write named `Ranked` lists to one npz file."""
    parts = {}
    for name, ranked in rankings.items():
        for field, values in ranked._asdict().items():
            parts[f"{name}_{field}"] = values
    np.savez(path, **parts)


def read_ranking(path, name):
    """Read one `Ranked` list that `write_rankings` wrote."""
    with np.load(path, allow_pickle=False) as parts:
        return Ranked(*(parts[f"{name}_{field}"] for field in Ranked._fields))


def write_json(path, values):
    """Write plain values, readable by people too."""
    path.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")


def read_json(path):
    """Read what `write_json` wrote."""
    return json.loads(path.read_text())
