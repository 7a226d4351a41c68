"""What makes a kernel of a function: Numba, or nothing yet in a lean process (`rmls.core.lean`).

A lean process runs the Python bodies of its kernels: for a row or two that takes less time than
importing the compiler. `compile_kernels` ends that when there is more to do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rmls.core.lean import is_lean

__all__ = ["compile_kernels", "hint", "in_llvm", "njit", "runs_compiled"]

PACKAGE = __name__.partition(".")[0]

# What makes kernels of the functions of a lean process; None where they are compiled.
_waiting: dict[Callable[..., Any], Callable[[], Any]] | None = {} if is_lean() else None


def njit(**options):
    """Return the decorator of a kernel: Numba's, with the options that all kernels share."""
    # Nobody calls a kernel from C: without code for that it compiles in four fifths of the time.
    options["no_cfunc_wrapper"] = True
    return lambda function: _make(function, lambda: _compiled(function, options))


def _compiled(function, options):
    compiler = import_module("numba")
    try:
        return compiler.njit(**options)(function)
    except RuntimeError:
        # No folder can be written: neither beside the package nor in the home of the user.
        return compiler.njit(**{**options, "cache": False})(function)


def hint(function):
    """Return Numba's intrinsic of a function that changes time alone; its body is nothing."""
    return in_llvm(lambda *_: None)(function)


def in_llvm(body):
    """Return the decorator of an intrinsic whose Python body says the same."""
    return lambda function: _make(
        body, lambda: import_module("numba.extending").intrinsic(function)
    )


def _make(body, make):
    if _waiting is None:
        return make()
    _waiting[body] = make
    return body


def runs_compiled() -> bool:
    """Tell whether kernels run at the speed of compiled code."""
    return _waiting is None


def compile_kernels() -> None:
    """Put compiled kernels in the place of Python bodies, in every module that has them."""
    global _waiting
    if _waiting is None:
        return
    # By identity: most values of a module are no functions, and some cannot be hashed.
    made = {id(function): make() for function, make in _waiting.items()}
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == PACKAGE:
            for name, value in list(vars(module).items()):
                if id(value) in made:
                    setattr(module, name, made[id(value)])
    _waiting = None
