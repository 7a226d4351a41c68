"""From scores to label sets: decision rules that work on a `Ranking` from anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.options import check_whole
from rmls.core.ranking import Ranking
from rmls.core.words import shorten

# Each costs one evaluation of the metric.
N_THRESHOLDS = 64
# 2 MB of float32 at a time: bounds the copies that sorting makes.
CHUNK_SCORES = 1 << 19
RULES: dict[str, type[Rule]] = {}


@dataclass(frozen=True)
class Rule:
    """A decision rule. `top`, `above` and `lowest` say which part of the scores it must see.

    Rules that need probabilities look at those of a ranking, or at its scores where it has no
    probabilities; the others look at the scores. A subclass defines ``choose``. A rule that depends
    on the training set is bound to its label counts first. A subclass with a `name` can be made
    from that name.
    """

    name: ClassVar[str] = ""
    needs_probabilities: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        # A rule with a name is known to `make_rule` because it exists.
        if cls.name:
            RULES[cls.name] = cls

    @property
    def top(self) -> int | None:
        """Number of best labels the rule looks at, or None for no limit."""
        return None

    @property
    def above(self) -> float | None:
        """Lowest score the rule looks at, or None for no limit."""
        return None

    def lowest(self, block: NDArray[np.float32]) -> Any:
        """Return a lower bound of the scores that matter in a dense block, None for no bound."""
        return self.above

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """Factor of every label's probability before the best are taken, or None."""
        return None

    def bind(self, label_counts: ArrayLike, n_samples: int) -> Rule:
        """Return the rule for a training set with these label counts and rows."""
        return self

    @property
    def is_fitted(self) -> bool:
        """Whether the rule can decide, or needs `fit` first."""
        return True

    def fulfils(self, wanted: Rule) -> bool:
        """Tell whether this fitted rule is what ``wanted``, perhaps not fitted, asks for."""
        return self == wanted

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return which entries the rule takes of a ranking by the numbers that it looks at."""
        raise NotImplementedError

    def keep(self, ranking: Ranking) -> Ranking:
        """Return the labels the rule takes, in the order of the ranking."""
        if not self.needs_probabilities or ranking.probabilities is None:
            return ranking.where(self.choose(ranking))
        by_probability, order = _sort_by_probability(ranking)
        chosen = np.empty(len(order), dtype=bool)
        chosen[order] = self.choose(by_probability)
        return ranking.where(chosen)

    def select(self, ranking: Ranking) -> sparse.csr_matrix:
        """Return the label sets as a 0/1 CSR matrix."""
        chances = ranking.chances
        if self.needs_probabilities and not ((chances >= 0) & (chances <= 1)).all():
            raise InputError(
                f"the rule {self.name!r} needs probabilities between 0 and 1; calibrate the scores."
            )
        return self.keep(ranking).to_sets()

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as plain values."""
        return {"name": self.name, **asdict(self)}


def _sort_by_probability(ranking: Ranking) -> tuple[Ranking, NDArray[np.int64]]:
    """Return a ranking whose scores are the probabilities, and where its entries stood."""
    from rmls.kernels.cpu.decide.blocks import order_rows

    chances = ranking.chances
    order = np.empty(len(chances), dtype=np.int64)
    order_rows(ranking.indptr, ranking.labels, chances, order)
    labels, numbers = ranking.labels[order], chances[order]
    return Ranking(ranking.indptr, labels, numbers, ranking.n_labels, ranking.rest), order


@dataclass(frozen=True)
class _Cut(Rule):
    """Take every label that scores at least ``value``."""

    value: float | None = None

    def __post_init__(self) -> None:
        if self.value is not None:
            good = isinstance(self.value, Real) and not isinstance(self.value, bool)
            if not good or np.isnan(float(self.value)):
                raise InputError(
                    f"a decision by threshold needs a number as its value; got {self.value!r}."
                )
            object.__setattr__(self, "value", float(self.value))

    @property
    def above(self) -> float | None:
        """Lowest score the rule looks at."""
        return self.value

    @property
    def is_fitted(self) -> bool:
        """Whether a threshold was given or found."""
        return self.value is not None

    def fulfils(self, wanted: Rule) -> bool:
        """Tell whether this rule is ``wanted`` with its threshold found."""
        return isinstance(wanted, _Cut) and replace(wanted, value=self.value) == self

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return which entries reach the threshold."""
        if self.value is None:
            raise InputError(f"the rule '{self.name}' has no threshold yet; fit it first.")
        return ranking.scores >= np.float32(self.value)


@dataclass(frozen=True)
class Cardinality(_Cut):
    """One threshold, so that training rows get as many labels as they have (the paper's rule)."""

    name: ClassVar[str] = "cardinality"


@dataclass(frozen=True)
class _BestK(Rule):
    """Look at the best ``k`` labels of every row."""

    k: int = 5

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1)
        object.__setattr__(self, "k", int(self.k))

    @property
    def top(self) -> int:
        """Number of best labels the rule looks at."""
        return self.k


