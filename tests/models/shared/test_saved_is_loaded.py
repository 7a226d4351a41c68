"""What was saved can be loaded, whatever the parameters and the data, and pickled afterwards."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import ESTIMATORS, assert_same_sets, make, make_blocks

import rmls
from rmls.archive import reading
from rmls.core.errors import ArchiveError, InputError, RmlsError

X, Y = make_blocks()
N, D = X.shape
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
# Odd data may be warned of; what counts here is that nothing is written that cannot be read.
pytestmark = pytest.mark.filterwarnings("ignore")

ONE_ROW = np.zeros_like(Y)
ONE_ROW[0, 0] = 1
DATA: dict[str, tuple[Any, Any, Any]] = {
    "one label": (X, Y[:, :1], None),
    "no positives": (X, np.zeros_like(Y), None),
    "one positive": (X, ONE_ROW, None),
    "all positives": (X, np.ones_like(Y), None),
    "equal rows": (np.ones_like(X), Y, None),
    "no features": (np.zeros_like(X), Y, None),
    "one row": (X[:1], Y[:1], None),
    "two rows": (X[:2], Y[:2], None),
    "one class": (X, np.zeros(N, int), None),
    "huge weights": (X, Y, np.full(N, 1e15)),
    "tiny weights": (X, Y, np.full(N, 1e-30)),
    "huge features": (X * 1e30, Y, None),
    "tiny features": (X * 1e-30, Y, None),
}


def assert_load_answers_as(model: Any, folder: Path, X: Any) -> bool:
    """Save and load a model; tells whether it was written, else one sentence says why not."""
    refusal = None
    try:
        model.save(folder)
    except ArchiveError as error:
        refusal = str(error)
    if refusal is not None:
        assert refusal.startswith(str(folder))
        assert "\n" not in refusal
        assert not folder.exists()
        return False
    loaded = rmls.load(folder)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_same_sets(loaded.predict(X), model.predict(X))
    return True


@pytest.mark.parametrize("data", DATA)
@every_estimator
def test_a_model_of_odd_data_is_loaded_as_it_was_saved(
    name: str, data: str, tmp_path: Path
) -> None:
    X, Y, weights = DATA[data]
    try:
        model = make(name).fit(X, Y, sample_weight=weights)
    except RmlsError:
        return
    written = assert_load_answers_as(model, tmp_path / "model", X)
    assert written or not np.isfinite(model.decision_function(X)).all()


RATES = (1e-300, 1e-30, 1e-12, 1e-6, 1e3, 1e12, 1e30)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("calibration", ["auto", "isotonic", "platt", None])
def test_any_learning_rate_can_be_saved_or_is_told(
    rate: float, calibration: str, tmp_path: Path
) -> None:
    model = rmls.RMLS(8, max_iter=3, learning_rate=rate, calibration=calibration)
    try:
        model.fit(X, Y)
    except RmlsError:
        return
    assert assert_load_answers_as(model, tmp_path / "model", X)
    np.testing.assert_array_equal(
        rmls.load(tmp_path / "model").predict_proba(X), model.predict_proba(X)
    )


def test_scores_of_any_size_are_calibrated_to_a_curve_that_can_be_loaded(tmp_path: Path) -> None:
    for size in (1e-37, 1e-30, 1e-20, 1.0, 1e20, 1e37):
        model = rmls.Calibrated(rmls.MostFrequent()).fit(X, Y)
        counts = rmls.decide.ScoreCounts.covering(np.float32([[0, size]] * 4))
        counts.add(np.float32([[0, size]] * 4), [[0, 1], [0, 1], [1, 1], [0, 0]])
        fitted = rmls.decide.fit_calibration(counts)
        model._calibration = rmls.decide.Calibration(
            fitted.low,
            fitted.step,
            fitted.slope,
            fitted.curves,
            np.zeros(6, np.int32),
            np.zeros(6, np.float32),
        )
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(
            rmls.load(tmp_path / "model").predict_proba(X), model.predict_proba(X)
        )


@pytest.mark.slow
@every_estimator
def test_a_model_of_odd_options_is_loaded_as_it_was_saved(name: str, tmp_path: Path) -> None:
    written = 0
    for option, declared in ESTIMATORS[name].declared_options().items():
        if "number" not in declared.kind or option in ("n_jobs", "verbose"):
            continue
        whole = "whole" in declared.kind
        for value in (1, np.int64(2)) if whole else (1e-12, np.float32(1e-30), 1e12, 10**12):
            model = make(name).set_params(**{option: value})
            try:
                model.fit(X, Y)
            except RmlsError:
                continue
            folder = tmp_path / f"{option}-{value}"
            written += assert_load_answers_as(model, folder, X)
    assert written or name == "AllIrrelevant"


@pytest.mark.parametrize("where", ["labels", "features"])
def test_a_name_that_no_file_can_hold_is_named_and_nothing_is_written(
    where: str, tmp_path: Path
) -> None:
    import pandas as pd

    names = [f"word {i}" for i in range(D - 1)] + ["half \ud800"]
    # As objects: texts of Arrow cannot hold such a name.
    columns = pd.Index(names, dtype=object)
    frame, named = pd.DataFrame(X, columns=columns), {"label_names": names[-Y.shape[1] :]}
    rows, options = (X, named) if where == "labels" else (frame, {})
    with pytest.raises(RmlsError, match=r"half of a surrogate pair|text that UTF-8 cannot encode"):
        make("RMLS").fit(rows, Y, **options).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 300, "x" * 250, "null\0byte", "a/" + "x" * 300])
def test_a_name_that_no_folder_can_have_is_refused(name: str, tmp_path: Path) -> None:
    model = make("MostFrequent").fit(X, Y)
    for ask in (lambda: model.save(tmp_path / name), lambda: rmls.load(tmp_path / name)):
        with pytest.raises(ArchiveError) as caught:
            ask()
        assert "\n" not in str(caught.value)
    with pytest.raises(ArchiveError):
        rmls.archive.check_target(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def nested(depth: int) -> Any:
    model: Any = rmls.MostFrequent()
    for _ in range(depth):
        model = rmls.Calibrated(model, calibration=None)
    return model


def test_estimators_nest_as_deep_as_an_archive_can_hold(tmp_path: Path) -> None:
    assert assert_load_answers_as(nested(5).fit(X, Y), tmp_path / "model", X)
    for depth in (330, 3000):
        with pytest.raises(InputError, match="at most 10 estimators"):
            nested(depth).fit(X, Y)
    circle = rmls.Calibrated()
    circle.estimator = circle
    with pytest.raises(InputError, match="at most 10 estimators"):
        circle.fit(X, Y)


def test_a_folder_of_estimators_nested_without_end_is_refused(tmp_path: Path) -> None:
    nested(1).fit(X, Y).save(tmp_path / "model")
    archive = rmls.archive.read_archive(tmp_path / "model")
    manifest, arrays = archive.manifest, dict(archive.arrays)
    for depth in range(1, 500):
        manifest = {**manifest, "fitted": {"estimator": manifest}}
        arrays["inner_" * depth + "label_counts"] = archive.arrays["label_counts"]
    deep = rmls.archive.Archive(archive.path, manifest, arrays)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rmls.models.shared.model_archive.read_archive", lambda *_, **__: deep)
        with pytest.raises(ArchiveError, match="nest too deep"):
            rmls.load(tmp_path / "model")


def test_a_class_of_the_user_is_not_written_where_it_could_not_be_loaded(tmp_path: Path) -> None:
    class Own(rmls.KNN):
        pass

    with pytest.raises(ArchiveError, match="'Own' is no estimator of rmls"):
        Own().fit(X, Y).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# -- loaded models in other processes --------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("mmap", [True, False])
def test_a_loaded_model_is_pickled_with_its_numbers(name: str, mmap: bool, tmp_path: Path) -> None:
    from joblib._memmapping_reducer import _get_backing_memmap

    make(name).fit(X, Y).save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model", mmap=mmap)
    assert not isinstance(_get_backing_memmap(loaded.label_counts_), np.memmap)
    content = pickle.dumps(loaded)
    for file in (tmp_path / "model").iterdir():
        file.unlink()
    again = pickle.loads(content)
    assert_same_sets(again.predict(X), loaded.predict(X))
    np.testing.assert_array_equal(again.decision_function(X), loaded.decision_function(X))


def ask(model: Any, X: Any) -> Any:
    return model.decision_function(X)


@pytest.mark.slow
def test_loaded_models_predict_in_the_processes_of_joblib(tmp_path: Path) -> None:
    from joblib import Parallel, delayed

    wide, Y = make_blocks(60, 40, 40, 8)
    for name in ESTIMATORS:
        # Arrays above 1 MB are sent by joblib in a way of its own.
        model = make(name).fit(np.tile(wide, (1, 8)), Y)
        model.save(tmp_path / name)
        loaded = rmls.load(tmp_path / name)
        queries = [np.tile(wide, (1, 8))[:20], np.tile(wide, (1, 8))[20:]]
        found = Parallel(n_jobs=2)(delayed(ask)(loaded, part) for part in queries)
        wanted = [model.decision_function(part) for part in queries]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


# -- files that change under a loaded model --------------------------------------------------------


@every_estimator
def test_a_copied_model_does_not_depend_on_its_folder(name: str, tmp_path: Path) -> None:
    model = make(name).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model", mmap=False)
    # In place, which a memory map would not survive.
    for file in (tmp_path / "model").iterdir():
        os.truncate(file, 0)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_same_sets(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_file_that_was_cut_is_refused(mmap: bool, share: float, tmp_path: Path) -> None:
    make("RMLS").fit(X, Y).save(tmp_path / "model")
    file = tmp_path / "model" / "arrays.safetensors"
    os.truncate(file, int(share * file.stat().st_size))
    with pytest.raises(ArchiveError, match="is damaged"):
        rmls.load(tmp_path / "model", mmap=mmap)


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_a_file_that_is_cut_while_it_is_opened_is_refused(
    mmap: bool, verify: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmls.archive.write_archive(tmp_path / "model", {}, {"large": np.ones(50_000)})
    file, read_layout = tmp_path / "model" / "arrays.safetensors", reading.read_layout

    def cut_after(*arguments: Any) -> Any:
        layout = read_layout(*arguments)
        os.truncate(file, 400)
        return layout

    monkeypatch.setattr(reading, "read_layout", cut_after)
    with pytest.raises(ArchiveError, match=r"cut short|was changed"):
        rmls.archive.read_archive(tmp_path / "model", mmap=mmap, verify=verify)
