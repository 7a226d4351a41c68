"""The paper's alternative to drawing anew: several RMLS models, each of a sample of its own."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np

from rmls.core.errors import InputError
from rmls.core.options import Option, read_seed, store_params, whole
from rmls.decide import Rule
from rmls.kernels.arrays import Params
from rmls.models.rmls.rmls import RMLS
from rmls.models.rmls.sgd import Sgd
from rmls.models.shared.cross_fit import fit_part
from rmls.models.shared.evidence import ScoredRows, share_to_hold_out
from rmls.models.shared.training_set import TrainingSet
from rmls.models.wrappers.nested import make_inner
from rmls.models.wrappers.wrapper import WrappingEstimator


class AveragedRMLS(WrappingEstimator):
    """Average the scores of RMLS models that were trained on different samples of labels.

    Every member has a seed of its own, from which it starts and draws irrelevant labels. By default
    it draws those of a row once: such a sample is biased and the mean of several is less so. The
    paper names this the straightforward way and draws anew in every batch instead, because several
    models are expensive. An ``estimator`` with ``redraw=True`` draws anew here, too.

    Parameters
    ----------
    estimator : RMLS, "RMLS" or None, default=None
        What the members are; by default ``RMLS(redraw=False)``, while ``"RMLS"`` is ``RMLS()``,
        which draws anew in every visit of a row. A calibration of its own is switched off, and its
        ``random_state`` is not used.
    n_estimators : int, default=5
        Members.
    calibration : {"auto", "temperature", "platt", "isotonic"} or None, default="auto"
        See `rmls.decide.fit_calibration`; of the mean scores.
    calibration_folds : int or "auto", default="auto"
        Parts of the cross-fitting; 0 holds out 2,000 rows instead, at most
        ``validation_fraction``. ``"auto"`` is 3, and 0 above 30,000 distinct rows.
    decision : str, float or Rule, default="f1"
        How `predict` cuts; see `rmls.decide.make_rule`.
    validation_fraction : float, default=0.1
        Maximum share of the rows held out for calibration, without folds.
    random_state : int, RandomState or None, default=0
        Seed of the folds, or of the rows held out, and of the first member; every further member
        has the next number.
    n_jobs : int or None, default=None
        Threads of ranking; the members train with their own.

    Attributes
    ----------
    estimator_ : RMLS
        One model of ``n_estimators`` times as many components: the vectors of the members side by
        side, so that its scores are their mean.

    References
    ----------
    Li Li, Houfeng Wang: Towards Label Imbalance in Multi-label Classification with Many Labels,
    section 3.4.

    Examples
    --------
    >>> from rmls import RMLS, AveragedRMLS
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> model = AveragedRMLS(RMLS(8, max_iter=50), 3).fit(X, [["tax"], ["law"], ["law", "tax"], []])
    >>> model.estimator_.n_components
    24
    """

    _options: ClassVar[dict[str, Option]] = {"n_estimators": whole(1)}

    estimator: Any
    n_estimators: int

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 5,
        *,
        calibration: str | None = "auto",
        calibration_folds: int | str = "auto",
        decision: str | float | Rule = "f1",
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())

    def _make_inner(self) -> RMLS:
        if self.estimator is None:
            return RMLS(redraw=False, calibration=None)
        model = make_inner(self.estimator, self)
        if not isinstance(model, RMLS):
            name = type(self.estimator).__name__
            raise InputError(f"estimator must be an RMLS, whose samples differ; got {name}.")
        model.set_params(calibration=None)
        return model

    def _fit(self, data: TrainingSet) -> ScoredRows:
        seed = read_seed(self.random_state)
        data = data.hold_out(share_to_hold_out(self, data.n_rows), seed)
        members = []
        for number in range(self.n_estimators):
            member = self._make_inner().set_params(random_state=seed + number)
            fit_part(member, self, data.kept)
            members.append(member)
        self._inner = _side_by_side(members)
        return ScoredRows(self, data)

    def _fold_params(self) -> dict[str, Any]:
        # The model inside has the components of all members; a fold begins from one of them.
        return {"estimator": self._make_inner().set_params(**self._inner._fold_params())}


def _side_by_side(members: list[RMLS]) -> RMLS:
    """Return one model whose scores are the mean of those of the members.

    ``s = 1/T sum_t h_t . l_t + c_t`` is a product of all h_t in a row with all l_t / T in a row.
    """
    first = members[0]
    parts = [member._sgd.params for member in members]
    sums = [member._sgd.accumulators for member in members]
    share = np.float32(1 / len(members))
    params = Params(
        W=np.hstack([part.W for part in parts]),
        b=np.concatenate([part.b for part in parts]),
        L=np.hstack([part.L * share for part in parts]),
        c=np.stack([part.c for part in parts]).mean(axis=0),
    )
    by_row = first.accumulators == "row"
    accumulators = Params(
        W=sums[0].W if by_row else np.hstack([one.W for one in sums]),
        b=np.concatenate([one.b for one in sums]),
        L=sums[0].L if by_row else np.hstack([one.L for one in sums]),
        c=sums[0].c,
    )
    model = copy(first)
    model.n_components = len(members) * int(first.n_components)
    model._sgd = Sgd(params, accumulators, first._sgd.seed)
    return model
