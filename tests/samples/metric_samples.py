"""Small random cases with the corners that matter, shared by the tests of metrics."""

from __future__ import annotations

import numpy as np

from rmls.metrics import Metric, propensities


def random_truth(seed: int = 0, n_samples: int = 40, n_labels: int = 13) -> np.ndarray:
    """Random label sets with two rows and one label left empty."""
    generator = np.random.default_rng(seed)
    truth = (generator.random((n_samples, n_labels)) < 0.25).astype(int)
    truth[[3, 7]] = 0
    truth[:, 5] = 0
    return truth


def random_sets(seed: int = 1, n_samples: int = 40, n_labels: int = 13) -> np.ndarray:
    """Random predictions: one row empty together with the truth, one alone."""
    predicted = (np.random.default_rng(seed).random((n_samples, n_labels)) < 0.3).astype(int)
    predicted[[3, 11]] = 0
    predicted[:, [5, 8]] = 0
    return predicted


def random_scores(seed: int = 2, n_samples: int = 40, n_labels: int = 13) -> np.ndarray:
    return np.random.default_rng(seed).random((n_samples, n_labels)) + 0.1


def with_propensity(metric: Metric, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Options without which the metric cannot be called."""
    if "propensity" not in metric.options:
        return {}
    return {"propensity": propensities(np.asarray(truth).sum(axis=0), 1000)}


def prediction_for(metric: Metric, sets: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return sets if metric.needs == "sets" else scores
