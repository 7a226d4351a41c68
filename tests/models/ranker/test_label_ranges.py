"""Many pairs are laid out for some labels at a time: the same model, in less memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rmls import RMLSRanker, make_longtail
from rmls.kernels.backend import get_backend
from rmls.kernels.cpu import backend as cpu
from rmls.kernels.some_labels import Variables
from rmls.models.ranker import trainer
from rmls.models.ranker.large import label_ranges
from rmls.models.ranker.large.label_ranges import LabelRanges, cut_labels

DATA = make_longtail(700, 400, 90, labels_per_row=3, random_state=4)
PAIRS = 2_000


def fit(**options: Any) -> RMLSRanker:
    settings = {"n_components": 16, "shortlist_size": 25, "calibration_folds": 0} | options
    return RMLSRanker(**settings).fit(DATA.train.X, DATA.train.Y)


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the pairs that are laid out, with ranges of few pairs."""
    sizes: list[int] = []
    pair_rows = cpu.pair_rows

    def watch(*given: Any) -> Any:
        pairs = pair_rows(*given)
        sizes.append(len(pairs.rows))
        return pairs

    monkeypatch.setattr(cpu, "pair_rows", watch)
    monkeypatch.setattr(trainer, "MANY_PAIRS", 0)
    monkeypatch.setattr(label_ranges, "PAIRS_AT_ONCE", PAIRS)
    return sizes


@pytest.mark.parametrize(
    "options",
    [{}, {"n_jobs": 2}, {"calibration_folds": 3}, {"loss": "logistic"}, {"precision": "float32"}],
    ids=str,
)
def test_ranges_learn_what_all_pairs_at_once_do(
    options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    whole = fit(**options)
    sizes = request.getfixturevalue("laid_out")
    found = fit(**options)
    assert len(sizes) > 4
    assert max(sizes) < sum(sizes[: len(sizes) // 2])
    wanted, arrays = (model._state()[1] for model in (whole, found))
    assert wanted.keys() == arrays.keys()
    for name, array in wanted.items():
        if "certainty" in name:
            # Labels that are not solved again: as exact as the cost of the logistic loss allows.
            rough = options.get("loss") == "logistic"
            np.testing.assert_allclose(arrays[name], array, rtol=0.05 if rough else 1e-5)
        else:
            np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def test_no_more_pairs_than_wanted_are_there_but_those_of_one_label(laid_out: list[int]) -> None:
    fit()
    most = int(np.bincount(DATA.train.Y.indices).max()) + DATA.train.X.shape[0]
    assert max(laid_out) <= PAIRS + most


def test_an_offset_keeps_all_pairs(laid_out: list[int]) -> None:
    fit(offset=0.1)
    assert len(laid_out) == 1


def test_ranges_hold_every_label_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_ranges, "PAIRS_AT_ONCE", 50)
    rng = np.random.default_rng(0)
    listed = rng.integers(-1, 30, (40, 6)).astype(np.int32)
    for m in (30, 31):
        ranges = cut_labels(listed, np.full(m, 2))
        assert ranges[0][0] == 0
        assert ranges[-1][1] == m
        assert all(one[1] == other[0] for one, other in pairwise(ranges))
        assert len(ranges) > 3


@pytest.mark.parametrize("size", [0, 1, 8, 9, 1000])
def test_variables_come_back_as_they_were(size: int) -> None:
    rng = np.random.default_rng(size)
    duals = np.where(rng.random(size) < 0.3, rng.random(size), 0).astype(np.float32)
    kept = Variables.of(duals)
    found = np.ones(size, np.float32)
    kept.put(found)
    np.testing.assert_array_equal(found, duals)
    assert kept.marks.nbytes + kept.values.nbytes <= size // 8 + 1 + 4 * np.count_nonzero(duals)


def test_lists_are_narrowed_where_two_bytes_tell_the_labels_apart() -> None:
    model = fit()
    vectors = model._scorer.proposer.vectors
    options = trainer.ClassifierOptions.of(model)
    data = type("Rows", (), {"Y": DATA.train.Y.tocsr(), "n_labels": 90, "zeros": np.zeros})()
    listed = np.tile(np.arange(5, dtype=np.int32), (DATA.train.X.shape[0], 1))
    made = LabelRanges.of(data, listed, vectors, options, 1)
    assert isinstance(made, LabelRanges)
    assert made.listed.dtype == np.uint16
    listed[0, 0] = -1
    kept = LabelRanges.of(data, listed, vectors, options, 1)
    assert isinstance(kept, LabelRanges)
    assert kept.listed.dtype == np.int32


def test_a_part_of_the_labels_is_paired_as_all_are() -> None:
    Y = DATA.train.Y.tocsr()
    given = type("Csr", (), {"indptr": Y.indptr.astype(np.int64), "indices": Y.indices})()
    rng = np.random.default_rng(1)
    listed = rng.integers(0, 90, (Y.shape[0], 7)).astype(np.int32)
    pair_rows = get_backend("cpu").pair_rows
    whole = pair_rows(given, listed, 90)
    for narrow in (listed, listed.astype(np.uint16)):
        part = pair_rows(given, narrow, 90, part=(20, 55))
        np.testing.assert_array_equal(part.rows, whole.rows[whole.indptr[20] : whole.indptr[55]])
        np.testing.assert_array_equal(np.diff(part.indptr)[20:55], np.diff(whole.indptr)[20:55])
        assert np.diff(part.indptr)[:20].sum() == np.diff(part.indptr)[55:].sum() == 0
        np.testing.assert_array_equal(part.n_relevant[20:55], whole.n_relevant[20:55])
