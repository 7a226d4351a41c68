"""TextRanker with vectors beside the words: made by any encoder, or given as a column."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import rmls
from rmls import RMLS, TextRanker
from rmls.core.errors import InputError, MissingExtraError
from rmls.features import TextFeatures
from rmls.features.text import vectors as reading

N_KINDS, WIDTH = 8, 16
CENTERS = np.random.default_rng(7).normal(size=(N_KINDS, WIDTH)).astype(np.float32)


def encode(texts: list[str]) -> Any:
    """Return a vector of the secret that a text names by one of many words for it."""
    kinds = [int(text.split()[0].removeprefix("secret")) % N_KINDS for text in texts]
    return CENTERS[kinds]


def make_texts(n_rows: int, first: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Return texts whose first word is never seen twice: its number decides the label."""
    rng = np.random.default_rng(seed)
    texts = [f"secret{first + row} word{rng.integers(9)}" for row in range(n_rows)]
    return texts, [[f"kind {(first + row) % N_KINDS}"] for row in range(n_rows)]


TEXTS, LABELS = make_texts(240, 0)
NEW, TRUE = make_texts(80, 1000, seed=1)


def share_right(model: TextRanker, rows: Any) -> float:
    found = [row[0].name for row in model.suggest(rows, k=1)]
    return float(np.mean([a == b for a, (b,) in zip(found, TRUE, strict=True)]))


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return TextRanker(encoder=encode).fit(TEXTS, LABELS)


def table(texts: list[str]) -> dict[str, Any]:
    return {"text": texts, "emb": encode(texts)}


def test_what_the_encoder_alone_knows_is_learned(model: TextRanker) -> None:
    assert share_right(TextRanker().fit(TEXTS, LABELS), NEW) < 0.4
    assert share_right(model, NEW) > 0.95
    assert model.estimator_.dense_columns == model.features_.n_dense_ == WIDTH


def test_a_column_of_vectors_is_as_good_as_their_encoder(model: TextRanker) -> None:
    given = TextRanker(vectors="emb").fit(table(TEXTS), LABELS)
    expected = model.rank(NEW, 3)
    for rows in (
        table(NEW),
        pd.DataFrame({"text": NEW, "emb": list(encode(NEW))}),
        {"emb": encode(NEW).tolist(), "text": NEW},
        {"text": NEW, "emb": encode(NEW).astype(np.float64)},
    ):
        found = given.rank(rows, 3)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-4, atol=1e-4)


def test_it_is_an_estimator_of_scikit_learn() -> None:
    frame = pd.DataFrame({"text": TEXTS, "emb": list(encode(TEXTS))})
    Y = np.array([[f"kind {kind}" in row for kind in range(N_KINDS)] for row in LABELS], dtype=int)
    assert cross_val_score(clone(TextRanker(vectors="emb")), frame, Y, cv=KFold(3)).min() > 0.9


def test_several_fields_reach_the_encoder_as_one_text() -> None:
    seen: list[str] = []

    def look(texts: list[str]) -> Any:
        seen.extend(texts)
        return encode(texts)

    rows = {"title": TEXTS, "body": ["", *["more"] * 239]}
    TextRanker(encoder=look).fit(rows, LABELS)
    assert seen[:2] == [TEXTS[0], f"{TEXTS[1]}\nmore"]


def test_chunks_and_parts_of_texts_keep_their_vectors() -> None:
    features = TextFeatures(stem="none", encoder=encode)
    scanned = features.scan([TEXTS[:100], TEXTS[100:]])
    rows = np.arange(240) % 3 == 0
    some, others = scanned.divide(rows)
    found, beside = features.fit_transform(some), features.transform(others)
    np.testing.assert_array_equal(found[:, -WIDTH:].toarray(), encode(TEXTS)[rows])
    np.testing.assert_array_equal(beside[:, -WIDTH:].toarray(), encode(TEXTS)[~rows])
    assert features.get_feature_names_out().tolist()[-1] == f"#vector {WIDTH - 1}"
    assert len(features.get_feature_names_out()) == found.shape[1]


