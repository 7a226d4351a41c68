"""Rows to train on and rows to look at, for the programs of this folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from rmls import make_longtail
from rmls.datasets import load

NAMES = ["tate", "debdeps", "eurlex57k"]


def say(**figures: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(figures), flush=True)


def split(name: str, limit: int | None = None) -> tuple[Any, ...]:
    """Training rows, a fifth of them held out: test rows are not looked at."""
    if name == "longtail":
        data = make_longtail(limit or 80_000, 600, 300, labels_per_row=5, random_state=1).train
    else:
        folder = Path(os.environ.get("RMLS_DATA", "../shared/data"))
        data = load(folder / f"{name}.npz").train
    X, Y = data.X.tocsr(), data.Y.tocsr()
    order = np.random.default_rng(5).permutation(X.shape[0])[:limit]
    held, kept = np.split(order, [len(order) // 5])
    return X[kept], Y[kept], X[held], Y[held]


def precision(model: Any, X: Any, Y: Any) -> dict[str, float]:
    """Precision at 1 and 5, in points."""
    labels = model.rank(X, 5).labels.reshape(-1, 5)
    hits = np.array([np.isin(row, Y[i].indices) for i, row in enumerate(labels)])
    return {"P@1": round(100 * hits[:, 0].mean(), 2), "P@5": round(100 * hits.mean(), 2)}
