"""The card of a model: what it is, how good, on what data, and what it is not good for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rmls.core.version import VERSION
from rmls.core.words import count
from rmls.models.shared.quality_record import Figure, QualityRecord

GROUPS = ("all", "head", "torso", "tail")
TAGS = ("rmls", "multi-label-classification", "extreme-classification")
PAPER = (
    "Li Li and Houfeng Wang: *Towards Label Imbalance in Multi-label Classification with Many "
    "Labels*, 2015."
)
N_WORST = 10
# What cells of a table and headings must not be read as.
MARKS = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>|#"})


def make_card(
    model: Any, *, repo: str | None = None, license: str | None = None, data: str | None = None
) -> str:
    """Describe a fitted model for people who find it: Markdown with the header of a model hub.

    Parameters
    ----------
    model : estimator
        Fitted. Its ``quality_record_`` gives the figures, its ``training_record_`` the data.
    repo : str, optional
        Where it will be found, for the lines that load it.
    license : str, optional
        Identifier such as ``"cc-by-4.0"``. Without one the card says that none was given.
    data : str, optional
        A sentence about the training data, in place of what the record says.

    Returns
    -------
    str

    Examples
    --------
    >>> from rmls import RMLS
    >>> model = RMLS(2, max_iter=2).fit([[1, 0], [0, 1]], [["tax"], ["law"]])
    >>> print(make_card(model, license="cc0-1.0").split("---")[1].strip())
    license: "cc0-1.0"
    library_name: "rmls"
    tags:
    - "rmls"
    - "multi-label-classification"
    - "extreme-classification"
    """
    record: QualityRecord | None = getattr(model, "quality_record_", None)
    name = repo.rpartition("/")[2] if repo else type(model).__name__
    parts = [
        _header(model, record, name, license),
        f"# {_plain(name)}",
        _about(model),
        *_usage(model, repo),
        *_data(model, data),
        *_quality(record),
        *_limits(model, record),
        *_end(license),
    ]
    return "\n\n".join(parts) + "\n"


def _header(model: Any, record: QualityRecord | None, name: str, license: str | None) -> str:
    """Return the metadata; every text as JSON, which YAML reads as it is meant."""
    lines = [] if license is None else [f"license: {json.dumps(license)}"]
    lines += ['library_name: "rmls"']
    if _reads_texts(model):
        lines += ['pipeline_tag: "text-classification"']
    lines += ["tags:", *(f"- {json.dumps(tag)}" for tag in TAGS)]
    figures = [figure for figure in record.figures if figure.group == "all"] if record else []
    if figures:
        kind = "text-classification" if _reads_texts(model) else "multi-label-classification"
        lines += ["model-index:", f"- name: {json.dumps(name)}", "  results:"]
        lines += ["  - task:", f"      type: {kind}", "    dataset:"]
        lines += [f"      name: {json.dumps(_data_name(model))}", "      type: held-out rows"]
        lines += ["    metrics:"]
        for figure in figures:
            lines += [f"    - type: {json.dumps(figure.metric)}", f"      value: {figure.value:g}"]
    return "\n".join(["---", *lines, "---"])


def _about(model: Any) -> str:
    inner = getattr(model, "estimator_", model)
    labels, rows = len(model.classes_), int(model.n_samples_)
    method = type(model).__name__
    if inner is not model:
        method += f" around {type(inner).__name__}"
    reads = "texts" if _reads_texts(model) else f"rows of {count(model.n_features_in_, 'feature')}"
    return (
        f"Gives {reads} labels out of {labels:,}, most likely first, with probabilities. "
        f"A model of the Python package `rmls` ({method}), "
        f"trained on {count(rows, 'row')}."
    )


def _usage(model: Any, repo: str | None) -> Iterator[str]:
    yield "## How to use it"
    place = f"hf://{repo}" if repo else "folder of the model"
    ask = (
        'model.suggest(["a text"], k=5)      # names with probabilities'
        if _reads_texts(model)
        else "model.rank(X, k=5)                  # the best labels of every row"
    )
    install = "pip install 'rmls[hub]'" if repo else "pip install rmls"
    yield f"```\n{install}\n```"
    lines = ["import rmls", "", f"model = rmls.load({json.dumps(place)})", ask]
    rows = '["a text"])           ' if _reads_texts(model) else "X)                    "
    lines += [f"model.predict({rows}# label sets, by the decision rule it has"]
    yield "```python\n" + "\n".join(lines) + "\n```"
    yield (
        "The model is two files, JSON and arrays, and nothing in them is executed; "
        "`rmls` checks them before it uses them."
    )


def _data(model: Any, told: str | None) -> Iterator[str]:
    yield "## Training data"
    record = getattr(model, "training_record_", None) or {}
    counts = [int(number) for number in model.label_counts_]
    rare = sum(number <= 5 for number in counts)
    lines = [told] if told else []
    if not told:
        lines += [f"{_plain(_data_name(model))}. Nothing else was said about the data."]
    lines += [
        f"{count(int(model.n_samples_), 'row')} and {count(len(counts), 'label')}; "
        f"{rare / len(counts):.0%} of the labels have at most five rows."
    ]
    language = getattr(getattr(model, "features_", None), "language_", None)
    if language:
        lines += [f"Words were stemmed as {_plain(str(language)).capitalize()}."]
    if record.get("started"):
        lines += [f"Trained on {_plain(str(record['started'])[:10])}."]
    yield " ".join(lines)


def _quality(record: QualityRecord | None) -> Iterator[str]:
    yield "## How good it is"
    if record is None:
        yield (
            "**Not measured**: the model has no record of its quality. `rmls train` on a table "
            "writes one; `rmls.review_model` measures a model that was trained in Python."
        )
        return
    yield _measured(record)
    metrics = list(dict.fromkeys(figure.metric for figure in record.figures))
    found = {(figure.metric, figure.group): figure for figure in record.figures}
    groups = [group for group in GROUPS if any((metric, group) in found for metric in metrics)]
    rows = [
        [metric, *(_figure(found.get((metric, group))) for group in groups)] for metric in metrics
    ]
    heading = ["", *("all labels" if group == "all" else group for group in groups)]
    yield _table(heading, rows)
    if record.groups:
        yield (
            "Head, torso and tail are frequent, less frequent and rare labels. Label sets that it "
            "decided on:"
        )
        yield _table(
            ["labels", "how many", "to find", "precision", "recall", "F1"],
            [
                [each.group, f"{each.labels:,}", f"{each.true:,}", *map(_share, each.scores)]
                for each in record.groups
            ],
        )
    if record.calibration_error is not None:
        yield f"Stated probabilities are off by {record.calibration_error:.3f} on average."


def _measured(record: QualityRecord) -> str:
    if record.n_judges:
        rows = f"{count(record.n_rows, 'training row')} before it learned from them"
    else:
        rows = f"{count(record.n_rows, 'row')} that were kept out of the training"
    beside = f", beside {_plain(record.baseline)} on the same rows" if record.baseline else ""
    return f"Measured on {rows}{beside}. In brackets the 95% interval."


def _figure(figure: Figure | None) -> str:
    if figure is None:
        return "–"
    told = f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})"
    return told if figure.baseline is None else f"{told}; baseline {figure.baseline:.3f}"


def _limits(model: Any, record: QualityRecord | None) -> Iterator[str]:
    yield "## Limits"
    lines = [
        "It knows the labels it was trained on and no others; a text about something else gets "
        "the least unlikely of them.",
        "Figures hold for rows like those it was measured on; measure it on yours "
        "(`rmls evaluate`) before you rely on it.",
    ]
    recall = {each.group: each.scores.recall for each in record.groups} if record else {}
    if (recall.get("tail") or 0.0) < (recall.get("head") or 0.0):
        lines += ["Rare labels are found less often than frequent ones: see the tail above."]
    if record is not None and (worst := record.worst()[:N_WORST]):
        names = ", ".join(_plain(name) for name in worst)
        lines += [f"Labels that do worst on the held-out rows: {names}."]
    lines += [_given_away(model)]
    yield "\n".join(f"* {line}" for line in lines)


def _given_away(model: Any) -> str:
    """Say what the files tell about the rows; whoever publishes a model publishes that."""
    told = ["the names of its labels"]
    if _reads_texts(model):
        told += ["the words of its vocabulary"]
    if getattr(getattr(model, "estimator_", model), "keep_rows", False):
        told += ["**training rows, with the beginnings of their texts**"]
    if (getattr(model, "training_record_", None) or {}).get("row_hashes"):
        told += ["hashes by which training rows are known again"]
    return f"The files hold {_listed(told)}."


def _end(license: str | None) -> Iterator[str]:
    yield "## Licence and citation"
    yield (
        f"The model: {_plain(license)}."
        if license
        else "**No licence was given for this model**; ask whoever published it."
    )
    yield f"The program: BSD-3-Clause, rmls {VERSION}. The method: {PAPER}"


def _data_name(model: Any) -> str:
    record = getattr(model, "training_record_", None) or {}
    return str(record.get("data") or "data that have no name")


def _reads_texts(model: Any) -> bool:
    return hasattr(model, "suggest") and hasattr(model, "features_")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return " ".join(text.split()).translate(MARKS)


def _listed(parts: Sequence[str]) -> str:
    """Join parts as in a sentence.

    >>> _listed(["words", "names"])
    'words and names'
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
