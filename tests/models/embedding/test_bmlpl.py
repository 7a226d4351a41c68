"""BMLPL against its own model: what it assumes, it finds."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse, special
from scipy.optimize import linear_sum_assignment
from tolerances import assert_close

import rmls
from rmls.archive import read_archive, write_archive
from rmls.core.errors import ArchiveError, InputError
from rmls.kernels.cpu.methods import poisson
from rmls.models import BMLPL
from rmls.models.embedding.bmlpl_updates import TopicEM, start_em

START: dict[str, Any] = {"l2": 1.0, "topic_prior": 1.0, "spread": 3.0, "seed": 0}


class World(NamedTuple):
    """Data drawn from the model, and the probabilities and topics they were drawn from."""

    X: np.ndarray
    Y: np.ndarray
    topics: np.ndarray
    probabilities: np.ndarray


def draw_world(n: int = 1500, k: int = 5, m: int = 40, seed: int = 0) -> World:
    """Rows show one or two topics by features of their own; topics share some labels."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(m, 0.1), size=k).T
    X = (rng.random((n, k)) < 0.3).astype(np.float64)
    X = np.hstack([X, rng.random((n, 5))])
    W = np.vstack([3.5 * np.eye(k), np.zeros((5, k))])
    odds, shapes = np.exp(X @ W - 1.5), np.full(k, 1.0)
    strengths = rng.gamma(shapes, odds)
    Y = (rng.poisson(strengths @ topics.T) > 0).astype(int)
    totals = np.einsum("k,njk->nj", shapes, np.log1p(odds[:, None] * topics))
    return World(X, Y, topics, -np.expm1(-totals))


@pytest.fixture(scope="module")
def world() -> World:
    return draw_world()


@pytest.fixture(scope="module")
def fitted(world: World) -> BMLPL:
    options = {"start_spread": 0.1, "normalize": "none", "l2": 0.1}
    return BMLPL(5, max_iter=100, **options).fit(world.X, world.Y)


def mean_cosine(found: np.ndarray, wanted: np.ndarray) -> float:
    """Likeness of two sets of topics, whatever their order."""
    found, wanted = (topics / np.linalg.norm(topics, axis=0) for topics in (found, wanted))
    likeness = found.T @ wanted
    return float(likeness[linear_sum_assignment(-likeness)].mean())


# -- the model finds itself ----------------------------------------------------------------------


def test_recovers_the_topics_of_its_own_model(world: World, fitted: BMLPL) -> None:
    assert mean_cosine(fitted.topics_, world.topics) >= 0.95


def test_the_start_of_the_highest_bound_finds_the_topics() -> None:
    other = draw_world(seed=2)
    options = {"start_spread": 0.1, "normalize": "none", "l2": 0.1, "max_iter": 50}
    fits = [BMLPL(5, random_state=seed, **options).fit(other.X, other.Y) for seed in range(3)]
    best = max(fits, key=lambda model: model.objective_curve_[-1])
    # The first start ends at a likeness of 0.8.
    assert mean_cosine(best.topics_, other.topics) >= 0.95


def test_topics_are_distributions_over_labels(fitted: BMLPL) -> None:
    assert (fitted.topics_ > 0).all()
    np.testing.assert_allclose(fitted.topics_.sum(axis=0), 1.0, atol=1e-3)


def test_probabilities_are_calibrated_on_data_of_its_own_model(fitted: BMLPL) -> None:
    fresh = draw_world(seed=0)
    rng = np.random.default_rng(5)
    labels = rng.random(fresh.Y.shape) < fresh.probabilities
    predicted = fitted.predict_proba(fresh.X)
    assert predicted.sum() == pytest.approx(labels.sum(), rel=0.1)
    order = np.argsort(predicted, axis=None)
    for part in np.array_split(order, 10)[4:]:
        assert predicted.ravel()[part].mean() == pytest.approx(
            labels.ravel()[part].mean(), abs=0.03, rel=0.25
        )


def test_probabilities_come_near_the_true_ones(world: World, fitted: BMLPL) -> None:
    error = np.abs(fitted.predict_proba(world.X) - world.probabilities).mean()
    error_of_frequencies = np.abs(world.Y.mean(axis=0) - world.probabilities).mean()
    assert error < 0.25 * error_of_frequencies


