"""What an estimator says of a rule before it is fitted is what comes true afterwards."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from model_samples import ESTIMATORS, FAST, fitted, make, make_blocks

from rmls import GFM, KNN, LEML, PLST, RMLS, Calibrated, Resampled
from rmls.core.errors import InputError
from rmls.decide import shown_names

RULES = [*shown_names(), "threshold=0.1", "tail@2=0.5", "micro_f1", "macro_f1", None]
# Estimators whose options decide which rules they can serve.
VARIANTS: dict[str, Any] = {
    "calibrated": RMLS(**FAST, calibration="auto"),
    "tuned threshold": RMLS(**FAST, calibration=None, decision="threshold"),
    "given threshold": PLST(4, decision=0.2),
    "wants probabilities": PLST(4, decision="f1"),
    "wants thresholds": RMLS(**FAST, calibration=None, decision="macro_f1"),
    "logistic": LEML(4, loss="logistic", max_iter=2),
    "squared": LEML(4, loss="squared", max_iter=2),
    "scores alone": Calibrated(PLST(4), calibration=None),
    "made honest": Calibrated(PLST(4)),
    "of neighbours": Resampled(KNN(3), calibration=None),
    "twice": Calibrated(Calibrated(PLST(4), calibration=None), calibration=None),
    "of scores": GFM(Calibrated(PLST(4))),
}


@cache
def model(name: str) -> Any:
    return fitted(name) if name in ESTIMATORS else VARIANTS[name].fit(*make_blocks())


def refusal(ask: Any) -> str | None:
    """Return what is said against a question, None where there is an answer."""
    try:
        ask()
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", [*ESTIMATORS, *VARIANTS])
def test_a_rule_is_refused_before_a_fit_where_it_would_be_afterwards(name: str) -> None:
    X, _ = make_blocks()
    new = make(name) if name in ESTIMATORS else VARIANTS[name]
    new._check_options()
    for rule in RULES:
        before = refusal(lambda rule=rule: new._check_rule(rule))
        assert before == refusal(lambda rule=rule: model(name).predict_sets(X, rule)), rule


def test_an_estimator_that_needs_probabilities_refuses_one_without_before_a_fit() -> None:
    for one in (GFM("PLST"), GFM(Calibrated(PLST(), calibration=None))):
        with pytest.raises(InputError, match=r"^PLST gives scores and no probabilities"):
            one._check_options()


@pytest.mark.parametrize("weight", ["rare", 2.0, True])
def test_weights_that_no_labels_could_have_are_refused_before_a_fit(weight: Any) -> None:
    with pytest.raises(InputError, match="class_weight must be 'balanced', 'propensity'"):
        RMLS(class_weight=weight)._check_options()


@pytest.mark.parametrize("metric", ["best", "precision@k", "psp@5"])
def test_a_metric_that_cannot_be_measured_in_training_is_refused_before_it(metric: str) -> None:
    with pytest.raises(InputError, match=metric):
        RMLS(early_stopping=True, validation_metric=metric)._check_options()
    RMLS(validation_metric="psp@5")._check_options()
