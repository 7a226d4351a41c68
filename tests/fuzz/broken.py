"""Cases that fail on purpose, to see that the campaign notices."""

from __future__ import annotations

import os
import warnings

from rmls.core.errors import InputError
from rmls.core.labels import LabelSpace

from .cases import Case, Kind


def crash(case: Case) -> None:
    (case.folder / "input").write_text("fatal")
    os.abort()


def hang(case: Case) -> None:
    while True:
        pass


def foreign(case: Case) -> None:
    # An error that nobody raises on purpose, out of the package.
    case.attempt(LabelSpace.__init__, None)


def wordy(case: Case) -> None:
    def refuse() -> None:
        raise InputError("x" * 10_000)

    case.attempt(refuse)


def fine(case: Case) -> None:
    def refuse() -> None:
        raise InputError("a sentence.")

    case.attempt(refuse)
    warnings.warn("nothing to do with numbers", UserWarning, stacklevel=1)


WAYS = (crash, hang, foreign, wordy, fine)


def run(case: Case) -> None:
    WAYS[case.number % len(WAYS)](case)


KINDS = [Kind("broken", "broken", run)]
