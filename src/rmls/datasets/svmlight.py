"""Multi-label svmlight (LIBSVM) text: ``l1,l2 f:v f:v # comment``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets._text import Layout, parse_text, write_text
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, named_dataset, read_text_bytes

# Our own first line; to other readers it is a comment.
NOTE = re.compile(rb"# rmls((?: \w+=\d+)+)[ \t\r]*(?:\n|$)")
LABELS = re.compile(rb"\d+(?:,\d+)*")
PAIR = re.compile(rb"(?:\d+|qid):[-+.\w]+")
# A row may have thousands of pairs; the first ones tell enough.
SNIFFED_WORDS = 20


def read_svmlight(
    path: Path,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    n_labels: int | None = None,
) -> Dataset:
    """Read multi-label svmlight text.

    Parameters
    ----------
    path : Path
        Labels are whole numbers, used as column numbers; ``qid:`` and comments are ignored.
        Names are taken from ``<stem>.labels.txt`` and ``<stem>.features.txt`` if present.
    zero_based : bool or "auto", default="auto"
        Whether the first column is 0 or 1. By default features are taken as one-based when no
        index is 0, as in scikit-learn, and so are the labels, judged on their own.
    n_features, n_labels : int, optional
        Numbers of columns; by default the largest index decides.

    Notes
    -----
    Files written by this package begin with a comment that settles all of these and the split.
    Blank lines are no rows, as in scikit-learn.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.svm"
    >>> _ = path.write_text("1,3 1:0.5 4:2 # first\\n2 3:1\\n")
    >>> read_svmlight(path)
    Dataset('toy': 2 rows, 4 features, 3 labels)
    >>> read_svmlight(path, zero_based=True)
    Dataset('toy': 2 rows, 5 features, 4 labels)
    """
    if zero_based not in (True, False, "auto"):
        raise InputError(f"zero_based must be True, False or 'auto'; got {zero_based!r}.")
    text = read_text_bytes(path)
    note = _read_note(text)
    zero_based = True if note and zero_based == "auto" else zero_based
    parsed = parse_text(text, Layout(comments=True, skip_blank=True), path)
    if not len(parsed.lines):
        raise FileFormatError("the file has no rows", path)
    X = _columns(parsed.X, parsed.lines, zero_based, n_features or note.get("n_features"), path)
    Y = _columns(parsed.Y, parsed.lines, zero_based, n_labels or note.get("n_labels"), path)
    X.eliminate_zeros()
    n_train = note.get("n_train")
    if n_train is not None and n_train > X.shape[0]:
        message = f"the comment announces {n_train} training rows, the file has {X.shape[0]} rows"
        raise FileFormatError(message, path, 1)
    return named_dataset(path, X, Y, n_train)


def _read_note(text: bytes) -> dict[str, int]:
    note = NOTE.match(text)
    if note is None:
        return {}
    pairs = (pair.split("=") for pair in note.group(1).decode().split())
    return {key: int(value) for key, value in pairs}


def _columns(
    matrix: Any, lines: Any, zero_based: bool | str, size: int | None, path: Path
) -> sparse.csr_matrix:
    """Shift one-based indices down and set the number of columns."""
    # Parsed labels are int32 and parsed values float32.
    what = "label" if matrix.dtype == np.int32 else "feature index"
    indices = matrix.indices
    lowest, highest = (int(indices.min()), int(indices.max())) if len(indices) else (1, 0)
    shift = int(lowest > 0) if zero_based == "auto" else int(not zero_based)
    if lowest < shift:
        line = _line_of(matrix, lines, int(np.argmin(indices)))
        raise FileFormatError(f"{what} 0 in a one-based file", path, line)
    columns = size if size is not None else max(1, highest + 1 - shift)
    if highest - shift >= columns:
        line = _line_of(matrix, lines, int(np.argmax(indices)))
        raise FileFormatError(f"{what} {highest} is out of range for {columns} columns", path, line)
    parts = (matrix.data, indices - np.int32(shift), matrix.indptr)
    return sparse.csr_matrix(parts, shape=(matrix.shape[0], columns))


def _line_of(matrix: Any, lines: Any, slot: int) -> int:
    return int(lines[np.searchsorted(matrix.indptr, slot, side="right") - 1])


def write_svmlight(dataset: Dataset, path: Path) -> None:
    """Write zero-based rows behind a comment with the sizes; names go beside the file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "toy.svm"
    >>> write_svmlight(Dataset([[0, 0.5]], [[1, 1]]), path)
    >>> path.read_text()
    '# rmls n_features=2 n_labels=2\\n0,1 1:0.5\\n'
    """
    if dataset.n_samples == 0:
        raise InputError("svmlight text cannot hold a data set without rows.")
    split = "" if dataset.n_train is None else f" n_train={dataset.n_train}"
    note = f"# rmls n_features={dataset.n_features} n_labels={dataset.n_labels}{split}"
    # An explicit zero keeps a row that would otherwise be a blank line.
    write_text(dataset, path, note, empty_row=" 0:0")


def _sniff(head: bytes) -> bool:
    """Tell whether the first line that is not a comment looks like a row."""
    if NOTE.match(head):
        return True
    rows = (line.partition(b"#")[0].split(None, SNIFFED_WORDS) for line in head.split(b"\n"))
    words = next((row for row in rows if row), [])[:SNIFFED_WORDS]
    # A row without labels begins with a pair.
    pairs = words[1:] if words and LABELS.fullmatch(words[0]) else words
    return bool(words) and all(PAIR.fullmatch(pair) for pair in pairs)


FORMAT = Format(
    name="svmlight",
    extensions=(".svm", ".svmlight", ".libsvm"),
    description="multi-label svmlight (LIBSVM) text: 'l1,l2 f:v f:v # comment'",
    sniff=_sniff,
    read=read_svmlight,
    write=write_svmlight,
)
