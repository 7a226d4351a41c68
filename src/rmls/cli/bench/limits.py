"""How a study is run: the options that all studies take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared.options import number, whole

if TYPE_CHECKING:
    from rmls.bench.study.grid import Study

PANEL = "How it is run"


def _option(flag: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(flag, help=help, metavar=metavar, rich_help_panel=PANEL, **more)


@dataclass(frozen=True)
class Limits:
    """What the runs of a study may take; None leaves it to the study."""

    jobs: Annotated[
        int, _option("--jobs", "Runs at a time; timings are cleanest with 1.", "N", parser=whole(1))
    ] = 1
    threads: Annotated[
        int | None,
        _option("--threads", "Threads of one run.", "N", parser=whole(1), show_default="1"),
    ] = None
    time_limit: Annotated[
        float | None,
        _option(
            "--time-limit",
            "End a run after this time; it is marked as failed.",
            "SECONDS",
            parser=number(0),
            show_default="1800",
        ),
    ] = None
    memory_limit: Annotated[
        str | None,
        _option(
            "--memory-limit",
            "End a run that takes more, such as 8GB.",
            "SIZE",
            show_default="none",
        ),
    ] = None
    budget: Annotated[
        float | None,
        _option(
            "--budget",
            "End the study after this time and name what is not finished; it can go on later.",
            "HOURS",
            parser=number(0),
            show_default="none",
        ),
    ] = None
    retry_failed: Annotated[
        bool, _option("--retry-failed", "Run again what has failed before.")
    ] = False

    def apply(self, study: Study) -> Study:
        """Return the study with the limits that were given."""
        from rmls.core.words import read_size

        given: dict[str, Any] = {"threads": self.threads, "time_limit": self.time_limit}
        if self.memory_limit is not None:
            given["memory_limit"] = read_size("--memory-limit", self.memory_limit)
        return replace(study, **{name: value for name, value in given.items() if value is not None})
