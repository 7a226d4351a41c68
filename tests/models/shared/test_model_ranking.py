"""One meaning of a score: `rank`, predicted sets and `predict_proba` agree in every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from model_samples import ESTIMATORS, NAMES, as_names, fitted, make, make_blocks
from scipy import sparse
from tolerances import assert_close

from rmls import LEML, PLST, RMLS, Calibrated, RMLSRanker
from rmls.core.ranking import Ranking
from rmls.datasets import make_longtail
from rmls.decide import ExpectedF1

X, Y = make_blocks()
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
TAIL = make_longtail(300, 80, 25, labels_per_row=3, random_state=0)


def gather(dense: np.ndarray, ranking: Ranking) -> np.ndarray:
    """The numbers of a dense array at the entries of a ranking."""
    return dense[ranking.rows, ranking.labels]


def assert_numbers_agree(model: Any, ranking: Ranking, X: Any) -> None:
    """Scores are those of `decision_function`, probabilities those of `predict_proba`."""
    assert_close(ranking.scores, gather(model.decision_function(X), ranking))
    steps = np.diff(ranking.scores)[np.diff(ranking.rows) == 0]
    assert (steps <= 0).all()
    if hasattr(model, "predict_proba"):
        assert ranking.probabilities is not None
        assert_close(ranking.probabilities, gather(model.predict_proba(X), ranking))
    else:
        assert ranking.probabilities is None


@every_estimator
def test_rank_carries_scores_probabilities_and_names(name: str) -> None:
    model = make(name).fit(X, as_names(Y, NAMES))
    for k in (1, 3, len(NAMES)):
        ranking = model.rank(X, k)
        assert_numbers_agree(model, ranking, X)
        assert ranking.to_lists() == model.classes_[ranking.labels].reshape(-1, k).tolist()
    first = model.rank(X, 2)[0]
    assert [entry.label for entry in first] == ranking.to_lists()[0][:2]


@every_estimator
def test_predicted_sets_are_in_the_order_of_rank(name: str) -> None:
    model, whole = fitted(name), fitted(name).rank(X, len(NAMES))
    chosen = model.rank_sets(X)
    assert_numbers_agree(model, chosen, X)
    assert (chosen.to_sets() != sparse.csr_matrix(model.predict(X))).nnz == 0
    sets = chosen.to_sets().toarray()
    kept = whole.where(sets[whole.rows, whole.labels] == 1)
    assert kept.to_lists() == chosen.to_lists()


@every_estimator
def test_predicted_lists_of_names_are_best_first(name: str) -> None:
    model = make(name).fit(X, as_names(Y, NAMES))
    assert model.predict(X) == model.rank_sets(X).to_lists()


@every_estimator
def test_classes_of_a_1d_y_have_the_probabilities_of_predict_proba(name: str) -> None:
    model = make(name).fit(X, np.array(["ash", "birch", "cedar"])[np.arange(len(X)) % 3])
    for ranking in (model.rank(X, 2), model.rank_sets(X)):
        assert_numbers_agree(model, ranking, X)
    assert [row[0] for row in model.rank(X, 2).to_lists()] == model.predict(X).tolist()


MODELS = {
    "calibrated": RMLS(8, max_iter=5),
    "by the loss": RMLS(8, max_iter=5, calibration=None),
    "rates by label": RMLS(8, max_iter=5, calibration=None, sampler="frequency"),
    "focal": RMLS(8, max_iter=5, calibration=None, loss="focal"),
    "hinge": RMLS(8, max_iter=5, calibration=None, loss="squared_hinge"),
    "ranker": RMLSRanker(8, tail=1.0),
    "ranker of short lists": RMLSRanker(8, shortlist_size=5, calibration=None, tail=1.0),
    "calibrated scores": Calibrated(PLST(5)),
    "calibration off, ranker inside": Calibrated(RMLSRanker(8, tail=1.0), calibration=None),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "rule", ["f1", "cardinality", "top_4", "psp@3", "tail@3=0.5", "macro_f1@3"]
)
def test_one_order_and_two_numbers_whatever_the_rule(name: str, rule: str) -> None:
    model = trained(name)
    chosen = model.rank_sets(TAIL.X, rule)
    # Labels off a shortlist have scores below it in `decision_function` only.
    assert_numbers_agree(model, chosen, TAIL.X)
    for k in (4, 25):
        assert_numbers_agree(model, model.rank(TAIL.X, k), TAIL.X)


TRAINED: dict[str, Any] = {}


def trained(name: str) -> Any:
    if name not in TRAINED:
        TRAINED[name] = MODELS[name].fit(TAIL.X, TAIL.Y)
    return TRAINED[name]


def test_the_boost_of_rare_labels_moves_the_order_and_not_the_probabilities() -> None:
    plain, boosted = (RMLSRanker(8, tail=tail).fit(TAIL.X, TAIL.Y) for tail in (0.0, 1.0))
    assert_close(boosted.predict_proba(TAIL.X), plain.predict_proba(TAIL.X))
    ranking = boosted.rank(TAIL.X, 25)
    assert ranking.probabilities is not None
    rises = np.diff(ranking.probabilities)[np.diff(ranking.rows) == 0] > 1e-6
    assert rises.any()
    assert (boosted.predict_sets(TAIL.X, "f1") != plain.predict_sets(TAIL.X, "f1")).nnz == 0


def test_a_rule_takes_the_probabilities_of_a_ranking() -> None:
    model = trained("ranker")
    found = ExpectedF1().select(model.rank(TAIL.X, 25))
    wanted = ExpectedF1().select(Ranking.from_dense(model.predict_proba(TAIL.X)))
    assert (found != wanted).nnz == 0


def test_models_without_probabilities_say_none() -> None:
    for model in (LEML(4), Calibrated(PLST(4), calibration=None, decision="cardinality")):
        ranking = model.fit(X, Y).rank(X, 2)
        assert ranking.probabilities is None
        assert ranking[0][0].probability is None
