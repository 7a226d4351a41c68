"""Labels as subjects: every subject has an address, and every address leads back to its label."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from rmls.serve.protocols.asking import KnownLabels

# No registered namespace: it says whose names these are and leads nowhere.
PREFIX = "urn:rmls:label:"
ADDRESS = re.compile(r"(https?://|urn:[a-z0-9][a-z0-9-]+:)\S+", re.IGNORECASE | re.ASCII)


def subject_uri(label: str) -> str:
    """Return the address of a label: itself where it is one, else one made of its name.

    Examples
    --------
    >>> subject_uri("http://www.yso.fi/onto/yso/p1")
    'http://www.yso.fi/onto/yso/p1'
    >>> subject_uri("boat, rowing")
    'urn:rmls:label:boat%2C%20rowing'
    """
    if ADDRESS.fullmatch(label) and not label.startswith(PREFIX):
        return label
    return PREFIX + quote(label, safe="")


def label_of(uri: str, name: str | None, known: KnownLabels) -> str:
    """Return the label that a subject means.

    An address of ours is the label that it was made of. Any other is itself, unless the model has
    no such label but one of the subject's name.
    """
    if uri.startswith(PREFIX):
        return unquote(uri[len(PREFIX) :])
    if uri in known or not name:
        return uri
    return known.find(name) or uri
