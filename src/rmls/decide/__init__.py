"""From scores to label sets: calibrated probabilities and decision rules.

Everything here works on a `rmls.core.ranking.Ranking` of scores from any library.
"""

from rmls.decide.batch import MacroF1Batch, MacroF1TopK
from rmls.decide.calibration import METHODS, Calibration, ScoreCounts, fit_calibration
from rmls.decide.expected import ExpectedF1, ExpectedJaccard
from rmls.decide.gfm import choose_f_sets, maximize_f
from rmls.decide.rules import (
    Cardinality,
    CardinalityCount,
    Rule,
    Threshold,
    TopK,
    make_rule,
    shown_names,
)
from rmls.decide.thresholds import MacroF1, MicroF1, fit_macro_f1, fit_micro_f1
from rmls.decide.weighted import MacroRecallTopK, PropensityTopK, TailTopK

__all__ = [
    "METHODS",
    "Calibration",
    "Cardinality",
    "CardinalityCount",
    "ExpectedF1",
    "ExpectedJaccard",
    "MacroF1",
    "MacroF1Batch",
    "MacroF1TopK",
    "MacroRecallTopK",
    "MicroF1",
    "PropensityTopK",
    "Rule",
    "ScoreCounts",
    "TailTopK",
    "Threshold",
    "TopK",
    "choose_f_sets",
    "fit_calibration",
    "fit_macro_f1",
    "fit_micro_f1",
    "make_rule",
    "maximize_f",
    "shown_names",
]