# -- EM ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regression_steps", [1, 20])
@pytest.mark.parametrize("n_components", [1, 5, 50])
def test_the_bound_never_falls(world: World, n_components: int, regression_steps: int) -> None:
    model = BMLPL(n_components, max_iter=40, regression_steps=regression_steps, tol=0.0)
    curve = np.array(model.fit(world.X, world.Y).objective_curve_)
    assert (np.diff(curve) >= -1e-6 * np.abs(curve[1:])).all()
    assert curve[-1] > curve[0]


def start(world: World, n_topics: int = 5) -> TopicEM:
    X, Y = (sparse.csr_matrix(part) for part in (world.X.astype(np.float32), world.Y))
    weights = np.linspace(0.5, 2.0, len(world.X))
    return start_em(X, Y, weights, n_topics, **START)


def bound_by_hand(em: TopicEM, counts: np.ndarray, Y: np.ndarray) -> float:
    """The bound in dense arrays, term by term: likelihood, prior and entropy of u, priors."""
    topics, floor = em.topics()
    psi, shape = em.activation.astype(float), em.shapes + counts
    scale = special.expit(psi)
    log_u, u = special.digamma(shape) + np.log(scale), shape * scale
    rate = np.exp(log_u) @ topics.T
    likelihood = np.where(Y, np.log(np.expm1(rate)), 0).sum(axis=1) - u.sum(axis=1)
    r = em.shapes
    prior = (r - 1) * log_u - special.gammaln(r) - r * psi - u * np.exp(-psi)
    entropy = shape + np.log(scale) + special.gammaln(shape) + (1 - shape) * special.digamma(shape)
    rows = likelihood + (prior + entropy).sum(axis=1)
    penalty = 0.5 * np.sum(em.penalty[:, None] * em.coefficients.astype(float) ** 2)
    log_topics = np.log(topics).sum() + (em.n_labels - len(topics)) * np.log(floor).sum()
    return float(em.positives.weights @ rows - penalty + em.smoothing * log_topics - r.sum())


def test_the_bound_is_that_of_the_definition(world: World) -> None:
    em = start(world)
    for _ in range(4):
        em.sweep(5)
    em.regress(5)
    counts = em.counts.astype(float)
    wanted = bound_by_hand(em, counts, world.Y[:, em.active])
    assert em.allocate() == pytest.approx(wanted, rel=1e-6)


def test_expected_counts_are_those_of_the_positive_labels(world: World) -> None:
    em = start(world)
    em.sweep(5)
    lengths = world.Y.sum(axis=1)
    assert (em.counts.sum(axis=1) >= lengths * (1 - 1e-5)).all()
    assert (em.counts[lengths == 0] == 0).all()
    weighted = em.positives.weights @ em.counts
    np.testing.assert_allclose(em.statistics.sum(axis=0), weighted, rtol=1e-5)


@pytest.mark.parametrize("n_topics", [2, 9])
def test_the_shapes_are_driven_to_the_top_of_their_objective(world: World, n_topics: int) -> None:
    em = start(world, n_topics)
    for _ in range(3):
        em.sweep(5)
    for _ in range(20):
        em.reshape()
    weights, r, counts = em.positives.weights, em.shapes, em.counts.astype(float)
    cost = weights @ np.logaddexp(0, em.activation.astype(float)) + 1.0
    gain = weights @ (special.digamma(r + counts) - special.digamma(r))
    np.testing.assert_allclose(gain, cost, rtol=1e-4)


# -- the work of a sweep -------------------------------------------------------------------------


