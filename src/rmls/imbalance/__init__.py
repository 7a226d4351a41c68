"""How unequal the labels of a data set are; folds and resamplers that even them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmls.core.lazy import lazy_names
from rmls.imbalance.folds import StratifiedFolds, assign_folds
from rmls.imbalance.plot import plot_imbalance
from rmls.imbalance.report import GroupSummary, ImbalanceReport, describe, summarise_groups
from rmls.imbalance.statistics import (
    cardinality,
    count_label_sets,
    cvir,
    density,
    imbalance_ratio,
    irlbl,
    mean_imbalance_ratio,
    mean_ir,
    scumble,
    scumble_per_row,
)

if TYPE_CHECKING:
    from rmls.imbalance.lpros import LPROS
    from rmls.imbalance.lprus import LPRUS
    from rmls.imbalance.mlros import MLROS
    from rmls.imbalance.mlrus import MLRUS
    from rmls.imbalance.mlsmote import MLSMOTE
    from rmls.imbalance.remedial import REMEDIAL

RESAMPLERS = ("LPROS", "LPRUS", "MLROS", "MLRUS", "MLSMOTE", "REMEDIAL")

__all__ = [
    "LPROS",
    "LPRUS",
    "MLROS",
    "MLRUS",
    "MLSMOTE",
    "REMEDIAL",
    "RESAMPLERS",
    "GroupSummary",
    "ImbalanceReport",
    "StratifiedFolds",
    "assign_folds",
    "cardinality",
    "count_label_sets",
    "cvir",
    "density",
    "describe",
    "imbalance_ratio",
    "irlbl",
    "mean_imbalance_ratio",
    "mean_ir",
    "plot_imbalance",
    "scumble",
    "scumble_per_row",
    "summarise_groups",
]

# On first use: the statistics do without scikit-learn.
__getattr__ = lazy_names(__name__, {name: f".{name.lower()}" for name in RESAMPLERS})
