"""Arrow in and out: the same rows in every container, and rankings as tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rmls
from rmls.core.ranking import Ranking

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'rmls[tables]'")

SAVED = Path(__file__).parents[1] / "archive" / "texts_0_1"
TEXTS = ["fishing boats in the harbour", "taxes for the revenue of the court"]


def test_a_ranking_is_a_table_and_comes_back_from_parquet(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    model = rmls.load(SAVED / "measured")
    ranking = model.rank(TEXTS, 3)
    parquet.write_table(rmls.exchange.to_arrow(ranking, ["a", "b"]), tmp_path / "out.parquet")
    found = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    wanted = [
        {
            "row": name,
            "rank": rank,
            "label": entry.label,
            "score": entry.score,
            "probability": entry.probability,
        }
        for name, row in zip("ab", ranking, strict=True)
        for rank, entry in enumerate(row, 1)
    ]
    assert found == wanted


def test_rows_may_have_different_lengths_and_no_probabilities() -> None:
    ranking = Ranking(np.array([0, 2, 2, 3]), np.int32([4, 1, 4]), np.float32([3, 2, 1]), 5)
    table = rmls.exchange.to_arrow(ranking)
    assert table["row"].to_pylist() == [0, 0, 2]
    assert table["rank"].to_pylist() == [1, 2, 1]
    assert table["label"].to_pylist() == [4, 1, 4]
    assert table["probability"].null_count == 3
    assert rmls.exchange.to_arrow(ranking[1:2]).num_rows == 0


def test_texts_features_and_labels_come_as_arrow_too() -> None:
    model = rmls.load(SAVED / "measured")
    assert model.suggest(pa.table({"text": TEXTS})) == model.suggest(TEXTS)
    assert model.suggest(pa.array(TEXTS)) == model.suggest(TEXTS)
    X = np.random.default_rng(0).random((20, 3))
    Y = (X[:, :2] > 0.5).astype(np.int64)
    rows = pa.table({f"x{number}": X[:, number] for number in range(3)})
    labels = pa.table({"first": Y[:, 0], "second": Y[:, 1]})
    fitted = rmls.RMLS(2, max_iter=2).fit(rows, labels)
    plain = rmls.RMLS(2, max_iter=2).fit(X, Y)
    assert np.array_equal(fitted.decision_function(rows), plain.decision_function(X))
    sets = fitted.predict(rows)
    assert isinstance(sets, pa.Table)
    assert sets.column_names == ["first", "second"]
