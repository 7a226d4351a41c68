"""From the cells of an ARFF file to the feature and label matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import FileFormatError
from rmls.core.resources import require_memory
from rmls.core.words import count, shorten
from rmls.datasets._arff_header import FLOAT32_LIMIT, Attribute, Header, unquote

# Row, column and value, twice while the matrix is made.
ENTRY_BYTES = 48
TRUTH = {"false": 0, "true": 1, "no": 0, "yes": 1, "f": 0, "t": 1, "n": 0, "y": 1}


class Table(NamedTuple):
    """All cells of a file; value ``nan`` is a missing one, text is a position in its list."""

    row: NDArray[np.int64]
    attribute: NDArray[np.int32]
    value: NDArray[np.float32]
    lines: NDArray[np.int64]
    sparse_rows: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)


def read_table(text: bytes, header: Header, encoding: str, path: Path) -> Table:
    """Parse the data section, resolve its texts, and check nominal values."""
    from rmls.kernels.cpu.parse import codes
    from rmls.kernels.cpu.parse.arff import Cells, parse_arff

    text = text if text.endswith(b"\n") else text + b"\n"
    n_lines = text.count(b"\n", header.data_start)
    # Every cell ends at a comma or at the end of its line.
    n_cells = text.count(b",", header.data_start) + n_lines
    cells = Cells(
        np.zeros(n_lines + 1, dtype=np.int64),
        np.empty(n_cells, dtype=np.int32),
        np.empty(n_cells, dtype=np.float32),
        np.empty(n_lines, dtype=np.int64),
        np.empty(n_lines, dtype=np.uint8),
    )
    is_text = np.array([_is_text(attribute) for attribute in header.attributes], dtype=np.uint8)
    code, byte, line, n_rows, left = parse_arff(
        np.frombuffer(text, dtype=np.uint8), header.data_start, header.data_line, is_text, cells
    )
    if code != codes.OK:
        raise FileFormatError(_sentence(code, text, byte, len(is_text)), path, line)
    indptr = cells.indptr[: n_rows + 1]
    table = Table(
        np.repeat(np.arange(n_rows), np.diff(indptr)),
        cells.attributes[: indptr[-1]],
        cells.values[: indptr[-1]],
        cells.lines[:n_rows],
        np.flatnonzero(cells.is_sparse[:n_rows]),
    )
    if n_rows == 0:
        raise FileFormatError("there are no rows behind @data", path, header.data_line - 1)
    _check_twice(indptr, table, path)
    _resolve(table, left, text, header, encoding, path)
    _check_nominal(table, header, path)
    return table


def _is_text(attribute: Attribute) -> bool:
    return attribute.values is not None and attribute.numbers is None


def _sentence(code: int, text: bytes, byte: int, n_attributes: int) -> str:
    from rmls.kernels.cpu.parse import codes

    end = text.find(b"\n", byte)
    found = shorten(text[byte : min(end, byte + 20)].strip()) or "the line end"
    return {
        codes.BAD_INDEX: f"expected an attribute number and a value, found '{found}'",
        codes.FEATURE_RANGE: f"there is no attribute {found.split(maxsplit=1)[0]}; "
        f"the header declares {n_attributes} from 0",
        codes.UNCLOSED: f"expected ',' or '}}', found '{found}'",
        codes.NO_COMMA: f"expected ',', found '{found}'",
        codes.WIDTH: f"the row does not have the {n_attributes} values that the header declares",
    }[code]


def _check_twice(indptr: NDArray[np.int64], table: Table, path: Path) -> None:
    from rmls.kernels.cpu.parse.rows import sort_rows

    # On copies: only the answer is wanted, the cells keep their order.
    twice = sort_rows(indptr, table.attribute.copy(), np.empty_like(table.value))
    if twice >= 0:
        raise FileFormatError("an attribute number appears twice", path, int(table.lines[twice]))


def _resolve(
    table: Table, left: NDArray[np.int64], text: bytes, header: Header, encoding: str, path: Path
) -> None:
    """Replace the texts that the kernel left over by numbers."""
    # Texts repeat: each is understood once per attribute.
    known: dict[tuple[int, bytes], float] = {}
    for slot, start, end in left.tolist():
        key = (int(table.attribute[slot]), text[start:end])
        if key not in known:
            attribute = header.attributes[key[0]]
            value = _meaning(key[1].decode(encoding, "replace"), attribute)
            if value is None:
                line = int(table.lines[table.row[slot]])
                raise FileFormatError(_misfit(key[1], attribute), path, line)
            known[key] = value
        table.value[slot] = known[key]


def _meaning(word: str, attribute: Attribute) -> float | None:
    """Return a cell as a number, ``nan`` if it is missing, ``None`` if it means nothing."""
    if word == "?":
        return float("nan")
    plain = unquote(word)
    place = attribute.places.get(plain)
    if place is not None:
        return float(place) if attribute.numbers is None else attribute.numbers[place]
    if _is_text(attribute):
        return None
    try:
        # float would read 1_000 as a number.
        number = float(plain.replace("_", "x"))
    except ValueError:
        return None
    return number if abs(number) < FLOAT32_LIMIT else None


def _misfit(word: bytes, attribute: Attribute) -> str:
    shown, name = shorten(word, 30), shorten(attribute.name)
    if attribute.values is None:
        return f"value of '{name}' is not a finite number: '{shown}'"
    return f"'{shown}' is not among the values of '{name}'"


def _check_nominal(table: Table, header: Header, path: Path) -> None:
    """Check cells of numeric-looking nominal attributes against their lists."""
    lists = [
        (position, attribute.numbers)
        for position, attribute in enumerate(header.attributes)
        if attribute.values is not None and attribute.numbers is not None
    ]
    is_listed = np.zeros(len(header.attributes), dtype=bool)
    is_listed[[position for position, _ in lists]] = True
    owners = np.repeat([at for at, _ in lists], [len(numbers) for _, numbers in lists])
    numbers = np.array([number for _, each in lists for number in each], dtype=np.float32)
    slots = np.flatnonzero(is_listed[table.attribute] & ~np.isnan(table.value))
    found = _pair_keys(table.attribute[slots], table.value[slots])
    wrong = slots[~np.isin(found, _pair_keys(owners, numbers))]
    if len(wrong):
        slot = int(wrong[0])
        name = shorten(header.attributes[table.attribute[slot]].name)
        message = f"'{table.value[slot]:g}' is not among the values of '{name}'"
        raise FileFormatError(message, path, int(table.lines[table.row[slot]]))


def _pair_keys(attribute: NDArray[Any], value: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return one number for every pair of attribute and value, so that all are compared at once."""
    # The bits of the value below those of the attribute; adding 0 makes one zero of the two.
    bits = (value + np.float32(0)).view(np.uint32).astype(np.int64)
    return (attribute.astype(np.int64) << 32) | bits