def wide_data(m: int, n: int = 2000, per_row: int = 10) -> tuple[Any, Any]:
    """``n * per_row`` positives, spread over ``m`` labels of which 500 occur."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.permuted(np.tile(np.arange(500), (n, 1)), axis=1)[:, :per_row])
    indptr = np.arange(0, n * per_row + 1, per_row)
    columns = (indices * (m // 500)).ravel()
    Y = sparse.csr_matrix((np.ones(n * per_row), columns, indptr), shape=(n, m))
    X = sparse.random(n, 100, density=0.1, format="csr", dtype=np.float32, random_state=0)
    return X, Y


def seconds_of_a_sweep(m: int, per_row: int = 10) -> float:
    X, Y = wide_data(m, per_row=per_row)
    em = start_em(X, Y, np.ones(X.shape[0]), 20, **START)
    em.sweep(1)
    times = []
    for _ in range(5):
        began = time.process_time()
        em.sweep(1)
        times.append(time.process_time() - began)
    return min(times)


def test_a_sweep_does_not_see_labels_without_positives() -> None:
    # A thousand times the labels, and so of n × m, with the same positives.
    few, many = start_sizes(1000), start_sizes(1_000_000)
    assert few == many
    assert seconds_of_a_sweep(1_000_000) < 3 * seconds_of_a_sweep(1000)


def start_sizes(m: int) -> list[int]:
    """Sizes of all arrays a sweep touches."""
    X, Y = wide_data(m)
    em = start_em(X, Y, np.ones(X.shape[0]), 20, **START)
    em.sweep(1)
    arrays = [part for part in vars(em).values() if isinstance(part, np.ndarray)]
    arrays += [*em.positives, em.design.rows.data, em.design.columns.data, em.topics()[0]]
    return [array.size for array in arrays]


class CountingTopics(np.ndarray):
    """Topics that count how often a label's row is read."""

    reads = 0

    def __getitem__(self, key: Any) -> Any:
        type(self).reads += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("per_row", [1, 4])
def test_the_allocation_reads_the_topics_of_positive_labels_only(per_row: int) -> None:
    X, Y = wide_data(500, n=10, per_row=per_row)
    em = start_em(X, Y, np.ones(10), 3, **START)
    topics = em.topics()[0].view(CountingTopics)
    CountingTopics.reads = 0
    poisson.allocate_counts.py_func(
        em.positives, em.shapes, em.activation, em.counts, topics, em.statistics
    )
    # Each positive label reads its row of topics once for the rate and once for the shares.
    assert CountingTopics.reads == 2 * Y.nnz * 3


# -- scores --------------------------------------------------------------------------------------


def exact_probabilities(model: BMLPL, X: np.ndarray) -> np.ndarray:
    """The formula of the method, label by label and topic by topic, in double precision."""
    rows = model._normalizer.apply(sparse.csr_matrix(X.astype(np.float32)))
    W, b = model.feature_vectors_.astype(float), model.feature_bias_.astype(float)
    odds = np.exp(rows.astype(float) @ W + b)
    topics, shapes = model.topics_.astype(float), model.shapes_.astype(float)
    survival = np.ones((X.shape[0], len(topics)))
    for k in range(len(shapes)):
        survival *= (1 + odds[:, k : k + 1] * topics[:, k]) ** -shapes[k]
    return 1 - survival


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_components", [1, 5, 60])
def test_scores_equal_the_exact_formula(world: World, n_components: int, n_jobs: int) -> None:
    model = BMLPL(n_components, max_iter=10, n_jobs=n_jobs).fit(world.X, world.Y)
    X = np.vstack([world.X[:200], 0 * world.X[:1], 20 * world.X[:3]])
    wanted = exact_probabilities(model, X)
    np.testing.assert_allclose(model.predict_proba(X), wanted, rtol=1e-4, atol=1e-9)
    sure = wanted > 1 - 1e-6
    double_log = np.log(-np.log1p(-wanted[~sure]))
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores[~sure], double_log, atol=1e-4)
    assert (scores[sure] > 2.6).all()


