"""Any metric as ``scoring=`` of scikit-learn's cross-validation and searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rmls.core.errors import InputError
from rmls.core.frequency import propensities
from rmls.metrics.registry import Metric, get_metric
from rmls.metrics.reliability import brier_score, expected_calibration_error

# Of probabilities, and less is better.
RELIABILITY = ("ece", "brier")


@dataclass(frozen=True)
class Scorer:
    """A metric that is called with a fitted estimator, rows and their labels; more is better.

    Made by `scorer`. It asks the estimator for what the metric needs: sets, the best k labels, or
    probabilities. Where less of a metric is better, its negative is returned.

    Attributes
    ----------
    name : str
        Of the metric, as in reports.
    """

    name: str

    @property
    def greater_is_better(self) -> bool:
        """Whether more of the metric itself is better; otherwise it is negated."""
        return self.name not in RELIABILITY and get_metric(self.name).greater_is_better

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the metric of the predictions for ``X``, or its negative."""
        model, rows = _unwrap(estimator, X)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not hasattr(model, "match_labels"):
            value = self._measure_foreign(model, rows, y, weights)
        elif self.name in RELIABILITY:
            value = self._measure_probabilities(model, rows, y)
        else:
            value = self._measure(model, rows, y, weights)
        return value if self.greater_is_better else -value

    def _measure(self, model: Any, X: Any, y: Any, options: dict[str, Any]) -> float:
        metric, matched = get_metric(self.name), model.match_labels(y)
        if "propensity" in metric.options:
            chances = propensities(matched.train_counts, model.n_samples_)
            options = {**options, "propensity": chances}
        if metric.needs == "sets":
            return metric(matched.Y, matched.widen_sets(model.predict_sets(X)), **options)
        # No more labels are ranked than the metric looks at, however many there are.
        ranking = matched.widen_ranking(model.rank(X, metric.depth(len(model.classes_))))
        return metric(matched.Y, ranking, **options)

    def _measure_probabilities(self, model: Any, X: Any, y: Any) -> float:
        matched = model.match_labels(y)
        if self.name == "brier":
            return brier_score(matched.Y, matched.widen_dense(model.predict_proba(X)))
        # Of the predicted labels: nearly all others are near 0, and so would the error be.
        predicted = model.predict_sets(X).multiply(model.predict_proba(X)).tocsr()
        return expected_calibration_error(matched.Y, matched.widen_sets(predicted))

    def _measure_foreign(self, model: Any, X: Any, y: Any, options: dict[str, Any]) -> float:
        """Measure an estimator of another library, which does not tell what it was trained on."""
        if self.name in RELIABILITY:
            measure = brier_score if self.name == "brier" else expected_calibration_error
            return measure(y, _dense_scores(model, X, ("predict_proba",)))
        metric = get_metric(self.name)
        if "propensity" in metric.options:
            raise InputError(
                f"{self.name} needs the label counts of the training rows, which "
                f"{type(model).__name__} does not keep; wrap it: Calibrated(estimator)."
            )
        if metric.needs == "sets":
            return metric(y, model.predict(X), **options)
        return metric(y, _dense_scores(model, X, ("decision_function", "predict_proba")), **options)

    def __repr__(self) -> str:
        return f"scorer({self.name!r}{'' if self.greater_is_better else ', negated'})"


def scorer(metric: str | Metric) -> Scorer:
    """Return a metric for ``scoring=`` of `cross_val_score`, `GridSearchCV` and the like.

    Parameters
    ----------
    metric : str or Metric
        Any of `METRICS` by a name of `get_metric`, such as ``"f1"`` or ``"psp@5"``; also ``"ece"``
        (of the predicted labels) and ``"brier"``.

    Returns
    -------
    Scorer
        Called with an estimator, rows and labels. Propensities are those of the rows that the
        estimator was trained on; labels that it has not seen are missed, with a warning.

    Examples
    --------
    >>> scorer("psp@5"), scorer("hamming")
    (scorer('psp@5'), scorer('hamming_loss', negated))
    >>> import numpy as np
    >>> from rmls import MostFrequent
    >>> model = MostFrequent().fit(np.eye(4), [["a"], ["a"], ["a"], ["b"]])
    >>> scorer("p@1")(model, np.eye(4), [["a"], ["b"], ["a"], ["a", "b"]])
    0.75
    """
    if isinstance(metric, str) and metric.strip().lower() in RELIABILITY:
        return Scorer(metric.strip().lower())
    found = get_metric(metric)
    if found.takes_k and found.k is None:
        raise InputError(f"{found.name} needs a number for k, such as {found.at(5).name}.")
    return Scorer(found.name)


def _unwrap(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the estimator at the end of pipelines and inside searches, and the rows it sees.

    That of a model for texts sees the numbers that they become.
    """
    while not hasattr(estimator, "match_labels"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps") and hasattr(estimator.steps[-1][1], "predict"):
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "features_") and hasattr(estimator, "estimator_"):
            X, estimator = estimator.features_.transform(X), estimator.estimator_
        else:
            break
    return estimator, X


def _dense_scores(model: Any, X: Any, methods: tuple[str, ...]) -> Any:
    for method in methods:
        if hasattr(model, method):
            found = getattr(model, method)(X)
            # One array of two classes for every label, as MultiOutputClassifier answers.
            if isinstance(found, list):
                return np.column_stack([chances[:, -1] for chances in found])
            return found
    raise InputError(f"{type(model).__name__} has no {' or '.join(methods)} to rank labels by.")
