"""Estimators of other libraries inside `Calibrated`, `Resampled` and `GFM`."""

from __future__ import annotations

import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import as_names, make_blocks
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rmls import GFM, MLROS, MLSMOTE, Calibrated, Resampled
from rmls.core.errors import InputError
from rmls.models.wrappers import foreign

X, Y = make_blocks(90)
PLAIN = {"calibration": None, "decision": "cardinality"}
LOGISTIC = LogisticRegression(solver="liblinear", random_state=0)
SVM = OneVsRestClassifier(LinearSVC(random_state=0))
CHANCES = {
    "several outputs": MultiOutputClassifier(LOGISTIC),
    "chain": ClassifierChain(LOGISTIC),
    "forest": RandomForestClassifier(20, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "neighbours": KNeighborsClassifier(3),
    "network": MLPClassifier((16,), solver="lbfgs", random_state=0),
    "one label at a time": LOGISTIC,
    "dense rows only": GaussianNB(),
    "boosting": MultiOutputClassifier(GradientBoostingClassifier(n_estimators=20)),
}
SCORES = {
    "one against the rest": SVM,
    "margin": LinearSVC(random_state=0),
    "ridge": RidgeClassifier(),
    "pipeline": make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC(random_state=0))),
    "search": GridSearchCV(SVM, {"estimator__C": [0.1, 1.0]}, cv=2),
}
EVERY = {**CHANCES, **SCORES}


def each(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("inner", cases.values(), ids=cases)


@each(EVERY)
def test_every_kind_is_calibrated(inner: Any) -> None:
    model = Calibrated(inner).fit(X, Y)
    assert model.score(X, Y) > 0.9
    chances = model.predict_proba(X)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert np.abs(chances.mean(axis=0) - Y.mean(axis=0)).max() < 0.12
    # Labels come in pairs: which of the two is named first is left open.
    assert (Y[np.arange(len(Y)), model.rank(X, 1).labels] == 1).mean() > 0.9


@each(EVERY)
def test_every_kind_is_fitted_to_resampled_rows(inner: Any) -> None:
    model = Resampled(inner, MLSMOTE(2), **PLAIN).fit(sparse.csr_matrix(X), Y)
    assert model.score(X, Y) > 0.9


@each(CHANCES)
def test_what_gives_probabilities_serves_gfm(inner: Any) -> None:
    assert GFM(inner).fit(X, Y).score(X, Y) > 0.9


def test_scores_are_those_of_the_estimator() -> None:
    model = Calibrated(SVM, **PLAIN).fit(X, Y)
    rows, order = sparse.csr_matrix(X), np.random.default_rng(0).permutation(len(X))
    alone = clone(SVM).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(rows), alone.decision_function(X), atol=0.02)
    forest = MultiOutputClassifier(LOGISTIC).fit(X[order], Y[order])
    model = Calibrated(MultiOutputClassifier(LOGISTIC), **PLAIN).fit(X, Y)
    wanted = np.stack([found[:, 1] for found in forest.predict_proba(X)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-3)
    assert isinstance(model.estimator_, MultiOutputClassifier)


@each({"scores": SVM, "chances": MultiOutputClassifier(LOGISTIC)})
def test_labels_that_do_not_vary_are_never_or_always_given(inner: Any) -> None:
    never, always = np.zeros((len(Y), 1), int), np.ones((len(Y), 1), int)
    model = Resampled(inner, **PLAIN).fit(X, np.hstack([never, Y, always]))
    scores = model.decision_function(X)
    assert (scores[:, [0]] <= scores).mean() > 0.95
    assert (scores[:, [-1]] >= scores).mean() > 0.95
    assert (np.unique(scores[:, [0, -1]], axis=0)).shape == (1, 2)


def test_a_label_of_one_row_is_constant_in_most_folds() -> None:
    rare = np.zeros((len(Y), 3), int)
    rare[4, 0], rare[7, 1] = 1, 1
    for inner in (SVM, MultiOutputClassifier(LOGISTIC)):
        model = Calibrated(inner).fit(X, np.hstack([Y, rare]))
        assert (model.predict_proba(X)[:, 6:].mean(axis=0) < 0.1).all()


@pytest.mark.parametrize("inner", [SVM, LinearSVC(), MultiOutputClassifier(GaussianNB())], ids=str)
@pytest.mark.parametrize(
    ("X", "Y"),
    [(X, Y[:, :1]), (X, Y * 0), (X[:1], Y[:1]), (X, np.ones_like(Y)), (X[:, :1], Y)],
    ids=["one label", "no positive", "one row", "all positive", "one feature"],
)
def test_small_problems_are_learned(inner: Any, X: Any, Y: Any) -> None:
    for model in (Calibrated(inner), Resampled(inner, **PLAIN)):
        assert model.fit(X, Y).predict(X).shape == Y.shape
        assert np.isfinite(model.decision_function(X)).all()


@each({"sets": SVM, "one label at a time": LOGISTIC})
def test_classes_and_names_are_containers_too(inner: Any) -> None:
    kinds = np.array(["low", "middle", "high"])[np.arange(len(X)) % 3]
    rows = np.eye(3)[np.arange(len(X)) % 3]
    model = Calibrated(inner).fit(rows, kinds)
    assert (model.predict(rows) == kinds).all()
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1, atol=1e-5)
    names = as_names(Y, list("abcdef"))
    assert sorted(Calibrated(inner).fit(X, names).predict(X)[0]) == sorted(names[0])


