"""The resamplers work in the pipelines of imbalanced-learn, which call them in `fit` only."""

from __future__ import annotations

import numpy as np
import pytest
from imblearn.pipeline import make_pipeline
from resample_samples import RESAMPLERS
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV

from rmls import RMLS, make_longtail

DATA = make_longtail(400, 60, 12, test_size=0.25)
TRAIN, TEST = DATA.train, DATA.test
SMALL = RMLS(4, max_iter=2, calibration=None)


@pytest.mark.parametrize("name", RESAMPLERS)
def test_a_pipeline_trains_on_resampled_rows_and_predicts_rows_as_they_are(name: str) -> None:
    pipeline = make_pipeline(TfidfTransformer(), RESAMPLERS[name](), clone(SMALL))
    found = pipeline.fit(TRAIN.X, TRAIN.Y).decision_function(TEST.X)
    scaled = TfidfTransformer().fit(TRAIN.X)
    changed = RESAMPLERS[name]().fit_resample(scaled.transform(TRAIN.X), TRAIN.Y)
    by_hand = clone(SMALL).fit(*changed).decision_function(scaled.transform(TEST.X))
    np.testing.assert_array_equal(found, by_hand)
    plain = clone(SMALL).fit(scaled.transform(TRAIN.X), TRAIN.Y)
    assert (plain.decision_function(scaled.transform(TEST.X)) != found).any()


@pytest.mark.parametrize("name", RESAMPLERS)
def test_lists_of_names_and_dense_labels_pass_through(name: str) -> None:
    names = [[f"topic {label}" for label in row.indices] for row in TRAIN.Y]
    pipeline = make_pipeline(RESAMPLERS[name](), clone(SMALL))
    sets = pipeline.fit(TRAIN.X, names).predict(TEST.X)
    assert {label for row in sets for label in row} <= {label for row in names for label in row}
    dense = pipeline.fit(TRAIN.X, TRAIN.Y.toarray()).predict(TEST.X)
    assert dense.shape == TEST.Y.shape


def test_a_grid_reaches_the_options_of_the_resampler() -> None:
    pipeline = make_pipeline(RESAMPLERS["MLSMOTE"](), clone(SMALL))
    grid = GridSearchCV(pipeline, {"mlsmote__n_neighbors": [2, 5]}, cv=2)
    grid.fit(TRAIN.X, TRAIN.Y.toarray())
    assert grid.best_params_["mlsmote__n_neighbors"] in (2, 5)
