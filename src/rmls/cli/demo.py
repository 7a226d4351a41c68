"""`rmls demo`: the whole path on data that come with the program."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared.console import note, notes, results
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls.datasets import Dataset
    from rmls.metrics import EvaluationReport

SEED = 0
METRICS = ["hamming_loss", "example_f1", "example_accuracy", "precision@k", "psp@k"]
KS = [1, 3, 5]
MIN_ROWS = 50
WORDS_PER_LABEL = 4

Rows = Annotated[int, typer.Option(metavar="N", min=MIN_ROWS, help="Rows of the data set.")]
Labels = Annotated[int, typer.Option(metavar="N", min=10, help="Labels of the data set.")]
Components = Annotated[int, typer.Option(metavar="N", min=1, help="Length of the vectors.")]
Passes = Annotated[int, typer.Option(metavar="N", min=1, help="Passes over the rows.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Threads; -1 is all cores.")]
Save = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Keep the data and the model here.")
]


def demo(
    rows: Rows = 8000,
    labels: Labels = 1000,
    components: Components = 100,
    passes: Passes = 10,
    jobs: Jobs = -1,
    save: Save = None,
) -> None:
    """Make long-tailed data, train, and compare with a baseline (15 seconds)."""
    from rmls.cli.evaluate import measure
    from rmls.datasets import make_longtail
    from rmls.models import RMLS, AllIrrelevant

    if save is not None and save.exists():
        raise InputError(f"{save} exists; --save makes a new folder.")
    data = make_longtail(rows, WORDS_PER_LABEL * labels, labels, random_state=SEED)
    _show_data(data)
    _title("2  Training")
    note(notes(), "note", "a first run also compiles the kernels, which takes some 20 seconds")
    model = RMLS(
        components,
        max_iter=passes,
        early_stopping=True,
        # Patience for all passes: each is shown, and the best one is kept.
        n_iter_no_change=passes,
        n_jobs=jobs,
        verbose=1,
    )
    train, test = data.train, data.test
    model.fit(train.X, train.Y)
    baseline = AllIrrelevant().fit(train.X, train.Y)
    reports = [measure(fitted, test, METRICS, KS)[0] for fitted in (model, baseline)]
    _show_reports(reports[0], reports[1])
    _show_next(save, data, model)


def _show_data(data: Dataset) -> None:
    from rmls.cli.shared.tables import frequency_table, statistics_table
    from rmls.imbalance import describe

    report = describe(data.Y)
    _title("1  Data: made from a seed, with the long tail of real label sets")
    console = results()
    console.print(statistics_table(report))
    console.print()
    console.print(frequency_table(report))
    tail = report.groups[-1]
    console.print(
        f"\n{tail.label_share:.0%} of the labels are tail: "
        f"at most {tail.max_count} of {data.n_samples:,} rows have them.\n"
    )


def _show_reports(report: EvaluationReport, baseline: EvaluationReport) -> None:
    from rmls.cli.shared.tables import metric_table

    results().print()
    _title(f"3  Test: {report.n_samples:,} rows that training has not seen")
    console = results()
    console.print(metric_table(report, baseline))
    ours, theirs = (1 - side.totals["hamming_loss"] for side in (report, baseline))
    console.print(
        "\nThe baseline predicts no label at all (and ranks by frequency). Its Hamming loss looks "
        f"good: {theirs:.2%} of its decisions are right, {ours:.2%} of those of RMLS, because "
        "nearly every label is irrelevant to a row. Example F1 and accuracy show that it found "
        "nothing. From head to tail labels get rarer and harder; PSP@k counts rare ones more.\n"
    )


def _show_next(save: Path | None, data: Dataset, model: Any) -> None:
    _title("4  Next")
    lines = ["rmls datasets list", "rmls stats DATA", "rmls train DATA -o model"]
    if save is not None:
        from rmls.datasets import save as write

        save.mkdir(parents=True)
        write(data, save / "data.npz")
        model.set_params(verbose=0).save(save / "model")
        source, folder = (quote(str(save / name)) for name in ("data.npz", "model"))
        lines = [
            f"rmls stats {source}",
            f"rmls evaluate {folder} {source} --metrics all",
            f"rmls predict {folder} {source} --part test -o labels.jsonl",
        ]
    console = results()
    for line in lines:
        console.print(f"  {line}", soft_wrap=True)


def _title(text: str) -> None:
    from rich.text import Text

    results().print(Text(text, style="bold cyan"))