def test_a_whole_weight_is_a_repeated_row_and_others_are_passed_on() -> None:
    whole = np.arange(len(X)) % 3
    for inner in (SVM, KNeighborsClassifier(3)):
        model = Calibrated(inner, **PLAIN)
        weighted = clone(model).fit(X, Y, sample_weight=whole).decision_function(X)
        repeated = clone(model).fit(np.repeat(X, whole, axis=0), np.repeat(Y, whole, axis=0))
        np.testing.assert_allclose(weighted, repeated.decision_function(X), atol=1e-5)
    part = 0.1 + 2.3 * (Y[:, 0] == 1)
    for inner in (RidgeClassifier(), make_pipeline(StandardScaler(), RidgeClassifier())):
        model = Calibrated(inner, **PLAIN)
        weighted = clone(model).fit(X, Y, sample_weight=part).decision_function(X)
        assert weighted[:, 0].mean() > 0.03 + model.fit(X, Y).decision_function(X)[:, 0].mean()
    with pytest.raises(InputError, match="OneVsRestClassifier takes no sample weights; give whole"):
        Calibrated(SVM).fit(X, Y, sample_weight=part)
    with pytest.raises(InputError, match="repeating the rows needs"):
        Calibrated(SVM).fit(X, Y, sample_weight=np.full(len(X), 2.0**38))


class Wary(BaseEstimator):
    """Says nothing of the input it takes, and refuses sparse rows."""

    def __init__(self, scale: float = 1.0, answer: str = "good") -> None:
        self.scale, self.answer = scale, answer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Wary:
        if sparse.issparse(X):
            raise TypeError("dense rows, please")
        self.weights_ = np.linalg.lstsq(X, y, rcond=None)[0] * self.scale
        return self

    def decision_function(self, X: Any) -> Any:
        found = X @ self.weights_
        return {"good": found, "wide": np.tile(found, 2), "nan": found * np.nan}[self.answer]


def test_rows_are_made_dense_for_those_who_refuse_them_sparse() -> None:
    thin = sparse.hstack([sparse.csr_matrix((len(X), 40)), sparse.csr_matrix(X)], format="csr")
    assert Calibrated(Wary()).fit(thin, Y).score(thin, Y) > 0.9
    # Whatever a library makes of numbers beyond float32, scores stay finite.
    assert np.isfinite(Calibrated(Wary(1e300), **PLAIN).fit(X, Y).decision_function(X)).all()


@pytest.mark.parametrize(
    ("answer", "named"), [("wide", r"has shape \(90, 12\); it must give 6"), ("nan", "holds nan")]
)
def test_answers_of_another_shape_are_refused(answer: str, named: str) -> None:
    with pytest.raises(InputError, match=rf"decision_function of Wary\(\) {named}"):
        Calibrated(Wary(answer=answer)).fit(X, Y)


