"""GFM: joint probabilities from any estimator, and the sets that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from archive_samples import change_model
from model_samples import make_blocks
from scipy import sparse

import rmls
from rmls import GFM, KNN, PLST, RMLS, Calibrated
from rmls.core.errors import ArchiveError, InputError
from rmls.decide import maximize_f
from rmls.models.wrappers.gfm_joint import LabelSizes, Pairs

X, Y = make_blocks(90)
JOINTS = ("sizes", "pairs", "independent")
every_joint = pytest.mark.parametrize("joint", JOINTS)


@every_joint
def test_the_sets_are_those_of_the_maximiser(joint: str) -> None:
    model = GFM(KNN(7), joint=joint).fit(X, Y)
    if joint == "independent":
        wanted = KNN(7, decision="f1").fit(X, Y).predict_sets(X)
    else:
        (_, columns), *more = model._column_blocks(sparse.csr_matrix(X, dtype=np.float32))
        assert not more
        labels = np.tile(np.arange(6, dtype=np.int32), (len(X), 1))
        table = model._joint.table(columns, labels)
        wanted = np.zeros(Y.shape, int)
        for row in range(len(X)):
            wanted[row, maximize_f(table[row], model._joint.sizes)[0]] = 1
        wanted = sparse.csr_matrix(wanted)
    assert (model.predict_sets(X) != wanted).nnz == 0
    assert model.score(X, Y) > 0.9


def test_pairs_of_a_known_distribution_are_learned() -> None:
    # One kind of row, whose truths are {0} in half of the cases and {1, 2} in the others.
    truths = np.array([[1, 0, 0], [0, 1, 1]])[np.arange(40) % 2]
    alike = np.ones((40, 1)) + 1e-3 * np.arange(40)[:, None]
    for joint in ("pairs", "sizes"):
        model = GFM(KNN(40, normalize="none"), joint=joint).fit(alike, truths)
        columns = next(model._column_blocks(sparse.csr_matrix([[1.0]], dtype=np.float32)))[1]
        table = model._joint.table(columns, np.arange(3, dtype=np.int32)[None])[0]
        # Both truths: 0.5 * 2/4 + 0.5 * 4/5; a single one less.
        np.testing.assert_allclose(table, [[0.5, 0], [0, 0.5], [0, 0.5]], atol=0.08)
        assert model.predict([[1.0]]).tolist() == [[1, 1, 1]]


def test_pairs_have_as_many_entries_as_the_labels() -> None:
    labels = sparse.csr_matrix(Y)
    pairs, problem = Pairs.of(labels, np.ones(len(Y)), 8)
    assert problem.nnz == labels.nnz
    back = np.zeros(Y.shape, int)
    rows, columns = problem.nonzero()
    back[rows, pairs.labels[columns]] = 1
    np.testing.assert_array_equal(back, Y)
    np.testing.assert_array_equal(Y.sum(axis=1)[rows], pairs.sizes[pairs.bins[columns]])


@pytest.mark.parametrize("max_sizes", [1, 2, 3, 10])
def test_many_sizes_share_bins_that_keep_the_mean(max_sizes: int) -> None:
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 9)) < rng.random((200, 1))).astype(int)
    labels = sparse.csr_matrix(Y)
    sizes, problem = LabelSizes.of(labels, np.ones(200), max_sizes)
    assert len(sizes.sizes) <= max_sizes
    assert (np.diff(sizes.sizes) > 0).all()
    of_row = problem[:, 9:].toarray()
    assert (of_row.sum(axis=1) == (Y.sum(axis=1) > 0)).all()
    entries = Y.sum(axis=1)
    means = (of_row * entries[:, None] ** 2).sum(axis=0) / (of_row * entries[:, None]).sum(axis=0)
    np.testing.assert_allclose(sizes.sizes, means, rtol=1e-5)


def test_the_joint_of_a_label_sums_to_its_probability() -> None:
    model = GFM(KNN(5)).fit(X, Y)
    columns = next(model._column_blocks(sparse.csr_matrix(X, dtype=np.float32)))[1]
    labels = np.tile(np.arange(6, dtype=np.int32), (len(X), 1))
    table = model._joint.table(columns, labels)
    np.testing.assert_allclose(table.sum(axis=2), model.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict_proba(X), model.decision_function(X))


@every_joint
def test_a_loaded_model_decides_as_the_saved_one(joint: str, tmp_path: Any) -> None:
    model = GFM(KNN(5), joint=joint).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    assert (loaded.predict_sets(X) != model.predict_sets(X)).nnz == 0
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@every_joint
def test_a_joint_that_does_not_fit_is_refused(joint: str, tmp_path: Any) -> None:
    model = GFM(KNN(5), joint=joint).fit(X, Y)
    model.save(tmp_path / "model")
    model._joint = model._joint._replace(sizes=model._joint.sizes[:-1])
    change_model(tmp_path / "model", arrays={"joint_sizes": model._joint.sizes})
    with pytest.raises(ArchiveError, match="fit the labels"):
        rmls.load(tmp_path / "model")
    with pytest.raises(ArchiveError, match="fit the labels"):
        model.save(tmp_path / "again")


def test_any_estimator_can_be_inside_once_it_is_calibrated() -> None:
    assert GFM(Calibrated(PLST(4))).fit(X, Y).score(X, Y) > 0.9
    assert GFM(RMLS(8, calibration=None)).fit(X, Y).score(X, Y) > 0.9
    with pytest.raises(InputError, match=r"Calibrated\(PLST\(\)\)"):
        GFM(PLST(4)).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"joint": "all"}, "joint must be one of"),
        ({"max_sizes": 0}, "max_sizes"),
        ({"depth": 0}, "depth"),
        ({"estimator": 5}, "GFM takes an estimator of rmls or of scikit-learn.*; got int"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        GFM(**options).fit(X, Y)