def test_leaving_out_negligible_entries_hardly_moves_a_probability(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = BMLPL(60, max_iter=10)
    sparser = model.fit(world.X, world.Y).predict_proba(world.X)
    n_entries = len(model._topics.values)
    monkeypatch.setattr("rmls.models.embedding.bmlpl_updates.MIN_SHARE", 0.0)
    whole = model.fit(world.X, world.Y).predict_proba(world.X)
    assert n_entries < len(model._topics.values)
    np.testing.assert_allclose(sparser, whole, rtol=1e-3, atol=1e-6)


def test_extreme_features_give_finite_scores(fitted: BMLPL, world: World) -> None:
    scores = fitted.decision_function(np.vstack([1e6 * world.X[:5], -1e6 * world.X[:5]]))
    assert np.isfinite(scores).all()


def test_probabilities_of_classes_sum_to_one_and_agree_with_predict(world: World) -> None:
    y = world.X[:, :3].argmax(axis=1)
    model = BMLPL(6, max_iter=10).fit(world.X, y)
    probabilities = model.predict_proba(world.X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(model.predict(world.X), probabilities.argmax(axis=1))


# -- corners -------------------------------------------------------------------------------------


def test_a_label_without_a_positive_has_the_share_of_the_prior(world: World) -> None:
    wide = np.hstack([world.Y, np.zeros((len(world.Y), 3), int)])
    model = BMLPL(5, max_iter=5).fit(world.X, wide)
    absent = model.topics_[-3:]
    np.testing.assert_array_equal(absent, np.tile(model._topics.floor, (3, 1)))
    scores = model.decision_function(world.X)
    assert (scores[:, -3:].max(axis=1) <= scores[:, :-3].min(axis=1) + 1e-5).all()


def test_rows_without_labels_lower_the_probabilities(world: World) -> None:
    empty = np.vstack([world.Y, 0 * world.Y])
    both = BMLPL(5, max_iter=10).fit(np.vstack([world.X, world.X]), empty)
    alone = BMLPL(5, max_iter=10).fit(world.X, world.Y)
    assert both.predict_proba(world.X).sum() < 0.7 * alone.predict_proba(world.X).sum()


def test_more_topics_than_labels_are_allowed(world: World) -> None:
    model = BMLPL(12, max_iter=10).fit(world.X, world.Y[:, :4])
    assert model.topics_.shape == (4, 12)
    assert np.isfinite(model.decision_function(world.X)).all()


def test_weights_count_in_every_update(world: World) -> None:
    weights = np.where(world.Y[:, 0] == 1, 3.0, 1.0)
    plain = BMLPL(5, max_iter=5).fit(world.X, world.Y)
    weighted = BMLPL(5, max_iter=5).fit(world.X, world.Y, sample_weight=weights)
    mean = [model.predict_proba(world.X)[:, 0].mean() for model in (plain, weighted)]
    assert mean[1] > 1.2 * mean[0]


def test_the_number_of_threads_changes_nothing(world: World) -> None:
    one, two = (BMLPL(5, max_iter=3, n_jobs=n_jobs).fit(world.X, world.Y) for n_jobs in (1, 2))
    assert_close(one.decision_function(world.X), two.decision_function(world.X))


def test_another_seed_gives_another_model(world: World) -> None:
    one, two = (BMLPL(5, max_iter=3, random_state=s).fit(world.X, world.Y) for s in (0, 1))
    assert not np.array_equal(one.shapes_, two.shapes_)


def test_stops_when_the_bound_hardly_rises(world: World) -> None:
    model = BMLPL(5, max_iter=500, tol=1e-3).fit(world.X, world.Y)
    assert 1 < model.n_iter_ < 100


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_components", 0),
        ("max_iter", 1.5),
        ("regression_steps", 0),
        ("l2", 0),
        ("l2", "auto"),
        ("topic_prior", -1),
        ("tol", np.nan),
        ("normalize", "l1"),
    ],
)
def test_wrong_options_are_refused_by_name(world: World, option: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{option} must"):
        BMLPL(**{option: value}).fit(world.X, world.Y)


@pytest.mark.parametrize("normalize", ["standardize", "rescale"])
def test_everything_fitted_survives_the_archive(world: World, normalize: str, tmp_path) -> None:
    model = BMLPL(5, max_iter=3, normalize=normalize).fit(world.X, world.Y)
    model.save(tmp_path / "model")
    loaded = rmls.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(world.X), model.predict_proba(world.X))
    np.testing.assert_array_equal(loaded.topics_, model.topics_)
    assert loaded.objective_curve_ == model.objective_curve_
    assert loaded.n_iter_ == model.n_iter_


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("topic_labels", lambda array: array + 40),
        ("topic_labels", lambda array: array - 40),
        ("topic_labels", lambda array: array[:-1]),
        ("topic_indptr", lambda array: array[::-1].copy()),
        ("topic_indptr", lambda array: array + 1),
        ("shapes", lambda array: array[:-1]),
    ],
)
def test_damaged_topics_are_refused(world: World, name: str, change: Any, tmp_path) -> None:
    BMLPL(5, max_iter=2).fit(world.X, world.Y).save(tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    arrays = {key: np.array(array) for key, array in archive.arrays.items()}
    write_archive(tmp_path / "model", archive.manifest, {**arrays, name: change(arrays[name])})
    with pytest.raises(ArchiveError):
        rmls.load(tmp_path / "model")
