"""From the options of RMLS to the objective of the kernel, and from its scores to probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace
from rmls.core.options import check_choice, check_number, check_share, check_whole
from rmls.kernels import cpu
from rmls.metrics import propensities
from rmls.models.rmls.sampling import Totals, check_sampling, floored_counts, make_sampler
from rmls.models.rmls.schedule import check_passes, is_auto

PAPER: dict[str, Any] = {
    "negatives_per_positive": 5,
    "min_negatives": 0,
    "l2": 0.001,
    "accumulators": "element",
    "initial_accumulator": 1.0,
    "learning_rate": 0.1,
    "schedule": "constant",
    "init": "glorot",
    "max_iter": 2,
    "gradient_floor": 0.0,
    "normalize": "none",
    "decision": "cardinality",
    "calibration": None,
}
NEGATIVES_PER_ROW = 400.0
PAPER_NEGATIVES = 5.0

CHOICES = {
    "negatives": ("sampled", "all"),
    "loss": cpu.LOSSES,
    "activation": cpu.ACTIVATIONS,
    "accumulators": ("row", "element"),
    "schedule": ("linear", "constant"),
    "init": ("projection", "glorot"),
}
WHOLE = {
    "n_components": 1,
    "batch_size": 1,
    "min_negatives": 0,
    "n_iter_no_change": 1,
}
POSITIVE = ("learning_rate", "initial_accumulator")
NON_NEGATIVE = ("negatives_per_positive", "l2", "gradient_floor", "tol", "label_norm_power")
AUTO_NUMBERS = ("negatives_per_positive", "l2")
# Focus on relevant and on irrelevant labels, and margin, where the options are "auto".
NO_FOCUS = (np.float32(0.0), np.float32(0.0), np.float32(0.0))
FOCUS = {"focal": (2.0, 2.0, 0.0), "asymmetric": (0.0, 4.0, 0.05)}


def check_options(model: Any) -> None:
    """Raise a sentence for the first option of ``model`` that has no meaning."""
    for name, choices in CHOICES.items():
        check_choice(name, getattr(model, name), choices)
    for name, least in WHOLE.items():
        check_whole(name, getattr(model, name), least)
    check_passes(model.max_iter)
    for name in POSITIVE:
        check_number(name, getattr(model, name), positive=True)
    for name in NON_NEGATIVE:
        if not (name in AUTO_NUMBERS and is_auto(getattr(model, name))):
            check_number(name, getattr(model, name), positive=False)
    for name in ("max_feature_norm", "max_label_norm"):
        value = getattr(model, name)
        if value is not None and (name != "max_label_norm" or np.ndim(value) == 0):
            check_number(name, value, positive=True)
    check_share("validation_fraction", model.validation_fraction)
    settle_focus(model)
    check_sampling(model)


def settle_focus(model: Any) -> tuple[np.float32, np.float32, np.float32]:
    """Return the focus on relevant and on irrelevant labels and the margin; zeros without focus."""
    names = ("focus_relevant", "focus_irrelevant", "margin")
    values = dict(zip(names, FOCUS.get(model.loss, (0.0, 0.0, 0.0)), strict=True))
    given = {name: getattr(model, name) for name in names if not is_auto(getattr(model, name))}
    for name, value in given.items():
        check_number(name, value, positive=False)
    if given.get("margin", 0.0) >= 1:
        raise InputError(f"margin must be at least 0 and below 1; got {given['margin']!r}.")
    if model.loss in FOCUS:
        values |= given
    if model.loss == "focal":
        focus = {given[name] for name in names[:2] if name in given}
        if len(focus) > 1 or values["margin"]:
            raise InputError(
                "loss='focal' has one focus and no margin; give focus_relevant and "
                "focus_irrelevant the same value and leave margin, or use loss='asymmetric'."
            )
        values |= dict.fromkeys(names[:2], *focus) if focus else {}
    relevant, irrelevant, margin = (np.float32(values[name]) for name in names)
    return relevant, irrelevant, margin


def make_objective(model: Any, space: LabelSpace, totals: Totals) -> cpu.Objective:
    """Return the kernel's objective; ``"auto"`` options are settled from the data."""
    ratio, l2 = model.negatives_per_positive, model.l2
    if ratio == "auto":
        ratio = max(PAPER_NEGATIVES, NEGATIVES_PER_ROW / max(totals.cardinality, 1.0))
    if l2 == "auto":
        l2 = min(max(0.001, 5.0 / totals.weight), 0.01)
    focus = settle_focus(model)
    unfocused = model.loss in FOCUS and not any(focus)
    return cpu.Objective(
        loss=cpu.LOSSES.index("logistic" if unfocused else model.loss),
        activation=cpu.ACTIVATIONS.index(model.activation),
        focus=focus,
        negatives_per_positive=float(ratio),
        min_negatives=int(model.min_negatives),
        all_negatives=model.negatives == "all",
        sampler=make_sampler(model, totals, space.is_single),
        l2=np.float32(l2),
        max_label_norm=label_bounds(model.max_label_norm, model.label_norm_power, totals.positives),
        gradient_floor=np.float32(model.gradient_floor),
        label_weight=label_weights(model.class_weight, space, totals),
    )


