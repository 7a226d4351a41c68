"""RMLSRanker: short vectors propose labels, sparse weights decide among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.options import (
    Option,
    anything,
    choice,
    flag,
    is_auto,
    number,
    positive,
    store_params,
    whole,
)
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads, keeps_to_n_jobs
from rmls.decide import Rule
from rmls.kernels.arrays import DUAL_LOSSES, Mixture
from rmls.models.ranker.archive import PRECISIONS, quantize, ranker_state, read_ranker
from rmls.models.ranker.combination import (
    Combination,
    Frequencies,
    HeldOut,
    combine,
    plain_combination,
)
from rmls.models.ranker.kept_rows import KeptRows, read_kept_rows
from rmls.models.ranker.live.methods import LiveLabels
from rmls.models.ranker.scoring import (
    LabelBlock,
    ListedRows,
    ListScorer,
    Stages,
)
from rmls.models.ranker.sources import Background, Rows, lay_out, split_rows
from rmls.models.ranker.trainer import StageTrainer, trainer_settings
from rmls.models.ranker.why import Explains
from rmls.models.rmls.rmls import RMLS
from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.probabilities import GivesLists
from rmls.models.shared.progress import stage, takes_the_rest, warn_interrupted
from rmls.models.shared.training_set import TrainingSet


class RMLSRanker(LiveLabels, Explains, GivesLists, MultiLabelEstimator):
    """Rank labels as well as one-vs-rest at a fraction of its cost, in two stages.

    An `RMLS` representation proposes a shortlist of labels for every row. A sparse linear
    classifier for every label, trained on the rows that have the label and the rows that propose
    it, decides. What becomes of the two scores is learned on rows that neither has seen.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Length of the vectors that propose. ``"auto"`` is 128, and 64 for at most 200 labels of
        1,000 to 8,000 distinct rows; with a ``device`` always 128.
    max_iter : int or "auto", default="auto"
        Passes of the training of these vectors. ``"auto"`` is 8, with larger steps 5 where the
        vectors are short or from 2,000 rows on, and 4 from 8,000; with a ``device`` always 8.
    shortlist_size : int or "auto", default="auto"
        Labels proposed for a row; only they are ranked by both scores. ``"auto"`` is 150,
        or 100 of 151 to 1,000 labels from 5,000 rows on, and 500 for up to 20,000 rows where these
        find less than 85% of the labels of held-out rows.
    representation : RMLS or None, default=None
        Its settings are used for the vectors instead of the two above and of our choice for the
        rest. Normalisation, threads and the random state are those of the ranker.
    n_models : int, default=1
        Representations of different random states whose mean score proposes.
    index : {"auto", "exact", "leading", "clusters"}, default="auto"
        Whether a shortlist is the best of all labels, of those that lead by a part of the vectors,
        or of those in clusters of label vectors that suit the row best. ``"auto"`` is one after
        the other above 4,000 and 50,000 labels.
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        Loss of the classifiers.
    C : float or "auto", default="auto"
        Cost of a row in the classifiers, against the squared norm of the weights. ``"auto"`` is
        ``2 / n ** 0.25`` for a label with n rows, and ten times that for the logistic loss.
    offset : float, default=0.0
        Share of the representation's score that is given to the classifiers, so that they learn
        the rest.
    tol : float, default=0.3
        Violation of the optimality conditions at which a classifier is finished.
    max_epochs : int, default=10
        Passes over the rows of a label, at most.
    prune : float, default=0.1
        Weights smaller than this are dropped.
    dense_columns : int, default=0
        So many of the last columns of ``X`` are dense, such as the vectors of an encoder. They
        propose labels and have a say in the combination; vectors and classifiers learn from the
        other columns, and ``normalize`` is about these.
    tail : float or "auto", default="auto"
        How much rare labels are boosted: the odds of a label are multiplied by this power of its
        inverse propensity. 0 ranks by probability. ``"auto"`` is as much as costs a tenth of a
        point of the precision expected at 1, 3 and 5, and at most 1; 0 for a 1-d ``y``.
    precision : {"auto", "float32", "int16", "int8"}, default="auto"
        Numbers of 4, 2 or 1 byte; ``"auto"`` is 2 for weights and 1 for vectors.
    keep_rows : bool, default=False
        Keep the training rows in the model, for `similar_rows`.
    normalize : {"auto", "none", "l2", "log_l2", "standardize", "rescale"}, default="auto"
        How raw features are scaled; see `rmls.features.fit_normalizer`.
    decision : str, float or Rule, default="f1"
        How `predict` cuts; see `rmls.decide.make_rule`.
    calibration : {"auto", "temperature", "platt", "isotonic"} or None, default="auto"
        How scores become probabilities, fitted to the rows that the combination is learned from.
        None takes the combination for a logit.
    calibration_folds : int or "auto", default="auto"
        Models fitted to parts of the rows to score the others; 0 holds out 2,000 rows instead, at
        most ``validation_fraction``, and lets the classifiers learn from them afterwards.
        ``"auto"`` is 3, 2 for at most 200 labels of more than 1,000 distinct rows, of which as many
        are scored as have 1,000 rows together, and 0 above 5,000.
    validation_fraction : float, default=0.1
        Maximum share of the rows held out where there are no folds.
    random_state : int, RandomState or None, default=0
        Seed of every random choice.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.
    verbose : int, default=0
        1 shows progress.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where training and scoring run; ``"auto"`` takes a GPU, if there is one, for large work.
    cluster : str or None, default=None
        Where the training is spread to: the address of a Ray cluster, ``"auto"`` for the one that
        this machine belongs to, ``"local:4"`` for threads. It is no part of a saved model.

    Attributes
    ----------
    classes_ : ndarray
        Label names or numbers; the classes of a 1-d ``y``.
    shortlist_size_ : int
        Labels on every list.
    shortlist_recall_ : float
        Share of the relevant labels of held-out rows that are on their shortlists.
    index_recall_ : float
        Share of the best labels that the search finds; 1 where it is exact.
    tail_ : float
        The power by which rare labels are boosted.
    n_iter_ : int
        Passes made by the training of the vectors.
    n_weights_ : int
        Weights of all classifiers.
    seconds_ : dict of str to float
        Time of every stage of the training; they add up to that of `fit`.

    Notes
    -----
    Rows are scored on their shortlists only. In `decision_function` all other labels follow below,
    in the order of the representation's scores.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan: A Dual Coordinate Descent Method for Large-scale
    Linear SVM (2008). Li, Wang: Towards Label Imbalance in Multi-label Classification with Many
    Labels.

    Examples
    --------
    >>> from rmls import RMLSRanker
    >>> X = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    >>> model = RMLSRanker(8).fit(X, [["tax"], ["law"], ["law", "tax"], []])
    >>> model.predict([[1, 0, 0], [0, 1, 0]])
    [['tax'], ['law']]
    """

    combination_: Combination
    tail_: float
    shortlist_recall_: float
    index_recall_: float
    seconds_: dict[str, float]
    n_iter_: int
    unlisted_: float
    _frequencies: Frequencies
    _scorer: ListScorer
    _held_out: HeldOut | None = None

    n_components: int | str
    max_iter: int | str
    shortlist_size: int | str
    representation: RMLS | None
    n_models: int
    index: str
    loss: str
    C: float | str
    offset: float
    tol: float
    max_epochs: int
    prune: float
    dense_columns: int
    tail: float | str
    precision: str
    keep_rows: bool
    cluster: str | None

    _options: ClassVar[dict[str, Option]] = {
        "n_components": whole(1).or_auto(),
        "max_iter": whole(1).or_auto(),
        "shortlist_size": whole(1).or_auto(),
        "representation": anything("an RMLS").or_none(),
        "n_models": whole(1),
        "index": choice("auto", "exact", "leading", "clusters"),
        "loss": choice(*DUAL_LOSSES),
        "C": positive().or_auto(),
        "offset": number(),
        "tol": positive(),
        "max_epochs": whole(1),
        "prune": number(),
        "dense_columns": whole(0),
        "tail": number().or_auto(),
        "precision": choice("auto", *PRECISIONS),
        "keep_rows": flag(),
        "cluster": anything("the address of a cluster").or_none(),
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        max_iter: int | str = "auto",
        shortlist_size: int | str = "auto",
        representation: RMLS | None = None,
        n_models: int = 1,
        index: str = "auto",
        loss: str = "squared_hinge",
        C: float | str = "auto",
        offset: float = 0.0,
        tol: float = 0.3,
        max_epochs: int = 10,
        prune: float = 0.1,
        dense_columns: int = 0,
        tail: float | str = "auto",
        precision: str = "auto",
        keep_rows: bool = False,
        normalize: str = "auto",
        decision: str | float | Rule = "f1",
        calibration: str | None = "auto",
        calibration_folds: int | str = "auto",
        validation_fraction: float = 0.1,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        device: str = "cpu",
        cluster: str | None = None,
    ) -> None:
        store_params(self, locals())

    # -- fitting ---------------------------------------------------------------------------------

    def _check_options(self) -> None:
        if self.cluster is not None:
            from rmls.models.ranker.large.spread import check_cluster

            check_cluster(self)
        super()._check_options()
        if self.representation is not None and type(self.representation) is not RMLS:
            kind = type(self.representation).__name__
            raise InputError(f"representation must be an RMLS or None; got {kind}.")

    @takes_the_rest("input")
    @keeps_to_n_jobs
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        label_names: Any = None,
        label_text: Any = None,
    ) -> Any:
        """Learn from rows ``X`` and their labels ``y``, as every estimator.

        With ``label_text`` names are evidence, too: a `rmls.LabelText` or a mapping of labels to
        names, where the features are words (``feature_names_in_``), or a matrix with a row of
        features for every label.
        """
        data = self._read_set(X, y, sample_weight, label_names)
        return self._fit_set(replace(data, label_text=label_text))

    @takes_the_rest("decisions")
    def _fit_set(self, data: TrainingSet) -> MultiLabelEstimator:
        return super()._fit_set(data)

    def _fit(self, data: TrainingSet) -> ListedRows:
        self._frequencies, self.former_labels_ = Frequencies.of(data), {}
        trainer = self._make_trainer(data)
        self.seconds_ = trainer.seconds
        given = data.rows
        with trainer.stage("features"):
            data = lay_out(self, data)
        self._kept_rows = KeptRows.of(data, given) if self.keep_rows else None
        stages, held = self._train(trainer, data)
        self._background = Background.of(data, stages.proposer.vectors, trainer.classifiers)
        # For a review of the model, by the numbers of the rows as they were given.
        self._held_out = replace(held, rows=given[held.rows]) if trainer.parts else None
        # What is left to learn looks at held-out scores alone: the pairs of a row and a label go.
        trainer.classifiers = None
        del data
        try:
            self._settle(trainer, stages, held)
        except KeyboardInterrupt:
            trainer.interrupted = "before the combination was learned; the model is kept"
            trainer.has_held_out = False
            self._settle(trainer, stages, held)
        if trainer.interrupted:
            warn_interrupted(trainer.interrupted)
        return ListedRows(held, self._scorer, self._frequencies)

    def _train(self, trainer: StageTrainer, data: TrainingSet) -> tuple[Stages, HeldOut]:
        share = self.validation_fraction
        data, folds = split_rows(data, self.calibration_folds, share, trainer.seed)
        stages, held = trainer.fit(data, folds)
        if not held.has_names:
            return stages, held
        from rmls.models.ranker.names import without_idle_names

        return without_idle_names(stages, held, self._frequencies)

    def _settle(self, trainer: StageTrainer, stages: Stages, held: HeldOut) -> None:
        """Learn what becomes of the two scores, and set all that is fitted."""
        self.index_recall_ = stages.index_recall
        self.n_iter_ = int(trainer.members[0].max_iter)
        self.shortlist_recall_, self.unlisted_ = held.recall, held.unlisted
        tail = None if is_auto(self.tail) else float(self.tail)
        if tail is None and self._space.is_single:
            tail = 0.0
        plain = plain_combination(held.n_more, held.has_names)
        self.combination_, self.tail_ = plain, tail or 0.0
        # Classifiers know the rows they were trained on by heart: these would say to trust them.
        if trainer.has_held_out:
            with trainer.stage("combination"), stage("combination"):
                self.combination_, self.tail_ = combine(
                    held, self._frequencies, tail, trainer.n_threads
                )
        self.combination_ = replace(self.combination_, top=self._frequencies.top)
        with trainer.stage("weights"):
            weights = quantize(stages.weights, self.precision)
            self._set_scorer(LabelBlock(stages.proposer, weights))

    def _set_scorer(self, *blocks: LabelBlock) -> None:
        mix = self.combination_.mixture
        # Two tables: the boosted one ranks, the other is what probabilities come from.
        mixture, logits = mix(self._frequencies, self.tail_), mix(self._frequencies)
        self._scorer = ListScorer(blocks, mixture, logits)

    def _make_trainer(self, data: TrainingSet) -> StageTrainer:
        if self.cluster is None:
            return StageTrainer(**trainer_settings(self, data))
        from rmls.models.ranker.large.spread import SpreadTrainer

        return SpreadTrainer(**trainer_settings(self, data), cluster=self.cluster)

    # -- scores: all that is looked at are the listed labels --------------------------------------

    @property
    def _boost(self) -> NDArray[np.float32]:
        return self._scorer.boost

    def _score_block(self, X: sparse.csr_matrix) -> NDArray[np.float32]:
        return self._scorer.score_all(self._rows(X))

    def _rank(self, X: sparse.csr_matrix, k: int) -> Ranking:
        if min(k, self._space.n_labels) > self.shortlist_size_:
            return super()._rank(X, k)
        return self._list(X, min(k, self._space.n_labels), self._scorer.mixture)

    def _list(self, X: sparse.csr_matrix, k: int, mixture: Mixture) -> Ranking:
        return self._scorer.rank(self._rows(X), k, mixture, count_threads(self.n_jobs))

    def _scaled(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        # The dense columns are no part of what is normalised: `_rows` does both.
        return X

    def _rows(self, X: sparse.csr_matrix) -> Rows:
        rows = Rows.split(X, int(self.dense_columns))
        return rows._replace(X=super()._scaled(rows.X))

    def _list_scores(self, X: sparse.csr_matrix, *, boosted: bool) -> Ranking:
        scorer = self._scorer
        return self._list(X, self.shortlist_size_, scorer.mixture if boosted else scorer.logits)

    # -- archive ---------------------------------------------------------------------------------

    def __getstate__(self) -> Any:
        # A copy of the model needs no rows that it was tried on.
        return {**super().__getstate__(), "_held_out": None}

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fitted, arrays = ranker_state(self)
        return fitted, arrays | ({} if self._kept_rows is None else self._kept_rows.arrays())

    def _restore(self, fitted: dict[str, Any], archive: Archive) -> None:
        self._set_scorer(*read_ranker(self, fitted, archive))
        self._kept_rows = read_kept_rows(self, archive) if self.keep_rows else None
