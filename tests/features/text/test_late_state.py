"""Late terms come back from plain values and arrays, and damaged ones do not."""

from __future__ import annotations

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
    as_table,
    assert_same_bits,
    restored,
)

from rmls.core.errors import InputError
from rmls.features import TextFeatures
from rmls.features.text.new_terms import count_rows
from rmls.features.text.state import restore_text, text_state
from rmls.features.text.term_block import rarity


@pytest.mark.parametrize("options", [*KINDS, TABLE], ids=str)
def test_restored_features_know_the_late_terms(options: dict[str, Any]) -> None:
    shape = as_table if options is TABLE else list
    features = TextFeatures(**options).fit(shape(TEXTS))
    for texts in (NEW, LATER):
        assert features.add_terms(shape(texts), ["covid"]) > 0
        again = restored(features)
        assert_same_bits(again.transform(shape(ASKED)), features.transform(shape(ASKED)))
        assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()
        features = again


def test_without_late_terms_the_archive_is_what_it_was() -> None:
    features = TextFeatures(pairs=True).fit(TEXTS)
    fitted, arrays = text_state(features)
    assert set(fitted) == {"fields", "n_fields", "language", "kinds", "columns", "n_dense"}
    assert not any(name.startswith("late") for name in arrays)
    features.add_terms(NEW)
    with_late, more = text_state(features)
    assert {name: with_late[name] for name in fitted} == fitted
    for name, array in arrays.items():
        np.testing.assert_array_equal(more[name], array)


def test_late_words_keep_their_stems_under_another_stemmer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = TextFeatures(stem="english").fit(TEXTS)
    features.add_terms(NEW)
    before = features.transform(NEW)
    monkeypatch.setattr(
        "rmls.features.text.stem_table.stem_words", lambda _: lambda words: ["?"] * len(words)
    )
    assert_same_bits(restored(features).transform(NEW), before)


@pytest.mark.parametrize("loaded", [False, True])
def test_weights_are_the_same_after_loading(loaded: bool) -> None:
    texts = [*TEXTS, "the tax", "sugar and sea", "a"]
    features = TextFeatures(stem="none").fit(texts)
    features = restored(features) if loaded else features
    features.add_terms(["virus", "virus wave"])
    _, arrays = text_state(features)
    np.testing.assert_array_equal(arrays["late_words_idf"], rarity(9, np.array([2, 1])))


@pytest.mark.parametrize("n_rows", [3, 10, 999, 12_404, 300_000])
@pytest.mark.parametrize("fewest", [0, 1, 2, 5])
def test_the_rows_of_the_training_follow_from_the_weights(n_rows: int, fewest: int) -> None:
    rows_with = np.arange(min(fewest, n_rows - 1), min(n_rows, 200) + 1)
    found = count_rows([rarity(n_rows, rows_with)])
    # The weights have 32 bits.
    assert abs(found - n_rows) <= 1e-6 * n_rows
    assert count_rows([np.zeros(0, np.float32)]) == 0


def damage(name: str, change: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    features = TextFeatures(pairs=True).fit(TEXTS)
    features.add_terms(NEW)
    features.add_terms(LATER)
    fitted, arrays = text_state(features)
    if name in fitted:
        fitted[name] = change
    elif change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])
    return features.get_params(), fitted, arrays


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *(("late", value) for value in (None, 3, [], {}, {"n_rows": -1}, {"n_rows": True})),
        *(("late", {"n_rows": value}) for value in (1.5, "4", 10**30, float("nan"))),
        *((f"late_{kind}_idf", None) for kind in ("words", "pairs")),
        ("late_words_idf", lambda idf: idf * np.inf),
        ("late_words_idf", lambda idf: -idf),
        ("late_words_idf", lambda idf: idf[1:]),
        ("late_words_idf", lambda idf: idf.astype(np.float64)),
        ("late_words_text", lambda text: text | 0x80),
        ("late_words_bounds", lambda bounds: bounds[::-1].copy()),
        ("late_words_bounds", lambda bounds: bounds[:-1]),
        ("late_words_bounds", lambda bounds: bounds * 0),
        ("late_pairs_text", lambda text: np.where(text == 32, 97, text).astype(np.uint8)),
        ("late_words_call", lambda calls: calls[::-1].copy()),
        ("late_words_call", lambda calls: calls - 1),
        ("late_words_call", lambda calls: calls + np.int32(2**31 - 4)),
        ("late_words_call", lambda calls: calls[:-1]),
        ("late_words_call", lambda calls: calls.astype(np.int64)),
        ("late_pairs_call", lambda calls: np.full_like(calls, -(2**31))),
        ("late_lexicon_stem", lambda stem: stem + 100),
        ("late_lexicon_stem", lambda stem: stem - 100),
        ("late_lexicon_stem", None),
        ("late_lexicon_bounds", lambda bounds: bounds + 1),
    ],
)
def test_damaged_late_terms_are_refused(name: str, change: Any) -> None:
    with pytest.raises(InputError):
        restore_text(*damage(name, change))


def test_late_terms_that_were_learned_are_refused() -> None:
    params, fitted, arrays = damage("late_words_idf", lambda idf: idf)
    for part in ("text", "bounds", "idf"):
        arrays[f"late_words_{part}"] = arrays[f"words_{part}"]
    arrays["late_words_call"] = np.ones(len(arrays["words_idf"]), np.int32)
    with pytest.raises(InputError, match="among those that were learned"):
        restore_text(params, fitted, arrays)
    hashed = TextFeatures(hashing=9).fit(TEXTS)
    fitted, arrays = text_state(hashed)
    with pytest.raises(InputError, match="do not fit the options"):
        restore_text(hashed.get_params(), {**fitted, "late": {"n_rows": 3}}, arrays)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_no_damage_to_late_arrays_does_more_than_refuse(data: st.DataObject) -> None:
    params, fitted, arrays = damage("late_words_idf", lambda idf: idf)
    name = data.draw(st.sampled_from(sorted(name for name in arrays if name.startswith("late"))))
    content = bytearray(arrays[name].tobytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    arrays[name] = np.frombuffer(bytes(content), arrays[name].dtype)
    try:
        features = restore_text(params, fitted, arrays)
    except InputError:
        return
    rows = features.transform(ASKED)
    assert rows.shape[1] == len(features.get_feature_names_out()) == features.n_terms_
    features.add_terms(["one more term"])
