"""`rmls evaluate`: how good the predictions of a model are, for frequent and for rare labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmls.cli.shared import options
from rmls.cli.shared.console import print_json, results
from rmls.cli.shared.options import Part, read_list
from rmls.core.errors import InputError
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.datasets import Dataset
    from rmls.metrics import EvaluationReport

DEFAULT_METRICS = (
    "hamming_loss,example_f1,example_accuracy,micro_f1,macro_f1,precision@k,ndcg@k,psp@k"
)

Metrics = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Such as f1,macro_f1,p@k; all for every metric."),
]
Ks = Annotated[str, typer.Option("--k", metavar="NUMBERS", help="Lengths of the ranked lists.")]


def evaluate(
    model: options.Model,
    data: options.Data,
    part: options.PartOption = None,
    json: options.Json = False,
    metrics: Metrics = None,
    decision: options.Decision = None,
    k: Ks = "1,3,5",
    source_format: options.From = None,
) -> None:
    """Measure the predictions of MODEL on DATA, by head, torso and tail.

    Uses the test rows where DATA is split, otherwise all. Labels are matched
    by name where model and data have names.
    """
    import rmls
    from rmls.cli.shared.data import choose_part, load_for_model

    ks = _read_ks(k)
    names = _read_metrics(metrics)
    fitted = rmls.load(model)
    dataset = load_for_model(data, source_format, fitted)
    rows, _ = choose_part(dataset, part, Part.TEST)
    report, n_empty = measure(fitted, rows, names, ks, options.decision_for(fitted, decision))
    if json:
        print_json({**_as_json(report, rows.name), "empty_rows": n_empty})
    else:
        _show(report, rows.name, n_empty)


def measure(
    model: Any, rows: Dataset, names: list[str] | None, ks: list[int], decision: Any = None
) -> tuple[EvaluationReport, int]:
    """Predict the rows of a data set and compare; ``names=None`` computes every metric.

    Also returns how many rows got no label.
    """
    import numpy as np

    from rmls.cli.label_matching import match_labels
    from rmls.metrics import evaluate as compare
    from rmls.metrics import get_metric

    matched = match_labels(model, rows)
    # precision@10 needs a longer ranking than --k may ask for.
    lengths = [get_metric(name).k or 0 for name in names or []]
    sets = model.predict_sets(rows.X, decision)
    ranking = model.rank(rows.X, max([*ks, *lengths]))
    report = compare(
        matched.Y,
        matched.widen_sets(sets),
        matched.widen_ranking(ranking),
        names=names,
        ks=ks,
        train_counts=matched.train_counts,
        n_train=model.n_samples_,
    )
    return report, int((np.diff(sets.indptr) == 0).sum())


def _read_ks(text: str) -> list[int]:
    parts = read_list("--k", text)
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise InputError(f"--k is a list of whole numbers such as 1,3,5; got {text!r}.")
    return [int(part) for part in parts]


def _read_metrics(text: str | None) -> list[str] | None:
    from rmls.metrics import get_metric

    if text is not None and text.strip() == "all":
        return None
    names = read_list("--metrics", text or DEFAULT_METRICS)
    for name in names:
        get_metric(name)
    return names


def _as_json(report: EvaluationReport, name: str) -> dict[str, Any]:
    sizes = {"data": name, "n_samples": report.n_samples, "n_labels": report.n_labels}
    return {**sizes, "all": report.totals, **report.groups}


def _show(report: EvaluationReport, name: str, n_empty: int) -> None:
    from rich.text import Text

    from rmls.cli.shared.tables import metric_table

    console = results()
    title = f"{name}: {report.n_samples:,} rows, {report.n_labels:,} labels"
    title += f", {count(n_empty, 'row')} without a predicted label" if n_empty else ""
    console.print(Text(title, style="bold"))
    console.print(metric_table(report))
