"""A package that another one imports and hardly ever uses: read when it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["postponed"]


class _StandsFor(ModuleType):
    """Gives way to the module of its name as soon as something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def postponed(name: str) -> Iterator[None]:
    """Let a plain ``import name`` read nothing while the block runs.

    Whoever asks for something of the module gets the real one, in the block or later. Nothing of
    the stand-in is left afterwards: it is for packages, such as those of SciPy, that their parents
    import on first use by themselves.

    Examples
    --------
    >>> with postponed("wave"):
    ...     import wave
    >>> wave.__name__, wave.Wave_read.__name__, type(sys.modules["wave"]).__name__
    ('wave', 'Wave_read', 'module')
    """
    if name in sys.modules:
        yield
        return
    stand_in = sys.modules[name] = _StandsFor(name)
    try:
        yield
    finally:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
