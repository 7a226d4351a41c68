"""The result of an evaluation: a mapping of names to values that prints as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rmls.core.errors import InputError
from rmls.metrics.registry import get_metric


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationReport(Mapping[str, Any]):
    """Values by metric name, in total and for each group of labels.

    ``report["example_f1"]`` and ``report.example_f1`` are the same; aliases such as ``"p@1"``
    work too. ``report["tail"]`` is the dictionary of that group. Iterating gives the keys of
    `as_dict`.

    Attributes
    ----------
    totals : dict of str to float
        Over all labels.
    groups : dict of str to dict of str to float
        Over the head, the torso and the tail; empty where no training counts were given. A
        value that no label or row defines is left out.
    n_samples, n_labels : int

    Examples
    --------
    >>> report = EvaluationReport({"example_f1": 0.5}, {"tail": {"example_f1": 0.1}}, 4, 7)
    >>> report["f1"], report.example_f1, report["tail"]["example_f1"]
    (0.5, 0.5, 0.1)
    >>> print(report)
    4 rows, 7 labels
    metric         all    tail
    example_f1  0.5000  0.1000
    """

    totals: dict[str, float]
    groups: dict[str, dict[str, float]] = field(default_factory=dict)
    n_samples: int = 0
    n_labels: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and floats, ready for JSON; groups are nested."""
        return {**self.totals, **{name: dict(group) for name, group in self.groups.items()}}

    def __getitem__(self, name: str) -> Any:
        for table in (self.totals, self.groups):
            if name in table:
                return table[name]
        try:
            return self.totals[get_metric(name).name]
        except (InputError, KeyError):
            raise KeyError(name) from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in self.__dataclass_fields__:
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the report has no {name!r}; it has {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter([*self.totals, *self.groups])

    def __len__(self) -> int:
        return len(self.totals) + len(self.groups)

    def __repr__(self) -> str:
        return f"EvaluationReport({self.as_dict()!r})"

    def _repr_html_(self) -> str:
        from rmls.core.show.fragments import fragment, grid, heading, number

        tables = {"all": self.totals, **self.groups}
        rows = (
            [name, *(number(table.get(name), 4) for table in tables.values())]
            for name in self.totals
        )
        title = f"{self.n_samples:,} rows, {self.n_labels:,} labels"
        return fragment(heading(title), grid(["metric", *tables], rows))

    def __str__(self) -> str:
        tables = {"all": self.totals, **self.groups}
        width = max([len("metric"), *map(len, self.totals)])
        lines = ["metric".ljust(width) + "".join(f"  {name:>6}" for name in tables)]
        for name in self.totals:
            cells = (_cell(table.get(name)) for table in tables.values())
            lines.append(name.ljust(width) + "".join(f"  {cell:>6}" for cell in cells))
        return "\n".join([f"{self.n_samples:,} rows, {self.n_labels:,} labels", *lines])


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
