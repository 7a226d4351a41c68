"""Every metric by name: what it needs, which direction is better, how groups are formed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, Literal

from rmls.core.errors import InputError
from rmls.metrics import example, pooled, propensity, ranked, whole
from rmls.metrics._inputs import check_k

Needs = Literal["sets", "ranking"]
GroupRule = Literal["labels", "rows", "hits", "true_rows", "others_out"]
Unit = Literal["share", "labels"]


@dataclass(frozen=True)
class Metric:
    """A metric with what a caller must know to use it.

    Attributes
    ----------
    name : str
        As in reports: ``"example_f1"``, ``"precision@5"``; ``"precision@k"`` where k is open.
    function : callable
        Called with the true sets, then predicted sets or a ranking.
    needs : {"sets", "ranking"}
        What the second argument is.
    greater_is_better : bool
    k : int or None
        Length of the list that is looked at; None for sets and where k is open.
    group_rule : {"labels", "rows", "hits", "true_rows", "others_out"}
        How it is restricted to a group of labels; see `rmls.metrics.groups`.
    whole : bool
        Whether it is exact only where a ranking lists all labels.
    unit : {"share", "labels"}
        Whether its values lie between 0 and 1 or are numbers of labels.

    Examples
    --------
    >>> metric = get_metric("precision@1")
    >>> metric.needs, metric.greater_is_better, metric.k
    ('ranking', True, 1)
    >>> metric([[0, 1]], [[0.2, 0.8]])
    1.0
    """

    name: str
    function: Callable[..., float]
    needs: Needs
    greater_is_better: bool = True
    k: int | None = None
    group_rule: GroupRule = "labels"
    whole: bool = False
    unit: Unit = "share"

    @property
    def takes_k(self) -> bool:
        """Whether the metric looks at the best k labels."""
        return "@" in self.name

    @property
    def options(self) -> frozenset[str]:
        """Names of the keyword arguments the metric accepts."""
        parameters = signature(self.function).parameters.values()
        return frozenset(p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY)

    def depth(self, n_labels: int) -> int:
        """Return how many labels of a row a ranking must list for an exact value.

        Examples
        --------
        >>> [get_metric(name).depth(90) for name in ("precision@3", "one_error", "ranking_loss")]
        [3, 1, 90]
        """
        return n_labels if self.whole else self.k or 1

    def at(self, k: int) -> Metric:
        """Return the same metric for lists of length ``k``."""
        if not self.takes_k:
            raise InputError(f"{self.name} takes no k; use it as it is.")
        check_k(k)
        return replace(self, name=f"{self.name.partition('@')[0]}@{k}", k=int(k))

    def __call__(self, Y_true: Any, prediction: Any, **options: Any) -> float:
        """Compute the metric; ``options`` are those of the function."""
        if "propensity" in self.options and options.get("propensity") is None:
            raise InputError(
                f"{self.name} needs propensity=; get it from "
                "rmls.metrics.propensities(training label counts, training rows)."
            )
        if not self.takes_k:
            return self.function(Y_true, prediction, **options)
        if self.k is None:
            raise InputError(f"{self.name} needs a number for k, such as {self.at(5).name}.")
        return self.function(Y_true, prediction, self.k, **options)


_ALL = (
    Metric("hamming_loss", example.hamming_loss, "sets", greater_is_better=False),
    Metric("subset_accuracy", example.subset_accuracy, "sets", group_rule="rows"),
    Metric("example_f1", example.example_f1, "sets", group_rule="rows"),
    Metric("example_accuracy", example.example_accuracy, "sets", group_rule="rows"),
    Metric("example_precision", example.example_precision, "sets", group_rule="rows"),
    Metric("example_recall", example.example_recall, "sets", group_rule="rows"),
    Metric("micro_precision", pooled.micro_precision, "sets"),
    Metric("micro_recall", pooled.micro_recall, "sets"),
    Metric("micro_f1", pooled.micro_f1, "sets"),
    Metric("macro_precision", pooled.macro_precision, "sets"),
    Metric("macro_recall", pooled.macro_recall, "sets"),
    Metric("macro_f1", pooled.macro_f1, "sets"),
    Metric("precision@k", ranked.precision_at_k, "ranking", group_rule="hits"),
    Metric("recall@k", ranked.recall_at_k, "ranking", group_rule="true_rows"),
    Metric("ndcg@k", ranked.ndcg_at_k, "ranking", group_rule="true_rows"),
    Metric("psp@k", propensity.psp_at_k, "ranking", group_rule="hits"),
    Metric("coverage@k", ranked.coverage_at_k, "ranking", group_rule="hits"),
    Metric("macro_precision@k", ranked.macro_precision_at_k, "ranking"),
    Metric("macro_recall@k", ranked.macro_recall_at_k, "ranking"),
    Metric("macro_f1@k", ranked.macro_f1_at_k, "ranking"),
    Metric("one_error", whole.one_error, "ranking", False, group_rule="others_out"),
    Metric(
        "coverage_error",
        whole.coverage_error,
        "ranking",
        False,
        group_rule="others_out",
        whole=True,
        unit="labels",
    ),
    Metric(
        "ranking_loss", whole.ranking_loss, "ranking", False, group_rule="others_out", whole=True
    ),
    Metric(
        "label_ranking_average_precision",
        whole.label_ranking_average_precision,
        "ranking",
        group_rule="others_out",
        whole=True,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}

ALIASES: dict[str, str] = {
    "hamming": "hamming_loss",
    "f1": "example_f1",
    "accuracy": "example_accuracy",
    "jaccard": "example_accuracy",
    "exact_match": "subset_accuracy",
    "p@k": "precision@k",
    "r@k": "recall@k",
    "n@k": "ndcg@k",
    "c@k": "coverage@k",
    "lrap": "label_ranking_average_precision",
}


def get_metric(name: str | Metric) -> Metric:
    """Return the metric called ``name``; numbers after ``@`` set k.

    Parameters
    ----------
    name : str or Metric
        A name of ``METRICS``, with a number for k, or an alias: ``"f1"``, ``"accuracy"``,
        ``"p@1"``. Case does not matter, and ``-`` may stand for ``_``. A metric is returned
        as it is.

    Returns
    -------
    Metric

    Examples
    --------
    >>> get_metric("f1").name, get_metric("P@3").name
    ('example_f1', 'precision@3')
    >>> get_metric("hamming_loss").greater_is_better
    False
    >>> get_metric("presicion@5")
    Traceback (most recent call last):
    rmls.core.errors.InputError: unknown metric 'presicion@5'; did you mean precision@5...?
    """
    if isinstance(name, Metric):
        return name
    key, k = _split_name(name)
    key = ALIASES.get(key, key)
    if key not in METRICS:
        raise InputError(_unknown(name, key, k))
    return METRICS[key] if k is None else METRICS[key].at(k)


def _split_name(name: Any) -> tuple[str, int | None]:
    if not isinstance(name, str):
        raise InputError(f"a metric is named by a string; got {type(name).__name__}.")
    key = name.strip().lower().replace("-", "_")
    parts = re.fullmatch(r"([a-z0-9_]+)@([0-9]{1,9})", key)
    return (f"{parts[1]}@k", int(parts[2])) if parts else (key, None)


def _unknown(name: str, key: str, k: int | None) -> str:
    candidates = [*METRICS, *ALIASES]
    close = get_close_matches(key, candidates, n=3, cutoff=0.5)
    close = list(dict.fromkeys(ALIASES.get(match, match) for match in close))
    shown = [match.replace("@k", f"@{5 if k is None else k}") for match in close or METRICS]
    question = "did you mean" if close else "known are"
    return f"unknown metric {name!r}; {question} {', '.join(shown)}{'?' if close else '.'}"