def test_a_function_is_not_saved_and_has_to_be_set_again(model: TextRanker, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = rmls.load(tmp_path / "model")
    with pytest.raises(InputError, match=r"set it again: model.set_params\(encoder="):
        again.suggest(NEW)
    again.set_params(encoder=encode)
    assert again.suggest(NEW) == model.suggest(NEW)


def test_a_model_of_a_column_is_saved(tmp_path: Path) -> None:
    model = TextRanker(vectors="emb").fit(table(TEXTS), LABELS)
    model.save(tmp_path / "model")
    assert rmls.load(tmp_path / "model").suggest(table(NEW)) == model.suggest(table(NEW))


class Fake:
    """What is used of a model of sentence-transformers."""

    def __init__(self, folder: str, *, local_files_only: bool) -> None:
        assert local_files_only
        if not Path(folder, "modules.json").exists():
            raise OSError("no modules.json")

    def encode(self, texts: list[str], *, show_progress_bar: bool) -> Any:
        assert not show_progress_bar
        return encode(texts)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("sentence_transformers")
    module.SentenceTransformer = Fake
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    reading._load_folder.cache_clear()


@pytest.mark.usefixtures("library")
def test_a_folder_of_an_encoder_is_saved_by_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        TextRanker(encoder=folder).fit(TEXTS, LABELS)
    (folder / "modules.json").write_text("[]")
    model = TextRanker(encoder=folder).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = rmls.load(tmp_path / "model")
    assert again.encoder == str(folder)
    assert again.suggest(NEW) == model.suggest(NEW)


def test_a_missing_library_or_folder_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading._load_folder.cache_clear()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rmls\[encoders\]'"):
        TextRanker(encoder=tmp_path).fit(TEXTS, LABELS)
    with pytest.raises(InputError, match="is no folder"):
        TextRanker(encoder="all-MiniLM-L6-v2").fit(TEXTS, LABELS)


def broken(value: float) -> Any:
    found = encode(TEXTS)
    found[3, 2] = value
    return found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (encode(TEXTS)[:-1], "gives 239 vectors for 240 rows"),
        (broken(np.nan), "the vector of row 3 has a number that is not finite"),
        (broken(np.inf), "the vector of row 3 has a number that is not finite"),
        (np.zeros((240, 0)), "vectors without numbers"),
        (np.zeros(240), r"an array of shape \(240,\)"),
        (np.full((240, 2), "one"), "vectors are numbers"),
        ([[1.0], *[[1.0, 2.0]] * 239], "of different lengths"),
        (encode(TEXTS).astype(np.float64) * 1e300, "not finite"),
    ],
)
def test_bad_vectors_are_one_sentence(given: Any, message: str) -> None:
    for estimator, rows in (
        (TextRanker(encoder=lambda texts: given), TEXTS),
        (TextRanker(vectors="emb"), {"text": TEXTS, "emb": given}),
    ):
        with pytest.raises(InputError, match=message) as told:
            estimator.fit(rows, LABELS)
        assert "\n" not in str(told.value)


def test_what_does_not_fit_is_one_sentence(model: TextRanker) -> None:
    with pytest.raises(InputError, match="of 3 numbers but the model was trained on 16"):
        clone(model).fit(TEXTS, LABELS).set_params(encoder=lambda t: np.ones((len(t), 3))).rank(NEW)
    given = TextRanker(vectors="emb").fit(table(TEXTS), LABELS)
    with pytest.raises(InputError, match=r"'emb' of a table .* it is missing"):
        given.suggest(NEW)
    with pytest.raises(InputError, match="no column beside the vectors"):
        TextRanker(vectors="emb").fit({"emb": encode(TEXTS)}, LABELS)
    with pytest.raises(InputError, match="exclude each other"):
        TextRanker(vectors="emb", encoder=encode).fit(table(TEXTS), LABELS)
    with pytest.raises(InputError, match="RMLS takes no vectors"):
        TextRanker(RMLS(), encoder=encode).fit(TEXTS, LABELS)
    with pytest.raises(InputError, match="encoder must be a function"):
        TextRanker(encoder=3).fit(TEXTS, LABELS)


def test_no_rows_give_no_answers(model: TextRanker) -> None:
    assert model.suggest([]) == []
