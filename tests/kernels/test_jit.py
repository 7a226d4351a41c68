"""The decorator of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import pytest

from rmls.kernels.jit import compile_kernels, njit, runs_compiled


def test_where_no_folder_can_be_written_kernels_are_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def refuse(**options: Any) -> Callable[[Any], Any]:
        seen.append(options["cache"])
        if options["cache"]:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(numba, "njit", refuse)
    assert njit(cache=True)(abs)(-2) == 2
    assert seen == [True, False]


def test_kernels_of_a_usual_process_are_compiled() -> None:
    @njit(cache=False)
    def double(number):  # type: ignore[no-untyped-def]
        return 2 * number

    assert runs_compiled()
    compile_kernels()
    assert double.signatures == []
    assert double(2) == 4
    assert len(double.signatures) == 1
    assert double.py_func(3) == 6
