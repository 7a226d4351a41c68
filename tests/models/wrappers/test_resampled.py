"""`Resampled`: the estimator inside sees resampled rows, everything else the rows as given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import rmls
from rmls import KNN, LEML, MLROS, MLRUS, MLSMOTE, PLST, REMEDIAL, RMLS, Calibrated, Resampled
from rmls import imbalance as imbalance_package
from rmls.bench.study.grid import Method
from rmls.core.errors import ArchiveError, InputError
from rmls.datasets import make_longtail
from rmls.imbalance.resampling import Resampler

data = make_longtail(400, 60, 20, random_state=0)
X, Y = data.X, data.Y
PLAIN = {"calibration": None, "decision": "cardinality"}
SAMPLERS = [getattr(imbalance_package, name)() for name in imbalance_package.RESAMPLERS]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
def test_the_estimator_is_fitted_to_the_resampled_rows(sampler: Any) -> None:
    model = Resampled(PLST(5), sampler, **PLAIN).fit(X, Y)
    alone = PLST(5).fit(*clone(sampler).fit_resample(X, Y))
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-4)
    assert model.estimator_.n_samples_ != X.shape[0]
    assert model.n_samples_ == X.shape[0]
    assert (model.label_counts_ == np.asarray(Y.sum(axis=0)).ravel()).all()


def test_defaults_are_rmls_and_mlros() -> None:
    model = Resampled(**PLAIN).fit(X[:100], Y[:100])
    assert isinstance(model.estimator_, RMLS)
    sampler = MLROS()
    sampler.fit_resample(X[:100], Y[:100])
    assert model.estimator_.n_samples_ == len(sampler.sample_indices_)


def test_a_whole_weight_is_a_repeated_row() -> None:
    weights = np.arange(X.shape[0]) % 3
    model = Resampled(PLST(5), MLRUS(0.4), **PLAIN)
    weighted = clone(model).fit(X, Y, sample_weight=weights)
    rows = np.repeat(np.arange(X.shape[0]), weights)
    repeated = clone(model).fit(X[rows], Y[rows])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )


def test_a_weight_that_is_not_whole_goes_with_every_copy() -> None:
    weights = np.linspace(0.5, 1.5, X.shape[0])
    sampler = MLSMOTE()
    model = Resampled(PLST(5), sampler, **PLAIN).fit(X, Y, sample_weight=weights)
    X_new, Y_new = sampler.fit_resample(X, Y)
    alone = PLST(5).fit(X_new, Y_new, sample_weight=weights[sampler.sample_indices_])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-4)


def test_probabilities_are_those_of_the_rows_as_given() -> None:
    """Twice as many rows of the rare label must not make it twice as likely."""
    rng = np.random.default_rng(0)
    n = 1500
    X_noise = rng.normal(size=(n, 5))
    Y_noise = np.column_stack([rng.random(n) < share for share in (0.6, 0.5, 0.04)]).astype(int)
    share = Y_noise.mean(axis=0)
    model = Resampled(RMLS(4, max_iter=5), MLROS(1.0)).fit(X_noise, Y_noise)
    assert model.estimator_.label_counts_[2] > 2.5 * Y_noise.sum(axis=0)[2]
    np.testing.assert_allclose(model.predict_proba(X_noise).mean(axis=0), share, atol=0.03)
    own = RMLS(4, max_iter=5).fit(*MLROS(1.0).fit_resample(X_noise, Y_noise))
    assert own.predict_proba(X_noise).mean(axis=0)[2] > 1.8 * share[2]


def test_held_out_rows_are_not_resampled() -> None:
    model = Resampled(PLST(5), MLROS(2.0), calibration_folds=0, validation_fraction=0.25)
    model.fit(X, Y)
    sampler = MLROS(2.0)
    rows = np.arange(X.shape[0])
    sampler.fit_resample(X, Y)
    assert model.estimator_.n_samples_ < len(sampler.sample_indices_)
    assert len(rows) * 0.75 < model.estimator_.n_samples_
    assert model.predict_proba(X).shape == Y.shape


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (X[:1].toarray(), Y[:1].toarray()),
        (X[:30], Y[:30, :1]),
        (X[:30], Y[:30] * 0),
        (X[:30], np.eye(5, dtype=int)[np.arange(30) % 5]),
    ],
    ids=["one row", "one label", "no positive", "balanced"],
)
def test_what_cannot_be_balanced_is_fitted_as_it_is(X: Any, Y: Any) -> None:
    model = Resampled(KNN(3), **PLAIN).fit(X, Y)
    alone = KNN(3).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


def test_works_in_pipelines_searches_and_around_each_other() -> None:
    pipeline = make_pipeline(MaxAbsScaler(), Resampled(PLST(3), MLROS(), **PLAIN))
    names = [[f"topic {label}" for label in row.indices] for row in Y]
    assert pipeline.fit(X, names).predict(X)[0] is not None
    grid = GridSearchCV(
        Resampled(PLST(3), MLSMOTE(), **PLAIN),
        {"resampler__n_neighbors": [1, 5], "estimator__n_components": [2, 3]},
        cv=2,
    ).fit(X, Y.toarray())
    assert set(grid.best_params_) == {"resampler__n_neighbors", "estimator__n_components"}
    assert len(cross_val_score(Resampled(PLST(3), REMEDIAL(), **PLAIN), X, Y.toarray(), cv=2)) == 2
    both = Calibrated(Resampled(PLST(3), MLROS())).fit(X, Y)
    assert both.estimator_.calibration is None
    assert both.predict_proba(X).shape == Y.shape


def test_a_clone_keeps_its_parts_and_fitting_leaves_them_alone() -> None:
    model = Resampled(LEML(3, max_iter=2), MLSMOTE(2), **PLAIN)
    model.fit(X, Y)
    assert not hasattr(model.resampler, "sample_indices_")
    copy = clone(model)
    assert copy.resampler.n_neighbors == 2
    assert copy.resampler is not model.resampler
    assert repr(copy).startswith("Resampled(")


def test_parts_may_be_named(tmp_path: Path) -> None:
    named = Resampled("KNN", "MLSMOTE", **PLAIN).fit(X, Y)
    made = Resampled(KNN(), MLSMOTE(), **PLAIN).fit(X, Y)
    np.testing.assert_array_equal(named.decision_function(X), made.decision_function(X))
    named.save(tmp_path / "model")
    assert rmls.load(tmp_path / "model").resampler == "MLSMOTE"
    method = Method("Resampled", params={"estimator": "KNN", "resampler": ["MLROS", "REMEDIAL"]})
    assert len(list(method.grid())) == 2
    with pytest.raises(InputError, match=r"estimator must be one of .*got 'SVM'"):
        Resampled("SVM").fit(X, Y)
    with pytest.raises(InputError, match=r"resampler must be one of .*got 'SMOTE'"):
        Resampled("KNN", "SMOTE").fit(X, Y)


def test_foreign_parts_are_refused() -> None:
    class Sampler(BaseEstimator):
        pass

    with pytest.raises(InputError, match=r"takes a resampler of rmls.imbalance; got Sampler\."):
        Resampled(PLST(2), Sampler()).fit(X, Y)
    with pytest.raises(InputError, match=r"Resampled takes an estimator with .*; MaxAbsScaler"):
        Resampled(MaxAbsScaler()).fit(X, Y)
    with pytest.raises(InputError, match="n_neighbors must be a whole number"):
        Resampled(PLST(2), MLSMOTE(0)).fit(X, Y)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)
def test_the_resampler_is_saved_with_the_model(sampler: Any, tmp_path: Path) -> None:
    model = Resampled(PLST(3), sampler, **PLAIN).fit(X, Y)
    model.save(tmp_path / "model")
    found = rmls.load(tmp_path / "model")
    assert type(found.resampler) is type(sampler)
    assert found.resampler.get_params() == sampler.get_params()
    assert (found.predict(X) != model.predict(X)).nnz == 0


class OwnSampler(Resampler):
    def _check_options(self) -> None:
        pass

    def _fit_resample(self, X: Any, Y: Any, rows: Any, generator: Any) -> Any:
        from rmls.imbalance.resampling import Changes

        return Changes(np.ones(Y.shape[0], bool), np.arange(3))


def test_a_resampler_of_the_user_works_but_cannot_be_saved(tmp_path: Path) -> None:
    model = Resampled(PLST(3), OwnSampler(), **PLAIN).fit(X, Y)
    assert model.estimator_.n_samples_ == X.shape[0] + 3
    with pytest.raises(InputError, match=r"OwnSampler\(\) cannot be written"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("name", ["os", "Resampler", "RESAMPLERS", "describe", None, [], 5])
def test_a_folder_that_names_no_resampler_is_refused(name: Any, tmp_path: Path) -> None:
    from rmls.archive import read_archive, write_archive

    Resampled(PLST(3), MLROS(), **PLAIN).fit(X, Y).save(tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    manifest = json.loads(json.dumps(archive.manifest))
    manifest["params"]["resampler"]["resampler"] = name
    write_archive(tmp_path / "changed", manifest, dict(archive.arrays))
    with pytest.raises(ArchiveError, match="unknown resampler") as caught:
        rmls.load(tmp_path / "changed")
    assert "\n" not in str(caught.value)
