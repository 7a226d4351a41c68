"""The best k labels after weighing their probabilities: rare labels count for more."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmls.core.errors import InputError
from rmls.core.frequency import propensities
from rmls.core.options import check_number
from rmls.core.ranking import Ranking
from rmls.decide.rules import Rule, _BestK


@dataclass(frozen=True)
class _WeightedTopK(_BestK):
    """Take the k labels with the best ``weight * probability`` of every row."""

    needs_probabilities: ClassVar[bool] = True
    label_weights: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """Factor of every label's probability."""
        return self.label_weights

    @property
    def is_fitted(self) -> bool:
        """Whether the rule is bound to the label counts of a training set."""
        return self.label_weights is not None

    def bind(self, label_counts: ArrayLike, n_samples: int) -> Rule:
        """Return the rule with the weights of a training set."""
        counts = np.asarray(label_counts, dtype=np.float64)
        if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any():
            raise InputError("label_counts must be 1-d, one number of rows (0 or more) per label.")
        weights = self._weigh(counts, n_samples)
        return replace(self, label_weights=weights.astype(np.float32))

    def choose(self, ranking: Ranking) -> NDArray[np.bool_]:
        """Return which entries are the best k of their row."""
        from rmls.kernels.cpu.decide.blocks import order_rows

        if self.label_weights is None:
            raise InputError(f"the rule {self.name!r} needs label counts; bind it to them first.")
        if len(self.label_weights) != ranking.n_labels:
            raise InputError(
                f"the rule {self.name!r} is bound to {len(self.label_weights)} labels, but the "
                f"ranking is of {ranking.n_labels}."
            )
        # Expected gain is a sum of w_j p_j over the set: the k largest products are the best set.
        weighted = ranking.scores * self.label_weights[ranking.labels]
        order = np.empty(len(weighted), dtype=np.int64)
        order_rows(ranking.indptr, ranking.labels, weighted, order)
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order] = ranking.positions < self.k
        return chosen

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, without its array."""
        names = [each.name for each in fields(self) if each.name != "label_weights"]
        return {"name": self.name, **{name: getattr(self, name) for name in names}}

    def _weigh(self, counts: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
        raise NotImplementedError


@dataclass(frozen=True)
class PropensityTopK(_WeightedTopK):
    """Weigh by 1 / propensity: the best k for propensity-scored precision.

    Examples
    --------
    >>> rule = PropensityTopK(1).bind([900, 3], 1000)
    >>> rule.select(Ranking.from_dense([[0.5, 0.4]])).toarray().tolist()
    [[0, 1]]
    """

    name: ClassVar[str] = "psp@k"

    def _weigh(self, counts: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
        # A recorded label stands for 1 / p_j true ones, of which the others were missed.
        return 1.0 / propensities(counts, n_samples)


@dataclass(frozen=True)
class MacroRecallTopK(_WeightedTopK):
    """Weigh by 1 / frequency: the best k for macro recall.

    Examples
    --------
    >>> rule = MacroRecallTopK(1).bind([900, 3], 1000)
    >>> rule.select(Ranking.from_dense([[0.9, 0.01]])).toarray().tolist()
    [[0, 1]]
    """

    name: ClassVar[str] = "macro_recall@k"

    def _weigh(self, counts: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
        # A hit on label j adds 1 / n_j to the sum of the recalls.
        return frequency_weights(counts, 1.0)


@dataclass(frozen=True)
class TailTopK(_WeightedTopK):
    """Weigh by ``frequency ** -tail``: a dial from the head (0) to the tail (1).

    Examples
    --------
    >>> ranking = Ranking.from_dense([[0.5, 0.4]])
    >>> [TailTopK(1, tail=t).bind([900, 3], 1000).select(ranking).indices.tolist() for t in (0, 1)]
    [[0], [1]]
    """

    name: ClassVar[str] = "tail@k"
    tail: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("tail", self.tail, positive=False)
        if self.tail > 1:
            raise InputError(f"tail must lie between 0 and 1; got {self.tail!r}.")
        object.__setattr__(self, "tail", float(self.tail))

    def _weigh(self, counts: NDArray[np.float64], n_samples: int) -> NDArray[np.float64]:
        return frequency_weights(counts, self.tail)


def frequency_weights(counts: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Return ``frequency ** -power``, 1 for the most frequent label.

    One row is added to every count, so that labels seen once, or never, do not outweigh all.

    Examples
    --------
    >>> frequency_weights(np.array([99.0, 24.0]), 0.5).tolist()
    [1.0, 2.0]
    """
    largest = counts.max(initial=0.0) + 1
    return np.asarray((largest / (counts + 1)) ** power)
