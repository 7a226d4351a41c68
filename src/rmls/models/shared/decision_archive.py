"""Calibration and decision rules to the archive and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.archive import Archive, check_arrays
from rmls.core.errors import InputError
from rmls.core.options import check_number
from rmls.decide import Calibration, MacroF1, Rule, make_rule

NUMBERS = ("low", "step", "slope")
ARRAYS: dict[str, type] = {"curves": np.float32, "curve_of": np.int32, "bias": np.float32}
LEAST_STEP = 1e-12
THRESHOLDS = "macro_f1_thresholds"


def calibration_numbers(calibration: Calibration | None) -> dict[str, float] | None:
    """Return the plain numbers of a calibration."""
    if calibration is None:
        return None
    return {name: getattr(calibration, name) for name in NUMBERS}


def decision_arrays(
    calibration: Calibration | None, rules: dict[str, Rule]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the calibration and of the rules."""
    arrays: dict[str, NDArray[Any]] = {}
    if calibration is not None:
        arrays = {f"calibration_{name}": getattr(calibration, name) for name in ARRAYS}
    rule = rules.get(MacroF1.name)
    if isinstance(rule, MacroF1) and rule.thresholds is not None:
        arrays[THRESHOLDS] = rule.thresholds
    return arrays


def read_rules(values: Any, archive: Archive, n_labels: int) -> dict[str, Rule]:
    """Return the fitted rules of a saved model."""
    rules = {rule.name: rule for rule in map(make_rule, values)}
    rule = rules.get(MacroF1.name)
    if isinstance(rule, MacroF1):
        check_arrays(archive, {THRESHOLDS: (np.float32, (n_labels,))})
        rules[MacroF1.name] = replace(rule, thresholds=archive.arrays[THRESHOLDS])
    return rules


def read_calibration(values: Any, archive: Archive, n_labels: int) -> Calibration | None:
    """Return the calibration of a saved model, None where it has none."""
    if values is None:
        return None
    shapes: dict[str, tuple[int | None, ...]] = {
        "curves": (None, None),
        "curve_of": (n_labels,),
        "bias": (n_labels,),
    }
    wanted = {f"calibration_{name}": (ARRAYS[name], shape) for name, shape in shapes.items()}
    check_arrays(archive, wanted)
    for name in NUMBERS:
        check_number(f"calibration {name}", values[name] ** 2, positive=name != "low")
    if values["step"] < LEAST_STEP or values["slope"] < 0:
        raise InputError("the calibration has a curve that does not rise")
    arrays = {name: archive.arrays[f"calibration_{name}"] for name in ARRAYS}
    curves, curve_of = arrays["curves"], arrays["curve_of"]
    if curves.size == 0 or curve_of.min(initial=0) < 0 or curve_of.max(initial=0) >= len(curves):
        raise InputError("the calibration names curves that it does not have")
    if not (np.isfinite(curves).all() and np.isfinite(arrays["bias"]).all()):
        raise InputError("the calibration holds a number that is not finite")
    low, step, slope = (float(values[name]) for name in NUMBERS)
    return Calibration(low, step, slope, curves, curve_of, arrays["bias"])
