"""The manifest of a model folder: strict JSON, written and read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NoReturn

from rmls.archive.layout import (
    FORMAT,
    FORMAT_VERSION,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_MANIFEST_SIZE,
    RESERVED_KEYS,
)
from rmls.core.errors import ArchiveError
from rmls.core.words import shorten

# How the file begins; tells a model from any other folder before it is overwritten.
FIRST_BYTES = f'{{\n"format": "{FORMAT}",\n'.encode()
# The last line holds the checksum of all bytes before it.
_LAST_LINE = re.compile(rb'"sha256": "([0-9a-f]{64})"\n}\n')
_LAST_LINE_SIZE = len('"sha256": ""\n}\n') + 64
LARGEST_INT = 10**MAX_DIGITS


def check_manifest(manifest: Mapping[str, Any], path: object) -> dict[str, Any]:
    """Return a plain copy of a manifest that can be written and read back unchanged."""
    if not isinstance(manifest, Mapping):
        raise ArchiveError(
            f"{path} cannot be written: the manifest must be a dictionary; "
            f"got {type(manifest).__name__}."
        )
    for key in RESERVED_KEYS:
        if key in manifest:
            raise ArchiveError(f"{path} cannot be written: the key {key!r} belongs to the archive.")
    try:
        checked: dict[str, Any] = check_json(manifest)
    except StrictJsonError as error:
        raise ArchiveError(f"{path} cannot be written: {error}.") from None
    return checked


def encode_manifest(
    manifest: dict[str, Any], arrays: dict[str, Any], arrays_sha256: str, path: object
) -> bytes:
    """Return the bytes of ``model.json``."""
    # The format comes first, where FIRST_BYTES looks for it.
    head = {"format": FORMAT, "format_version": FORMAT_VERSION}
    tail = {"arrays": arrays, "arrays_sha256": arrays_sha256}
    items = {**head, **manifest, **tail}.items()
    lines = "".join(f"{dump_json(key)}: {dump_json(value)},\n" for key, value in items)
    body = ("{\n" + lines).encode("utf-8")
    content = body + f'"sha256": "{sha256(body).hexdigest()}"\n}}\n'.encode()
    if len(content) > MAX_MANIFEST_SIZE:
        raise ArchiveError(
            f"{path} cannot be written: the manifest takes {len(content)} bytes, more than the "
            f"{MAX_MANIFEST_SIZE} that can be read back; store long lists as arrays."
        )
    return content


def decode_manifest(content: bytes, path: object, *, verify: bool) -> dict[str, Any]:
    """Parse ``model.json``; refuse other formats, newer versions and edited files."""
    try:
        manifest = parse_json(content)
    except StrictJsonError as error:
        raise ArchiveError(f"{path} is damaged: model.json cannot be read ({error}).") from None
    if manifest.get("format") != FORMAT:
        raise ArchiveError(f"{path} is not an rmls model: model.json does not say {FORMAT!r}.")
    _check_version(manifest.get("format_version"), path)
    if verify and not _is_intact(content):
        raise ArchiveError(f"{path} is damaged: model.json was changed after it was written.")
    return manifest


def _check_version(version: Any, path: object) -> None:
    if type(version) is not int or version < 1:
        raise ArchiveError(f"{path} is damaged: model.json has no valid format_version.")
    if version > FORMAT_VERSION:
        raise ArchiveError(
            f"{path} was written by a newer version of rmls (format {shorten(str(version), 20)}; "
            f"this version reads up to {FORMAT_VERSION}); upgrade rmls to load it."
        )


def _is_intact(content: bytes) -> bool:
    # Of the bytes and not of the values: any edit is found.
    body, last_line = content[:-_LAST_LINE_SIZE], content[-_LAST_LINE_SIZE:]
    found = _LAST_LINE.fullmatch(last_line)
    return found is not None and sha256(body).hexdigest().encode() == found[1]


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
    rmls.archive._manifest.StrictJsonError: it holds NaN, which is not JSON
    """
    try:
        # json alone takes NaN, 1e999 as inf, the same key twice and numbers of any length.
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
    rmls.archive._manifest.StrictJsonError: params.tol is nan, which JSON cannot hold
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
    # The exact type: a subclass such as numpy.float64 would come back as something else.
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
        # A lone surrogate is text in Python but not in UTF-8.
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
