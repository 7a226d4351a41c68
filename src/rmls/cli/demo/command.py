"""`rmls demo`: the whole path on works of art that come with the program."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared.console import note, notes, results
from rmls.cli.shared.options import LARGEST, whole
from rmls.core.errors import InputError

if TYPE_CHECKING:
    from rmls import TextRanker
    from rmls.cli.demo.comparison import Answers, Rows
    from rmls.datasets import Artworks
    from rmls.datasets.tables import TextTable

N_SHOWN = 3
RARE = 5
N_SUGGESTED = 5
WARM_UP_ROWS = 64
SEPARATOR = "|"
LABELS = "subjects"
_SWAPPED = ("one-vs-rest", "RMLSRanker")

Jobs = Annotated[
    int, typer.Option(metavar="N", parser=whole(-LARGEST), help="Threads; -1 is all cores.")
]
Save = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Keep the data and the model here.")
]


def demo(jobs: Jobs = -1, save: Save = None) -> None:
    """Learn what works of art show, compare, suggest (under a minute).

    6,400 works of the Tate collection and their subjects, beside one-vs-rest
    on the same rows; then subjects for works that neither has seen. Needs no
    data and no network.
    """
    if jobs == 0:
        raise InputError("--jobs must not be 0; -1 is all cores.")
    if save is not None and save.exists():
        raise InputError(f"{save} exists; --save makes a new folder.")
    from rmls.cli.demo.comparison import answer_one_vs_rest, answer_ranker, read_rows
    from rmls.datasets import load_artworks
    from rmls.features import TextFeatures
    from rmls.models import RMLSRanker, TextRanker
    from rmls.models.shared.progress import showing

    works, features = load_artworks(), TextFeatures(n_jobs=jobs)
    rows = read_rows(works, features)
    _show_data(works, rows)
    _title("2  Training")
    note(notes(), "note", "a first run also compiles the kernels, which takes some 20 seconds")
    estimator = RMLSRanker(normalize="none", n_jobs=jobs)
    # What is compiled once is compiled before the clocks start.
    warm_up = RMLSRanker(4, max_iter=1, normalize="none", shortlist_size=20)
    warm_up.fit(rows.train.take(slice(0, WARM_UP_ROWS)), label_text=rows.names)
    with showing(True):
        answers = [answer_ranker(estimator, rows), answer_one_vs_rest(rows, jobs)]
    _show_comparison(rows, answers)
    model = TextRanker.assemble(features, estimator)
    _show_suggestions(model, works.test)
    _show_next(save, works, rows, model)


def _show_data(works: Artworks, rows: Rows) -> None:
    from rmls.core.sparse import label_counts

    counts = label_counts(rows.train.Y)
    rare = int((counts <= RARE).sum())
    _title("1  Data: works of art, and the subjects that curators gave them")
    _lines(
        f"{len(works.train):,} works to learn from, {len(works.test):,} to test: "
        f"{', '.join(works.train.fields)}.",
        f"{len(counts):,} subjects; {rare / len(counts):.0%} of them have at most {RARE} works.",
        "Metadata of Tate (github.com/tategallery/collection, 2014), CC0: public domain.",
        "",
    )


def _show_comparison(rows: Rows, answers: list[Answers]) -> None:
    from rmls.cli.demo.comparison import K, compare_bands, compare_totals
    from rmls.cli.shared.tables import plain_table

    _title(f"\n3  Test: {rows.X.shape[0]:,} works that neither has seen")
    names = [each.name for each in answers]
    bands = compare_bands(rows, answers)
    numbers = ("subjects", "to find", *names, "difference")
    table = plain_table(("works per subject", *numbers), numbers)
    for band in bands:
        shares = [f"{share:.1%}" for share in band.found]
        sizes = (f"{band.n_labels:,}", f"{band.n_pairs:,}")
        table.add_row(band.name, *sizes, *shares, _difference(*band.found))
    _lines(f"Of the subjects to find, the share among the best {K}, rare subjects first:")
    console = results()
    console.print(table)
    console.print()
    table = plain_table(("", *names, "difference"), (*names, "difference"))
    for title, values in compare_totals(rows, answers).items():
        table.add_row(title, *(f"{value:.4f}" for value in values), _difference(*values))
    seconds = [each.seconds for each in answers]
    table.add_row("training", *(f"{value:.1f} s" for value in seconds), _difference(*seconds))
    console.print(table)
    _lines("", *_explain(rows, bands[0].found, seconds), "")


def _difference(ours: float, theirs: float) -> str:
    return f"{(ours / theirs - 1):+.0%}" if theirs > 0 else "-"


def _explain(rows: Rows, rare: list[float], seconds: list[float]) -> list[str]:
    """Say what the baseline is, and who is ahead, whoever it is."""
    ahead, behind = ("RMLSRanker", "one-vs-rest") if rare[0] > rare[1] else _SWAPPED
    more, less = max(rare), min(rare)
    return [
        f"one-vs-rest: a linear SVM for each of the {rows.train.n_labels:,} subjects on all works,",
        "the problem that scikit-learn's LinearSVC solves, by our compiled solver.",
        "RMLSRanker also learns what it is worth that a text names a subject.",
        f"{rows.n_unknown:,} subjects of test works have no training work: left out for both.",
        f"Rare subjects: {ahead} finds {more:.1%}, {behind} {less:.1%}.",
        f"RMLSRanker trains in {seconds[0] / max(seconds[1], 1e-9):.0%} of the time.",
    ]


def _show_suggestions(model: TextRanker, test: TextTable) -> None:
    _title(f"4  Suggestions for the first {N_SHOWN} of them")
    shown = test.take(slice(0, N_SHOWN))
    suggested = model.suggest(shown.columns, N_SUGGESTED)
    for texts, true, found in zip(shown.texts, shown.labels or [], suggested, strict=True):
        _lines(_shortened(", ".join(text for text in texts if text)))
        for name, probability in found:
            mark = "yes" if name in true else ""
            _lines(f"  {probability:4.0%}  {mark:3}  {name}")
        _lines(_shortened(f"  curators: {'; '.join(sorted(true))}"), "")


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def _show_next(save: Path | None, works: Artworks, rows: Rows, model: Any) -> None:
    _title("5  Next: your own table")
    if save is not None:
        _save(save, works, rows, model)
        _lines(*(f"  {line}" for line in _commands_for(save)), "")
    _lines(
        "  rmls train tickets.csv --text title,body --labels tags -o model",
        '  rmls suggest model "a text that has no labels yet"',
        "  rmls suggest model --input new.csv -o suggestions.csv",
    )


def _save(folder: Path, works: Artworks, rows: Rows, model: Any) -> None:
    from rmls.cli.shared.data import describe_training_rows
    from rmls.cli.shared.options import Part

    model.training_record_ = describe_training_rows(rows.train, Part.ALL)
    folder.mkdir(parents=True)
    for name, table in (("train", works.train), ("test", works.test)):
        _write_table(table, folder / f"{name}.csv")
    model.save(folder / "model")


def _write_table(table: TextTable, path: Path) -> None:
    import csv

    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*table.fields, LABELS])
        for texts, labels in zip(table.texts, table.labels or [], strict=True):
            writer.writerow([*texts, SEPARATOR.join(labels)])


def _commands_for(folder: Path) -> list[str]:
    train, test, model = (quote(str(folder / name)) for name in ("train.csv", "test.csv", "model"))
    columns = "--text title,artist,medium,date"
    labels = f"--labels {LABELS} --separator {quote(SEPARATOR)}"
    return [
        f"rmls evaluate {model} {test} {columns} {labels}",
        f"rmls suggest {model} --input {test} {columns}",
        f"rmls train {train} {columns} {labels} -o model",
    ]


def _title(text: str) -> None:
    from rich.text import Text

    results().print(Text(text, style="bold cyan"))


def _lines(*lines: str) -> None:
    console = results()
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)
