"""Folds and checksums of the data of a study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_samples import SMALL

from rmls.bench.study.data import checksum, load_source, split_rows
from rmls.bench.study.grid import DataSource
from rmls.core.errors import InputError
from rmls.core.sparse import label_counts
from rmls.datasets import save


@pytest.mark.parametrize("kind", ["shuffled", "stratified"])
def test_folds_are_parts_of_all_rows(kind: Any) -> None:
    dataset = load_source(SMALL)
    tests = [split_rows(dataset, kind, 4, fold, 0) for fold in range(4)]
    assert sorted(np.concatenate([test for _, test in tests])) == list(range(120))
    assert all(sorted([*train, *test]) == list(range(120)) for train, test in tests)


def test_too_few_rows_or_no_split_is_one_sentence() -> None:
    dataset = load_source(SMALL)
    with pytest.raises(InputError, match="has 120 rows for 200 folds"):
        split_rows(dataset, "shuffled", 200, 0, 0)
    with pytest.raises(InputError, match="has no split of its own"):
        split_rows(dataset.train, "given", 1, 0, 0)


def test_the_checksum_sees_every_part_of_the_data() -> None:
    dataset = load_source(SMALL)
    other_X, other_Y = dataset.X.copy(), dataset.Y.copy()
    other_X.data[0] += 1
    other_Y.indices[0] = (other_Y.indices[0] + 1) % 12
    seen = {
        checksum(dataset),
        checksum(replace(dataset, X=other_X)),
        checksum(replace(dataset, Y=other_Y)),
        checksum(replace(dataset, n_train=3)),
    }
    assert len(seen) == 4
    assert checksum(replace(dataset, name="other")) == checksum(dataset)


@pytest.mark.parametrize("value", ["many", [5], -3, float("nan")], ids=str)
@pytest.mark.parametrize("name", ["n", "d", "m"])
def test_data_that_cannot_be_made_are_one_sentence(name: str, value: Any) -> None:
    numbers = {"n": 30, "d": 20, "m": 5, name: value}
    with pytest.raises(InputError):
        load_source(DataSource("made", longtail=numbers))


def test_rare_labels_are_left_out_of_any_source(tmp_path: Path) -> None:
    dataset = load_source(SMALL)
    counts = label_counts(dataset.Y)
    some = int(np.median(counts))
    made = load_source(replace(SMALL, min_label_rows=some))
    save(dataset, tmp_path / "small.npz")
    read = load_source(DataSource("s", str(tmp_path / "small.npz"), min_label_rows=some))
    for found in (made, read):
        np.testing.assert_array_equal(label_counts(found.Y), counts[counts >= some])
        assert found.n_samples == dataset.n_samples
    assert checksum(made) != checksum(dataset)
    with pytest.raises(InputError, match="min_label_rows of small must be"):
        replace(SMALL, min_label_rows=-1)
