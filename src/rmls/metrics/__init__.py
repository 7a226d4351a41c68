"""Metrics of label sets and rankings, in time proportional to the labels that are there."""

from rmls.core.frequency import GROUP_NAMES, group_labels, propensities
from rmls.metrics.evaluation import evaluate
from rmls.metrics.example import (
    example_accuracy,
    example_f1,
    example_precision,
    example_recall,
    hamming_loss,
    subset_accuracy,
)
from rmls.metrics.labels import LabelReport, per_label
from rmls.metrics.pooled import (
    macro_f1,
    macro_precision,
    macro_recall,
    micro_f1,
    micro_precision,
    micro_recall,
)
from rmls.metrics.propensity import psp_at_k
from rmls.metrics.ranked import (
    coverage_at_k,
    macro_f1_at_k,
    macro_precision_at_k,
    macro_recall_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)
from rmls.metrics.registry import METRICS, Metric, get_metric
from rmls.metrics.reliability import (
    ReliabilityCurve,
    brier_score,
    expected_calibration_error,
    reliability_curve,
)
from rmls.metrics.report import EvaluationReport
from rmls.metrics.scoring import Scorer, scorer
from rmls.metrics.whole import (
    coverage_error,
    label_ranking_average_precision,
    one_error,
    ranking_loss,
)

__all__ = [
    "GROUP_NAMES",
    "METRICS",
    "EvaluationReport",
    "LabelReport",
    "Metric",
    "ReliabilityCurve",
    "Scorer",
    "brier_score",
    "coverage_at_k",
    "coverage_error",
    "evaluate",
    "example_accuracy",
    "example_f1",
    "example_precision",
    "example_recall",
    "expected_calibration_error",
    "get_metric",
    "group_labels",
    "hamming_loss",
    "label_ranking_average_precision",
    "macro_f1",
    "macro_f1_at_k",
    "macro_precision",
    "macro_precision_at_k",
    "macro_recall",
    "macro_recall_at_k",
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "ndcg_at_k",
    "one_error",
    "per_label",
    "precision_at_k",
    "propensities",
    "psp_at_k",
    "ranking_loss",
    "recall_at_k",
    "reliability_curve",
    "scorer",
    "subset_accuracy",
]
