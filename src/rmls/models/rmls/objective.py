"""The options of RMLS, the objective they make, and probabilities from its scores."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace
from rmls.core.options import (
    Option,
    anything,
    choice,
    flag,
    is_auto,
    number,
    positive,
    share,
    whole,
)
from rmls.kernels.arrays import ACTIVATIONS, LOSSES, Objective
from rmls.kernels.backend import Backend, get_backend
from rmls.metrics import get_metric, propensities
from rmls.models.rmls.sampling import Totals, floored_counts, make_sampler

# Never far from the best where 5 a label were too few (docs/research/rmls.md).
NEGATIVES_PER_ROW = 400.0
# alpha of the paper.
PAPER_NEGATIVES = 5.0
NO_FOCUS = (np.float32(0.0), np.float32(0.0), np.float32(0.0))
SAMPLERS = ("uniform", "frequency", "mixture", "in_batch")
# Focus on relevant and on irrelevant labels, and margin, where the options are "auto".
FOCUS = {"focal": (2.0, 2.0, 0.0), "asymmetric": (0.0, 4.0, 0.05)}

Focus = tuple[np.float32, np.float32, np.float32]


def _replaces(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "union")


OPTIONS: dict[str, Option] = {
    "n_components": whole(1),
    "negatives_per_positive": number().or_auto(),
    "negatives": choice("sampled", "all"),
    "min_negatives": whole(0),
    "sampler": choice(*SAMPLERS),
    "sampler_power": number(),
    "sampler_mix": share(ends=True),
    "replacement": Option("True, False or 'union'", _replaces).or_auto(),
    "redraw": flag(),
    "log_q": flag(),
    "loss": choice(*LOSSES),
    "focus_relevant": number().or_auto(),
    "focus_irrelevant": number().or_auto(),
    "margin": number().or_auto(),
    "activation": choice(*ACTIVATIONS),
    "l2": number().or_auto(),
    "max_feature_norm": positive().or_none(),
    "max_label_norm": anything("a positive number or one for every label").or_none(),
    "label_norm_power": number(),
    "accumulators": choice("row", "element"),
    "learning_rate": positive(),
    "schedule": choice("linear", "constant"),
    "initial_accumulator": positive(),
    "init": choice("projection", "glorot"),
    "batch_size": whole(1),
    "max_iter": whole(1).or_auto(),
    "gradient_floor": number(),
    "class_weight": anything("'balanced', 'propensity', a dict or one number a label").or_none(),
    "early_stopping": flag(),
    "validation_metric": anything("the name of a metric"),
    "n_iter_no_change": whole(1),
    "tol": number(),
    "warm_start": flag(),
    "fit_intercept": flag(),
}


class RMLSOptions:
    """The options of `RMLS` that no other estimator has, by their types."""

    n_components: int
    negatives_per_positive: float | str
    negatives: str
    min_negatives: int
    sampler: str
    sampler_power: float
    sampler_mix: float
    replacement: bool | str
    redraw: bool
    log_q: bool
    loss: str
    focus_relevant: float | str
    focus_irrelevant: float | str
    margin: float | str
    activation: str
    fit_intercept: bool
    l2: float | str
    max_feature_norm: float | None
    max_label_norm: Any
    label_norm_power: float
    accumulators: str
    learning_rate: float
    schedule: str
    initial_accumulator: float
    init: str
    batch_size: int
    max_iter: int | str
    gradient_floor: float
    class_weight: Any
    early_stopping: bool
    validation_metric: str
    n_iter_no_change: int
    tol: float
    warm_start: bool


# Settings of the published study where they differ from our defaults (docs/research/rmls.md).
PAPER: dict[str, Any] = {
    "negatives_per_positive": 5,
    "min_negatives": 0,
    "replacement": "union",
    "fit_intercept": False,
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


def check_together(model: Any) -> None:
    """Raise a sentence for the first options of ``model`` that contradict one another."""
    if model.max_label_norm is not None and np.ndim(model.max_label_norm) == 0:
        positive().check("max_label_norm", model.max_label_norm)
    settle_focus(model)
    _check_class_weight(model.class_weight)
    if model.early_stopping:
        # Of one row and one label: what it says of k, or of propensities, it would say of any.
        get_metric(model.validation_metric)([[1]], [[1]])
    if model.log_q and model.loss != "logistic":
        raise InputError(f"log_q=True needs loss='logistic'; got loss={model.loss!r}.")
    if model.sampler == "in_batch" and model.batch_size < 2:
        raise InputError(
            "sampler='in_batch' takes irrelevant labels from the other rows of a batch and needs "
            f"batch_size of at least 2; got {model.batch_size!r}."
        )
    replaces = model.replacement is True or model.replacement == "union"
    if model.negatives == "all" and (model.sampler != "uniform" or replaces):
        raise InputError(
            "negatives='all' draws nothing; leave sampler='uniform' and replacement='auto', or "
            "use negatives='sampled'."
        )


def settle_focus(model: Any) -> Focus:
    """Return the focus on relevant and on irrelevant labels and the margin; zeros without focus."""
    names = ("focus_relevant", "focus_irrelevant", "margin")
    values = dict(zip(names, FOCUS.get(model.loss, (0.0, 0.0, 0.0)), strict=True))
    given = {name: getattr(model, name) for name in names if not is_auto(getattr(model, name))}
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


def make_objective(model: Any, space: LabelSpace, totals: Totals, backend: Backend) -> Objective:
    """Return what a pass minimises; ``"auto"`` options are settled from the data."""
    ratio, l2 = model.negatives_per_positive, model.l2
    if ratio == "auto":
        ratio = max(PAPER_NEGATIVES, NEGATIVES_PER_ROW / max(totals.cardinality, 1.0))
    if l2 == "auto":
        # Few rows over-train and get more: chosen on held-out rows (docs/research/rmls.md).
        l2 = min(max(0.0001, 90.0 / totals.weight**1.5), 0.004)
    focus = settle_focus(model)
    # Powers and a margin of 0 leave the logistic loss.
    unfocused = model.loss in FOCUS and not any(focus)
    return Objective(
        loss=LOSSES.index("logistic" if unfocused else model.loss),
        activation=ACTIVATIONS.index(model.activation),
        focus=focus,
        negatives_per_positive=float(ratio),
        min_negatives=int(model.min_negatives),
        all_negatives=model.negatives == "all",
        sampler=make_sampler(model, totals, space.is_single, backend),
        l2=np.float32(l2),
        max_label_norm=label_bounds(model.max_label_norm, model.label_norm_power, totals.positives),
        # The same draws would round the same slopes in every pass.
        gradient_floor=np.float32(model.gradient_floor if model.redraw else 0.0),
        label_weight=label_weights(model.class_weight, space, totals),
        elementwise=model.accumulators == "element",
        intercept=bool(model.fit_intercept),
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
    _check_class_weight(class_weight)
    if isinstance(class_weight, str):
        used = positives > 0
        if class_weight == "balanced":
            # Mean weight 1 over relevant entries: learning rate and l2 keep their meaning.
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


def _check_class_weight(class_weight: Any) -> None:
    """Raise for what could not be the weights of any labels."""
    wrong_name = isinstance(class_weight, str) and class_weight not in ("balanced", "propensity")
    if wrong_name or isinstance(class_weight, Real):
        raise InputError(
            "class_weight must be 'balanced', 'propensity', a dict, an array with one weight "
            f"per label, or None; got {class_weight!r}."
        )


def _as_numbers(name: str, values: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is not a number.") from None


def to_probability(
    scores: NDArray[np.float32],
    loss: str,
    rate: float | NDArray[np.float32],
    focus: Focus = NO_FOCUS,
    device: str = "cpu",
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
        # The optimum of the sampled loss is logit p - log r, hence p = sigmoid(s + log r). exp(80)
        # still fits in float32.
        odds = np.exp(np.minimum(scores + np.asarray(np.log(rate), np.float32), np.float32(80.0)))
        return np.asarray(odds / (1 + odds), dtype=np.float32)
    if loss in FOCUS:
        slopes, code = get_backend(device).loss_slopes, LOSSES.index(loss)
        # At the optimum p slope(1) + r (1 - p) slope(-1) = 0, solved for p.
        down = rate * slopes(code, scores, -1, focus).astype(np.float64)
        up = -slopes(code, scores, 1, focus).astype(np.float64)
        return np.asarray(down / np.maximum(down + up, 1e-300), dtype=np.float32)
    # Squared loss is least at s = q, squared hinge at s = 2 q - 1.
    q: NDArray[np.float32] = np.clip(scores if loss == "squared" else (scores + 1) / 2, 0, 1)
    return np.asarray(rate * q / (1 - q + rate * q), dtype=np.float32)
