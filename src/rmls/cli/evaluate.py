"""`rmls evaluate`: how good the predictions of a model are, for frequent and for rare labels."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from rmls.cli.shared import options, texts
from rmls.cli.shared.console import note, notes, print_json, results
from rmls.cli.shared.options import Part, read_list, read_whole, whole
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.core.label_matching import Matched
    from rmls.core.ranking import Ranking
    from rmls.datasets import Dataset
    from rmls.metrics import EvaluationReport, LabelReport

DEFAULT_METRICS = (
    "hamming_loss,example_f1,example_accuracy,micro_f1,macro_f1,precision@k,ndcg@k,psp@k"
)
# Labels of a row whose probabilities enter the figures of every label.
LISTED = 100
WORST = 20
PER_LABEL, PER_LABEL_FILE = "--per-label", "--per-label-file"


class Order(str, Enum):
    """What makes a label bad."""

    GAIN = "gain"
    F1 = "f1"


Metrics = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Such as f1,macro_f1,p@k; all for every metric."),
]
Rows = Annotated[
    Part | None,
    typer.Option(
        "--part",
        metavar="PART",
        help="all, train or test rows.",
        show_default="test where DATA is split, else all",
    ),
]
Ks = Annotated[str, typer.Option("--k", metavar="NUMBERS", help="Lengths of the ranked lists.")]
PerLabel = Annotated[
    bool,
    typer.Option(
        PER_LABEL, help="Also show the worst labels; followed by FILE.csv, write all there."
    ),
]
PerLabelFile = Annotated[Path | None, typer.Option(PER_LABEL_FILE, metavar="FILE", hidden=True)]
Worst = Annotated[
    int | None,
    typer.Option(
        "--worst",
        metavar="N",
        parser=whole(1),
        help="How many labels to show.",
        show_default=str(WORST),
    ),
]
WorstBy = Annotated[
    Order, typer.Option("--worst-by", help="Test rows × (1 - F1), or F1 alone.", show_choices=True)
]


class TakesFile(TyperCommand):
    """A command whose flag ``--per-label`` may be followed by the name of a CSV file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write the file as an option of its own, then parse."""
        return super().parse_args(ctx, split_file(args))


def split_file(args: list[str]) -> list[str]:
    """Return the arguments with the file behind ``--per-label`` as an option of its own.

    Examples
    --------
    >>> split_file(["model", "data", "--per-label", "labels.csv"])[2:]
    ['--per-label', '--per-label-file', 'labels.csv']
    >>> split_file(["--per-label", "model", "data"])
    ['--per-label', 'model', 'data']
    """
    found: list[str] = []
    for argument in args:
        # MODEL and DATA may follow the flag too, but a model is a folder and no reader takes CSV.
        if found[-1:] == [PER_LABEL] and argument.lower().endswith(".csv"):
            found += [PER_LABEL_FILE, argument]
        elif argument.startswith(f"{PER_LABEL}="):
            found += [PER_LABEL, PER_LABEL_FILE, argument.partition("=")[2]]
        else:
            found.append(argument)
    return found


class Predictions(NamedTuple):
    """True labels, predicted sets and a ranking, in the columns of the model."""

    matched: Matched
    sets: Any
    ranking: Ranking


def evaluate(
    model: options.Model,
    data: options.Data,
    part: Rows = None,
    json: options.Json = False,
    metrics: Metrics = None,
    decision: options.Decision = None,
    k: Ks = "1,3,5",
    per_label: PerLabel = False,
    per_label_file: PerLabelFile = None,
    worst: Worst = None,
    worst_by: WorstBy = Order.GAIN,
    source_format: options.From = None,
    index_base: options.IndexBase = None,
    text: texts.Text = None,
    labels: texts.Labels = None,
    features: texts.Features = None,
    separator: texts.Separator = None,
    encoding: texts.Encoding = None,
    delimiter: texts.Delimiter = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Measure the predictions of MODEL on DATA, by head, torso and tail.

    Uses the test rows where DATA is split, otherwise all, and warns where the
    model was trained on them. Labels are matched by name where model and data
    have names.
    """
    from rmls.cli.shared.data import choose_part, is_store_path, load_for_model, load_model

    ks = _read_ks(k)
    names = _read_metrics(metrics)
    per_label = per_label or worst is not None or per_label_file is not None
    _check_label_file(per_label_file, overwrite)
    fitted = load_model(model, data)
    if texts.is_text_model(fitted) and is_store_path(data):
        from rmls.cli.shared.stores import inner_model

        fitted = inner_model(fitted, data)
    if texts.is_text_model(fitted):
        reading = texts.Reading(
            text, labels, None, separator, encoding, delimiter, source_format, features
        )
        fitted, rows = texts.load_texts_for_model(fitted, data, reading)
    else:
        dataset = load_for_model(data, source_format, fitted, index_base, labels=True)
        rows, _ = choose_part(dataset, part, Part.TEST)
    depth = [LISTED] if per_label else []
    rule = options.decision_for(fitted, decision)
    found = predict_rows(fitted, rows, [*_depths(names, ks, len(fitted.classes_)), *depth], rule)
    report, n_empty = _compare(fitted, found, names, ks)
    by_label = _measure_labels(found) if per_label else None
    bad = by_label.worst(worst or WORST, worst_by.value) if by_label is not None else None
    if json:
        more = {} if bad is None else {"worst_labels": list(bad.rows())}
        print_json({**_as_json(report, rows.name), "empty_rows": n_empty, **more})
    else:
        show_report(report, rows.name, n_empty)
        if bad is not None:
            _show_labels(bad, report.n_labels, worst_by)
    if by_label is not None and per_label_file is not None:
        _write_labels(by_label, per_label_file)