@pytest.mark.parametrize("inner", [Wary(), Resampled(Wary(), **PLAIN)], ids=["alone", "nested"])
def test_scoring_goes_by_blocks_of_rows(inner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = sparse.hstack([sparse.csr_matrix(X), sparse.csr_matrix((len(X), 500))], format="csr")
    model = Calibrated(inner, **PLAIN).fit(wide, Y)
    wanted = model.decision_function(wide)
    monkeypatch.setattr(foreign, "BLOCK_BYTES", 8 * 518 * 7)
    sizes = [block.stop - block.start for block, _ in model._score_blocks(wide)]
    assert sizes[:-1] == [7] * 12
    assert sum(sizes) == len(X)
    np.testing.assert_allclose(model.decision_function(wide), wanted, atol=1e-5)


def test_dense_rows_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmls.core.resources.available_memory", lambda: 100_000)
    wide = sparse.hstack([sparse.csr_matrix(X), sparse.csr_matrix((len(X), 10**6))], format="csr")
    with pytest.raises(InputError, match="takes sparse rows, or fewer rows"):
        Calibrated(GaussianNB()).fit(wide, Y)


def test_works_in_searches_clones_and_pickles() -> None:
    model = Calibrated(Resampled(SVM, MLROS(), **PLAIN))
    assert model.get_params()["estimator__estimator__estimator__C"] == 1.0
    assert clone(model).set_params(estimator__estimator__estimator__C=3.0)
    assert len(cross_val_score(Calibrated(SVM), X, Y, cv=3)) == 3
    grid = GridSearchCV(Calibrated(SVM), {"estimator__estimator__C": [0.1, 1.0]}, cv=2)
    assert grid.fit(X, Y).best_score_ > 0.9
    fitted = model.fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert model.estimator.estimator is SVM
    assert not hasattr(SVM, "estimators_")


@pytest.mark.parametrize(
    "model",
    [Calibrated(SVM), Resampled(SVM, **PLAIN), GFM(MultiOutputClassifier(LOGISTIC))],
    ids=lambda model: type(model).__name__,
)
def test_it_cannot_be_saved_and_the_sentence_says_what_can_be_done(
    model: Any, tmp_path: Path
) -> None:
    model.fit(X, Y)
    with pytest.raises(InputError, match=r"Classifier\(.*keep the model with joblib.dump"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("inner", "named"),
    [
        (LinearSVC, r"takes an estimator, not a class; write LinearSVC\(\)"),
        (object(), "takes an estimator of rmls or of scikit-learn's kind; got object"),
        (Ridge(), r"with decision_function or predict_proba; Ridge\(\) has neither\."),
        (MultiOutputClassifier(LinearSVC()), r"but OneVsRestClassifier\(LinearSVC\(\)\) has"),
        (make_pipeline(StandardScaler(), Ridge()), r"Pipeline\(\.\.\.\) has neither"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_does_not_score_is_refused(inner: Any, named: str) -> None:
    for wrapper in (Calibrated, Resampled, GFM):
        with pytest.raises(InputError, match=named):
            wrapper(inner).fit(X, Y)


def test_what_the_estimator_itself_refuses_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^OneVsRestClassifier\(LinearSVC\(\)\) cannot be fitted"):
        Calibrated(OneVsRestClassifier(LinearSVC(C=-1.0))).fit(X, Y)
    with pytest.raises(InputError, match=r"calibrate it: Calibrated\(LinearSVC\(\)\)"):
        GFM(LinearSVC()).fit(X, Y)
    with pytest.raises(InputError, match="gives scores and no probabilities"):
        Calibrated(SVM, **PLAIN).fit(X, Y).predict_proba(X)


BOOSTING = {
    "lightgbm": ("LGBMClassifier", {"verbose": -1, "min_child_samples": 1}),
    "xgboost": ("XGBClassifier", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("package", BOOSTING)
def test_boosting_libraries(package: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed; the extra dev has it")
    kind, options = BOOSTING[package]
    one = getattr(import_module(package), kind)(n_estimators=20, n_jobs=1, **options)
    for inner in (MultiOutputClassifier(one), one):
        assert Calibrated(inner).fit(X, Y).score(X, Y) > 0.9
        assert Resampled(inner, **PLAIN).fit(sparse.csr_matrix(X), Y).score(X, Y) > 0.9
        assert GFM(inner).fit(X, Y).score(X, Y) > 0.9