def label_matrix(
    table: Table, attributes: list[Attribute], labels: list[int], path: Path, optional: bool = False
) -> sparse.csr_matrix:
    """Return ``Y``, with one column per given attribute; missing labels count as 0 if optional."""
    column = np.full(len(attributes), -1, dtype=np.int64)
    column[labels] = np.arange(len(labels))
    mine = column[table.attribute] >= 0
    row, where, value = table.row[mine], table.attribute[mine], table.value[mine].copy()
    truths = {position: _truth(attributes[position]) for position in labels}
    # The meanings of all words in one list, and where those of each label begin.
    meanings: list[int] = []
    start = np.full(len(attributes), -1, dtype=np.int64)
    for position, truth in truths.items():
        if truth is not None:
            start[position] = len(meanings)
            meanings += truth
    texts = (start[where] >= 0) & ~np.isnan(value)
    places = start[where[texts]] + value[texts].astype(np.int64)
    value[texts] = np.array(meanings, dtype=np.float32)[places]
    if optional:
        value[np.isnan(value)] = 0
    # nan, a missing label, is neither.
    wrong = (value != 0) & (value != 1)
    if wrong.any():
        slot = int(np.argmax(wrong))
        name, line = shorten(attributes[where[slot]].name), int(table.lines[row[slot]])
        found = "missing" if np.isnan(value[slot]) else f"{value[slot]:g}"
        raise FileFormatError(f"label '{name}' must be 0 or 1; it is {found}", path, line)
    # What sparse rows leave out has the first value: if that is 1, they have the label.
    firsts = {
        position: truth[0] if truth else (attributes[position].numbers or (0.0,))[0]
        for position, truth in truths.items()
    }
    defaults = _defaults(table, firsts, column, path)
    for rows, columns, meant in defaults:
        if len(rows) and np.float32(meant[0]) not in (0, 1):
            name, line = shorten(attributes[labels[columns[0]]].name), int(table.lines[rows[0]])
            message = f"label '{name}' must be 0 or 1; left out it is the first of its values"
            raise FileFormatError(message, path, line)
    return _assemble([(row, column[where], value), *defaults], (table.n_rows, len(labels)))


