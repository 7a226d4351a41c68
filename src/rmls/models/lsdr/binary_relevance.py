"""Binary relevance: one linear model per label, or for k random labels only."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from rmls.core.resources import require_memory
from rmls.models.lsdr.label_operator import Floats, SignedLabels
from rmls.models.lsdr.template import LSDR

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
    ) -> None:
        super().__init__(
            n_components,  # type: ignore[arg-type]
            ridge=ridge,
            normalize=normalize,
            decision=decision,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _regress(self, labels: SignedLabels, X: sparse.csr_matrix, scale: Floats) -> Floats:
        n_labels = labels.shape[1]
        k = n_labels if self.n_components is None else self._n_codes(n_labels)
        require_memory(
            8 * k * (1 + int(X.shape[1])),
            f"one model for each of {k} labels",
            "keep fewer labels with n_components, or use a method that compresses them",
        )
        self.selected_ = np.sort(np.random.default_rng(self._seed).permutation(n_labels)[:k])
        system = self._make_system(X, scale)
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
