"""From bytes to matrices and back, for the formats whose rows are ``l1,l2 index:value ...``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import FileFormatError
from rmls.core.resources import require_memory
from rmls.core.sparse import INT32_MAX
from rmls.core.words import count, shorten
from rmls.datasets._writing import check_names_writable, write_atomic
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import list_names

# Rows whose text exists at a time, however long the file is.
ROWS_PER_CHUNK = 4096
TOKEN_SHOWN = 30
# More than any file can count; int reads no number of 5,000 digits.
COUNT_LIMIT = 10**18


class Layout(NamedTuple):
    """Where the rows begin and what is known about them; ``None`` sizes are inferred."""

    start: int = 0
    first_line: int = 1
    n_features: int | None = None
    n_labels: int | None = None
    comments: bool = False
    skip_empty: bool = False
    skip_blank: bool = False


class Parsed(NamedTuple):
    """The two matrices, explicit zeros kept, and the line of every row."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    lines: NDArray[np.int64]


def read_count(digits: str | bytes) -> int:
    """Return the whole number that a file writes; at most ``COUNT_LIMIT``.

    Examples
    --------
    >>> read_count("0042"), read_count(b"9" * 5000) == COUNT_LIMIT
    (42, True)
    """
    plain = digits.lstrip("0" if isinstance(digits, str) else b"0")  # type: ignore[arg-type]
    return int(plain or 0) if len(plain) <= 18 else COUNT_LIMIT


def parse_text(text: bytes, layout: Layout, path: Path) -> Parsed:
    """Parse all rows, or raise one sentence with the line.

    Indices are taken as they stand; unknown sizes become the largest index plus one.
    """
    from rmls.kernels.cpu.parse import codes
    from rmls.kernels.cpu.parse.rows import Rules, parse_rows

    # Where nothing follows the header, a line end would be an empty row.
    is_complete = text.endswith(b"\n") or layout.start == len(text) > 0
    text = text if is_complete else text + b"\n"
    data = np.frombuffer(text, dtype=np.uint8)
    # Bounds for the arrays: a colon per feature, a comma or a line end per label.
    newlines, colons, commas = (text.count(byte, layout.start) for byte in (b"\n", b":", b","))
    needed = 28 * newlines + 8 * colons + 4 * commas
    require_memory(needed, f"{path}: parsing {count(newlines, 'line')}", "read it in parts")
    rows = _allocate(newlines, colons, commas + newlines)
    skipped = codes.SKIP_EMPTY if layout.skip_empty else codes.SKIP_NONE
    skipped = codes.SKIP_BLANK if layout.skip_blank else skipped
    rules = Rules(_limit(layout.n_features), _limit(layout.n_labels), layout.comments, skipped)
    code, byte, line, n_rows, hard = parse_rows(data, layout.start, layout.first_line, rules, rows)
    if code != codes.OK:
        raise FileFormatError(_sentence(code, text, byte, layout), path, line)
    fill_hard(rows.values, hard, text, path)
    return Parsed(*_matrices(rows, n_rows, layout, path), rows.lines[:n_rows])


def _limit(size: int | None) -> int:
    return INT32_MAX if size is None else size


def _allocate(n_rows: int, n_features: int, n_labels: int) -> Any:
    from rmls.kernels.cpu.parse.rows import Rows

    return Rows(
        np.zeros(n_rows + 1, dtype=np.int64),
        np.empty(n_features, dtype=np.int32),
        np.empty(n_features, dtype=np.float32),
        np.zeros(n_rows + 1, dtype=np.int64),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_rows, dtype=np.int64),
    )


def fill_hard(
    values: NDArray[np.float32], hard: NDArray[np.int64], text: bytes, path: Path
) -> None:
    """Convert the numbers that the kernel left to Python."""
    for slot, start, end in hard.tolist():
        # Too large becomes inf, which is refused below with its line.
        with np.errstate(over="ignore"):
            value = np.float32(float(text[start:end]))
        if not np.isfinite(value):
            message = f"value is too large for float32: '{_token(text, start)}'"
            raise FileFormatError(message, path, text.count(b"\n", 0, start) + 1)
        values[slot] = value


def _matrices(rows: Any, n_rows: int, layout: Layout, path: Path) -> tuple[Any, Any]:
    from rmls.kernels.cpu.parse.rows import sort_rows

    x_indptr, y_indptr = rows.x_indptr[: n_rows + 1], rows.y_indptr[: n_rows + 1]
    x_indices, values = rows.x_indices[: x_indptr[-1]], rows.values[: x_indptr[-1]]
    y_indices = rows.y_indices[: y_indptr[-1]]
    twice = sort_rows(x_indptr, x_indices, values)
    if twice >= 0:
        raise FileFormatError("a feature index appears twice", path, int(rows.lines[twice]))
    d = layout.n_features if layout.n_features is not None else _largest(x_indices) + 1
    m = layout.n_labels if layout.n_labels is not None else _largest(y_indices) + 1
    X = sparse.csr_matrix((values, x_indices, x_indptr), shape=(n_rows, d))
    # sort_rows has sorted the indices and found none twice.
    X.has_canonical_format = True
    ones = np.ones(len(y_indices), dtype=np.int32)
    Y = sparse.csr_matrix((ones, y_indices, y_indptr), shape=(n_rows, m))
    # A label twice is the same label; a feature twice would have two values.
    Y.sum_duplicates()
    Y.data[:] = 1
    return X, Y


