"""Multi-label svmlight (LIBSVM) text: ``l1,l2 f:v f:v # comment``."""

from __future__ import annotations

import re
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from rmls.core.errors import FileFormatError, InputError
from rmls.core.sparse import INT32_MAX
from rmls.datasets._text import Layout, parse_text, read_count, write_text
from rmls.datasets.dataset import Dataset
from rmls.datasets.formats import Format, Source, named_dataset

# Our own first line; to other readers it is a comment.
NOTE = re.compile(rb"# rmls((?: \w+=\d+)+)[ \t\r]*(?:\n|$)")
LABELS = re.compile(rb"\d+(?:,\d+)*")
PAIR = re.compile(rb"(?:\d+|qid):[-+.\w]+")
# A row may have thousands of pairs; the first ones tell enough.
SNIFFED_WORDS = 20


def read_svmlight(
    source: Path | Source,
    *,
    zero_based: bool | tuple[bool, bool] | Literal["auto"] = "auto",
    n_features: int | None = None,
    n_labels: int | None = None,
) -> Dataset:
    """Read multi-label svmlight text.

    Parameters
    ----------
    source : Path or Source
        Labels are whole numbers, used as column numbers; ``qid:`` and comments are ignored.
        Names are taken from ``<stem>.labels.txt`` and ``<stem>.features.txt`` if present.
    zero_based : bool, (bool, bool) or "auto", default="auto"
        Whether the first column is 0 or 1; two values are for features and labels. By default
        features are taken as one-based when no index is 0, as in scikit-learn, and so are the
        labels, judged on their own. A file of few rows may happen not to use the index 0: read it
        with the ``zero_based`` of the data set that it belongs to.
    n_features, n_labels : int, optional
        Numbers of columns; by default the largest index decides.

    Notes
    -----
    Files written by this package begin with a comment that settles all of these and the split.
    Blank lines are no rows, as in scikit-learn. Where no row has a label and nothing tells their
    number, the labels are taken as not known.

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
    bases = _read_bases(zero_based)
    _check_sizes(n_features=n_features, n_labels=n_labels)
    source = Source.of(source)
    text, path = source.text(), source.path
    note = _read_note(text, path)
    if note and zero_based == "auto":
        bases = (True, True)
    parsed = parse_text(text, Layout(comments=True, skip_blank=True), path)
    if not len(parsed.lines):
        raise FileFormatError("the file has no rows", path)
    d, m = n_features or note.get("n_features"), n_labels or note.get("n_labels")
    X, of_features = _columns(parsed.X, parsed.lines, bases[0], d, path)
    Y, of_labels = _columns(parsed.Y, parsed.lines, bases[1], m, path)
    X.eliminate_zeros()
    n_train = note.get("n_train")
    if n_train is not None and n_train > X.shape[0]:
        message = f"the comment announces {n_train} training rows, the file has {X.shape[0]} rows"
        raise FileFormatError(message, path, 1)
    dataset = named_dataset(path, X, Y if m or parsed.Y.nnz else None, n_train)
    # In a file of ours columns have the numbers that they have in memory: nothing is open.
    dataset.zero_based = None if note else (of_features, of_labels)
    return dataset


def rebase(dataset: Dataset, zero_based: tuple[bool, bool]) -> Dataset:
    """Return svmlight data as if they had been read with another ``zero_based``.

    Examples
    --------
    >>> guessed = Dataset([[1, 0], [0, 1]], [[1], [1]], zero_based=(False, False))
    >>> rebase(guessed, (True, False)).X.toarray().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if dataset.zero_based is None:
        return dataset
    X, Y = (
        _shifted(matrix, known, wanted, what)
        for matrix, known, wanted, what in zip(
            (dataset.X, dataset.Y),
            dataset.zero_based,
            zero_based,
            ("feature", "label"),
            strict=True,
        )
    )
    return replace(dataset, X=X, Y=Y, zero_based=zero_based)


def _shifted(matrix: Any, known: bool, wanted: bool, what: str) -> sparse.csr_matrix:
    if known and not wanted and (matrix.indices == 0).any():
        raise InputError(f"a {what} has the index 0, though indices should begin with 1")
    step = int(wanted) - int(known)
    parts = (matrix.data, matrix.indices + np.int32(step), matrix.indptr)
    return sparse.csr_matrix(parts, shape=(matrix.shape[0], max(1, matrix.shape[1] + step)))


def _read_bases(zero_based: Any) -> tuple[bool | str, bool | str]:
    pair = zero_based if isinstance(zero_based, (tuple, list)) else (zero_based, zero_based)
    if len(pair) != 2 or any(base not in (True, False, "auto") for base in pair):
        raise InputError(
            f"zero_based must be True, False or 'auto', or two of them; got {zero_based!r}."
        )
    return pair[0], pair[1]


def _check_sizes(**sizes: int | None) -> None:
    for name, size in sizes.items():
        if size is not None and not (isinstance(size, Integral) and 1 <= size <= INT32_MAX):
            raise InputError(f"{name} must be a whole number from 1 to {INT32_MAX}.")


def _read_note(text: bytes, path: Path) -> dict[str, int]:
    note = NOTE.match(text)
    if note is None:
        return {}
    pairs = (pair.split("=") for pair in note.group(1).decode().split())
    sizes = {key: read_count(value) for key, value in pairs}
    # Other keys are not used, whatever they say.
    for key in ("n_features", "n_labels"):
        if sizes.get(key, 0) > INT32_MAX:
            message = f"the comment gives {key} as a number that is larger than {INT32_MAX}"
            raise FileFormatError(message, path, 1)
    return sizes


def _columns(
    matrix: Any, lines: Any, zero_based: bool | str, size: int | None, path: Path
) -> tuple[sparse.csr_matrix, bool]:
    """Shift one-based indices down and set the number of columns; tells whether they began at 0."""
    # Parsed labels are int32 and parsed values float32.
    what = "label" if matrix.dtype == np.int32 else "feature index"
    indices = matrix.indices
    lowest, highest = (int(indices.min()), int(indices.max())) if len(indices) else (1, 0)
    shift = int(lowest > 0) if zero_based == "auto" else int(not zero_based)
    if lowest < shift:
        line = _line_of(matrix, lines, int(np.argmin(indices)))
        raise FileFormatError(f"{what} 0 in a one-based file", path, line)
    columns = size if size is not None else max(1, highest + 1 - shift)
    if len(indices) and highest - shift >= columns:
        line = _line_of(matrix, lines, int(np.argmax(indices)))
        raise FileFormatError(f"{what} {highest} is out of range for {columns} columns", path, line)
    parts = (matrix.data, indices - np.int32(shift), matrix.indptr)
    return sparse.csr_matrix(parts, shape=(matrix.shape[0], columns)), shift == 0


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
