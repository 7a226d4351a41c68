"""Working memory that threads keep: clean between calls, and not made again for every row."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from text_samples import make_texts

from rmls import TextRanker
from rmls.kernels.cpu.ranker.listed import SCRATCH

TEXTS, LABELS = make_texts()


def all_scratch(n_names: int = 1, n_labels: int = 1) -> list[Any]:
    return [
        SCRATCH.sums(n_labels),
        SCRATCH.places(n_labels),
        *SCRATCH.names(n_names, n_labels)[:-1],
    ]


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return TextRanker().fit(TEXTS, LABELS)


def test_it_is_zero_after_every_call(model: TextRanker) -> None:
    model.suggest(TEXTS, 3)
    for array in all_scratch():
        assert not array.any()


def test_a_larger_model_in_between_changes_no_answer(model: TextRanker) -> None:
    before = model.rank(TEXTS, 3)
    larger = all_scratch(5_000, 5_000)
    again = model.rank(TEXTS, 3)
    assert all(len(array) >= 5_000 for array in larger)
    np.testing.assert_array_equal(before.scores, again.scores)
    np.testing.assert_array_equal(before.labels, again.labels)


def test_every_thread_has_its_own() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(all_scratch()))
    thread.start()
    thread.join()
    assert all(one is not other for one, other in zip(found, all_scratch(), strict=True))


def peak_of_a_row(n_labels: int) -> int:
    """Return the bytes that the labels of one more text take, of a model with so many labels."""
    names = [f"topic {number}" for number in range(n_labels)]
    model = TextRanker().fit(TEXTS, LABELS).add_labels(names)
    model.suggest(TEXTS[:1], 3)
    tracemalloc.start()
    model.suggest(TEXTS[:1], 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_a_row_takes_no_memory_that_goes_with_the_labels() -> None:
    # Less than a byte for every further label; scores are made in tiles of a fixed size.
    assert peak_of_a_row(80_000) - peak_of_a_row(40_000) < 40_000
