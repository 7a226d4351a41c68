"""Texts that come after the training, and features that took up their terms."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from scipy import sparse

from rmls.features import TextFeatures
from rmls.features.text.state import restore_text, text_state

TEXTS = [
    "The taxes on tobacco, and the law of the land.",
    "A tax on sugar? Sugar is taxed; sugar is sweet",
    "Fishing in the North Sea: quotas for 1994",
    "東京都 café",
]
NEW = ["A virus in the North: covid-19, covid!", "vaccines against the virus", "大阪 sugar", ""]
LATER = ["omicron and delta, variants of the virus", "a quota for vaccines", "京大"]
ASKED = [*TEXTS, *NEW, *LATER, "covid omicron", "omicron", "vaccine", "", "?!", "unheard of"]
KINDS: list[dict[str, Any]] = [
    {},
    {"stem": "english"},
    {"stem": "none", "min_rows": 2},
    {"pairs": True},
    {"characters": (2, 4)},
    {"pairs": True, "characters": (3, 3)},
]


def as_fields(texts: list[str]) -> list[tuple[str, str]]:
    return [(text[:12], text[12:]) for text in texts]


def as_table(texts: list[str]) -> dict[str, list[Any]]:
    return {
        "text": texts,
        "shop": [["north", "south", None][place % 3] for place in range(len(texts))],
        "price": [None if place % 4 == 3 else float(len(text)) for place, text in enumerate(texts)],
        "vector": [[float(place), 1.0] for place in range(len(texts))],
    }


TABLE = {"categories": ["shop"], "numbers": ["price"], "vectors": "vector"}


def assert_same_bits(found: sparse.csr_matrix, expected: sparse.csr_matrix) -> None:
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def restored(features: TextFeatures) -> TextFeatures:
    fitted, arrays = text_state(features)
    return restore_text(features.get_params(), json.loads(json.dumps(fitted)), arrays)
