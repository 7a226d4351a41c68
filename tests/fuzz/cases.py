"""A case of the campaign: what it is made from, where it may write, and what it found."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .findings import Finding, judge, signature_of, watch_warnings


@dataclass
class Case:
    """One input, made from its kind and its number alone."""

    kind: str
    number: int
    folder: Path
    prepared: Any = None
    findings: list[Finding] = field(default_factory=list)
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        # A text is hashed: neighbouring numbers give unrelated draws.
        self.random = random.Random(f"{self.kind}/{self.number}")

    def report(self, what: str, message: str, detail: str = "") -> None:
        """Note something that the package should not have done."""
        self.findings.append(Finding(self.kind, self.number, what, message[:500], detail[-6000:]))

    def allowed(self, error: BaseException) -> bool:
        """Tell whether an error was raised on purpose; one that was not becomes a finding."""
        problem = judge(error)
        if problem is not None:
            self.report(*problem)
        return problem is None

    def attempt(self, action: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return what a call returns, or None after an error, which is judged."""
        try:
            return action(*args, **options)
        except Exception as error:
            self.allowed(error)
            return None


@dataclass(frozen=True)
class Kind:
    """A kind of case: how one is run, and what is prepared once for all of them."""

    name: str
    group: str
    run: Callable[[Case], None]
    prepare: Callable[[Path], Any] = lambda folder: None
    # How much of the time of its group it takes.
    weight: float = 1.0


def run_case(kind: Kind, number: int, folder: Path, prepared: Any) -> list[Finding]:
    """Run one case in ``folder``, which is emptied before, and return what it found."""
    empty(folder)
    case = Case(kind.name, number, folder, prepared)
    with watch_warnings(case.report):
        try:
            kind.run(case)
        except Exception as error:
            # An error that the case did not expect is judged like one of the package.
            if case.allowed(error):
                case.report(f"unexpected {signature_of(error)}", str(error))
    return case.findings


def empty(folder: Path) -> None:
    """Delete everything inside a folder."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
