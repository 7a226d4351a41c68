"""`model.json`: one key a line, closed by a checksum of everything above it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from rmls.archive._json import StrictJsonError, check_json, dump_json, parse_json
from rmls.archive.layout import FORMAT, FORMAT_VERSION, MAX_MANIFEST_SIZE, RESERVED_KEYS
from rmls.core.errors import ArchiveError

# How the file begins; tells a model from any other folder before it is overwritten.
FIRST_BYTES = f'{{\n"format": "{FORMAT}",\n'.encode()
_LAST_LINE = re.compile(rb'"sha256": "([0-9a-f]{64})"\n}\n')
_LAST_LINE_SIZE = len('"sha256": ""\n}\n') + 64


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
            f"{path} was written by a newer version of rmls (format {version}; "
            f"this version reads up to {FORMAT_VERSION}); upgrade rmls to load it."
        )


def _is_intact(content: bytes) -> bool:
    body, last_line = content[:-_LAST_LINE_SIZE], content[-_LAST_LINE_SIZE:]
    found = _LAST_LINE.fullmatch(last_line)
    return found is not None and sha256(body).hexdigest().encode() == found[1]
