"""What every run needs: imported once by the server that runs are forked from."""

from __future__ import annotations

from importlib import import_module

from rmls import models
from rmls.bench.run import worker

# Estimators are imported when they are named; a fork has them all.
for _name in models.__all__:
    getattr(models, _name)
for _name in (
    "rmls.datasets",
    "rmls.datasets.npz",
    "rmls.metrics",
    "rmls.models.shared.model_archive",
    "sklearn.feature_extraction.text",
    "sklearn.model_selection",
    "threadpoolctl",
):
    import_module(_name)

__all__ = ["worker"]
