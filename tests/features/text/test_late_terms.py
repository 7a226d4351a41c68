"""Fitted text features take up new terms, and nothing else changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from late_samples import (
    ASKED,
    KINDS,
    LATER,
    NEW,
    TABLE,
    TEXTS,
    as_fields,
    as_table,
    assert_same_bits,
    restored,
)
from scipy import sparse
from sklearn.exceptions import NotFittedError

from rmls.core.errors import InputError
from rmls.datasets import read_texts
from rmls.features import TextFeatures
from rmls.features.text.names import name_rows
from rmls.features.text.state import text_state

SHAPES: list[tuple[Callable[[list[str]], Any], dict[str, Any]]] = [
    (list, {}),
    (as_fields, {"field_weights": [2, 0.5]}),
    (as_table, TABLE),
]


def lengths(rows: sparse.csr_matrix) -> np.ndarray:
    return np.sqrt(rows.multiply(rows).sum(axis=1)).A1


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize(("shape", "beside"), SHAPES, ids=["texts", "fields", "table"])
def test_what_was_known_keeps_columns_and_values_bit_for_bit(
    shape: Callable[[list[str]], Any], beside: dict[str, Any], options: dict[str, Any]
) -> None:
    features = TextFeatures(**options, **beside).fit(shape(TEXTS))
    steps: list[tuple[Any, list[str]]] = [
        (shape(NEW), []),
        (None, ["Sugar virology", "北海道"]),
        (shape(LATER), ["Delta"]),
    ]
    for X, names in steps:
        n_terms, n_dense = features.n_terms_, features.n_dense_
        called, before = features.get_feature_names_out(), features.transform(shape(ASKED))
        named = name_rows(features, ["sugar virus covid", "omicron", "tax"])
        n_added = features.add_terms(X, names)
        assert n_added > 0
        after, now = features.transform(shape(ASKED)), features.get_feature_names_out().tolist()
        assert after.shape == (len(ASKED), n_terms + n_added + n_dense)
        assert features.n_terms_ == n_terms + n_added
        assert now[:n_terms] + now[n_terms + n_added :] == called.tolist()
        assert len(set(now)) == len(now)
        assert_same_bits(after[:, :n_terms], before[:, :n_terms])
        assert_same_bits(after[:, n_terms + n_added :], before[:, n_terms:])
        again = name_rows(features, ["sugar virus covid", "omicron", "tax"])
        assert again.shape == (3, features.n_terms_)
        assert_same_bits(again[:, :n_terms], named)
        assert after.has_sorted_indices
        assert np.isfinite(after.data).all()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=6).map(" ".join), max_size=5),
    st.lists(st.lists(st.sampled_from("efghijklmn"), max_size=6).map(" ".join), max_size=5),
    st.lists(st.lists(st.sampled_from("abcdefghijklmnop"), max_size=6).map(" ".join), max_size=5),
    st.booleans(),
)
def test_any_texts_keep_what_was_known(
    first: list[str], second: list[str], asked: list[str], pairs: bool
) -> None:
    features = TextFeatures(stem="none", pairs=pairs).fit(["a b c", *first])
    for texts in (second, asked):
        n_terms, before = features.n_terms_, features.transform(asked)
        features.add_terms(texts)
        assert_same_bits(features.transform(asked)[:, :n_terms], before)
    words = set(" ".join(["a b c", *first, *second, *asked]).split())
    called = features.get_feature_names_out().tolist()
    assert {name for name in called if " " not in name} == words
    assert len(set(called)) == len(called)


def test_late_terms_stand_behind_all_sparse_columns_in_the_order_of_the_calls() -> None:
    features = TextFeatures(stem="none", pairs=True, **TABLE).fit(as_table(["a tax", "the law"]))
    n_terms = features.n_terms_
    assert features.add_terms(as_table(["a virus"]), names=["Covid-19"]) == 4
    assert features.add_terms(as_table(["the virus wave"])) == 3
    assert features.get_feature_names_out()[n_terms:].tolist() == [
        *("covid", "19", "virus", "a virus"),
        *("wave", "the virus", "virus wave"),
        *("#vector 0", "#vector 1"),
    ]


def test_late_values_are_those_of_tf_idf_on_the_scale_of_the_learned_terms() -> None:
    features = TextFeatures(stem="none").fit(["a tax", "a law", "the law"])
    assert features.add_terms(["virus law", "virus wave"], names=["covid"]) == 3
    idf = {
        **dict.fromkeys(("a", "law"), np.log(4 / 3) + 1),
        **dict.fromkeys(("tax", "the"), np.log(4 / 2) + 1),
        # Five rows are known now; names are no rows.
        "covid": np.log(6 / 1) + 1,
        "virus": np.log(6 / 3) + 1,
        "wave": np.log(6 / 2) + 1,
    }
    found = features.transform(["tax law virus virus", "virus wave", "covid"]).toarray()
    called = features.get_feature_names_out().tolist()
    assert called == ["a", "tax", "law", "the", "covid", "virus", "wave"]
    scale = 1 / np.hypot(idf["tax"], idf["law"])
    alone = 1 / np.hypot(idf["virus"], idf["wave"])
    expected = [
        {
            "tax": idf["tax"] * scale,
            "law": idf["law"] * scale,
            "virus": (1 + np.log(2)) * idf["virus"] * scale,
        },
        {"virus": idf["virus"] * alone, "wave": idf["wave"] * alone},
        {"covid": 1},
    ]
    np.testing.assert_allclose(
        found, [[row.get(name, 0) for name in called] for row in expected], rtol=1e-6
    )


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_text_of_late_terms_alone_has_length_one(options: dict[str, Any]) -> None:
    features = TextFeatures(**{**options, "characters": None}).fit(TEXTS)
    features.add_terms(["zebra quagga zebra", "quagga okapi"])
    np.testing.assert_allclose(lengths(features.transform(["quagga okapi okapi"])), 1, rtol=1e-6)


def test_late_terms_are_scaled_with_the_columns_beside_the_texts() -> None:
    features = TextFeatures(stem="none", **TABLE).fit(as_table(["a tax", "the law", "a law"]))
    features.add_terms(names=["virus"])
    both = {"text": ["law", "law virus"], "shop": ["north"] * 2, "price": [5.0] * 2}
    without, found = features.transform({**both, "vector": [[1, 1]] * 2}).toarray()
    places = np.flatnonzero(without != found)
    assert features.get_feature_names_out()[places].tolist() == ["virus"]
    np.testing.assert_allclose(np.linalg.norm(without[:-2]), 1, rtol=1e-6)
    law, virus = (
        features.get_feature_names_out().tolist().index(name) for name in ("law", "virus")
    )
    np.testing.assert_allclose(
        found[virus] / found[law], (np.log(4 / 1) + 1) / (np.log(4 / 3) + 1), rtol=1e-6
    )


@pytest.mark.parametrize("options", [*KINDS, TABLE], ids=str)
def test_adding_again_does_nothing(options: dict[str, Any]) -> None:
    shape = as_table if options is TABLE else list
    features = TextFeatures(**options).fit(shape(TEXTS))
    assert features.add_terms(shape(TEXTS)) == 0 or options.get("min_rows") == 2
    features.add_terms(shape(NEW), ["Covid"])
    fitted, arrays = text_state(features)
    assert features.add_terms(shape(NEW), ["covid", "virus"]) == 0
    assert features.add_terms() == features.add_terms(shape([])) == features.add_terms([]) == 0
    fitted_now, arrays_now = text_state(features)
    assert fitted_now == fitted
    assert arrays.keys() == arrays_now.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(arrays_now[name], array)


def test_a_word_of_a_known_stem_is_no_new_term() -> None:
    features = TextFeatures(stem="english").fit(TEXTS)
    assert features.add_terms(["taxing quota"], names=["Taxation of sugars"]) == 1
    assert features.get_feature_names_out()[-1] == "taxat"
    assert features.add_terms(["vaccines"]) == 1
    assert features.add_terms(["vaccinating", "vaccine"]) == 0
    late = features.transform(["vaccine", "taxation vaccinated", "law"])[:, -2:].toarray()
    np.testing.assert_array_equal(late > 0, [[0, 1], [1, 1], [0, 0]])
    assert features.language_ == "english"


def test_min_rows_and_max_terms_bound_what_is_added() -> None:
    features = TextFeatures(stem="none", max_terms=5).fit(["a b", "a"])
    later = ["d c", "e c d", "c", "f"]
    some = copy.copy(features)
    assert some.add_terms(later, min_rows=2) == 2
    assert some.get_feature_names_out().tolist() == ["a", "b", "d", "c"]
    assert features.add_terms(later, names=["z y"], min_rows=1) == 3
    assert features.get_feature_names_out().tolist() == ["a", "b", "z", "y", "c"]
    assert features.add_terms(["g"], names=["h"]) == 0
    unbounded = TextFeatures(stem="none", max_terms=None, pairs=True).fit(["a b"])
    assert unbounded.add_terms(later, names=["z y"], min_rows=2) == 4


def test_a_copy_is_not_changed() -> None:
    features = TextFeatures().fit(TEXTS)
    features.add_terms(NEW)
    other, n_terms = copy.copy(features), features.n_terms_
    assert other.add_terms(LATER) > 0
    assert features.n_terms_ == n_terms
    assert features.transform(ASKED).shape[1] == n_terms


def test_fitting_again_forgets_late_terms() -> None:
    features = TextFeatures().fit(TEXTS)
    features.add_terms(NEW)
    fresh = TextFeatures().fit(TEXTS)
    assert_same_bits(features.fit(TEXTS).transform(ASKED), fresh.transform(ASKED))


def test_hashed_features_know_every_term() -> None:
    features = TextFeatures(hashing=64, pairs=True).fit(TEXTS)
    before = features.transform(ASKED)
    assert features.add_terms(NEW, names=["covid"]) == 0
    assert_same_bits(features.transform(ASKED), before)


def test_scanned_texts_stay_for_the_rows() -> None:
    features, other = TextFeatures(pairs=True).fit(TEXTS), TextFeatures(pairs=True).fit(TEXTS)
    scanned = features.scan(iter([NEW[:1], NEW[1:]]))
    assert features.add_terms(scanned) == other.add_terms(NEW)
    assert features.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    assert_same_bits(features.transform(scanned), other.transform(NEW))
    with pytest.raises(InputError, match="used up"):
        features.add_terms(scanned)


def test_no_encoder_is_needed() -> None:
    asked: list[int] = []

    def encode(texts: list[str]) -> np.ndarray:
        asked.append(len(texts))
        return np.ones((len(texts), 2))

    features = TextFeatures(encoder=encode).fit(TEXTS)
    assert features.add_terms(NEW) > 0
    assert asked == [len(TEXTS)]
    assert features.transform(NEW).shape == (len(NEW), features.n_terms_ + 2)


@pytest.mark.parametrize("text", ["\ud800", "ﬁne Ｆｕｌｌ", "नमस्ते", "ไทย", "a" * 500, "\x00", "İ"])
def test_any_unicode_can_be_added(text: str) -> None:
    features = TextFeatures(stem="none", pairs=True, characters=(1, 2)).fit(["tax"])
    expected = TextFeatures(stem="none", pairs=True, characters=(1, 2)).fit(["tax", text])
    features.add_terms([text])
    assert set(features.get_feature_names_out()) == set(expected.get_feature_names_out())
    assert features.transform([text]).nnz == expected.transform([text]).nnz


def test_bad_input_gets_a_sentence() -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        TextFeatures().add_terms(["tax"])
    features = TextFeatures().fit(TEXTS)
    with pytest.raises(InputError, match="put it in a list"):
        features.add_terms("tax")
    for names in ("covid", ["covid", None], [3]):
        with pytest.raises(InputError, match="names must be a list of strings"):
            features.add_terms(names=names)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="min_rows"):
        features.add_terms(NEW, min_rows=0)
    with pytest.raises(InputError, match="field"):
        features.add_terms(as_fields(NEW))
    assert features.n_terms_ == TextFeatures().fit(TEXTS).n_terms_


@pytest.mark.data
@pytest.mark.parametrize("options", [{}, {"pairs": True, "characters": (3, 4)}], ids=str)
def test_real_texts_keep_their_values(data_dir: Path, options: dict[str, Any]) -> None:
    table = read_texts(data_dir / "cooking.jsonl.gz")
    texts = [" ".join(row) for row in zip(*table.columns.values(), strict=True)][:1500]
    features = TextFeatures(**options).fit(texts[:800])
    fewer, loaded = features.n_terms_, restored(features)
    before = features.transform(texts)
    n_added = features.add_terms(texts[800:])
    after = features.transform(texts)
    assert n_added > 300
    assert_same_bits(after[:, :fewer], before)
    # No term of the training rows is late: their rows are as long as they were.
    assert after[:800, fewer:].nnz == 0
    assert (after[800:, fewer:].getnnz(axis=1) > 0).mean() > 0.3
    both = TextFeatures(**options).fit(texts)
    assert set(features.get_feature_names_out()) == set(both.get_feature_names_out())
    assert loaded.add_terms(texts[800:]) == n_added
    assert_same_bits(loaded.transform(texts), after)
