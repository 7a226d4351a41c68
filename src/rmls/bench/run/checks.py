"""What is read back from the folder of a study is checked against what was declared of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from rmls.bench.run.records import Record, Reliability
from rmls.core.options import is_auto

# Larger than any figure, and far from where arithmetic on floats overflows.
LARGEST = 1e100
NAMES = {str: "a text", int: "a whole number", float: "a number"}
# What charts draw on logarithmic axes.
AMOUNTS = (
    "empty_rows",
    "train_seconds",
    "train_cpu_seconds",
    "predict_seconds",
    "predict_cpu_seconds",
    "peak_memory",
    "model_bytes",
)
SHARES: tuple[Literal["predicted", "observed"], ...] = ("predicted", "observed")


class Group(TypedDict):
    """Head, torso or tail in the description of a data set."""

    n_labels: int
    label_share: float
    positive_share: float


class Imbalance(TypedDict, total=False):
    """What a report shows of the imbalance of a data set."""

    n_samples: int
    n_labels: int
    n_label_sets: int
    cardinality: float
    density: float
    mean_imbalance_ratio: float | None
    mean_ir: float | None
    cvir: float | None
    scumble: float | None
    groups: dict[str, Group]


class DataFacts(TypedDict, total=False):
    """What ``study.json`` says of a data set."""

    checksum: str
    n_samples: int
    n_features: int
    n_labels: int
    features: str
    note: str
    imbalance: Imbalance | None


class StudyFacts(TypedDict, total=False):
    """What ``study.json`` holds; studies of earlier versions may lack some of it."""

    schema: int
    study: str
    protocol: str
    title: str
    command: str
    n_results: int
    datasets: dict[str, DataFacts]
    missing: dict[str, str]
    budget_hours: float | None
    unfinished: dict[str, str]


class Damage(ValueError):
    """A value that is not what was declared; says which one, and how."""


def check_record(value: Any) -> Record:
    """Return a line of ``results.jsonl`` as what it is; raises `Damage` at the first fault."""
    _check(value, Record, "")
    _check_outcome(value)
    components = value["config"]["params"].get("n_components")
    if not is_auto(components):
        _check(components, _OPTIONAL_WHOLE, "config.params.n_components")
    _check(value["machine"].get("memory"), _OPTIONAL_NUMBER, "machine.memory")
    sizes = value["data"] or {}
    for name in ("n_train", "n_test", "n_features", "n_labels"):
        _check_amount(sizes.get(name, 0), f"data.{name}")
    found: Record = value
    return found


def check_study(value: Any) -> dict[str, Any]:
    """Return the content of ``study.json`` as what it is; raises `Damage` at the first fault."""
    _check(value, StudyFacts, "")
    return dict(value)


def _check_outcome(value: Any) -> None:
    """Refuse a result that both failed and has figures, or neither, and figures out of range."""
    measured, failure = value["measured"], value["failure"]
    good = value["status"] == "ok"
    if (measured is not None) != good or (failure is None) != good:
        raise Damage("status contradicts measured and failure")
    if measured is not None:
        for name in AMOUNTS:
            _check_amount(measured[name], f"measured.{name}")
        if measured["reliability"] is not None:
            _check_reliability(measured["reliability"])


def _check_amount(value: float, where: str) -> None:
    if value < 0:
        raise Damage(f"{where} is negative")


def _check_reliability(curve: Reliability) -> None:
    """Refuse a curve whose bins do not fit one another."""
    edges, pairs = curve["edges"], curve["pairs"]
    shares = [share for name in SHARES for share in curve[name] if share is not None]
    rising = all(low < high for low, high in pairwise(edges))
    same = {len(edges) - 1} == {len(pairs), *(len(curve[name]) for name in SHARES)}
    whole = all(0 <= share <= 1 for share in [*shares, *edges]) and all(n >= 0 for n in pairs)
    if not (rising and same and whole):
        raise Damage("measured.reliability is no curve")


# -- values against types ------------------------------------------------------------------------


def _check(value: Any, kind: Any, where: str) -> None:
    """Raise `Damage` unless a value from JSON is of a type, all that it holds included."""
    if kind is Any:
        if isinstance(value, str):
            _check_text(value, where)
    elif is_typeddict(kind):
        _check_fields(value, kind, where)
    elif get_origin(kind) in (Union, UnionType):
        _check_union(value, kind, where)
    elif get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise Damage(f"{where} is none of {', '.join(map(repr, get_args(kind)))}")
    elif get_origin(kind) in (dict, list):
        _check_container(value, kind, where)
    elif not PLAIN[kind](value):
        raise Damage(f"{where} is not {NAMES[kind]}")
    elif kind is str:
        _check_text(value, where)


def _check_fields(value: Any, kind: Any, where: str) -> None:
    _check(value, dict[str, Any], where)
    required, hints = _fields(kind)
    for name, hint in hints.items():
        path = f"{where}.{name}" if where else name
        if name in value:
            _check(value[name], hint, path)
        elif name in required:
            raise Damage(f"{path} is missing")


def _check_union(value: Any, kind: Any, where: str) -> None:
    others = [each for each in get_args(kind) if each is not NoneType]
    # All unions of these files are of one type and None.
    if value is not None or len(others) == len(get_args(kind)):
        _check(value, others[0], where)


def _check_container(value: Any, kind: Any, where: str) -> None:
    origin = get_origin(kind)
    if not isinstance(value, origin):
        subject = where or "it"
        raise Damage(f"{subject} is not {'an object' if origin is dict else 'a list'}")
    items = value.items() if origin is dict else enumerate(value)
    for name, each in items:
        _check_text(str(name), where)
        _check(each, get_args(kind)[-1], f"{where}.{name}" if where else f"{name}")


def _check_text(value: str, where: str) -> None:
    # JSON can write half of a surrogate pair, which no file can hold.
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise Damage(f"{ascii(where)[1:-1]} holds half of a letter")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # Comparisons are exact, also of whole numbers that no float can hold; nan fails both.
    return -LARGEST < value < LARGEST


@cache
def _fields(kind: Any) -> tuple[frozenset[str], dict[str, Any]]:
    return kind.__required_keys__, get_type_hints(kind)


PLAIN: dict[Any, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    int: lambda value: isinstance(value, int) and _is_number(value),
    float: _is_number,
}
_OPTIONAL_WHOLE, _OPTIONAL_NUMBER = int | None, float | None
