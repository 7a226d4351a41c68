"""Fitted text features as plain values and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmls.core.errors import InputError
from rmls.core.options import check_whole
from rmls.core.sparse import is_row_pointer
from rmls.features.text.characters import encode_pieces
from rmls.features.text.column_block import ColumnBlock
from rmls.features.text.endings import Endings
from rmls.features.text.late_terms import LateBlock, LateTerms
from rmls.features.text.stem_table import StemTable
from rmls.features.text.stems import ENDINGS, check_language
from rmls.features.text.term_block import TermBlock
from rmls.features.text.terms import PAIRS, WORDS
from rmls.features.text.text_features import TextFeatures
from rmls.features.text.vocabulary import Vocabulary, hash_names
from rmls.kernels.cpu.text.words import pair_codes

Arrays = Mapping[str, NDArray[Any]]
LEXICON, CATEGORIES, LATE = "lexicon", "categories", "late"
# Rows, and calls that added terms: far below what their numbers can hold.
MOST = 2_000_000_000


def text_state(features: TextFeatures) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return fitted text features as plain values and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    for kind, block in features._blocks.items():
        arrays[f"{kind}_idf"] = block.idf
        if block.vocabulary is not None:
            arrays |= _spelled(kind, block.vocabulary)
    if features.hashing is None:
        arrays |= _spelled(LEXICON, features._stems.words)
        arrays["lexicon_stem"] = features._stems.stem_of
    fields = None if features.fields_ is None else list(features.fields_)
    fitted: dict[str, Any] = {
        "fields": fields,
        "n_fields": features.n_fields_,
        "language": features.language_,
        "kinds": list(features._blocks),
        "columns": None,
        "n_dense": features.n_dense_,
    }
    if features._stems.endings is not None:
        pairs = features._stems.endings.pairs
        fitted[ENDINGS] = [[one, other, count] for (one, other), count in pairs.items()]
    if features._columns is not None:
        fitted["columns"], beside = _column_state(features._columns)
        arrays |= beside
    if features._late is not None:
        # Without late terms archives stay as they were before there were any.
        fitted[LATE], beside = _late_state(features._late)
        arrays |= beside
    return fitted, arrays


def restore_text(params: dict[str, Any], fitted: dict[str, Any], arrays: Arrays) -> TextFeatures:
    """Return the text features that `text_state` described."""
    features = TextFeatures(**params)
    features._check_options()
    fields, n_fields, language = fitted["fields"], fitted["n_fields"], fitted["language"]
    if fields is not None and not (
        isinstance(fields, list) and all(isinstance(name, str) for name in fields)
    ):
        raise InputError("the names of the text fields are damaged")
    if isinstance(n_fields, bool) or not isinstance(n_fields, int) or n_fields < 1:
        raise InputError("the number of text fields is damaged")
    # A model of categories and numbers alone has one text, which is empty and has no name.
    without_text = fields == [] and n_fields == 1 and bool(features._roles().all)
    if fields is not None and len(fields) != n_fields and not without_text:
        raise InputError("the text fields do not fit their names")
    if language is not None:
        check_language(language)
    features.fields_ = None if fields is None else tuple(fields)
    features.n_fields_, features.language_ = n_fields, language
    features._read_weights(n_fields)
    if fitted["kinds"] != list(features._kinds(StemTable.of_language(language))):
        raise InputError("the kinds of terms do not fit the options")
    blocks = {kind: _read_block(kind, features, arrays) for kind in fitted["kinds"]}
    endings = _read_endings(features, fitted.get(ENDINGS))
    features._stems = _read_stems(language, blocks[WORDS].vocabulary, arrays, endings)
    features._blocks = blocks
    features._columns = _read_columns(features, fitted.get("columns"), arrays)
    features._late = _read_late(features, fitted[LATE], arrays) if LATE in fitted else None
    features._n_rows = None
    # Archives of version 0.1 have none.
    n_dense = fitted.get("n_dense", 0)
    check_whole("n_dense", n_dense, 0)
    features.n_dense_ = int(n_dense)
    return features


def _column_state(block: ColumnBlock) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = {} if block.vocabulary is None else _spelled(CATEGORIES, block.vocabulary)
    arrays["knots"] = np.concatenate([np.zeros(0), *block.knots])
    fitted = {"n_categories": block.n_categories, "n_knots": [len(each) for each in block.knots]}
    return fitted, arrays


def _read_columns(features: TextFeatures, fitted: Any, arrays: Arrays) -> ColumnBlock | None:
    roles, hashing = features._roles(), features.hashing
    if not roles.all:
        return None
    sizes, all_knots = fitted["n_knots"], np.asarray(_take(arrays, "knots", np.float64))
    if (
        len(sizes) != len(roles.numbers)
        or not all(type(size) is int and size > 0 for size in sizes)
        or sum(sizes) != len(all_knots)
    ):
        raise InputError("the columns of numbers do not fit the options")
    knots = np.split(all_knots, np.cumsum(sizes[:-1])) if sizes else []
    if not np.isfinite(all_knots).all() or not all((np.diff(each) > 0).all() for each in knots):
        raise InputError("the values that stand for the columns of numbers are damaged")
    vocabulary = None if hashing is not None else _read_words(CATEGORIES, arrays)
    size = (hashing if roles.categories else 0) if vocabulary is None else len(vocabulary)
    if size != fitted["n_categories"]:
        raise InputError("the categories do not fit the options")
    weight = float(features.column_weight)
    return ColumnBlock(roles, vocabulary, size, tuple(knots), weight)


def _late_state(late: LateTerms) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = _spelled(f"late_{LEXICON}", late.stems.words)
    arrays[f"late_{LEXICON}_stem"] = late.stems.stem_of
    for kind, block in late.blocks.items():
        arrays |= {f"late_{kind}_idf": block.terms.idf, f"late_{kind}_call": block.calls}
        if block.terms.vocabulary is not None:
            arrays |= _spelled(f"late_{kind}", block.terms.vocabulary)
    return {"n_rows": late.n_rows}, arrays


def _read_late(features: TextFeatures, fitted: Any, arrays: Arrays) -> LateTerms:
    if features.hashing is not None or not isinstance(fitted, dict):
        raise InputError("the terms that were added later do not fit the options")
    n_rows = fitted.get("n_rows")
    if type(n_rows) is not int or not 0 <= n_rows < MOST:
        raise InputError("the number of rows that terms came from is damaged")
    blocks = {kind: _read_late_block(kind, features, arrays) for kind in features._blocks}
    words = blocks[WORDS].terms.vocabulary
    learned = features._stems
    stems = _read_stems(features.language_, words, arrays, learned.endings, learned)
    late = LateTerms(n_rows, stems, blocks)
    if not late.n_terms:
        raise InputError("the terms that were added later are missing")
    return late


def _read_late_block(kind: str, features: TextFeatures, arrays: Arrays) -> LateBlock:
    block = _read_block(kind, features, arrays, "late_")
    calls = np.asarray(_take(arrays, f"late_{kind}_call", np.int32))
    rising = (calls[1:] >= calls[:-1]).all() and ((calls > 0) & (calls < MOST)).all()
    if len(calls) != len(block.idf) or not rising:
        raise InputError(f"the order of the {kind} that were added later is damaged")
    learned = features._blocks[kind].vocabulary
    if (
        learned is None
        or block.vocabulary is None
        or (learned.find(block.vocabulary.codes) >= 0).any()
    ):
        raise InputError(f"the {kind} that were added later are among those that were learned")
    return LateBlock(block, calls)


def _spelled(name: str, vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    text, bounds = encode_pieces(vocabulary.names)
    return {f"{name}_text": text, f"{name}_bounds": bounds}


def _read_words(name: str, arrays: Arrays) -> Vocabulary:
    """Return the names of an archive; each of them once, or they are damaged."""
    text = np.asarray(_take(arrays, f"{name}_text", np.uint8))
    bounds = np.asarray(_take(arrays, f"{name}_bounds", np.int64))
    if not is_row_pointer(bounds, len(bounds) - 1, len(text)):
        raise InputError(f"the bounds of the {name} are damaged")
    try:
        text.tobytes().decode()
    except UnicodeDecodeError:
        raise InputError(f"the {name} are no UTF-8 text") from None
    # Bytes 10xxxxxx continue a character: no name begins with one.
    if ((text[bounds[bounds < len(text)]] & 0xC0) == 0x80).any():
        raise InputError(f"the {name} are no UTF-8 text")
    vocabulary = Vocabulary.of_text(text, bounds)
    if len(vocabulary) != len(bounds) - 1:
        raise InputError(f"the {name} are not distinct")
    return vocabulary


def _read_block(kind: str, features: TextFeatures, arrays: Arrays, prefix: str = "") -> TermBlock:
    idf = np.asarray(_take(arrays, f"{prefix}{kind}_idf", np.float32))
    if not (np.isfinite(idf) & (idf > 0)).all():
        raise InputError(f"the weights of the {kind} are damaged")
    if features.hashing is not None:
        if len(idf) != features.hashing:
            raise InputError(f"the {kind} have other columns than the options say")
        return TermBlock(None, idf)
    vocabulary = _read_words(f"{prefix}{kind}", arrays)
    if kind == PAIRS:
        names = vocabulary.names
        both = [name.split(" ") for name in names]
        if any(len(pair) != 2 for pair in both):
            raise InputError("the pairs of words are damaged")
        codes = pair_codes(
            hash_names([first for first, _ in both]), hash_names([second for _, second in both])
        )
        vocabulary = Vocabulary(names, codes)
    if len(vocabulary) != len(idf):
        raise InputError(f"the {kind} do not fit their weights")
    return TermBlock(vocabulary, idf)


def _read_stems(
    language: str | None,
    stems: Vocabulary | None,
    arrays: Arrays,
    endings: Endings | None,
    before: StemTable | None = None,
) -> StemTable:
    prefix = "" if before is None else "late_"
    if stems is None:
        return StemTable.of_language(language)
    words = _read_words(f"{prefix}{LEXICON}", arrays)
    stem_of = np.asarray(_take(arrays, f"{prefix}{LEXICON}_stem", np.int32))
    if len(words) != len(stem_of) or not ((stem_of >= 0) & (stem_of < len(stems))).all():
        raise InputError("the stems of the words are damaged")
    return StemTable(language, words, stems, stem_of, before, endings)


def _read_endings(features: TextFeatures, pairs: Any) -> Endings | None:
    if pairs is None:
        return None
    if features.hashing is not None or features.language_ is not None:
        raise InputError("the endings of words do not fit the options")
    good = isinstance(pairs, list) and all(
        isinstance(pair, list) and [type(part) for part in pair] == [str, str, int]
        for pair in pairs
    )
    if not good:
        raise InputError("the endings of words are damaged")
    return Endings({(one, other): count for one, other, count in pairs})


def _take(arrays: Arrays, name: str, dtype: Any) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype != dtype:
        raise InputError(f"the array {name!r} is missing or of another kind")
    return array
