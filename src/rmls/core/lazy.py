"""Public names of a package that are imported on first use, so that a user of one pays for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports names from where they live.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of str to str
        The module of every name, absolute or, with a dot in front, inside the package. Behind a
        colon stands what the name is called there, if it is called differently.

    Examples
    --------
    >>> load = lazy_names("rmls.core", {"Ranking": ".ranking", "seed": ".options:read_seed"})
    >>> load("Ranking").__name__, load("seed").__name__
    ('Ranking', 'read_seed')
    >>> load("Rating")
    Traceback (most recent call last):
    AttributeError: module 'rmls.core' has no attribute 'Rating'
    """

    def load(name: str) -> Any:
        # Python asks only for names that the module itself lacks (PEP 562).
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = homes[name].partition(":")
        return getattr(import_module(module, package), attribute or name)

    return load