def _truth(attribute: Attribute) -> list[int] | None:
    """Return the truth of each value of a text label such as {no,yes}; ``None`` for numbers."""
    if not _is_text(attribute):
        return None
    # An unknown word maps to 2, which the caller reports as neither 0 nor 1.
    return [TRUTH.get(value.lower(), 2) for value in attribute.values or ()]


def feature_matrix(
    table: Table, attributes: list[Attribute], labels: list[int], path: Path
) -> tuple[sparse.csr_matrix, list[str]]:
    """Return ``X`` and its names: texts of two values as 0/1, of more as one column each."""
    is_label = set(labels)
    offset = np.full(len(attributes), -1, dtype=np.int64)
    spread = np.zeros(len(attributes), dtype=bool)
    names: list[str] = []
    for position, attribute in enumerate(attributes):
        if position in is_label:
            continue
        offset[position] = len(names)
        if _is_text(attribute) and len(attribute.values or ()) > 2:
            spread[position] = True
            names += [f"{attribute.name}={value}" for value in attribute.values or ()]
        else:
            names.append(attribute.name)
    mine = (offset[table.attribute] >= 0) & ~np.isnan(table.value)
    row, where, value = table.row[mine], table.attribute[mine], table.value[mine]
    # The column of a text of many values is chosen by the position of the value.
    step = np.where(spread[where], value, 0).astype(np.int64)
    entries = [(row, offset[where] + step, np.where(spread[where], np.float32(1), value))]
    firsts = {
        position: 1.0 if spread[position] else (attribute.numbers or (0.0,))[0]
        for position, attribute in enumerate(attributes)
        if position not in is_label
    }
    entries += _defaults(table, firsts, offset, path)
    return _assemble(entries, (table.n_rows, len(names))), names


def _defaults(
    table: Table, firsts: dict[int, float], column: NDArray[np.int64], path: Path
) -> list[Any]:
    """Return the entries that sparse rows mean by leaving out attributes whose first value counts.

    ``firsts`` has the first value of attributes, ``column`` where they stand in the matrix.
    """
    meant = {position: first for position, first in firsts.items() if first}
    if not meant or not len(table.sparse_rows):
        return []
    # Two bytes of a row can mean as many values as there are attributes.
    needed = ENTRY_BYTES * len(meant) * len(table.sparse_rows)
    purpose = f"{path}: {count(len(meant), 'attribute')} whose first value is not 0"
    require_memory(needed, purpose, "list 0 first, or write dense rows")
    order = np.argsort(table.attribute, kind="stable")
    bounds = np.searchsorted(table.attribute[order], np.arange(len(column) + 1))
    entries = []
    is_left_out = np.ones(table.n_rows, dtype=bool)
    for position, first in meant.items():
        mentioned = table.row[order[bounds[position] : bounds[position + 1]]]
        is_left_out[mentioned] = False
        rows = table.sparse_rows[is_left_out[table.sparse_rows]]
        # Set back instead of made anew: the loop costs what it writes.
        is_left_out[mentioned] = True
        entries.append((rows, np.full(len(rows), column[position]), np.full(len(rows), first)))
    return entries


def _assemble(entries: list[Any], shape: tuple[int, int]) -> sparse.csr_matrix:
    row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = sparse.csr_matrix((value.astype(np.float32), (row, column)), shape=shape)
    matrix.eliminate_zeros()
    return matrix
