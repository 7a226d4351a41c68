"""How unequal the labels of a data set are, and folds that spread them evenly."""

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

__all__ = [
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
