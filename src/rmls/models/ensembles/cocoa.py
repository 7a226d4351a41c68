"""COCOA: every label coupled with some others in machines of three classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rmls.core.options import Option, store_params, whole
from rmls.decide import Rule
from rmls.models.ensembles.linear_machines import Classes, Indices, TrainingRows
from rmls.models.ensembles.template import LabelDraw, MachineEnsemble


class COCOA(MachineEnsemble):
    """Add up the confidences of a binary machine and of K machines that look at another label too.

    For label j a binary machine tells its rows from the others, and for each of K random other
    labels k a machine of three classes learns

    * class 0: rows with neither label,
    * class 1: rows with label k but not j,
    * class 2: rows with label j, whatever k;

    all of them on samples without the imbalance. The score is the confidence of the binary machine
    plus those of the K others for class 2, cut at the threshold with the best F on the training
    rows (Zhang, Li and Liu, "Towards class-imbalance aware multi-label learning", IJCAI 2015).

    Parameters
    ----------
    n_coupled : int, default=10
        K, the labels that each is coupled with; all where there are fewer. 0 leaves the binary
        part alone.
    C, max_iter, tol, prune, normalize, decision, random_state, n_jobs, verbose
        As for `IRUS`.

    Attributes
    ----------
    thresholds_, learned_, n_iter_
        As for `IRUS`.

    Notes
    -----
    The paper leaves the learners open (it used trees on under-sampled rows). Here a class larger
    than the smaller of "has j" and "has not j" is cut down to its size at random; a machine is
    linear, one against the rest (squared hinge), and its confidences are the soft maximum of its
    outputs. The sum is divided by the number of machines, so that scores lie in [0, 1] before the
    threshold is subtracted. A coupled label without rows of its own leaves two classes. Time is
    O(K p z) for p positive entries of Y and z non-zeros a row, and O(K m nnz(X)) for the
    thresholds; the weights take at most O(K p z) numbers.

    Examples
    --------
    >>> X, Y = [[1, 0], [0, 1], [1, 1], [0, 2]], [[1, 0], [0, 1], [1, 1], [0, 1]]
    >>> COCOA(1).fit(X, Y).predict([[1, 0], [0, 1]]).tolist()
    [[1, 0], [0, 1]]
    """

    n_coupled: int
    C: float
    max_iter: int
    tol: float
    prune: float

    _options: ClassVar[dict[str, Option]] = {
        "n_coupled": whole(0),
    }

    def __init__(
        self,
        n_coupled: int = 10,
        *,
        C: float = 1.0,
        max_iter: int = 20,
        tol: float = 0.1,
        prune: float = 0.01,
        normalize: str = "auto",
        decision: str | float | Rule = "round",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        store_params(self, locals())

    def _problems(self, draw: LabelDraw) -> list[Classes]:
        rows, label, others, rng = draw
        relevant, without = rows.relevant(label), rows.irrelevant_mask(label)
        irrelevant = np.flatnonzero(without)
        # The smaller side bounds every class, so that none outweighs the label itself.
        limit = min(rows.weigh(relevant), rows.weigh(irrelevant))
        binary = [rows.draw(part, limit, rng) for part in (irrelevant, relevant)]
        count = min(int(self.n_coupled), len(others))
        coupled = rng.choice(others, count, replace=False) if count else others[:0]
        classes = (_three_classes(rows, relevant, without, int(other)) for other in coupled)
        return [binary, *([rows.draw(part, limit, rng) for part in parts] for parts in classes)]

    def _max_outputs(self) -> int:
        return 1 + 2 * min(int(self.n_coupled), max(0, len(self.learned_) - 1))


def _three_classes(
    rows: TrainingRows, relevant: Indices, without: np.ndarray, coupled: int
) -> Classes:
    """Return the rows with neither label, with the coupled one only, and with the label.

    One of the first two may be missing.
    """
    having = rows.relevant(coupled)
    only_coupled = having[without[having]]
    neither = without.copy()
    neither[only_coupled] = False
    classes = [np.flatnonzero(neither), only_coupled, relevant]
    return [part for part in classes if len(part)]