def label_bounds(bound: Any, power: float, positives: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the bound on every label's squared norm, ``C (n_j / max n)^power``; empty if none.

    Few positives support only a short vector: a power above 0 keeps rare labels shorter. An array
    gives C for every label.

    Examples
    --------
    >>> label_bounds(2.0, 0.5, np.array([100.0, 25.0])).tolist()
    [2.0, 1.0]
    """
    if bound is None:
        return np.zeros(0, np.float32)
    bounds = _as_numbers("max_label_norm", bound)
    if bounds.shape not in ((), positives.shape) or not ((bounds > 0) & np.isfinite(bounds)).all():
        raise InputError(
            "max_label_norm must be one positive number, or one for each of the "
            f"{len(positives)} labels."
        )
    counts = floored_counts(positives)
    return np.asarray(bounds * (counts / counts.max()) ** power, dtype=np.float32)


def label_weights(class_weight: Any, space: LabelSpace, totals: Totals) -> NDArray[np.float32]:
    """Return the weight of the relevant entries of every label.

    ``"balanced"`` weighs label j by the reciprocal of its (weighted) number of positives,
    ``"propensity"`` by the reciprocal of its propensity (Jain et al., 2016), both scaled so that
    the mean relevant entry has weight 1; a dict names labels, the others keep weight 1.
    """
    n_labels, positives = space.n_labels, totals.positives
    if class_weight is None:
        return np.ones(n_labels, np.float32)
    if isinstance(class_weight, str):
        if class_weight not in ("balanced", "propensity"):
            raise InputError(
                "class_weight must be 'balanced', 'propensity', a dict, an array with one weight "
                f"per label, or None; got {class_weight!r}."
            )
        used = positives > 0
        if class_weight == "balanced":
            weights = 1.0 / np.where(used, positives, 1.0)
            weights *= positives.sum() / max(int(used.sum()), 1)
        else:
            weights = 1.0 / propensities(positives, max(round(totals.weight), 1))
            weights *= positives.sum() / (positives @ weights) if used.any() else 1.0
        return weights.astype(np.float32)
    if isinstance(class_weight, Mapping):
        unknown = [name for name in class_weight if name not in space.names]
        if unknown:
            raise InputError(f"class_weight names the label {unknown[0]!r}, which is not known.")
        values = _as_numbers("class_weight", [class_weight.get(name, 1.0) for name in space.names])
    else:
        values = _as_numbers("class_weight", class_weight)
    if values.shape != (n_labels,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"class_weight must hold one non-negative number for each of the {n_labels} labels."
        )
    return values.astype(np.float32)


def _as_numbers(name: str, values: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is not a number.") from None


def to_probability(
    scores: NDArray[np.float32],
    loss: str,
    rate: float | NDArray[np.float32],
    focus: tuple[np.float32, np.float32, np.float32] = NO_FOCUS,
) -> NDArray[np.float32]:
    """Return the probability of relevance from scores of a sampled loss.

    With relevant labels always kept and irrelevant ones at ``rate`` (one, or one per label), the
    loss estimates ``q = p / (p + rate (1 - p))``; solving for p gives
    ``rate q / (1 - q + rate q)``, which for the logistic loss is ``sigmoid(s + log rate)``. In
    general the slopes of both parts balance: ``p / (1 - p) = -rate slope(-1) / slope(1)``.

    Examples
    --------
    >>> to_probability(np.float32([0.0]), "logistic", 0.25).round(2).tolist()
    [0.20...]
    """
    if loss == "logistic" or (loss in FOCUS and not any(focus)):
        odds = np.exp(np.minimum(scores + np.asarray(np.log(rate), np.float32), np.float32(80.0)))
        return np.asarray(odds / (1 + odds), dtype=np.float32)
    if loss in FOCUS:
        code, one = cpu.LOSSES.index(loss), np.float32(1.0)
        down = rate * cpu.slopes_of_scores(code, scores, -one, focus).astype(np.float64)
        up = -cpu.slopes_of_scores(code, scores, one, focus).astype(np.float64)
        return np.asarray(down / np.maximum(down + up, 1e-300), dtype=np.float32)
    q: NDArray[np.float32] = np.clip(scores if loss == "squared" else (scores + 1) / 2, 0, 1)
    return np.asarray(rate * q / (1 - q + rate * q), dtype=np.float32)


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of positive numbers that sum to 1, in the order of the scores."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)
