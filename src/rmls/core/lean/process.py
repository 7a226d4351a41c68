"""Start a process lean, as the program does for `rmls suggest`.

Kernels are their Python bodies (`rmls.kernels.jit`), the bases of estimators are stand-ins
(`rmls.core.lean.learn`), and ``scipy.sparse`` is read on first use. Nothing else differs: classes,
archives and scores are the same code.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# Whoever has these has paid already; who has ours has chosen already.
PAID = ("numba", "sklearn", "rmls.core.lean.learn", "rmls.kernels.jit")
LATE = ("scipy", "sparse")

_started: list[bool] = []


def start_lean() -> bool:
    """Let this process be lean, if nothing that is left out is there yet; tell whether it is."""
    if not is_lean() and not any(name in sys.modules for name in PAID):
        import numpy as np

        _started.append(True)
        # As in compiled code: whole numbers wrap around, and nobody is warned.
        np.seterr(all="ignore")
        _import_late(*LATE)
    return is_lean()


def is_lean() -> bool:
    """Tell whether this process was started lean."""
    return bool(_started)


class _Late(ModuleType):
    """Stands for a module of a package until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def _import_late(package: str, name: str) -> None:
    """Let ``from package import name`` read the module on first use."""
    full = f"{package}.{name}"
    # Importing the module itself puts it in the place of what stands for it.
    if full not in sys.modules:
        setattr(import_module(package), name, _Late(full))
