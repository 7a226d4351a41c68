"""JSON without the loopholes: no NaN, no duplicate keys, no surprise types."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from rmls.archive.layout import MAX_DEPTH, MAX_DIGITS

LARGEST_INT = 10**MAX_DIGITS


class StrictJsonError(ValueError):
    """A text or a value is not strict JSON; the message is the end of a sentence."""


def parse_json(content: bytes) -> dict[str, Any]:
    """Parse a JSON object.

    Examples
    --------
    >>> parse_json(b'{"k": [1, 2.5, null]}')
    {'k': [1, 2.5, None]}
    >>> parse_json(b'{"k": NaN}')
    Traceback (most recent call last):
    rmls.archive._json.StrictJsonError: it holds NaN, which is not JSON
    """
    try:
        value = json.loads(
            content.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_parse_float,
            parse_int=_parse_int,
            object_pairs_hook=_parse_object,
        )
    except StrictJsonError:
        raise
    except UnicodeDecodeError:
        raise StrictJsonError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise StrictJsonError(f"{error.msg} in line {error.lineno}") from None
    except RecursionError:
        raise StrictJsonError("it nests too deep") from None
    if not isinstance(value, dict):
        raise StrictJsonError("it is not a JSON object")
    return value


def dump_json(value: Any) -> str:
    """Write a value that `check_json` accepts on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def check_json(value: Any) -> Any:
    """Return ``value`` as plain lists and dictionaries, or name the key that is not JSON.

    Examples
    --------
    >>> check_json({"classes": ("a", "b")})
    {'classes': ['a', 'b']}
    >>> check_json({"params": {"tol": float("nan")}})
    Traceback (most recent call last):
    rmls.archive._json.StrictJsonError: params.tol is nan, which JSON cannot hold
    """
    return _checked(value, ())


def _checked(value: Any, keys: tuple[str, ...]) -> Any:
    if len(keys) > MAX_DEPTH:
        raise StrictJsonError(f"{keys[0]} nests deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return dict(_checked_items(value, keys))
    if isinstance(value, list | tuple):
        # Label names come by the million: only what is wrong or nested gets a path of its own.
        return [
            _checked(item, (*keys, str(i))) if _problem(item) else item
            for i, item in enumerate(value)
        ]
    problem = _problem(value)
    if problem:
        raise StrictJsonError(f"{'.'.join(keys) or 'the manifest'} {problem}")
    return value


def _checked_items(value: Mapping[Any, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if type(key) is not str or not _is_text(key):
            owner = ".".join(keys) or "the manifest"
            raise StrictJsonError(f"{owner} has the key {key!r}; keys must be text")
        yield key, _checked(item, (*keys, key))


def _problem(value: Any) -> str | None:
    kind = type(value)
    if kind is str:
        return None if _is_text(value) else "holds text that UTF-8 cannot encode"
    if kind is float:
        return None if math.isfinite(value) else f"is {value}, which JSON cannot hold"
    if kind is int:
        return None if abs(value) < LARGEST_INT else f"has more than {MAX_DIGITS} digits"
    if value is None or kind is bool:
        return None
    return f"is of type {kind.__name__}; JSON holds text, numbers, true, false, null and lists"


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise StrictJsonError("it has the same key twice")
    return result


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise StrictJsonError(f"it holds {text[:20]}, which is too large")
    return value


def _parse_int(text: str) -> int:
    if len(text) > MAX_DIGITS + 1:
        raise StrictJsonError(f"it holds a number of more than {MAX_DIGITS} digits")
    return int(text)


def _refuse_constant(name: str) -> NoReturn:
    raise StrictJsonError(f"it holds {name}, which is not JSON")
