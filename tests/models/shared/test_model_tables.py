"""Tables of pandas, polars and Arrow: rows keep their index, columns their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_samples import ESTIMATORS, NAMES, as_names, fitted, make, make_blocks

import rmls
from rmls.imbalance import MLROS, MLSMOTE

X, Y = make_blocks()
WORDS = [f"word {column}" for column in range(X.shape[1])]
INDEX = pd.Index([f"doc {row * 7 % len(X)}" for row in range(len(X))], name="doc")
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def frame(values: np.ndarray, columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(values, columns=columns, index=INDEX)


@every_estimator
def test_predicted_frames_have_the_index_of_the_rows(name: str, tmp_path: Path) -> None:
    model = make(name).fit(frame(X, WORDS), frame(Y, NAMES))
    shuffled = frame(X, WORDS).sample(frac=0.5, random_state=0)
    found = model.predict(shuffled)
    assert found.index.equals(shuffled.index)
    assert found.columns.tolist() == NAMES
    whole = model.predict(frame(X, WORDS))
    pd.testing.assert_frame_equal(whole.loc[shuffled.index], found)
    model.save(tmp_path / "model")
    assert rmls.load(tmp_path / "model").predict(shuffled).index.equals(shuffled.index)


def test_rows_without_an_index_are_numbered() -> None:
    model = make("RMLS").fit(X, frame(Y, NAMES))
    assert model.predict(X).index.tolist() == list(range(len(X)))


def test_an_index_may_have_levels_and_repeat() -> None:
    model = make("RMLS").fit(X, frame(Y, NAMES))
    levels = pd.MultiIndex.from_arrays([INDEX, np.arange(len(X)) // 2])
    assert model.predict(pd.DataFrame(X, index=levels)).index.equals(levels)
    twice = INDEX.repeat(2)[: len(X)]
    assert model.predict(pd.DataFrame(X, index=twice)).index.equals(twice)


def polars_table(values: np.ndarray, columns: list[str]) -> Any:
    return pytest.importorskip("polars").DataFrame(values, schema=columns, orient="row")


def arrow_table(values: np.ndarray, columns: list[str]) -> Any:
    return pytest.importorskip("pyarrow").table(list(values.T), names=columns)


TABLES = {"polars": polars_table, "pyarrow": arrow_table}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def to_numpy(found: Any) -> np.ndarray:
    return np.asarray(found.to_pandas() if hasattr(found, "num_rows") else found.to_numpy())


@every_table
def test_labels_come_back_in_the_table_of_their_library(table: Callable, tmp_path: Path) -> None:
    model = make("RMLS").fit(table(X, WORDS), table(Y, NAMES))
    found = model.predict(table(X, WORDS))
    assert type(found) is type(table(Y, NAMES))
    assert model.classes_.tolist() == NAMES
    np.testing.assert_array_equal(to_numpy(found), fitted("RMLS").predict(X))
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert type(loaded.predict(table(X, WORDS))) is type(found)
    assert loaded.score(table(X, WORDS), table(Y[:, ::-1], NAMES[::-1])) == model.score(
        table(X, WORDS), Y
    )


def test_lists_of_arrow_and_polars_are_lists() -> None:
    lists = as_names(Y, NAMES)
    given = [
        pytest.importorskip("pyarrow").array(lists),
        pytest.importorskip("polars").Series(lists),
    ]
    for y in given:
        assert make("RMLS").fit(X, y).predict(X) == make("RMLS").fit(X, lists).predict(X)


@pytest.mark.parametrize("sampler", [MLROS(), MLSMOTE()], ids=["MLROS", "MLSMOTE"])
@every_table
def test_resampled_tables_stay_tables(table: Callable, sampler: Any) -> None:
    rows, labels = sampler.fit_resample(table(X, WORDS), table(Y, NAMES))
    X_new, Y_new = sampler.fit_resample(X, Y)
    assert type(rows) is type(labels) is type(table(X, WORDS))
    np.testing.assert_array_equal(to_numpy(rows), X_new)
    np.testing.assert_array_equal(to_numpy(labels), Y_new)
