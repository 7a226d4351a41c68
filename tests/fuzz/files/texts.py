"""Small data sets as text in every format, written anew for every case."""

from __future__ import annotations

import random
from typing import NamedTuple

from ..mutate import Draw

VALUES = [
    *("1", "2", "0.5", "-1.25", "3e2", "0", "-0", "1e-7", "0.1", "123456.789", "1e30", "1e-42"),
    *("0.30000001192092896", "16777217", "3.4028234e38", "00.5", "+7", "5.", ".25"),
]
NAMES = ["tax", "law", "a b", "it's", "über", 'say "x"', "x,y", "50%", "f:1", "{z}", "q\\r", "ABC"]


class Row(NamedTuple):
    labels: list[int]
    features: dict[int, str]


class Sample(NamedTuple):
    n_features: int
    n_labels: int
    rows: list[Row]


def make_sample(draw: Draw) -> Sample:
    """Return up to six rows; some have no label, some no feature, some neither."""
    d, m = draw.choice((1, 2, 5, 9, 30)), draw.choice((1, 2, 4, 12))
    rows = []
    for _ in range(draw.choice((1, 1, 2, 3, 6))):
        features = sorted(draw.sample(range(d), draw.randint(0, min(d, 4))))
        labels = sorted(draw.sample(range(m), draw.randint(0, min(m, 3))))
        rows.append(Row(labels, {feature: draw.choice(VALUES) for feature in features}))
    return Sample(d, m, rows)


def row_text(row: Row, shift: int = 0) -> str:
    labels = ",".join(str(label + shift) for label in row.labels)
    pairs = " ".join(f"{feature + shift}:{value}" for feature, value in row.features.items())
    return f"{labels} {pairs}" if pairs else (labels or " ")


def xmc_text(draw: Draw) -> bytes:
    sample = make_sample(draw)
    lines = [f"{len(sample.rows)} {sample.n_features} {sample.n_labels}"]
    return _joined([*lines, *map(row_text, sample.rows)])


def authors_text(draw: Draw) -> bytes:
    sample = make_sample(draw)
    sizes = [f"num_feature={sample.n_features}", f"num_label={sample.n_labels}"]
    if draw.random() < 0.3:
        sizes.reverse()
    return _joined(["#" + " ".join(sizes), *map(row_text, sample.rows)])


def svmlight_text(draw: Draw) -> bytes:
    sample = make_sample(draw)
    shift = draw.randrange(2)
    lines = [row_text(row, shift) for row in sample.rows]
    if draw.random() < 0.4:
        split = f" n_train={draw.randint(0, len(lines))}" if draw.random() < 0.5 else ""
        lines = [row_text(row) for row in sample.rows]
        lines.insert(0, f"# rmls n_features={sample.n_features} n_labels={sample.n_labels}{split}")
    if draw.random() < 0.3:
        lines[-1] += draw.choice((" # last", " qid:7", " qid:7 # x"))
    return _joined(lines)


def _joined(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def quoted(name: str, draw: Draw) -> str:
    if name.isalnum() and name.isascii() and draw.random() < 0.7:
        return name
    mark = draw.choice("'\"")
    return mark + name.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


class Column(NamedTuple):
    """An attribute: its declared kind, and what its cells may be."""

    name: str
    kind: str
    cells: list[str]
    # Sparse rows may leave out what this is.
    first: str


def _column(name: str, is_label: bool, draw: Draw) -> Column:
    if is_label:
        values = draw.choice((["0", "1"], ["0", "1"], ["1", "0"], ["no", "yes"], ["true", "false"]))
    else:
        values = draw.choice(
            ([], [], [], ["0", "1"], ["3", "5", "8"], ["mon", "tue", "w d"], ["a", "b"])
        )
    if not values:
        kind = draw.choice(("numeric", "real", "INTEGER", "Numeric"))
        return Column(name, kind, [*VALUES, "?"], "0")
    listed = ",".join(quoted(value, draw) for value in values)
    cells = [quoted(value, draw) for value in values]
    return Column(name, "{" + listed + "}", cells if is_label else [*cells, "?"], values[0])


def arff_text(draw: Draw) -> tuple[bytes, bytes | None]:
    """Return an ARFF file, and the XML file beside it if there is one."""
    d, m = draw.randint(1, 5), draw.randint(1, 3)
    names = draw.sample(NAMES, d + m)
    columns = [_column(name, at >= d, draw) for at, name in enumerate(names)]
    with_xml = draw.random() < 0.5
    options = "" if with_xml else f": -C -{m}"
    rows = [_arff_row(columns, draw) for _ in range(draw.choice((1, 2, 4)))]
    if draw.random() < 0.3:
        options += f" -split-number {draw.randint(0, len(rows))}"
    lines = [f"@relation 'toy{options}'", *(["% note", ""] if draw.random() < 0.3 else [])]
    keyword = draw.choice(("@attribute", "@ATTRIBUTE"))
    lines += [f"{keyword} {quoted(column.name, draw)} {column.kind}" for column in columns]
    text = _joined([*lines, "@data", *rows])
    return text, xml_text(names[d:], draw) if with_xml else None


def _arff_row(columns: list[Column], draw: Draw) -> str:
    if draw.random() < 0.5:
        return ",".join(draw.choice(column.cells) for column in columns)
    cells = [
        f"{at} {draw.choice(column.cells)}"
        for at, column in enumerate(columns)
        if draw.random() < 0.6
    ]
    return "{" + ", ".join(cells) + "}"


def xml_text(labels: list[str], draw: Draw) -> bytes:
    labels = draw.sample(labels, len(labels))
    head = draw.choice(('<?xml version="1.0" encoding="utf-8"?>\n', '<?xml version="1.0"?>\n', ""))
    marks = {"&": "&amp;", "<": "&lt;", '"': "&quot;"}
    names = ["".join(marks.get(letter, letter) for letter in label) for label in labels]
    lines = "".join(f'<label name="{name}"></label>\n' for name in names)
    start = '<labels xmlns="http://mulan.sourceforge.net/labels">\n'
    return f"{head}{start}{lines}</labels>\n".encode()


def make_draw(seed: object) -> random.Random:
    return random.Random(str(seed))
