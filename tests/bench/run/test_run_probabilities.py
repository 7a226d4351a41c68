"""Reliability and calibration of a model whose probabilities are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from rmls.bench.run.probabilities import measure_probabilities
from rmls.bench.study.data import Parts


class Oracle:
    """Gives the true probabilities 0.25 and 0.75 of two kinds of labels."""

    def __init__(self, probabilities: Any) -> None:
        self.probabilities = probabilities

    def predict_proba(self, X: sparse.csr_matrix) -> Any:
        return self.probabilities[X.indices]


@pytest.fixture(scope="module")
def told() -> tuple[Oracle, Parts]:
    """A model that knows, and 4,000 rows of four labels; the last two are rare in training."""
    random = np.random.default_rng(0)
    truth = np.tile([0.25, 0.75], (4000, 2))
    Y = sparse.csr_matrix((random.random(truth.shape) < truth).astype(np.int32))
    X = sparse.csr_matrix(np.eye(4000))
    Y_train = sparse.csr_matrix([[1, 1, 0, 0]] * 9 + [[1, 1, 1, 1]])
    return Oracle(truth), Parts(X[:10], Y_train, X, Y)


def test_a_model_that_knows_the_probabilities_lies_on_the_diagonal(told: Any) -> None:
    found, none = measure_probabilities(*told, [])
    assert none == []
    assert found is not None
    used = [position for position, count in enumerate(found["pairs"]) if count]
    assert [found["pairs"][position] for position in used] == [8000, 8000]
    assert [found["predicted"][position] for position in used] == [0.25, 0.75]
    observed = [found["observed"][position] for position in used]
    np.testing.assert_allclose(observed, [0.25, 0.75], atol=0.02)


def test_calibration_is_that_of_the_predicted_labels_of_each_rule(
    told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, parts = told
    monkeypatch.setattr("rmls.bench.run.probabilities.BLOCK_PAIRS", 1000)
    nothing = sparse.csr_matrix(parts.Y_test.shape, dtype=np.int32)
    right, head = parts.Y_test, sparse.csr_matrix(np.tile([1, 1, 0, 0], (4000, 1)))
    _, found = measure_probabilities(model, parts, [right, head, nothing])
    assert all(one is not None for one in found)
    errors = [(one["ece"], one["ece_tail"]) for one in found if one]
    # Only labels that are there: what their probabilities lack to 1.
    tail = right[:, 2:].sum(axis=0).A1 @ [0.75, 0.25] / right[:, 2:].sum()
    assert errors[0][1] == pytest.approx(tail)
    assert errors[1][0] == pytest.approx(0, abs=0.02)
    assert errors[1][1] is None
    assert errors[2] == (None, None)
    squares = np.mean((model.probabilities - right.toarray()) ** 2)
    assert [one["brier"] for one in found if one] == pytest.approx([squares] * 3)


def test_methods_without_probabilities_have_no_calibration(told: Any) -> None:
    _, parts = told
    assert measure_probabilities(object(), parts, [parts.Y_test]) == (None, [None])