@dataclass(frozen=True)
class TopK(_BestK):
    """Take the best ``k`` labels of every row.

    Examples
    --------
    >>> TopK(1).select(Ranking.from_dense([[0.2, 0.7]])).toarray().tolist()
    [[0, 1]]
    """

    name: ClassVar[str] = "top_k"

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return which entries are among the best k of their row."""
        return ranking.positions < self.k


@dataclass(frozen=True)
class Threshold(_Cut):
    """One threshold: given as ``value``, or the best on held-out rows for ``metric``.

    Examples
    --------
    >>> Threshold(0.5).select(Ranking.from_dense([[0.2, 0.7, 0.5]])).toarray().tolist()
    [[0, 1, 1]]
    """

    name: ClassVar[str] = "threshold"
    metric: str = "example_f1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.metric, str):
            raise InputError(
                f"a decision by threshold names its metric by a string; got {self.metric!r}."
            )

    def fit(
        self,
        ranking: Ranking,
        score_sets: Callable[[sparse.csr_matrix], float],
        greater_is_better: bool = True,
    ) -> Threshold:
        """Return the rule with the threshold whose sets score best on held-out rows.

        Parameters
        ----------
        ranking : Ranking
            Held-out scores, deep enough to hold more labels than any good set.
        score_sets : callable
            Metric of a 0/1 CSR matrix of predicted sets.
        greater_is_better : bool, default=True
        """
        if not len(ranking.scores):
            raise InputError("a threshold cannot be tuned on rows without scores.")
        sign = 1.0 if greater_is_better else -1.0
        best, best_value = -np.inf, float(ranking.scores.max())
        for value in _candidates(ranking):
            result = sign * score_sets(replace(self, value=value).select(ranking))
            if result > best:
                best, best_value = result, value
        return replace(self, value=best_value)


def _candidates(ranking: Ranking) -> list[float]:
    """Return thresholds between distinct scores, dense where few labels are predicted."""
    scores = np.unique(ranking.scores.astype(np.float64))[::-1]
    # Geometric in the rank: good sets are small, and there a step must be a single label.
    ranks = np.unique(np.geomspace(1, len(scores), N_THRESHOLDS).astype(int)) - 1
    below = scores[np.minimum(ranks + 1, len(scores) - 1)]
    return [float(value) for value in (scores[ranks] + below) / 2]


class CardinalityCount:
    """Find the threshold at which the predicted label count equals a wanted one.

    Scores arrive in blocks; only those that can still matter are kept.

    Examples
    --------
    >>> counter = CardinalityCount(wanted=2.0)
    >>> counter.add(np.float32([[0.1, 0.9], [0.6, 0.3]]), np.ones(2))
    >>> round(counter.threshold(), 2)
    0.45
    """

    def __init__(self, wanted: float) -> None:
        self.wanted = wanted
        self._scores: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._weights: NDArray[np.float64] = np.zeros(0)

    def add(self, block: NDArray[np.float32], weights: NDArray[np.float64]) -> None:
        """Take in a dense block of scores whose rows count ``weights`` times."""
        step = max(1, CHUNK_SCORES // max(block.shape[1], 1))
        for start in range(0, len(block), step):
            chunk = slice(start, start + step)
            self._add(block[chunk], weights[chunk])

    def _add(self, block: NDArray[np.float32], weights: NDArray[np.float64]) -> None:
        # Once enough scores are kept, only those above the lowest of them can move the threshold.
        lowest = self._scores[-1] if self._is_full() else self._lowest_needed(block, weights)
        rows, columns = np.nonzero(block >= lowest)
        scores = np.concatenate([self._scores, block[rows, columns]])
        counts = np.concatenate([self._weights, weights[rows]])
        order = np.argsort(-scores, kind="stable")
        # One score past the wanted count is kept: the threshold lies between the two.
        passed = np.searchsorted(np.cumsum(counts[order]), self.wanted * (1 + 1e-12))
        order = order[: int(passed) + 2]
        self._scores, self._weights = scores[order], counts[order]

    def threshold(self) -> float:
        """Return the threshold half-way between the last score taken and the first left out."""
        if self.wanted <= 0 or not len(self._scores):
            return float(np.finfo(np.float32).max)
        total = np.cumsum(self._weights)
        # Sums of weights round: a count reached up to 1e-12 is reached.
        last = min(int(np.searchsorted(total, self.wanted * (1 - 1e-12))), len(total) - 1)
        following = min(last + 1, len(total) - 1)
        return (float(self._scores[last]) + float(self._scores[following])) / 2

    def _lowest_needed(self, block: NDArray[np.float32], weights: NDArray[np.float64]) -> float:
        """Return a score below which nothing of this block can matter."""
        # Weights are at least the smallest: wanted / min(weights) scores always suffice.
        if self.wanted >= (block.size - 2) * float(weights.min()):
            return -np.inf
        place = block.size - int(np.ceil(self.wanted / weights.min())) - 2
        return float(np.partition(block, place, axis=None)[place])

    def _is_full(self) -> bool:
        return len(self._weights) > 1 and bool(self._weights[:-1].sum() >= self.wanted)


def make_rule(spec: str | float | Rule | dict[str, Any]) -> Rule:
    """Return a rule from its name, a threshold, its `as_dict` form, or itself.

    Parameters
    ----------
    spec : str, number, dict or Rule
        Names are ``cardinality``, ``top_5``, ``threshold``, ``round``, ``f1``, ``jaccard``,
        ``micro_f1``, ``macro_f1``, ``macro_f1_batch``, ``psp@5``, ``macro_recall@5``,
        ``macro_f1@5`` and ``tail@5=0.3``, with any number of labels for 5. A number is a threshold
        on scores, and so is ``threshold=0.5``.

    Examples
    --------
    >>> make_rule("top_3"), make_rule("psp@3")
    (TopK(k=3), PropensityTopK(k=3))
    >>> make_rule("round")
    Threshold(value=0.0, metric='example_f1')
    >>> make_rule(0.5), make_rule("threshold=0.5") == make_rule(0.5)
    (Threshold(value=0.5, metric='example_f1'), True)
    >>> make_rule("tail@5=0.3")
    TailTopK(k=5, tail=0.3)
    >>> make_rule("best")
    Traceback (most recent call last):
    rmls.core.errors.InputError: decision must be one of cardinality, top_5, threshold, round...
    """
    if isinstance(spec, Rule):
        return spec
    values = dict(spec) if isinstance(spec, dict) else _read_name(spec)
    rule = RULES.get(str(values.pop("name", None)))
    if rule is None:
        raise InputError(
            f"decision must be one of {', '.join(shown_names())}, a threshold such as 0.5, "
            f"or a rule of rmls.decide; got {spec!r}."
        )
    try:
        return rule(**values)
    except TypeError as error:
        raise InputError(
            f"the decision rule {rule.name!r} cannot be made from {spec!r}."
        ) from error


def shown_names() -> list[str]:
    """Return the names as a user writes them.

    Examples
    --------
    >>> shown_names()[:4]
    ['cardinality', 'top_5', 'threshold', 'round']
    """
    special = {"top_k": "top_5", "tail@k": "tail@5=0.5", "threshold": "threshold, round"}
    shown = ", ".join(special.get(name, name.replace("@k", "@5")) for name in RULES)
    return shown.split(", ")


def _read_name(text: Any) -> dict[str, Any]:
    """Return the name and the values in a text such as ``tail@5=0.3``."""
    if isinstance(text, Real) and not isinstance(text, bool):
        return {"name": "threshold", "value": _not_a_count(text)}
    if not isinstance(text, str):
        return {"name": text}
    if text == "round":
        return {"name": "threshold", "value": 0.0}
    if text.startswith("threshold="):
        return {"name": "threshold", "value": _number(text.partition("=")[2], text)}
    if re.fullmatch(r"[-+]?[0-9]+", text):
        _not_a_count(int(text[:9]))
    if re.fullmatch(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", text):
        return {"name": "threshold", "value": _number(text, text)}
    if match := re.fullmatch(r"top_([0-9]{1,9})", text):
        return {"name": "top_k", "k": int(match[1])}
    if match := re.fullmatch(r"([a-z_0-9]+)@([0-9]{1,9})(?:=([0-9.]+))?", text):
        values: dict[str, Any] = {"name": f"{match[1]}@k", "k": int(match[2])}
        return values if match[3] is None else {**values, "tail": _number(match[3], text)}
    return {"name": text}


def _number(digits: str, text: str) -> float:
    try:
        number = float(digits)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        raise InputError(f"the decision rule '{shorten(text)}' needs a finite number.")
    return number


def _not_a_count(number: Any) -> Any:
    """Refuse a whole number, which could be a threshold or a number of labels."""
    if isinstance(number, Integral):
        raise InputError(
            f"decision={number} could be a threshold or a number of labels; "
            f"write 'threshold={number}' or 'top_{abs(number)}'."
        )
    return number
