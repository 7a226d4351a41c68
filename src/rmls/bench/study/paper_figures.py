"""The figures printed in the paper's tables, and what they are figures of."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

NO_COMPONENTS = "-"


class PaperFigure(NamedTuple):
    """Mean and deviation of five folds, as printed.

    ``deviation`` is None where the paper gives none. The last of the ``decimals`` is rounded, so
    that anything within `rounding` of the mean is the same figure.
    """

    mean: float
    deviation: float | None
    decimals: int

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit."""
        return float(0.5 * 10.0**-self.decimals)


class PaperTable(NamedTuple):
    """Number and title of a table of the paper, with its methods in the paper's order."""

    number: int
    title: str
    methods: list[str]


class PaperSizes(NamedTuple):
    """Sizes of a data set: n, d and m of the paper."""

    n_samples: int
    n_features: int
    n_labels: int


def paper_source() -> str:
    """Return what the figures are taken from.

    Examples
    --------
    >>> paper_source()
    'Li Li and Houfeng Wang, Towards Label Imbalance in Multi-label Classification with Many Labels'
    """
    source = _content()["source"]
    return f"{source['authors']}, {source['title']}"


def paper_metrics() -> list[str]:
    """Return what the paper has a table of, under our names and in its order.

    Examples
    --------
    >>> paper_metrics()
    ['hamming_loss', 'example_f1', 'example_accuracy', 'train_seconds']
    """
    return list(_content()["tables"])


def paper_table(metric: str) -> PaperTable:
    """Return number, title and methods of the table of a metric.

    Examples
    --------
    >>> paper_table("example_f1").title, paper_table("train_seconds").methods[:3]
    ('F score', ['RMLS', 'PLST', 'FaIE'])
    """
    table = _content()["tables"][metric]
    return PaperTable(table["number"], table["title"], list(table["figures"]))


def paper_methods() -> list[str]:
    """Return the methods of the paper in its order, the baseline last.

    Examples
    --------
    >>> paper_methods()
    ['RMLS', 'PLST', 'FaIE', 'ML-CSSP', 'WSABIE', 'LEML', 'Baseline']
    """
    return paper_table("example_f1").methods


def paper_sizes() -> dict[str, PaperSizes]:
    """Return the sizes of the paper's data sets, in its order.

    Examples
    --------
    >>> paper_sizes()["enron"]
    PaperSizes(n_samples=1702, n_features=1001, n_labels=53)
    """
    sizes = _content()["datasets"]["sizes"]
    return {dataset: PaperSizes(*values) for dataset, values in sizes.items()}


def paper_slots() -> list[str]:
    """Return the paper's names of its two numbers of components.

    Examples
    --------
    >>> paper_slots()
    ['25(0)', '50(0)']
    """
    return list(_content()["components"])


def slot_of(dataset: str, n_components: int | None) -> str:
    """Return the row of the paper's tables for a number of components.

    Examples
    --------
    >>> slot_of("enron", 25), slot_of("wiki", 500), slot_of("enron", None)
    ('25(0)', '50(0)', '-')

    A number the paper did not run has a row of its own:

    >>> slot_of("enron", 250)
    '250'
    """
    if n_components is None:
        return NO_COMPONENTS
    for slot, components in _content()["components"].items():
        if components.get(dataset) == n_components:
            return str(slot)
    return str(n_components)


def paper_figure(metric: str, method: str, slot: str, dataset: str) -> PaperFigure | None:
    """Return a figure of the paper, None where it has none.

    Examples
    --------
    >>> paper_figure("example_f1", "RMLS", "50(0)", "enron")
    PaperFigure(mean=0.587, deviation=0.011, decimals=3)
    >>> paper_figure("example_f1", "PLST", "50(0)", "wiki") is None
    True
    """
    table = _content()["tables"].get(metric, {})
    values = table.get("figures", {}).get(method, {}).get(slot, {}).get(dataset)
    if values is None:
        return None
    # A figure is [mean, deviation], or [mean] where the paper prints no deviation.
    deviation = float(values[1]) if len(values) > 1 else None
    return PaperFigure(float(values[0]), deviation, table["decimals"][dataset])


@lru_cache(maxsize=1)
def _content() -> dict[str, Any]:
    text = files("rmls.bench.study").joinpath("paper_figures.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
