"""Mutated data files: a reader and an independent parser agree, or both refuse."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rmls.core.errors import RmlsError
from rmls.datasets import Dataset, load

from ..cases import Case, Kind
from ..mutate import damage, mutate
from . import npz_files
from .parse_arff import parse_arff
from .parse_npz import parse_npz
from .parse_rows import Ambiguous, Expected, Refused, parse_authors, parse_svmlight, parse_xmc
from .texts import NAMES, arff_text, authors_text, svmlight_text, xmc_text

Parser = Callable[[bytes], Expected]
TEXTS: dict[str, tuple[Callable[..., bytes], Parser]] = {
    "xmc": (xmc_text, parse_xmc),
    "rmls": (authors_text, parse_authors),
    "svm": (svmlight_text, parse_svmlight),
}
PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (lambda text: gzip.compress(text, 1, mtime=0), gzip.decompress),
    ".bz2": (lambda text: bz2.compress(text, 1), bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
}


def check(
    case: Case, path: Path, parse: Callable[[], Expected], require_labels: bool = True
) -> Dataset | None:
    """Load a file and compare it with what the independent parser says."""
    options: dict[str, Any] = {} if require_labels else {"require_labels": False}
    wanted: Expected | None = None
    reason = "no labels"
    try:
        parsed = parse()
        wanted = parsed if parsed.n_labels or not require_labels else None
    except Refused as error:
        reason = str(error)
    except Ambiguous:
        return case.attempt(load, path, **options)
    try:
        found = load(path, **options)
    except Exception as error:
        if case.allowed(error) and isinstance(error, RmlsError):
            if wanted is not None and not wanted.unsure:
                case.report(f"wrong refusal {_short(error, path)}", str(error))
        elif not case.findings:
            case.report(f"no error of ours: {type(error).__name__}", str(error))
        return None
    if wanted is None:
        case.report(f"wrong load: {reason.partition(':')[0]}", reason)
        return None
    difference = compare(found, wanted)
    if difference:
        unsure = f" ({wanted.unsure})" if wanted.unsure else ""
        case.report(f"wrong load: {difference}{unsure}", difference)
    return found


def _short(error: Exception, path: Path) -> str:
    text = str(error).replace(str(path), "")
    return re.sub(r"\d+|'[^']*'", "_", text)[:60]


def compare(found: Dataset, wanted: Expected) -> str:
    """Return in which respect a data set is not what was expected, or nothing."""
    if found.X.shape != (len(wanted.features), wanted.n_features):
        return "shape of X"
    if found.Y.shape != (len(wanted.labels), wanted.n_labels):
        return "shape of Y"
    if found.n_train != wanted.n_train:
        return "split"
    columns = [column for row in wanted.features for column in sorted(row)]
    values = [row[column] for row in wanted.features for column in sorted(row)]
    if not _same_rows(found.X, wanted.features, columns):
        return "features"
    if not np.array_equal(found.X.data, np.array(values, dtype=np.float32)):
        return "values"
    if not _same_rows(found.Y, wanted.labels, [at for row in wanted.labels for at in sorted(row)]):
        return "labels"
    for names, those in (
        (found.label_names, wanted.label_names),
        (found.feature_names, wanted.feature_names),
    ):
        if (names or None) != (those or None):
            return "names"
    return ""


def _same_rows(matrix: Any, rows: list[Any], columns: list[int]) -> bool:
    counts = np.cumsum([0, *map(len, rows)])
    return np.array_equal(matrix.indptr, counts) and np.array_equal(matrix.indices, columns)


def run_text(case: Case, name: str) -> None:
    make, parse = TEXTS[name]
    content = mutate(make(case.random), case.random)
    path = case.folder / f"data.{name}"
    path.write_bytes(content)
    check(case, path, lambda: parse(content), require_labels=draw_need(case))


def draw_need(case: Case) -> bool:
    """Tell whether labels are required, as they mostly are."""
    return case.random.random() > 0.15


def run_sniffed(case: Case) -> None:
    """A file whose first line tells the format is what some format says it is."""
    make, _ = TEXTS[case.random.choice(list(TEXTS))]
    content = mutate(make(case.random), case.random)
    path = case.folder / "data.txt"
    path.write_bytes(content)
    found = case.attempt(load, path)
    if found is None:
        return
    if not _is_plain(found, content):
        case.report("wrong load: of no format", "no format reads it so")


def _is_plain(found: Dataset, content: bytes) -> bool:
    """Tell whether some format reads the content so, as it is."""
    return any(_is_read_so(found, content, parse) for _, parse in TEXTS.values())


def _is_read_so(found: Dataset, content: bytes, parse: Parser) -> bool:
    try:
        return not compare(found, parse(content))
    except Refused:
        return False


def run_packed(case: Case) -> None:
    name, ending = case.random.choice(list(TEXTS)), case.random.choice(list(PACKERS))
    make, parse = TEXTS[name]
    pack, unpack = PACKERS[ending]
    content = make(case.random)
    if case.random.random() < 0.3:
        content = mutate(content, case.random)
    packed = pack(content)
    if case.random.random() < 0.8:
        packed = damage(packed, case.random)
    path = case.folder / f"data.{name}{ending}"
    path.write_bytes(packed)
    if ending == ".xz":
        # Not one of the endings that are read: only what is left as plain text may be loaded.
        found = case.attempt(load, path)
        if found is not None and not _is_plain(found, packed):
            case.report("wrong load: xz", "a format that is not read")
        return

    def parse_packed() -> Expected:
        # The first bytes tell what is compressed, whatever the name.
        if not packed.startswith((b"\x1f\x8b", b"BZh")):
            return parse(packed)
        try:
            text = unpack(packed)
        except Exception as error:
            raise Refused("damaged") from error
        return parse(text)

    check(case, path, parse_packed)


def run_names(case: Case) -> None:
    """Lists of names beside a good file."""
    draw = case.random
    path = case.folder / "data.xmc"
    d, m = draw.randint(1, 4), draw.randint(1, 4)
    content = f"1 {d} {m}\n0 0:1\n".encode()
    path.write_bytes(content)
    texts = {}
    for kind, size in (("labels", m), ("features", d)):
        if draw.random() < 0.7:
            text = "".join(f"{name}\n" for name in draw.sample(NAMES, size)).encode()
            texts[kind] = mutate(text, draw) if draw.random() < 0.7 else text
            (case.folder / f"data.{kind}.txt").write_bytes(texts[kind])

    def parse() -> Expected:
        names = {kind: _names(text) for kind, text in texts.items()}
        wanted = parse_xmc(content)._replace(
            label_names=names.get("labels"), feature_names=names.get("features")
        )
        for listed, size in ((names.get("labels"), m), (names.get("features"), d)):
            if listed is not None and len(listed) != size:
                raise Refused("number of names")
            if listed is not None and len(set(listed)) != size:
                wanted = wanted._replace(unsure="a name twice")
            if any("\r" in name or "\0" in name for name in listed or []):
                raise Refused("a line end or a NUL in a name")
        return wanted

    check(case, path, parse)


def _names(text: bytes) -> list[str]:
    try:
        names = text.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise Refused("encoding") from None
    return [name.removesuffix("\r") for name in names]


def run_arff(case: Case) -> None:
    draw = case.random
    content, xml = arff_text(draw)
    if xml is not None and draw.random() < 0.4:
        xml = mutate(xml, draw)
    else:
        content = mutate(content, draw)
    path = case.folder / "data.arff"
    path.write_bytes(content)
    if xml is not None:
        path.with_suffix(".xml").write_bytes(xml)
    need = draw_need(case)
    check(case, path, lambda: parse_arff(content, xml, not need), require_labels=need)


def run_npz(case: Case) -> None:
    content = npz_files.make(case.random)
    path = case.folder / "data.npz"
    path.write_bytes(content)
    check(case, path, lambda: parse_npz(content), require_labels=draw_need(case))


KINDS = [
    Kind("xmc", "readers", lambda case: run_text(case, "xmc")),
    Kind("rmls", "readers", lambda case: run_text(case, "rmls")),
    Kind("svmlight", "readers", lambda case: run_text(case, "svm")),
    Kind("arff", "readers", run_arff, weight=2),
    Kind("npz", "readers", run_npz, weight=2),
    Kind("packed", "readers", run_packed, weight=0.5),
    Kind("sniffed", "readers", run_sniffed, weight=0.5),
    Kind("names", "readers", run_names, weight=0.5),
]
