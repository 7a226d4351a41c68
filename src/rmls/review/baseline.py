"""What a model must beat: a known method on the same features, within a bounded time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.core.resources import count_threads, run_parts
from rmls.core.sparse import label_counts
from rmls.models import KNN
from rmls.models.shared.evidence import Evidence
from rmls.review.quality import Prediction

KINDS = ("auto", "svm", "knn")
# Labels times entries of the training rows: some 15 s of one core.
MAX_SVM_WORK = 150_000_000
# 400 MB of weights.
MAX_SVM_WEIGHTS = 100_000_000
# The SVM of a label costs some 80 ns an entry of the training rows, a ranker 0.2 ms a row and some
# 4 µs an entry: so many labels a row over its entries, and so many more, cost as much.
ROW_WORK, FREE_LABELS = 2_000, 50
N_RANKED = 50


def predict_baseline(
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    X_new: sparse.csr_matrix,
    kind: str = "auto",
    n_jobs: int | None = None,
) -> Prediction:
    """Fit a baseline to training rows and return what it says about new ones.

    Parameters
    ----------
    X, Y : CSR matrices
        Training rows and their labels.
    X_new : CSR matrix
    kind : {"auto", "svm", "knn"}
        One-vs-rest linear SVMs (scikit-learn's ``LinearSVC()``), or the votes of the ten nearest
        training rows. ``"auto"`` takes the SVMs where they are quick to train for all labels: with
        some labels left out they would be no baseline for the others.
    n_jobs : int or None, default=None
    """
    if choose_baseline(X, Y, kind) == "svm":
        return _predict_svm(X, Y, X_new, count_threads(n_jobs))
    model = _Votes(10, normalize="none", n_jobs=n_jobs).fit(X, Y)
    ranking = model.rank(X_new, min(N_RANKED, Y.shape[1]))
    return Prediction("nearest neighbours", ranking, _as_many(ranking, Y.nnz / max(Y.shape[0], 1)))


class _Votes(KNN):
    """Neighbours that only rank.

    A threshold of their own would take the neighbours of 10,000 training rows: most of the time.
    """

    def _finish(self, evidence: Evidence) -> None:
        self._rules, self._calibration = {}, None


def choose_baseline(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, kind: str, *, as_training: bool = False
) -> str:
    """Return which baseline to fit; ``as_training`` keeps to about the time of the training."""
    if kind not in KINDS:
        raise InputError(f"baseline must be one of {', '.join(KINDS)} or None; got {kind!r}.")
    if kind != "auto":
        return kind
    n_labels = np.count_nonzero(label_counts(Y))
    quick = n_labels * X.nnz <= MAX_SVM_WORK and n_labels * X.shape[1] <= MAX_SVM_WEIGHTS
    if as_training:
        quick &= n_labels * X.nnz <= ROW_WORK * X.shape[0] + FREE_LABELS * X.nnz
    return "svm" if quick else "knn"


def _predict_svm(
    X: sparse.csr_matrix, Y: sparse.csr_matrix, X_new: sparse.csr_matrix, n_threads: int
) -> Prediction:
    from sklearn.svm import LinearSVC

    columns = Y.tocsc()
    counts = label_counts(Y)
    # A label of all rows or of none has nothing to be told from.
    trained = np.flatnonzero((counts > 0) & (counts < Y.shape[0]))
    weights = np.zeros((X.shape[1] + 1, len(trained)), np.float32)
    # What liblinear reads: else scikit-learn converts the rows again for every label.
    rows = X.astype(np.float64)

    def fit(place: int) -> None:
        target = np.zeros(Y.shape[0], np.int8)
        target[columns.indices[slice(*columns.indptr[trained[place] : trained[place] + 2])]] = 1
        found = LinearSVC().fit(rows, target)
        weights[:-1, place], weights[-1, place] = found.coef_[0], found.intercept_[0]

    run_parts(fit, range(len(trained)), n_threads)
    scores = X_new @ weights[:-1] + weights[-1]
    top = Ranking.from_dense(scores, N_RANKED)
    ranking = Ranking(top.indptr, trained[top.labels].astype(np.int32), top.scores, int(Y.shape[1]))
    return Prediction("one-vs-rest SVM", ranking, _as_many(ranking, Y.nnz / max(Y.shape[0], 1)))


def _as_many(ranking: Ranking, per_row: float) -> sparse.csr_matrix:
    """Return the labels above the one threshold that gives rows as many as in training.

    The sign of an SVM's score predicts next to nothing for rare labels; this is fairer to it.
    Neighbours get the same rule.
    """
    wanted = min(round(per_row * ranking.n_samples), len(ranking.scores))
    if not wanted:
        return ranking.top(0).to_sets()
    threshold = np.partition(ranking.scores, -wanted)[-wanted]
    keep: NDArray[np.bool_] = ranking.scores >= threshold
    return ranking.where(keep).to_sets()
