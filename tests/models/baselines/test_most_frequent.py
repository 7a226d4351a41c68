"""The most frequent labels, the same for every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rmls import MostFrequent
from rmls.core.errors import InputError


def test_the_most_frequent_labels_are_the_same_for_every_row() -> None:
    Y = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 0]])
    model = MostFrequent().fit(np.eye(4), Y)
    assert model.k_ == 2
    assert model.predict(np.eye(4)).tolist() == [[1, 1, 0]] * 4
    np.testing.assert_allclose(model.predict_proba(np.eye(4)[:1]), [[1, 0.5, 0.25]])
    assert model.predict(np.eye(4), decision="top_1").tolist() == [[1, 0, 0]] * 4


def test_at_least_one_label_is_predicted_where_there_is_any() -> None:
    Y = np.zeros((10, 3), int)
    assert MostFrequent().fit(np.eye(10), Y).k_ == 0
    Y[0, 1] = 1
    assert MostFrequent().fit(np.eye(10), Y).predict(np.eye(10))[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_the_number_of_frequent_labels_must_be_whole(value: Any) -> None:
    with pytest.raises(InputError, match=r"^k must be"):
        MostFrequent(value).fit([[1.0]], [[1]])
