"""Binary relevance: one linear model per label, or for k random labels only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from rmls.core.options import Option, choice, store_params, whole
from rmls.core.resources import require_memory
from rmls.kernels.arrays import DUAL_LOSSES, Pairs, Problem
from rmls.models.lsdr.label_operator import Floats
from rmls.models.lsdr.template import LSDR, SCORED_BYTES, Encoding

# Dense label columns that exist at once: n x 256 numbers, never n x m.
BLOCK_LABELS = 256
# LIBLINEAR's for its primal solver, and more passes than any label needs.
TOLERANCE, MAX_EPOCHS = np.float32(0.01), 1_000


class BinaryRelevance(LSDR):
    """A linear model of every ±1 label on the features; with discarding, of k random labels.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of labels that are kept, drawn at random; the others are predicted irrelevant (score
        -1). None keeps all: the plain method, whose coefficients take ``n_features × n_labels``
        numbers.
    loss : {"squared", "squared_hinge"}, default="squared"
        ``"squared"`` is ridge regression; ``"squared_hinge"`` is one-vs-rest by linear support
        vector machines, ``C = 1 / (2 ridge)`` for every row, solved as LIBLINEAR does.
    ridge, normalize, decision, random_state, n_jobs, verbose
        As for `PLST`.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where ``"squared_hinge"`` is trained; ``"auto"`` takes a GPU for large data.

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
    loss: str
    _options: ClassVar[dict[str, Option]] = {
        "n_components": whole(1).or_none(),
        "loss": choice("squared", "squared_hinge"),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        loss: str = "squared",
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
        if self.loss == "squared_hinge":
            return self._separate(problem)
        # One factorisation for all labels: only the right-hand sides differ.
        system = self._make_system(X, problem.scale)
        coef = np.empty((1 + int(X.shape[1]), k))
        for start in range(0, k, BLOCK_LABELS):
            self._say(f"label {start} of {k}")
            block = slice(start, start + BLOCK_LABELS)
            coef[:, block] = system.fit(labels.columns(self.selected_[block]))
        return coef

    def _separate(self, problem: Encoding) -> Floats:
        """Return the coefficients of one-vs-rest by the squared hinge."""
        Y = sparse.csc_matrix(problem.labels.Y)[:, self.selected_]
        weights = problem.scale**2
        used = np.maximum(problem.scale, np.finfo(np.float32).tiny)
        # The rows carry the root of their weight, which here is a cost instead.
        X = sparse.csr_matrix(sparse.diags(1 / used) @ problem.X).astype(np.float32)
        m = int(Y.shape[1])
        task = Problem(
            X.indptr.astype(np.int64),
            X.indices.astype(np.uint32),
            X.data,
            np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel(),
            np.asarray(weights / (2 * self.ridge), dtype=np.float32),
            np.ones(m, np.float32),
            np.zeros(0, dtype=bool),
            np.zeros(0, np.float32),
            DUAL_LOSSES.index("squared_hinge"),
            TOLERANCE,
            MAX_EPOCHS,
            np.float32(0),
        )
        rows = Pairs(Y.indptr.astype(np.int64), Y.indices.astype(np.int32), np.diff(Y.indptr))
        coef, bias = self._backend.solve_all(task, rows, int(X.shape[1]), self._n_threads())
        return np.vstack([bias, coef]).astype(np.float64)

    def _decode(self, codes: Floats) -> Floats:
        scores = np.full((len(codes), self._space.n_labels), -1.0)
        scores[:, self.selected_] = codes
        return scores

    def _decoder_shapes(self, n_codes: int) -> dict[str, tuple[Any, tuple[int | None, ...]]]:
        return {"selected": (np.int64, (n_codes,))}