def _largest(indices: NDArray[np.int32]) -> int:
    return int(indices.max()) if len(indices) else -1


def _token(text: bytes, byte: int) -> str:
    """Return the word at ``byte`` for a message: short, printable, on one line."""
    words = text[byte : byte + 4 * TOKEN_SHOWN + 4].split(None, 1)
    return shorten(words[0] if words else "", TOKEN_SHOWN)


def _sentence(code: int, text: bytes, byte: int, layout: Layout) -> str:
    from rmls.kernels.cpu.parse import codes

    token = _token(text, byte)
    column = byte - (text.rfind(b"\n", 0, byte) + 1) + 1
    # A code of the kernel covers several mistakes; the word at that place tells which.
    if code == codes.BAD_VALUE and token.lower().lstrip("+-").startswith(("nan", "inf")):
        code = codes.NOT_FINITE
    if code == codes.NO_COLON and not token[:1].isdigit():
        code = codes.NEGATIVE if token.startswith("-") else codes.BAD_INDEX
    messages = {
        codes.BAD_LABEL: f"label is not a whole number: '{token}'",
        codes.BAD_INDEX: f"feature index is not a whole number: '{token}'",
        codes.NO_COLON: f"expected index:value, found '{token}'",
        codes.BAD_VALUE: f"value is not a number: '{token}'",
        codes.NOT_FINITE: f"value is not finite: '{token}'",
        codes.TOO_LARGE: f"value is too large for float32: '{token}'",
        codes.NEGATIVE: f"index is negative: '{token}'",
        codes.FEATURE_RANGE: _range_sentence("feature index", token, layout.n_features),
        codes.LABEL_RANGE: _range_sentence("label", token, layout.n_labels),
    }
    return f"{messages[code]} (column {column})"


def _range_sentence(what: str, token: str, size: int | None) -> str:
    number = token.partition(":")[0].partition(",")[0]
    if size is None:
        return f"{what} {number} is larger than {INT32_MAX - 1}"
    return f"{what} {number} is out of range; it must be below {size}"


def write_text(dataset: Dataset, path: Path, header: str, empty_row: str = " ") -> None:
    """Write a line of ``header`` and one line per row; names go beside the file.

    Parameters
    ----------
    dataset : Dataset
    path : Path
    header : str
        Without the end of the line.
    empty_row : str
        What stands for a row without labels and features.
    """
    check_names_writable(dataset, path)
    chunks = chain([f"{header}\n".encode()], format_rows(dataset, empty_row))
    write_atomic(path, chunks, list_names(dataset, path))


def format_rows(dataset: Dataset, empty_row: str = " ") -> Iterator[bytes]:
    """Yield the rows as text, zero-based; float values read back to the same float32.

    Parameters
    ----------
    empty_row : str
        What stands for a row without labels and features.
    """
    X, Y = dataset.X, dataset.Y
    for start in range(0, dataset.n_samples, ROWS_PER_CHUNK):
        stop = min(start + ROWS_PER_CHUNK, dataset.n_samples)
        x_ptr, y_ptr = X.indptr[start : stop + 1].tolist(), Y.indptr[start : stop + 1].tolist()
        pairs = _pairs(X.indices[x_ptr[0] : x_ptr[-1]], X.data[x_ptr[0] : x_ptr[-1]])
        labels = [str(label) for label in Y.indices[y_ptr[0] : y_ptr[-1]].tolist()]
        x_ptr, y_ptr = [at - x_ptr[0] for at in x_ptr], [at - y_ptr[0] for at in y_ptr]
        lines = []
        for row in range(stop - start):
            relevant = ",".join(labels[y_ptr[row] : y_ptr[row + 1]])
            features = " ".join(pairs[x_ptr[row] : x_ptr[row + 1]])
            lines.append(f"{relevant} {features}" if relevant or features else empty_row)
        yield ("\n".join(lines) + "\n").encode()


def _pairs(indices: NDArray[np.int32], values: NDArray[np.float32]) -> list[str]:
    numbers = number_texts(values)
    return [f"{index}:{number}" for index, number in zip(indices.tolist(), numbers, strict=True)]


def number_texts(values: NDArray[np.float32]) -> list[str]:
    """Return the shortest decimal texts that read back to the same float32 values.

    Examples
    --------
    >>> number_texts(np.array([1, 0.1, 1e-30], dtype=np.float32))
    ['1', '0.1', '1e-30']
    """
    # Counts and weights repeat: each distinct value is formatted once.
    distinct, which = np.unique(values, return_inverse=True)
    texts = [str(value).removesuffix(".0") for value in distinct]
    return [texts[number] for number in which.tolist()]
