"""Rows of a store that memory has no room for: the model is the same, and memory stays small."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rmls import RMLS, RMLSRanker
from rmls.core.disk.scratch import FOLDER, Scratch
from rmls.core.errors import InputError
from rmls.core.resources import MEMORY, available_memory
from rmls.core.sparse import distinct_rows, is_mapped, take_rows
from rmls.datasets import Dataset, make_longtail
from rmls.datasets.store import open_store, write_store
from rmls.models.ranker.large import on_disk
from rmls.models.shared import answers

OPTIONS = {"n_components": 16, "max_iter": 2}


@pytest.fixture
def on_the_disk(monkeypatch, tmp_path):
    """Let memory have no room for rows; returns the scratch folder."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv(FOLDER, str(tmp_path / "scratch"))
    monkeypatch.setattr(on_disk, "needs_disk", lambda model, data: True)
    return tmp_path / "scratch"


def stored(data: Dataset, folder):
    write_store(data, folder, shard_rows=77)
    return open_store(folder)


def arrays_of(model) -> dict[str, np.ndarray]:
    return model._state()[1]


def shaped(kind: str) -> Dataset:
    data = make_longtail(400, 150, 40, labels_per_row=2, random_state=2)
    X = data.X.copy()
    if kind == "counts":
        X.data = np.ceil(3 * np.abs(X.data)).astype(np.float32)
    elif kind == "signs":
        X.data *= np.where(np.arange(X.nnz) % 2, 1, -5).astype(np.float32)
    elif kind == "copies":
        rows = np.concatenate([np.arange(300), np.arange(100)])
        return Dataset(X[rows], data.Y[rows])
    return Dataset(X, data.Y)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("kind", ["unit", "counts", "copies"])
def test_the_model_is_the_one_of_a_training_in_memory(kind, loss, on_the_disk, tmp_path):
    data, options = shaped(kind), {**OPTIONS, "loss": loss, "calibration_folds": 0}
    wanted = arrays_of(RMLSRanker(**options).fit(data.X, data.Y))
    store = stored(data, tmp_path / "store")
    for X, y in ((store, None), (store.X, store.Y)):
        found = arrays_of(RMLSRanker(**options).fit(X, y))
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            assert np.array_equal(found[name], array), name
    assert list(on_the_disk.iterdir()) == []


def test_rows_that_lie_as_a_training_wants_them_are_not_copied(on_the_disk, monkeypatch, tmp_path):
    data, options = shaped("unit"), {**OPTIONS, "normalize": "none"}
    rows, _ = distinct_rows(data.X, data.Y, np.ones(data.n_samples))
    wanted = arrays_of(RMLSRanker(**options).fit(data.X, data.Y))
    copied, copy = [], on_disk._copy
    monkeypatch.setattr(on_disk, "_copy", lambda *given: (copied.append(1), copy(*given))[1])
    for number, order in enumerate((rows, rows[::-1])):
        store = stored(Dataset(data.X[order], data.Y[order]), tmp_path / str(number))
        found = arrays_of(RMLSRanker(**options).fit(store))
        assert all(np.array_equal(array, found[name]) for name, array in wanted.items())
        assert len(copied) == number


def test_more_entries_than_32_bits_count(on_the_disk, monkeypatch, tmp_path):
    data = shaped("counts")
    wanted = RMLSRanker(**OPTIONS, calibration_folds=0).fit(data.X, data.Y)
    # As if 200 were the largest number of 32 bits: places of entries then have 64.
    monkeypatch.setattr("rmls.core.sparse.INT32_MAX", 200)
    monkeypatch.setattr(answers, "PART_ENTRIES", 700)
    rows = stored(data, tmp_path / "store").dataset()
    assert (rows.X.indptr.dtype, rows.X.indices.dtype) == (np.int64, np.int32)
    found = RMLSRanker(**OPTIONS, calibration_folds=0).fit(rows)
    assert all(np.array_equal(a, arrays_of(wanted)[name]) for name, a in arrays_of(found).items())
    assert (found.predict_sets(rows) != wanted.predict_sets(data.X)).nnz == 0