def measure(
    model: Any, rows: Dataset, names: list[str] | None, ks: list[int], decision: Any = None
) -> tuple[EvaluationReport, int]:
    """Predict the rows of a data set and compare; ``names=None`` computes every metric.

    Also returns how many rows got no label.
    """
    return _compare(
        model,
        predict_rows(model, rows, _depths(names, ks, len(model.classes_)), decision),
        names,
        ks,
    )


def predict_rows(model: Any, rows: Dataset, depths: list[int], decision: Any) -> Predictions:
    """Predict sets, and rank as deep as the largest of ``depths``."""
    from rmls.cli.label_matching import match_labels
    from rmls.cli.shared.data import warn_of_known_rows

    matched = match_labels(model, rows)
    warn_of_known_rows(model, rows.name, rows.X, matched.Y)
    sets = matched.widen_sets(model.predict_sets(rows, decision))
    return Predictions(matched, sets, matched.widen_ranking(model.rank(rows, max(depths))))


def _depths(names: list[str] | None, ks: list[int], n_labels: int) -> list[int]:
    from rmls.metrics import get_metric

    # precision@10 needs a longer ranking than --k may ask for, ranking_loss all labels.
    return [*ks, *(get_metric(name).depth(n_labels) for name in names or [])]


def _compare(
    model: Any, found: Predictions, names: list[str] | None, ks: list[int]
) -> tuple[EvaluationReport, int]:
    import numpy as np

    from rmls.metrics import evaluate as compare

    report = compare(
        found.matched.Y,
        found.sets,
        found.ranking,
        names=names,
        ks=ks,
        train_counts=found.matched.train_counts,
        n_train=model.n_samples_,
    )
    return report, int((np.diff(found.sets.indptr) == 0).sum())


def _measure_labels(found: Predictions) -> LabelReport:
    from rmls.metrics import per_label

    matched, ranking = found.matched, found.ranking
    return per_label(
        matched.Y,
        found.sets,
        probabilities=None if ranking.probabilities is None else ranking.top(LISTED),
        train_counts=matched.train_counts,
        names=matched.names,
    )


def _check_label_file(path: Path | None, overwrite: bool) -> None:
    from rmls.cli.shared.console import check_file_target

    if path is None:
        return
    if path.suffix.lower() != ".csv":
        raise InputError(f"{PER_LABEL} writes CSV; give a name that ends with .csv, not {path}.")
    check_file_target(path, overwrite)


def _read_ks(text: str) -> list[int]:
    return [read_whole("every number of --k", part, 1) for part in read_list("--k", text)]


def _read_metrics(text: str | None) -> list[str] | None:
    from rmls.metrics import get_metric

    if text is not None and text.strip() == "all":
        return None
    names = read_list("--metrics", DEFAULT_METRICS if text is None else text)
    for name in names:
        get_metric(name)
    return names


def _as_json(report: EvaluationReport, name: str) -> dict[str, Any]:
    sizes = {"data": name, "n_samples": report.n_samples, "n_labels": report.n_labels}
    return {**sizes, "all": report.totals, **report.groups}


def show_report(report: EvaluationReport, name: str, n_empty: int) -> None:
    """Print the figures as a table."""
    from rich.text import Text

    from rmls.cli.shared.tables import metric_table

    console = results()
    title = f"{name}: {report.n_samples:,} rows, {report.n_labels:,} labels"
    title += f", {count(n_empty, 'row')} without a predicted label" if n_empty else ""
    console.print(Text(title, style="bold"))
    console.print(metric_table(report))


def _show_labels(worst: LabelReport, n_labels: int, by: Order) -> None:
    from rich.text import Text

    from rmls.cli.shared.tables import label_table

    console = results()
    what = "the largest gain, test rows × (1 - F1)" if by is Order.GAIN else "the smallest F1"
    title = f"\n{len(worst):,} of {count(n_labels, 'label')}, by {what}"
    console.print(Text(title, style="bold"))
    console.print(label_table(worst))


def _write_labels(labels: LabelReport, path: Path) -> None:
    import csv

    from rmls.cli.shared.console import open_output

    with open_output(path) as stream:
        writer = csv.DictWriter(stream, labels.columns, lineterminator="\n")
        writer.writeheader()
        for row in labels.rows():
            writer.writerow({name: _cell(value) for name, value in row.items()})
    note(notes(), "wrote", f"{path}: {count(len(labels), 'label')}")


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
