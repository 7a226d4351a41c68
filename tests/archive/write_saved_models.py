"""Write the saved models that later versions must still load, with what they answered.

Run it once for a version that is released, with that version on the path, and never again for
the same folder: ``python tests/archive/write_saved_models.py tests/archive/saved_0_1``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "samples"))

from model_samples import ESTIMATORS, NAMES, as_names, make, make_blocks

ROWS, QUERIES, BEST = 40, 10, 4
# Estimators with options whose archives hold something of their own.
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "RMLS-calibrated": ("RMLS", {"calibration": "auto"}),
    "RMLS-threshold": ("RMLS", {"decision": "threshold"}),
    "RMLS-macro_f1": ("RMLS", {"calibration": "isotonic", "decision": "macro_f1"}),
    "RMLS-standardize": ("RMLS", {"normalize": "standardize", "early_stopping": True}),
    "RMLSRanker-clusters": ("RMLSRanker", {"index": "clusters", "shortlist_size": 4}),
    "RMLSRanker-int8": ("RMLSRanker", {"precision": "int8"}),
    "RMLSRanker-int16": ("RMLSRanker", {"precision": "int16", "n_models": 2}),
}
CLASSES = ("RMLS", "RMLSRanker", "KNN", "PLST", "Calibrated")


def make_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose words have weights, so that no two scores are equal by construction."""
    X, Y = make_blocks(n, seed=seed)
    return X * (0.5 + np.random.default_rng(seed).random(X.shape)).round(3), Y


def fit_models() -> dict[str, Any]:
    """Return a small fitted model for every estimator, and for every case of its archive."""
    X, Y = make_rows(ROWS, 0)
    names, topics = as_names(Y, NAMES), np.array(NAMES)[2 * (np.arange(ROWS) % 3)]
    models = {name: make(name).fit(X, names) for name in ESTIMATORS}
    for case, (name, options) in OPTIONS.items():
        models[case] = make(name).set_params(**options).fit(X, names)
    for name in CLASSES:
        models[f"{name}-classes"] = make(name).fit(X, topics)
    models["RMLS-two-classes"] = make("RMLS").fit(X, topics == NAMES[0])
    models["RMLS-sparse"] = make("RMLS").fit(X, sparse.csr_matrix(Y), label_names=NAMES)
    return models


def plain(sets: Any) -> Any:
    """Return label sets of any container as lists."""
    dense = sets.toarray() if sparse.issparse(sets) else sets
    return dense.tolist() if isinstance(dense, np.ndarray) else dense


def ask(model: Any, X: np.ndarray) -> dict[str, Any]:
    """Return all that a model answers, as plain values."""
    ranking, sets = model.rank(X, BEST), model.predict(X)
    answers = {
        "scores": model.decision_function(X).tolist(),
        "indptr": ranking.indptr.tolist(),
        "labels": ranking.labels.tolist(),
        "ranked": ranking.scores.tolist(),
        "sets": plain(sets),
    }
    if hasattr(model, "predict_proba"):
        answers["probabilities"] = model.predict_proba(X).tolist()
    return answers


def main(folder: Path) -> None:
    """Write all models and ``answers.json``."""
    queries, _ = make_rows(QUERIES, 1)
    answers = {}
    for case, model in fit_models().items():
        model.save(folder / case)
        answers[case] = ask(model, queries)
    text = json.dumps({"queries": queries.tolist(), "answers": answers}, separators=(",", ":"))
    (folder / "answers.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
