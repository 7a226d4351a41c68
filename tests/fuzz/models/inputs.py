"""Tables, labels and weights of every form that users pass in, good ones and hopeless ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ..mutate import Draw

Generator = np.random.Generator
NAMES: list[Any] = [
    "tax",
    "law",
    "",
    "é",
    "a\nb",
    "\0",
    "\ud800",
    3,
    2.5,
    True,
    None,
    ("x",),
    "x" * 300,
]


class Problem(NamedTuple):
    """What is passed to `fit`; ``X`` is the same table as ``plain``, in some form."""

    X: Any
    y: Any
    plain: Any
    sample_weight: Any = None
    label_names: Any = None


def make_problem(draw: Draw) -> Problem:
    """Return a problem: most often a good one with one odd part."""
    rng = np.random.default_rng(draw.getrandbits(63))
    n = draw.choice((1, 2, 3, 8, 25, 25, 40))
    d, m = draw.choice((1, 2, 5, 20)), draw.choice((1, 2, 3, 3, 7))
    plain = make_table(n, d, draw, rng)
    X = draw.choice(list(FORMS.values()))(plain, rng) if draw.random() < 0.6 else plain
    if draw.random() < 0.05:
        X = draw.choice(HOPELESS)(plain, rng)
    Y = (rng.random((n, m)) < draw.choice((0.1, 0.4, 0.4, 0.9))).astype(int)
    y = draw.choice(LABELS)(Y, draw, rng) if draw.random() < 0.5 else Y
    weight = draw.choice(WEIGHTS)(n, rng) if draw.random() < 0.25 else None
    names = draw.choice(LABEL_NAMES)(m, draw) if draw.random() < 0.15 else None
    return Problem(X, y, plain, weight, names)


def make_table(n: int, d: int, draw: Draw, rng: Generator) -> Any:
    """Return finite numbers, of sizes that are common or extreme."""
    table = np.abs(rng.normal(size=(n, d))) * (rng.random((n, d)) < draw.choice((0.3, 0.8, 1.0)))
    way = draw.random()
    if way < 0.5:
        return table
    if way < 0.65:
        return table * draw.choice((1e-45, 1e-42, 1e-39, 1e-30, 1e-20, 1e10, 1e20, 1e30, 1e37))
    if way < 0.75:
        rows = rng.integers(0, n, max(1, n // 3))
        table[rows] *= draw.choice((1e-42, 1e-39, 1e-30, 1e25, 1e37, 0.0, -1.0))
        return table
    if way < 0.85:
        column = rng.integers(0, d)
        table[:, column] = draw.choice((0.0, 1.0, -1.0, 9.2e18, 3e38, 1e-40, 16777217.0))
        return table
    if way < 0.9:
        return np.zeros((n, d))
    if way < 0.95:
        # Copies of one row, with labels that contradict each other.
        return np.repeat(table[:1], n, axis=0)
    return np.round(table * 3)


def _scattered(table: Any, rng: Generator) -> Any:
    """Return CSR with stored zeros, indices in any order and some of them twice."""
    matrix = sparse.csr_matrix(table)
    row, column = matrix.nonzero()
    value = np.asarray(matrix[row, column]).ravel()
    order = rng.permutation(len(row))
    row, column, value = row[order], column[order], value[order]
    half = value / 2
    rows, columns, values = np.r_[row, row, 0], np.r_[column, column, 0], np.r_[half, half, 0.0]
    by_row = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=table.shape[0]))])
    return sparse.csr_matrix((values[by_row], columns[by_row], indptr), shape=table.shape)


def _read_only(table: Any, rng: Generator) -> Any:
    copy = table.copy()
    copy.setflags(write=False)
    return copy


def _quiet(dtype: str) -> Callable[[Any, Generator], Any]:
    def cast(table: Any, rng: Generator) -> Any:
        with np.errstate(all="ignore"):
            return table.astype(dtype)

    return cast


FORMS: dict[str, Callable[[Any, Generator], Any]] = {
    **{
        dtype: _quiet(dtype)
        for dtype in ("f2", "f4", "f8", "f16", "i1", "i8", "u8", "?", "O", ">f8")
    },
    "lists": lambda table, rng: table.tolist(),
    "tuples": lambda table, rng: tuple(map(tuple, table)),
    "columns": lambda table, rng: np.asfortranarray(table),
    "strided": lambda table, rng: np.repeat(np.repeat(table, 2, 0), 3, 1)[::2, ::3],
    "backwards": lambda table, rng: table[::-1].copy()[::-1],
    "read-only": _read_only,
    "frame": lambda table, rng: pd.DataFrame(
        table, columns=[f"c{i}" for i in range(table.shape[1])]
    ),
    "frame of numbers": lambda table, rng: pd.DataFrame(table, index=[7] * len(table)),
    "mixed frame": lambda table, rng: pd.DataFrame(table).astype({0: "float32"}),
    "csr": lambda table, rng: sparse.csr_matrix(table),
    "csr array": lambda table, rng: sparse.csr_array(table.astype(np.float32)),
    "csc": lambda table, rng: sparse.csc_matrix(table),
    "coo": lambda table, rng: sparse.coo_array(table),
    "lil": lambda table, rng: sparse.lil_matrix(table),
    "dok": lambda table, rng: sparse.dok_matrix(table),
    "bsr": lambda table, rng: sparse.bsr_matrix(table),
    "scattered": _scattered,
    "wide indices": lambda table, rng: _wide(sparse.csr_matrix(table)),
    "ints": lambda table, rng: sparse.csr_matrix(table.clip(0, 9).astype(int)),
    "read-only csr": lambda table, rng: _locked(sparse.csr_matrix(table.astype(np.float32))),
}


def _wide(matrix: Any) -> Any:
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def _locked(matrix: Any) -> Any:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.setflags(write=False)
    return matrix


def _broken(which: str, value: int, place: int) -> Callable[[Any, Generator], Any]:
    """Return a maker of CSR whose arrays contradict each other, as a cast or a bug leaves them."""

    def make(table: Any, rng: Generator) -> Any:
        matrix = _wide(sparse.csr_matrix(np.abs(table) + 1))
        array = getattr(matrix, which)
        array[min(place, len(array) - 1)] = value
        return matrix

    return make


HOPELESS: list[Callable[[Any, Generator], Any]] = [
    lambda table, rng: np.where(rng.random(table.shape) < 0.3, np.nan, table),
    lambda table, rng: np.where(rng.random(table.shape) < 0.3, np.inf, table),
    lambda table, rng: table * 1e300,
    lambda table, rng: table[:0],
    lambda table, rng: table[:, :0],
    lambda table, rng: table[0],
    lambda table, rng: table[None],
    lambda table, rng: table.astype(complex),
    lambda table, rng: table.astype(str),
    lambda table, rng: [["a", "b"]] * len(table),
    lambda table, rng: [[1], [1, 2]],
    lambda table, rng: None,
    lambda table, rng: "text",
    lambda table, rng: 3.0,
    lambda table, rng: {},
    lambda table, rng: [None] * len(table),
    lambda table, rng: np.array([{}] * len(table)),
    lambda table, rng: pd.DataFrame({"a": ["x"] * len(table)}),
    lambda table, rng: pd.DataFrame({"a": pd.array([1, None] * len(table))[: len(table)]}),
    lambda table, rng: sparse.csr_matrix(table.shape, dtype=complex),
    *(_broken("indices", value, 0) for value in (-1, 10**6, 2**31, 2**40, -(2**63))),
    *(_broken("indptr", value, 1) for value in (-1, 10**7, 2**62, -(2**62))),
    _broken("indptr", 10**7, -1),
    _broken("indptr", 1, 0),
]


def _name_lists(Y: Any, draw: Draw, rng: Generator) -> Any:
    names = (
        draw.sample(NAMES, Y.shape[1])
        if draw.random() < 0.3
        else [f"l{i}" for i in range(Y.shape[1])]
    )
    rows: list[Any] = [[names[at] for at in np.flatnonzero(row)] for row in Y]
    if draw.random() < 0.1:
        rows[draw.randrange(len(rows))] = draw.choice(
            (None, "tax", 3, [None], [[]], {"a"}, [float("nan")])
        )
    return rows


LABELS: list[Callable[[Any, Draw, Generator], Any]] = [
    _name_lists,
    _name_lists,
    lambda Y, draw, rng: sparse.csr_matrix(Y),
    lambda Y, draw, rng: sparse.coo_array(Y),
    lambda Y, draw, rng: _scattered(Y.astype(float), rng),
    lambda Y, draw, rng: Y.astype(draw.choice(("?", "i1", "u8", "f2", "f8", "O", "S1", "c8"))),
    lambda Y, draw, rng: pd.DataFrame(Y, columns=[f"c{i}" for i in range(Y.shape[1])]),
    lambda Y, draw, rng: pd.DataFrame(Y, columns=["same"] * Y.shape[1]),
    lambda Y, draw, rng: Y.tolist(),
    lambda Y, draw, rng: Y[:, :1],
    lambda Y, draw, rng: Y[:, 0],
    lambda Y, draw, rng: Y.argmax(axis=1),
    lambda Y, draw, rng: np.array(["a", "b", "c"])[Y.argmax(axis=1) % 3],
    lambda Y, draw, rng: rng.normal(size=len(Y)),
    lambda Y, draw, rng: pd.Series(Y[:, 0], index=range(5, 5 + len(Y))),
    lambda Y, draw, rng: pd.Categorical(["u", "v"] * len(Y))[: len(Y)],
    lambda Y, draw, rng: Y * 0,
    lambda Y, draw, rng: Y * 0 + 1,
    lambda Y, draw, rng: Y + draw.choice((1, -1, 0.5)),
    lambda Y, draw, rng: np.where(Y, np.nan, 0),
    lambda Y, draw, rng: Y[: len(Y) // 2],
    lambda Y, draw, rng: Y[:, :0],
    lambda Y, draw, rng: Y[None],
    lambda Y, draw, rng: [[] for _ in Y],
    lambda Y, draw, rng: [set(np.flatnonzero(row).tolist()) for row in Y],
    lambda Y, draw, rng: [None for _ in Y],
    lambda Y, draw, rng: None,
    lambda Y, draw, rng: "labels",
    lambda Y, draw, rng: 7,
    lambda Y, draw, rng: _broken(
        draw.choice(("indices", "indptr")), draw.choice((-1, 10**7, 2**62)), 1
    )(Y, rng),
]
WEIGHTS: list[Callable[[int, Generator], Any]] = [
    lambda n, rng: rng.random(n),
    lambda n, rng: rng.integers(0, 3, n),
    lambda n, rng: np.zeros(n),
    lambda n, rng: np.eye(1, n)[0],
    lambda n, rng: np.full(n, 1e300),
    lambda n, rng: np.full(n, 1e-300),
    lambda n, rng: np.where(rng.random(n) < 0.5, 1e300, 1e-300),
    lambda n, rng: np.full(n, np.nan),
    lambda n, rng: np.full(n, np.inf),
    lambda n, rng: -np.ones(n),
    lambda n, rng: np.ones(n + 1),
    lambda n, rng: np.ones((n, 1)),
    lambda n, rng: 2.0,
    lambda n, rng: ["a"] * n,
    lambda n, rng: [None] * n,
    lambda n, rng: "balanced",
]
LABEL_NAMES: list[Callable[[int, Draw], Any]] = [
    lambda m, draw: [f"n{at}" for at in range(m)],
    lambda m, draw: ["same"] * m,
    lambda m, draw: draw.sample(NAMES, m),
    lambda m, draw: ["one"],
    lambda m, draw: np.arange(m),
    lambda m, draw: "abc",
    lambda m, draw: 5,
]
