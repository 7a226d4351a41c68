"""How many passes RMLS makes: ``max_iter="auto"``, numbers, parts of the rows, archives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import interrupt_at, make_blocks

import rmls
import rmls.models.rmls.rmls as rmls_module
from rmls import GFM, RMLS, Calibrated, Resampled, RMLSRanker
from rmls.archive import read_archive, write_archive
from rmls.core.errors import ArchiveError, InputError
from rmls.models.rmls.sampling import (
    DEFAULT_PASSES,
    MAX_PASSES,
    VISITED_ROWS,
    count_passes,
    count_rows,
)
from rmls.models.shared.progress import TrainingInterrupted

ENOUGH_ROWS = VISITED_ROWS // DEFAULT_PASSES
X, Y = make_blocks(n=60)
# More rows than the most passes are made over, and fewer than the usual number is made over.
N_SOME = (VISITED_ROWS // MAX_PASSES + ENOUGH_ROWS) // 2
X_SOME, Y_SOME = make_blocks(n=N_SOME)


def make(**options: Any) -> RMLS:
    return RMLS(**{"n_components": 4, "calibration": None, **options})


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[range]:
    """The passes of every training, the last one last."""
    seen, run_passes = [], rmls_module.run_passes

    def record(training: Any, passes: range, *rest: Any) -> list[float]:
        seen.append(passes)
        return run_passes(training, passes, *rest)

    monkeypatch.setattr(rmls_module, "run_passes", record)
    return seen


# -- the rule ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [ENOUGH_ROWS, 10_000, 12_404, 51_000, 10**9])
def test_many_rows_get_the_usual_ten_passes(n_rows: int) -> None:
    assert count_passes("auto", n_rows) == DEFAULT_PASSES == 10


def test_the_number_rises_to_a_bound_as_rows_get_fewer() -> None:
    sizes = np.unique(np.geomspace(1, 20_000, 500).astype(int))
    passes = np.array([count_passes("auto", int(size)) for size in sizes])
    assert (np.diff(passes) <= 0).all()
    assert passes[0] == passes.max() == MAX_PASSES
    assert passes[-1] == passes.min() == DEFAULT_PASSES
    between = (passes > DEFAULT_PASSES) & (passes < MAX_PASSES)
    assert between.any()
    visits = passes * sizes
    assert (visits[between] >= VISITED_ROWS).all()
    assert (visits[between] < VISITED_ROWS + sizes[between]).all()


@pytest.mark.parametrize("max_iter", [1, 7, 10, 500, np.int64(3)])
@pytest.mark.parametrize("n_rows", [1, 300, 10**6])
def test_a_number_is_obeyed_whatever_the_rows(max_iter: int, n_rows: int) -> None:
    assert count_passes(max_iter, n_rows) == max_iter


@pytest.mark.parametrize("max_iter", [None, 0, 2.0, True, "many", "Auto", "10"])
def test_anything_else_is_refused_in_a_sentence(max_iter: Any) -> None:
    sentence = r"^max_iter must be a whole number of at least 1 or 'auto'; got "
    with pytest.raises(InputError, match=sentence):
        make(max_iter=max_iter).fit(X, Y)


def test_auto_is_the_default_and_equals_the_number_it_stands_for() -> None:
    auto = RMLS(4).fit(X_SOME, Y_SOME)
    total = count_passes("auto", N_SOME)
    assert auto.get_params()["max_iter"] == "auto"
    assert DEFAULT_PASSES < total < MAX_PASSES
    assert auto.max_iter_ == auto.n_iter_ == len(auto.loss_curve_) == total
    number = RMLS(4, max_iter=total).fit(X_SOME, Y_SOME)
    np.testing.assert_array_equal(auto.label_vectors_, number.label_vectors_)
    np.testing.assert_array_equal(auto.predict_proba(X), number.predict_proba(X))


def test_many_rows_are_trained_as_with_ten_passes() -> None:
    many = [np.tile(array, (-(-ENOUGH_ROWS // len(array)), 1)) for array in (X_SOME, Y_SOME)]
    auto, ten = make().fit(*many), make(max_iter=10).fit(*many)
    assert auto.n_iter_ == 10
    np.testing.assert_array_equal(auto.label_vectors_, ten.label_vectors_)


def test_a_number_is_obeyed_over_few_rows() -> None:
    model = make(max_iter=2).fit(X, Y)
    assert (model.max_iter, model.max_iter_, model.n_iter_) == (2, 2, 2)


def test_whole_weights_count_as_rows() -> None:
    times = np.where(np.arange(N_SOME) % 2, 1, 2)
    weighted = make().fit(X_SOME, Y_SOME, sample_weight=times)
    repeated = make().fit(np.repeat(X_SOME, times, axis=0), np.repeat(Y_SOME, times, axis=0))
    assert weighted.n_iter_ == repeated.n_iter_ == count_passes("auto", int(times.sum()))
    np.testing.assert_array_equal(weighted.label_vectors_, repeated.label_vectors_)


def test_a_row_of_small_weight_is_one_row() -> None:
    assert count_rows(np.full(50, 1e-3)) == 50
    assert make().fit(X_SOME, Y_SOME, sample_weight=[0.5] * N_SOME).n_iter_ > DEFAULT_PASSES


def test_rows_held_out_change_nothing(planned: list[range]) -> None:
    total = count_passes("auto", N_SOME)
    make(early_stopping=True, validation_fraction=0.5).fit(X_SOME, Y_SOME)
    assert planned == [range(total)]


def test_early_stopping_ends_before() -> None:
    model = make(early_stopping=True, n_iter_no_change=1, tol=1.0).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.max_iter_ == MAX_PASSES


@pytest.mark.parametrize(
    "estimator",
    [
        RMLS(4, calibration_folds=2),
        Calibrated(RMLS(4), calibration_folds=2),
        Resampled("RMLS", "REMEDIAL", calibration_folds=2),
        Calibrated(GFM(RMLS(4, calibration=None)), calibration_folds=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_parts_of_the_rows_get_as_many_passes_as_all(estimator: Any, planned: list[range]) -> None:
    estimator.fit(X_SOME, Y_SOME)
    whole, *parts = planned
    assert len(whole) < count_passes("auto", N_SOME // 2)
    assert parts == [whole] * 2


def test_the_ranker_settles_the_passes_of_its_representation() -> None:
    model = RMLSRanker(representation=RMLS(4), shortlist_size=3).fit(X_SOME, Y_SOME)
    assert model.n_iter_ == count_passes("auto", N_SOME)
    assert RMLSRanker(4, shortlist_size=3).fit(X_SOME, Y_SOME).n_iter_ == 8


# -- continuing ----------------------------------------------------------------------------------


def test_an_interrupted_training_goes_on_from_its_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make().fit(X, Y)
    with monkeypatch.context() as patch:
        interrupt_at(4, patch)
        with pytest.warns(TrainingInterrupted, match=f"after 4 of {MAX_PASSES} passes"):
            make().fit(X, Y).save(tmp_path / "model")
    model = rmls.load(tmp_path / "model")
    assert (model.max_iter, model.max_iter_, model.n_iter_) == ("auto", MAX_PASSES, 4)
    model.set_params(warm_start=True).fit(X, Y)
    assert model.loss_curve_ == whole.loss_curve_
    np.testing.assert_array_equal(model.label_vectors_, whole.label_vectors_)


def test_a_finished_training_begins_anew_over_fewer_rows(planned: list[range]) -> None:
    model = make(warm_start=True).fit(X_SOME, Y_SOME)
    first = count_passes("auto", N_SOME)
    model.fit(X, Y)
    assert planned == [range(first), range(MAX_PASSES)]
    assert len(model.loss_curve_) == first + MAX_PASSES


def test_passes_of_partial_fit_count(planned: list[range]) -> None:
    model = make(warm_start=True).partial_fit(X, Y).partial_fit(X, Y)
    assert model.n_iter_ == 2
    model.fit(X, Y)
    assert planned == [range(2, MAX_PASSES)]


# -- archives ------------------------------------------------------------------------------------


def test_auto_and_its_number_are_saved(tmp_path: Path) -> None:
    model = make().fit(X_SOME, Y_SOME)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert loaded.max_iter == "auto"
    assert loaded.max_iter_ == loaded.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_model_of_partial_fit_alone_is_saved(tmp_path: Path) -> None:
    make().partial_fit(X, Y).save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert loaded.n_iter_ == 1
    assert not hasattr(loaded, "max_iter_")


def forget_the_number(folder: Path) -> None:
    archive = read_archive(folder)
    del archive.manifest["fitted"]["max_iter"]
    arrays = {name: np.array(array) for name, array in archive.arrays.items()}
    write_archive(folder, archive.manifest, arrays)


def test_older_archives_have_the_number_among_the_parameters(tmp_path: Path) -> None:
    make(max_iter=3).fit(X, Y).save(tmp_path / "model")
    forget_the_number(tmp_path / "model")
    assert rmls.load(tmp_path / "model").max_iter_ == 3


def test_auto_without_its_number_is_refused(tmp_path: Path) -> None:
    make().fit(X, Y).save(tmp_path / "model")
    forget_the_number(tmp_path / "model")
    with pytest.raises(ArchiveError, match="max_iter must be a whole number"):
        rmls.load(tmp_path / "model")
