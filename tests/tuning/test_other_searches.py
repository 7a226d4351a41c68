"""Searches of other libraries: scikit-learn's halving and Optuna."""

from __future__ import annotations

import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV
from text_samples import make_texts

from rmls import RMLSRanker, TextRanker, evaluate
from rmls.datasets import make_longtail
from rmls.imbalance import StratifiedFolds
from rmls.metrics import scorer

QUICK = {"n_components": 4, "max_iter": 2}
HALVING = {"factor": 2, "min_resources": 40, "error_score": "raise"}


def test_halving_searches_the_parameters_of_a_ranker() -> None:
    data = make_longtail(120, 30, 12, labels_per_row=2, random_state=0)
    grid = {"tail": [0.0, 1.0], "C": [0.5, 1.0]}
    search = HalvingGridSearchCV(
        RMLSRanker(**QUICK), grid, scoring=scorer("psp@5"), cv=StratifiedFolds(3), **HALVING
    ).fit(data.X, data.Y)
    assert set(search.best_params_) == set(grid)
    assert search.n_resources_ == [40, 80]
    assert 0 < search.best_score_ <= 1
    assert search.predict(data.X[:3]).shape == (3, 12)


def test_halving_searches_texts_and_what_is_inside() -> None:
    texts, labels = make_texts(80)
    grid = {"pairs": [False, True], "estimator__tail": [0.0, 1.0]}
    search = HalvingGridSearchCV(
        TextRanker(RMLSRanker(**QUICK)),
        grid,
        scoring=scorer("psp@5"),
        cv=StratifiedFolds(2),
        **HALVING,
    ).fit(texts, labels)
    assert set(search.best_params_) == set(grid)
    assert len(search.predict(texts[:3])) == 3


def test_a_scorer_of_texts_is_that_of_their_numbers() -> None:
    texts, labels = make_texts(60)
    model = TextRanker(RMLSRanker(**QUICK)).fit(texts, labels)
    report = evaluate(
        labels,
        ranking=model.rank(texts, 5),
        label_names=model.classes_,
        train_counts=model.label_counts_,
        n_train=60,
    )
    assert scorer("psp@5")(model, texts, labels) == pytest.approx(report["psp@5"])
    assert scorer("f1")(model, texts, labels) == pytest.approx(model.score(texts, labels))


def test_optuna_asks_a_ranker() -> None:
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    data = make_longtail(120, 30, 12, labels_per_row=2, random_state=0)

    def quality(trial) -> float:
        model = RMLSRanker(**QUICK, tail=trial.suggest_float("tail", 0, 2))
        return scorer("psp@5")(model.fit(data.X[:80], data.Y[:80]), data.X[80:], data.Y[80:])

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(quality, n_trials=3)
    assert 0 <= study.best_params["tail"] <= 2
    assert study.best_value == max(trial.value for trial in study.trials)