def test_columns_of_any_sign_are_rescaled_alike(on_the_disk, tmp_path):
    data = shaped("signs")
    wanted = RMLSRanker(**OPTIONS).fit(data.X, data.Y)
    found = RMLSRanker(**OPTIONS).fit(stored(data, tmp_path / "store"))
    assert found._normalizer.mode == wanted._normalizer.mode == "rescale"
    # Sums of blocks of rows round otherwise than one sum.
    np.testing.assert_allclose(found._normalizer.scale, wanted._normalizer.scale, rtol=1e-6)


def test_cross_fitting_and_names_go_from_disk_too(on_the_disk, tmp_path):
    data = shaped("unit")
    options = {**OPTIONS, "calibration_folds": 2}
    text = {label: f"label {label}" for label in range(40)}
    names = [f"word{column}" for column in range(150)]
    fits = []
    for rows in (data, stored(Dataset(data.X, data.Y), tmp_path / "store").dataset()):
        rows.feature_names = names
        fits.append(arrays_of(RMLSRanker(**options).fit(rows, label_text=text)))
    assert all(np.array_equal(array, fits[1][name]) for name, array in fits[0].items())


def test_answers_come_by_parts(monkeypatch, tmp_path):
    data = shaped("counts")
    store = stored(data, tmp_path / "store")
    models = [RMLSRanker(**OPTIONS).fit(data.X, data.Y), RMLS(8, max_iter=1).fit(data.X, data.Y)]
    wanted = [(m.rank(data.X), m.predict_sets(data.X), m.rank_sets(data.X)) for m in models]
    monkeypatch.setattr(answers, "PART_ENTRIES", 700)
    for model, (ranking, sets, described) in zip(models, wanted, strict=True):
        found = model.rank(store.X)
        assert np.array_equal(found.labels, ranking.labels)
        np.testing.assert_allclose(found.probabilities, ranking.probabilities, rtol=1e-4)
        assert (model.predict_sets(store.X) != sets).nnz == 0
        assert np.array_equal(model.rank_sets(store.X).labels, described.labels)


def test_what_lies_in_a_file_is_known(tmp_path):
    data = shaped("unit")
    store = stored(data, tmp_path / "store")
    assert is_mapped(store.X)
    rows = Dataset(store.X, store.Y, n_train=300)
    assert is_mapped(rows.X)
    for part, wanted in ((rows.train, data.X[:300]), (rows.test, data.X[300:])):
        assert is_mapped(part.X)
        assert (wanted != part.X).nnz == 0
    assert rows.take(slice(7, 3)).n_samples == 0
    assert not is_mapped(data.X)
    assert not is_mapped(take_rows(store.X, np.array([3, 1])))
    data.X.data.tofile(tmp_path / "own.bin")
    own = data.X.copy()
    own.data = np.memmap(tmp_path / "own.bin", np.float32)
    assert is_mapped(own)


def test_rows_are_taken_in_any_order():
    X = sparse.random(30, 20, 0.2, "csr", np.float32, rng=np.random.default_rng(0))
    rows = np.array([3, 3, 29, 0])
    assert (take_rows(X, rows) != X[rows]).nnz == 0
    assert take_rows(X, np.zeros(0, np.int64)).shape == (0, 20)


def test_a_disk_without_room_is_told_before_the_training(on_the_disk, monkeypatch, tmp_path):
    store = stored(shaped("unit"), tmp_path / "store")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    with pytest.raises(InputError, match=r"needs .* of disk in .*which has 1.0 kB; let RMLS_SCR"):
        RMLSRanker(**OPTIONS).fit(store)
    monkeypatch.setenv(FOLDER, str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="is no folder"):
        Scratch()


def test_memory_may_be_limited_by_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv(MEMORY, "1 kB")
    assert available_memory() == 0
    monkeypatch.setenv(MEMORY, "many")
    with pytest.raises(InputError, match=MEMORY):
        available_memory()
    monkeypatch.setenv(MEMORY, "1000 GB")
    unlimited = available_memory()
    monkeypatch.delenv(MEMORY)
    assert unlimited is not None
    data = stored(shaped("unit"), tmp_path / "store")
    model = RMLSRanker()
    seen = []
    monkeypatch.setattr(on_disk, "available_memory", lambda: seen[-1])
    from rmls.models.shared.training_set import read_training_set

    rows = read_training_set(model, data, None)
    for room, wanted in ((None, False), (10**9, False), (10**5, True)):
        seen.append(room)
        assert on_disk.needs_disk(model, rows) is wanted
