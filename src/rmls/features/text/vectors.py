"""Vectors of rows beside their words: from a column, a function, or a folder of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.lean.plain_rows import as_csr
from rmls.core.optional import import_extra
from rmls.features.text.inputs import TextRows, table_names

Floats = NDArray[np.float32]
Encoder = Callable[[list[str]], Any] | str | Path
MAX_SHOWN = 60


def check_vectors(encoder: Any, column: Any, n_dense: int = 0) -> None:
    """Raise one sentence for options without meaning, or without those that a model needs."""
    if n_dense and encoder is None and column is None:
        raise InputError(
            "the model was trained with an encoder that no file can hold; set it again: "
            "model.set_params(encoder=...)."
        )
    if column is not None and not (isinstance(column, str) and column):
        raise InputError(f"vectors must be the name of a column; got {column!r}.")
    if encoder is None:
        return
    if column is not None:
        raise InputError("vectors and encoder exclude each other; give one of them.")
    if not callable(encoder) and not isinstance(encoder, str | Path):
        raise InputError(
            "encoder must be a function of a list of texts, or the folder of a model of "
            f"sentence-transformers; got {type(encoder).__name__}."
        )


def take_column(X: Any, column: str | None) -> tuple[Any, Any]:
    """Return rows without the column of vectors, and that column; None where there is none."""
    if column is None:
        return X, None
    names = table_names(X)
    if names is None or column not in names:
        raise InputError(
            f"the vectors stand in a column {column!r} of a table or a mapping of columns, "
            "beside the texts; it is missing."
        )
    rest = {name: X[name] for name in names if name != column}
    if not rest:
        raise InputError(f"the table has no column beside the vectors {column!r}; give the texts.")
    return rest, X[column]


def read_vectors(
    encoder: Encoder | None, given: Any, rows: TextRows, width: int | None
) -> Floats | None:
    """Return the vectors of some rows, given or made of their texts; None without vectors.

    Parameters
    ----------
    encoder : function, path or None
    given : array-like of shape (n_rows, n_dense), or None
    rows : TextRows
    width : int or None
        Numbers that a vector must have.
    """
    if encoder is not None:
        size = rows.n_fields
        texts = [
            "\n".join(filter(None, rows.pieces[start : start + size]))
            for start in range(0, len(rows.pieces), size)
        ]
        if not texts:
            return np.zeros((0, width or 0), np.float32)
        given = find_encoder(encoder)(texts)
        return as_vectors(given, rows.n_rows, width, "the encoder")
    return None if given is None else as_vectors(given, rows.n_rows, width, "the column of vectors")


def find_encoder(encoder: Encoder) -> Callable[[list[str]], Any]:
    """Return what makes vectors of texts; a model is read from its folder once."""
    return encoder if callable(encoder) else _load_folder(str(encoder))


@lru_cache(maxsize=2)
def _load_folder(folder: str) -> Callable[[list[str]], Any]:
    # Looked at first: what is no folder would be taken for a name and be fetched.
    if not Path(folder).is_dir():
        raise InputError(
            f"the encoder {folder} is no folder; save a model of sentence-transformers there."
        )
    library = import_extra("sentence_transformers", "encoders", "reading an encoder")
    try:
        model = library.SentenceTransformer(folder, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(f"the encoder in {folder} cannot be read ({reason}).") from error
    return lambda texts: model.encode(texts, show_progress_bar=False)


def as_vectors(values: Any, n_rows: int, width: int | None, source: str) -> Floats:
    """Return vectors as an array, or raise one sentence.

    Examples
    --------
    >>> as_vectors([[1, 2], [3, 4]], 2, None, "it").shape
    (2, 2)
    >>> as_vectors([[1, 2], [3, 4]], 2, 3, "it")
    Traceback (most recent call last):
    rmls.core.errors.InputError: it gives vectors of 2 numbers but the model was trained on 3.
    """
    found = _as_array(values, source)
    if len(found) != n_rows:
        raise InputError(f"{source} gives {len(found)} vectors for {n_rows} rows; each needs one.")
    if found.shape[1] == 0 and n_rows:
        raise InputError(f"{source} gives vectors without numbers.")
    if width and n_rows and found.shape[1] != width:
        raise InputError(
            f"{source} gives vectors of {found.shape[1]} numbers but the model was trained on "
            f"{width}."
        )
    with np.errstate(over="ignore"):
        vectors = found.astype(np.float32, copy=False)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise InputError(f"{source}: the vector of row {bad[0]} has a number that is not finite.")
    return vectors


def _as_array(values: Any, source: str) -> NDArray[Any]:
    for method in ("to_pylist", "to_list"):
        if hasattr(values, method):
            values = getattr(values, method)()
    try:
        if isinstance(values, np.ndarray) and values.dtype == object:
            values = list(values)
        found = np.asarray(values)
    except (TypeError, ValueError):
        raise InputError(f"{source} gives vectors of different lengths, or no numbers.") from None
    if not len(np.atleast_1d(found)):
        return np.zeros((0, found.shape[1] if found.ndim == 2 else 0), np.float32)
    if found.ndim != 2:
        raise InputError(
            f"{source} gives an array of shape {found.shape}; it needs a row of numbers for every "
            "row."
        )
    if found.dtype.kind not in "fiub":
        raise InputError(f"{source} gives {str(found.dtype)[:MAX_SHOWN]}; vectors are numbers.")
    return found


def put_beside(rows: Any, parts: Sequence[Floats]) -> Any:
    """Return rows with their vectors as last columns."""
    if not parts:
        return rows
    if len({part.shape[1] for part in parts if len(part)}) > 1:
        raise InputError("the vectors of the rows differ in length.")
    vectors = np.concatenate([part for part in parts if len(part)] or list(parts[:1]))
    if len(vectors) != rows.shape[0]:
        raise InputError("these texts were scanned without their vectors; scan them again.")
    beside = sparse.csr_matrix(vectors)
    return sparse.hstack([as_csr(rows), beside], format="csr", dtype=np.float32)
