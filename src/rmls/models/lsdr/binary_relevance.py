"""Binary relevance: one linear model per label, or for k random labels only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rmls.core.options import Option, store_params, whole
from rmls.core.resources import require_memory
from rmls.models.lsdr.label_operator import Floats
from rmls.models.lsdr.template import LSDR, SCORED_BYTES, Encoding

# Dense label columns that exist at once: n x 256 numbers, never n x m.
BLOCK_LABELS = 256


class BinaryRelevance(LSDR):
    """Ridge regression of every ±1 label on the features; with discarding, of k random labels.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of labels that are kept, drawn at random; the others are predicted irrelevant (score
        -1). None keeps all: the plain method, whose coefficients take ``n_features × n_labels``
        numbers.
    ridge, normalize, decision, random_state, n_jobs, verbose
        As for `PLST`.
    device : {"cpu"}, default="cpu"
        Where training and scoring run.

    Attributes
    ----------
    selected_ : ndarray of shape (n_codes,)
        The labels kept.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 1]]
    >>> BinaryRelevance(ridge=0.01).fit(X, Y).predict([[1, 0]]).tolist()
    [[1, 0]]
    """

    _decoder = ("selected",)
    _options: ClassVar[dict[str, Option]] = {"n_components": whole(1).or_none()}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        ridge: float = 0.1,
        normalize: str = "none",
        decision: Any = "round",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        device: str = "cpu",
    ) -> None:
        store_params(self, locals())

    def _require_memory(self, n: int, d: int, m: int) -> None:
        k, block = self._n_codes(m), min(self._n_codes(m), BLOCK_LABELS)
        require_memory(
            8 * k * (1 + d) + 8 * block * (n + 4 * d) + SCORED_BYTES,
            f"one model for each of {k} labels",
            "keep fewer labels with n_components, or use a method that compresses them",
        )

    def _n_codes(self, limit: int) -> int:
        return limit if self.n_components is None else super()._n_codes(limit)

    def _regress(self, problem: Encoding) -> Floats:
        labels, X = problem.labels, problem.X
        n_labels = labels.shape[1]
        k = self._n_codes(n_labels)
        self.selected_ = np.sort(np.random.default_rng(problem.seed).permutation(n_labels)[:k])
        # One factorisation for all labels: only the right-hand sides differ.
        system = self._make_system(X, problem.scale)
        coef = np.empty((1 + int(X.shape[1]), k))
        for start in range(0, k, BLOCK_LABELS):
            self._say(f"label {start} of {k}")
            block = slice(start, start + BLOCK_LABELS)
            coef[:, block] = system.fit(labels.columns(self.selected_[block]))
        return coef

    def _decode(self, codes: Floats) -> Floats:
        scores = np.full((len(codes), self._space.n_labels), -1.0)
        scores[:, self.selected_] = codes
        return scores

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        return {"selected": (np.int64, (n_codes,))}
