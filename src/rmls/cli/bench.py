"""`rmls bench`: run studies, report on them, compare them."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli import options
from rmls.cli.console import note, notes, results
from rmls.cli.help import show_help_without_command
from rmls.cli.many_values import ManyValues

if TYPE_CHECKING:
    from rmls.bench.study import Study

LIMITS = "How it is run"
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of results and report.")
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a study.")]
Jobs = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Runs at a time; timings are cleanest with 1.",
        rich_help_panel=LIMITS,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Threads of one run.", show_default="1", rich_help_panel=LIMITS
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="End a run after this time; it is marked as failed.",
        show_default="1800",
        rich_help_panel=LIMITS,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="End a run that takes more, such as 8GB.",
        show_default="none",
        rich_help_panel=LIMITS,
    ),
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed", help="Run again what has failed before.", rich_help_panel=LIMITS
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME…",
        help="Data sets of the study, or files.",
        show_default="enron delicious eurlex57k_4k debdeps",
    ),
]
Components = Annotated[
    list[int] | None,
    typer.Option(
        "--k",
        metavar="K…",
        min=1,
        help="Lengths of the vectors.",
        show_default="25 50 for enron, else 250 500",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME…", help="Only these methods, named as in the tables.", show_default="all"
    ),
]
Alphas = Annotated[
    list[int] | None,
    typer.Option(
        metavar="N…",
        min=1,
        help="Sampling coefficients of the second experiment.",
        show_default="1 to 10",
    ),
]
AlphaData = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Data set of the second experiment.",
        show_default="eurlex57k_4k if it is asked for, else the last one",
    ),
]
NoAlpha = Annotated[bool, typer.Option("--no-alpha", help="Leave out the second experiment.")]
Stratified = Annotated[
    bool, typer.Option("--stratified", help="Stratified folds instead of shuffled ones.")
]
Folds = Annotated[int, typer.Option(metavar="N", min=2, help="Folds of the cross-validation.")]
Seeds = Annotated[
    list[int] | None,
    typer.Option(metavar="N…", min=0, help="Seeds of folds and training.", show_default="0"),
]

bench_app = typer.Typer(help="Run studies of methods and data sets, and report on them.")


@bench_app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    show_help_without_command(context)


@bench_app.command(cls=ManyValues)
def paper(
    datasets: Datasets = None,
    k: Components = None,
    methods: Methods = None,
    folds: Folds = 5,
    stratified: Stratified = False,
    seeds: Seeds = None,
    alphas: Alphas = None,
    alpha_data: AlphaData = None,
    no_alpha: NoAlpha = False,
    out: Out = Path("paper-study"),
    jobs: Jobs = 1,
    threads: Threads = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    retry_failed: RetryFailed = False,
    quiet: options.Quiet = False,
) -> None:
    """Run the study of the paper: its methods on its data sets, then the sampling coefficient.

    Ended at any moment and started again, it goes on with what is missing.
    """
    from dataclasses import replace

    from rmls.bench.paper import ALPHAS, DATASETS, NOT_TO_BE_HAD, paper_study

    study = paper_study(
        tuple(datasets or DATASETS),
        tuple(k or ()),
        tuple(methods or ()),
        () if no_alpha else tuple(alphas or ALPHAS),
        alpha_data,
    )
    study = replace(
        study,
        n_folds=folds,
        folds="stratified" if stratified else "shuffled",
        seeds=tuple(seeds or (0,)),
    )
    study = _limited(study, threads, time_limit, memory_limit)
    _conduct(study, out, jobs, retry_failed, quiet, NOT_TO_BE_HAD)


@bench_app.command()
def run(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG.toml", help="The study: see docs/bench.md.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of results and report.",
            show_default="the name of the study",
        ),
    ] = None,
    jobs: Jobs = 1,
    threads: Threads = None,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    retry_failed: RetryFailed = False,
    quiet: options.Quiet = False,
) -> None:
    """Run any grid of data sets, methods, parameters, decision rules, folds and seeds.

    Ended at any moment and started again, it goes on with what is missing.
    """
    from rmls.bench.config_file import load_study

    study = _limited(load_study(config), threads, time_limit, memory_limit)
    _conduct(study, out or Path(study.name), jobs, retry_failed, quiet, {})


@bench_app.command()
def report(folder: Folder) -> None:
    """Make the report of a study again from its results."""
    from rmls.bench.conduct import report_again

    for path in report_again(folder):
        note(notes(), "wrote", str(path))


@bench_app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="The folder of a study.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another, to compare with A.")],
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Metrics, with commas.", show_default="the usual"),
    ] = None,
) -> None:
    """Compare the results that two studies have in common."""
    from rmls.bench.compare import compare as compare_records
    from rmls.bench.store import read_results
    from rmls.cli.bench_tables import print_tables

    chosen = {} if metrics is None else {"metrics": options.read_list("--metrics", metrics)}
    comparison = compare_records(read_results(before), read_results(after), **chosen)
    print_tables(results(), comparison.to_tables())


def _limited(
    study: Study, threads: int | None, time_limit: float | None, memory_limit: str | None
) -> Study:
    """Return the study with the limits given on the command line."""
    from dataclasses import replace

    from rmls.bench.config_file import read_size

    given: dict[str, Any] = {"threads": threads, "time_limit": time_limit}
    if memory_limit is not None:
        given["memory_limit"] = read_size("--memory-limit", memory_limit)
    return replace(study, **{name: value for name, value in given.items() if value is not None})


def _conduct(
    study: Study,
    out: Path,
    jobs: int,
    retry_failed: bool,
    quiet: bool,
    known_missing: dict[str, str],
) -> None:
    from rmls.bench.conduct import conduct, report_again
    from rmls.cli.bench_display import Display
    from rmls.cli.bench_tables import print_study

    console = notes(quiet)
    display = Display(console, quiet)
    try:
        with display.shown():
            conduct(
                study,
                out,
                command=join(["rmls", *sys.argv[1:]]),
                known_missing=known_missing,
                jobs=jobs,
                retry_failed=retry_failed,
                listener=display,
                say=lambda text: note(console, "note", text),
            )
    except KeyboardInterrupt:
        note(console, "stopped", f"{display.done} of {display.total} runs are done in {out}.")
        note(console, "go on", "with the same command.")
        raise
    written = report_again(out)
    print_study(results(), out)
    for path in written:
        note(console, "wrote", str(path))
