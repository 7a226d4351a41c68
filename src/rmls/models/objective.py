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
    "max_iter": 1,
    "min_negatives": 0,
    "n_iter_no_change": 1,
}
POSITIVE = ("learning_rate", "initial_accumulator")
NON_NEGATIVE = ("negatives_per_positive", "l2", "gradient_floor", "tol")
BOUNDS = ("max_feature_norm", "max_label_norm")


def check_options(model: Any) -> None:
    """Raise a sentence for the first option of ``model`` that has no meaning."""
    for name, choices in CHOICES.items():
        check_choice(name, getattr(model, name), choices)
    for name, least in WHOLE.items():
        check_whole(name, getattr(model, name), least)
    for name in POSITIVE:
        check_number(name, getattr(model, name), positive=True)
    for name in NON_NEGATIVE:
        if getattr(model, name) != "auto" or name not in ("negatives_per_positive", "l2"):
            check_number(name, getattr(model, name), positive=False)
    for name in BOUNDS:
        if getattr(model, name) is not None:
            check_number(name, getattr(model, name), positive=True)
    check_share("validation_fraction", model.validation_fraction)


def make_objective(
    model: Any,
    space: LabelSpace,
    positives: NDArray[np.float64],
    cardinality: float,
    n_samples: float,
) -> cpu.Objective:
    """Return the kernel's objective; ``"auto"`` options are settled from the data."""
    ratio, l2 = model.negatives_per_positive, model.l2
    if ratio == "auto":
        ratio = max(PAPER_NEGATIVES, NEGATIVES_PER_ROW / max(cardinality, 1.0))
    if l2 == "auto":
        l2 = min(max(0.001, 5.0 / n_samples), 0.01)
    bound = np.inf if model.max_label_norm is None else model.max_label_norm
    return cpu.Objective(
        loss=cpu.LOSSES.index(model.loss),
        activation=cpu.ACTIVATIONS.index(model.activation),
        negatives_per_positive=float(ratio),
        min_negatives=int(model.min_negatives),
        all_negatives=model.negatives == "all",
        l2=np.float32(l2),
        max_label_norm=np.float32(bound),
        gradient_floor=np.float32(model.gradient_floor),
        label_weight=label_weights(model.class_weight, space, positives),
    )


def label_weights(
    class_weight: Any, space: LabelSpace, positives: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the weight of the relevant entries of every label.

    ``"balanced"`` weighs label j by the reciprocal of its (weighted) number of positives, scaled so
    that the mean relevant entry has weight 1; a dict names labels, the others keep weight 1.
    """
    n_labels = space.n_labels
    if class_weight is None:
        return np.ones(n_labels, np.float32)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise InputError(
                "class_weight must be 'balanced', a dict, an array with one weight per label, "
                f"or None; got {class_weight!r}."
            )
        used = positives > 0
        weights = 1.0 / np.where(used, positives, 1.0)
        weights *= positives.sum() / max(int(used.sum()), 1)
        return weights.astype(np.float32)
    if isinstance(class_weight, Mapping):
        unknown = [name for name in class_weight if name not in space.names]
        if unknown:
            raise InputError(f"class_weight names the label {unknown[0]!r}, which is not known.")
        values = _as_numbers([class_weight.get(name, 1.0) for name in space.names])
    else:
        values = _as_numbers(class_weight)
    if values.shape != (n_labels,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(
            f"class_weight must hold one non-negative number for each of the {n_labels} labels."
        )
    return values.astype(np.float32)


def _as_numbers(values: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("class_weight holds something that is not a number.") from None


def negative_rate(objective: cpu.Objective, n_labels: int, cardinality: float) -> float:
    """Return the mean rate at which irrelevant labels enter the loss (r in the logit shift)."""
    wanted = max(objective.negatives_per_positive * cardinality, objective.min_negatives)
    return float(min(1.0, wanted / max(n_labels - cardinality, 1.0)))


def to_probability(scores: NDArray[np.float32], loss: str, rate: float) -> NDArray[np.float32]:
    """Return the probability of relevance from scores of a sampled loss.

    With relevant labels always kept and irrelevant ones at ``rate``, the loss estimates
    ``q = p / (p + rate (1 - p))``; solving for p gives ``rate q / (1 - q + rate q)``, which for the
    logistic loss is ``sigmoid(s + log rate)``.

    Examples
    --------
    >>> to_probability(np.float32([0.0]), "logistic", 0.25).round(2).tolist()
    [0.20...]
    """
    if loss == "logistic":
        odds = np.exp(np.minimum(scores + np.float32(np.log(rate)), np.float32(80.0)))
        return np.asarray(odds / (1 + odds), dtype=np.float32)
    q: NDArray[np.float32] = np.clip(scores if loss == "squared" else (scores + 1) / 2, 0, 1)
    return np.asarray(rate * q / (1 - q + rate * q), dtype=np.float32)


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of positive numbers that sum to 1, in the order of the scores."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)
