"""`rmls bench`: run studies, report on them, compare them."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.bench.limits import Limits
from rmls.cli.bench.many_values import ManyValues
from rmls.cli.shared import options
from rmls.cli.shared.console import note, notes, results
from rmls.cli.shared.options import fields_of, show_help_without_command, takes
from rmls.core.errors import RmlsError

if TYPE_CHECKING:
    from rmls.bench.study.grid import Study


def _out(**more: Any) -> Any:
    help = "Folder of results and report."
    return typer.Option("--out", "-o", metavar="DIR", help=help, **more)


Out = Annotated[Path, _out()]
NamedOut = Annotated[Path | None, _out(show_default="the name of the study")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a study.")]
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
        parser=options.whole(1),
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
        parser=options.whole(1),
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
NoTuned = Annotated[
    bool,
    typer.Option(
        "--no-tuned", help="Leave out the methods that choose parameters on their training rows."
    ),
]
MinLabelRows = Annotated[
    int,
    typer.Option(
        metavar="N",
        parser=options.whole(0),
        help="Leave out labels that fewer rows have; the paper has 5 for its largest data.",
    ),
]
Stratified = Annotated[
    bool, typer.Option("--stratified", help="Stratified folds instead of shuffled ones.")
]
Folds = Annotated[
    int, typer.Option(metavar="N", parser=options.whole(2), help="Folds of the cross-validation.")
]
Seeds = Annotated[
    list[int] | None,
    typer.Option(
        metavar="N…",
        parser=options.whole(0, options.LARGEST_SEED),
        help="Seeds of folds and training.",
        show_default="0",
    ),
]

bench_app = typer.Typer(help="Run studies of methods and data sets, and report on them.")


@bench_app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    show_help_without_command(context)


@bench_app.command(cls=ManyValues)
@takes("limits", fields_of(Limits), Limits)
def paper(
    *,
    datasets: Datasets = None,
    k: Components = None,
    methods: Methods = None,
    folds: Folds = 5,
    stratified: Stratified = False,
    seeds: Seeds = None,
    alphas: Alphas = None,
    alpha_data: AlphaData = None,
    no_alpha: NoAlpha = False,
    no_tuned: NoTuned = False,
    min_label_rows: MinLabelRows = 0,
    out: Out = Path("paper-study"),
    limits: Limits,
    quiet: options.Quiet = False,
) -> None:
    """Run the study of the paper: its methods on its data sets, then the sampling coefficient.

    Every method is run with the paper's settings, and with parameters chosen on its training rows.

    Ended at any moment and started again, it goes on with what is missing.
    """
    from dataclasses import replace

    from rmls.bench.study.paper import ALPHAS, DATASETS, paper_study, unavailable

    study = paper_study(
        tuple(datasets or DATASETS),
        tuple(k or ()),
        tuple(methods or ()),
        () if no_alpha else tuple(alphas or ALPHAS),
        alpha_data,
        tuned=not no_tuned,
        min_label_rows=min_label_rows,
    )
    study = replace(
        study,
        n_folds=folds,
        folds="stratified" if stratified else "shuffled",
        seeds=tuple(seeds or (0,)),
    )
    _run_study(
        limits.apply(study),
        out,
        limits,
        quiet,
        unavailable(tuple(datasets or DATASETS)),
        # What was named for an experiment of its own is not left out in silence.
        () if no_alpha or alpha_data is None else (alpha_data,),
    )


@bench_app.command()
@takes("limits", fields_of(Limits), Limits)
def run(
    *,
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG.toml", help="The study: see docs/reference/bench.md.")
    ],
    out: NamedOut = None,
    limits: Limits,
    quiet: options.Quiet = False,
) -> None:
    """Run any grid of data sets, methods, parameters, decision rules, folds and seeds.

    Ended at any moment and started again, it goes on with what is missing.
    """
    from rmls.bench.study.config_file import load_study

    study = limits.apply(load_study(config))
    _run_study(study, out or Path(study.name), limits, quiet, {})


@bench_app.command()
def report(folder: Folder) -> None:
    """Make the report of a study again from its results."""
    from rmls.bench.pages.study_report import report_folder

    for path in report_folder(folder):
        note(notes(), "wrote", str(path))


@bench_app.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="The folder of a study.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another, to compare with A.")],
    metrics: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Metrics, with commas.", show_default="the main ones"),
    ] = None,
) -> None:
    """Compare the results that two studies have in common."""
    from rmls.bench.run.store import read_results
    from rmls.bench.tables.compare import compare as compare_records
    from rmls.bench.tables.comparison_tables import comparison_tables
    from rmls.report.terminal import print_tables

    chosen = {} if metrics is None else {"metrics": options.read_list("--metrics", metrics)}
    comparison = compare_records(read_results(before), read_results(after), **chosen)
    print_tables(results(), comparison_tables(comparison))


def _run_study(
    study: Study,
    out: Path,
    limits: Limits,
    quiet: bool,
    unavailable: dict[str, str],
    needed: tuple[str, ...] = (),
) -> None:
    from rmls.bench.pages.study_report import report_folder
    from rmls.bench.run.run_study import all_failed, run_study
    from rmls.cli.bench.display import Display
    from rmls.cli.bench.tables import print_study

    console = notes(quiet)
    display = Display(console, quiet)
    try:
        with display.shown():
            run_study(
                study,
                out,
                command=join(["rmls", *sys.argv[1:]]),
                unavailable=unavailable,
                needed=needed,
                jobs=limits.jobs,
                retry_failed=limits.retry_failed,
                budget=limits.budget,
                listener=display,
                say=lambda text: note(console, "note", text),
            )
    except KeyboardInterrupt:
        note(console, "stopped", f"{display.done} of {display.total} runs are done in {out}.")
        note(console, "go on", "with the same command.")
        raise
    written = report_folder(out)
    print_study(results(), out)
    for path in written:
        note(console, "wrote", str(path))
    if all_failed(study, out):
        raise RmlsError(f"all runs of the study failed; {written[1]} says why.")
