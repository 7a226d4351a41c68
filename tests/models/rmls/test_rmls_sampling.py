"""Samplers and the log-Q correction, on generated rows whose true probabilities are known."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from model_samples import make_blocks, train_on_threads

from rmls import RMLS, make_longtail
from rmls.kernels.cpu.sgd.passes import VectorPasses
from rmls.models.rmls.sampling import MIN_SHARE, Totals, draw_shares, floored_counts

N_VECTORS, N_LABELS = 3, 12
BASE: dict[str, Any] = {
    "calibration": None,
    "n_components": 8,
    "max_iter": 12,
    "negatives_per_positive": 0,
    "min_negatives": 3,
    "l2": 0.0,
    "gradient_floor": 0.0,
    "normalize": "none",
}


@cache
def known() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels, the vector of every row, and the true logits of (vector, label)."""
    rng = np.random.default_rng(0)
    chances = np.clip(0.6 * np.arange(1, N_LABELS + 1) ** -0.8, 0.1, 0.6)
    # Rows of the last vector have about three times as many labels as those of the first.
    odds = chances / (1 - chances) * np.array([[0.5], [1.0], [3.0]])
    odds = odds * np.exp(rng.normal(0, 0.4, (N_VECTORS, N_LABELS)))
    kind = np.arange(9000) % N_VECTORS
    Y = (rng.random((9000, N_LABELS)) < (odds / (1 + odds))[kind]).astype(int)
    return np.eye(N_VECTORS)[kind], Y, kind, np.log(odds)


def offsets(**options: Any) -> np.ndarray:
    """Return the scores less the true logits, for every (vector, label)."""
    X, Y, _, logits = known()
    model = RMLS(**{**BASE, **options}).fit(X, Y)
    return np.asarray(model.decision_function(np.eye(N_VECTORS)) - logits)


def mean_of_irrelevant(rates: np.ndarray) -> np.ndarray:
    """Return the mean rate of every (vector, label) where the label is irrelevant."""
    _, Y, kind, _ = known()
    groups = np.eye(N_VECTORS)[kind].T
    return np.asarray((groups @ (rates * (1 - Y))) / (groups @ (1 - Y)))


def by_count(power: float) -> np.ndarray:
    powers = known()[1].sum(axis=0) ** power
    return powers / powers.sum()


EQUAL = np.full(N_LABELS, 1 / N_LABELS)
# Options, and the share of every label in the draws.
DRAWN = {
    "uniform": ({}, EQUAL),
    "uniform with replacement": ({"replacement": True}, EQUAL),
    "frequency": ({"sampler": "frequency", "sampler_power": 1.0}, by_count(1.0)),
    "mixture": (
        {"sampler": "mixture", "sampler_mix": 0.3, "sampler_power": 1.0},
        0.3 * by_count(1.0) + 0.7 * EQUAL,
    ),
    "frequency, row by row": (
        {"sampler": "frequency", "negatives_per_positive": 1, "min_negatives": 1},
        by_count(0.5),
    ),
    "uniform, row by row": ({"negatives_per_positive": 1, "min_negatives": 1}, EQUAL),
    "all, row by row": (
        {"negatives": "all", "negatives_per_positive": 1, "min_negatives": 1},
        EQUAL,
    ),
}


@pytest.mark.parametrize(("options", "shares"), DRAWN.values(), ids=DRAWN)
def test_scores_are_off_by_minus_log_r_and_corrected_ones_are_not(
    options: dict, shares: np.ndarray
) -> None:
    _, Y, _, _ = known()
    settings = {**BASE, **options}
    wanted = np.round(settings["negatives_per_positive"] * Y.sum(axis=1))
    wanted = np.clip(wanted, settings["min_negatives"], N_LABELS - Y.sum(axis=1))
    rates = wanted[:, None] * shares / np.maximum(1 - Y @ shares, 1e-9)[:, None]
    expected = -np.log(mean_of_irrelevant(rates))
    plain, corrected = offsets(**options), offsets(**options, log_q=True)
    # 3,000 rows a vector leave a standard error of about 0.05 in a logit.
    assert expected.mean() > 0.5
    assert abs((plain - expected).mean()) < 0.03
    assert abs(corrected.mean()) < 0.03
    assert np.abs(plain - expected).max() < 0.3
    assert np.abs(corrected).max() < 0.3


@pytest.mark.parametrize("replacement", [True, False])
def test_labels_of_the_batch_are_corrected_by_their_share_of_the_visits(replacement: bool) -> None:
    options = {"sampler": "in_batch", "batch_size": 8, "replacement": replacement}
    plain, corrected = offsets(**options), offsets(**options, log_q=True)
    X, Y, _, _ = known()
    rows, times = np.unique(np.hstack([X, Y]), axis=0, return_counts=True)
    times = np.minimum(times, 16)
    share = times @ rows[:, N_VECTORS:] / times.sum()
    rate = 7 * share if replacement else 1 - (1 - share) ** 7
    assert np.abs(plain + np.log(rate)).max() < 0.3
    assert abs(corrected.mean()) < 0.03
    assert np.abs(corrected).max() < 0.3


@pytest.mark.parametrize("sampler", ["uniform", "frequency"])
def test_the_union_of_draws_is_corrected(sampler: str) -> None:
    options = {"sampler": sampler, "replacement": "union", "negatives_per_positive": 1}
    corrected = offsets(**options, log_q=True)
    assert offsets(**options).mean() > 0.5
    assert abs(corrected.mean()) < 0.03
    assert np.abs(corrected).max() < 0.3


def test_distinct_draws_by_frequency_are_corrected() -> None:
    options = {"sampler": "frequency", "replacement": False, "negatives_per_positive": 1}
    corrected = offsets(**options, log_q=True)
    assert offsets(**options).mean() > 0.5
    assert abs(corrected.mean()) < 0.03
    assert np.abs(corrected).max() < 0.3


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"log_q": True},
        {"sampler": "frequency", "sampler_power": 1.0},
        {"sampler": "frequency", "replacement": False},
        {"sampler": "mixture", "log_q": True},
        {"sampler": "in_batch", "batch_size": 8},
        {"loss": "focal", "max_iter": 25},
        {"loss": "asymmetric", "margin": 0.0, "focus_irrelevant": 2.0, "max_iter": 25},
    ],
    ids=str,
)
def test_probabilities_are_near_the_truth_under_every_sampler(options: dict) -> None:
    X, Y, _, logits = known()
    model = RMLS(**{**BASE, **options}).fit(X, Y)
    found = model.predict_proba(np.eye(N_VECTORS))
    # Without correction one mean rate stands for rows of few and of many labels.
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-logits)), atol=0.1)


def test_one_class_per_row_is_corrected_by_the_rate_of_the_row() -> None:
    rng = np.random.default_rng(1)
    chances = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
    kind = np.arange(6000) % 2
    y = (rng.random((6000, 1)) > np.cumsum(chances[kind], axis=1)).sum(axis=1)
    options = {**BASE, "min_negatives": 1, "max_iter": 20}
    for extra in ({"log_q": True}, {"log_q": True, "sampler": "frequency"}):
        model = RMLS(**{**options, **extra}).fit(np.eye(2)[kind], y)
        logits = np.log(chances / (1 - chances))
        assert np.abs(model.decision_function(np.eye(2)) - logits).max() < 0.25


def test_with_one_rate_for_all_labels_the_correction_only_moves_the_scores() -> None:
    X, Y = make_blocks(n=120)
    options = {**BASE, "min_negatives": 2, "max_iter": 4}
    plain, corrected = (
        RMLS(**options, log_q=log_q).fit(X, Y.argmax(axis=1)) for log_q in (False, True)
    )
    rate = 2 / (len(plain.classes_) - 1)
    assert plain.negative_rate_ == pytest.approx(rate)
    moved = corrected.decision_function(X) - plain.decision_function(X)
    np.testing.assert_allclose(moved, np.log(rate), atol=1e-4)


# -- draws of a fit ------------------------------------------------------------------------------

DATA = make_longtail(400, 100, 60, labels_per_row=3, random_state=3).train
SAMPLERS: list[dict[str, Any]] = [
    {"sampler": "uniform"},
    {"sampler": "frequency"},
    {"sampler": "frequency", "replacement": False},
    {"sampler": "mixture"},
    {"sampler": "in_batch", "batch_size": 8},
]


def touched(options: dict, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Return the summed loss of a pass that moves nothing: a print of everything drawn."""
    measured: list[tuple[int, float]] = []
    original = VectorPasses._visit

    def record(self: VectorPasses, visits: Any, memory: Any, bounds: Any) -> tuple[float, float]:
        visits = visits._replace(loss_stride=1)
        part = original(self, visits, memory, bounds)
        measured.append((bounds[0], part[0]))
        return part

    with monkeypatch.context() as patch:
        train_on_threads(patch)
        patch.setattr(VectorPasses, "_visit", record)
        settings = {"init": "glorot", "max_iter": 1, "learning_rate": 1e-30, "n_jobs": n_jobs}
        model = RMLS(8, negatives_per_positive=2, calibration=None, **settings, **options)
        model.fit(DATA.X, DATA.Y)
    return np.array([loss for _, loss in sorted(measured)])


@pytest.mark.parametrize("options", SAMPLERS, ids=str)
def test_the_draws_do_not_depend_on_the_number_of_threads(
    options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, eight = (touched(options, n_jobs, monkeypatch) for n_jobs in (1, 2, 8))
    assert len(one) < len(two) < len(eight)
    np.testing.assert_allclose(two.reshape(len(one), -1).sum(axis=1), one, rtol=1e-6)
    np.testing.assert_allclose(eight.reshape(len(one), -1).sum(axis=1), one, rtol=1e-6)


@pytest.mark.parametrize("options", SAMPLERS, ids=str)
@pytest.mark.parametrize("log_q", [False, True])
def test_every_sampler_learns_blocks(options: dict, log_q: bool) -> None:
    X, Y = make_blocks(n=240, n_topics=6, labels=3)
    model = RMLS(12, max_iter=15, negatives_per_positive=5, log_q=log_q, **options).fit(X, Y)
    assert model.score(X, Y) >= 0.97


@pytest.mark.parametrize("options", SAMPLERS, ids=str)
def test_a_row_with_all_labels_but_one_ends(options: dict) -> None:
    X, Y = np.eye(4), np.ones((4, 5), int)
    Y[:, 4] = 0
    Y[0] = [1, 0, 0, 0, 1]
    for log_q in (False, True):
        model = RMLS(4, max_iter=3, log_q=log_q, **options).fit(X, Y)
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("options", SAMPLERS, ids=str)
@pytest.mark.parametrize("labels", [1, 2])
def test_one_label_and_rows_without_labels_are_fine(options: dict, labels: int) -> None:
    X, Y = np.eye(6), np.zeros((6, labels), int)
    Y[:3, 0] = 1
    for log_q in (False, True):
        chances = RMLS(4, max_iter=30, log_q=log_q, **options).fit(X, Y).predict_proba(X)
        assert np.isfinite(chances).all()


# -- shares --------------------------------------------------------------------------------------


def shares(counts: list[float], **options: Any) -> np.ndarray:
    positives = np.array(counts, float)
    return draw_shares(RMLS(**options), Totals(100.0, 1.0, positives, positives / 100))


def test_shares_follow_the_counts() -> None:
    np.testing.assert_allclose(
        shares([16, 4, 4], sampler="frequency", sampler_power=0.5), [0.5, 0.25, 0.25]
    )
    np.testing.assert_allclose(shares([9, 1], sampler="frequency", sampler_power=1.0), [0.9, 0.1])
    np.testing.assert_allclose(
        shares([9, 1], sampler="mixture", sampler_power=1.0, sampler_mix=0.25), [0.6, 0.4]
    )
    np.testing.assert_allclose(shares([9, 1], sampler="frequency", sampler_power=0.0), [0.5, 0.5])
    np.testing.assert_allclose(shares([9, 1], sampler="uniform"), [0.5, 0.5])
    np.testing.assert_allclose(shares([9, 1], sampler="in_batch"), [0.09, 0.01])


@pytest.mark.parametrize("counts", [[5, 0, 3], [0, 0, 0], [1e9, 1, 0]], ids=str)
@pytest.mark.parametrize("power", [0.5, 1.0, 30.0])
def test_every_label_can_be_drawn(counts: list[float], power: float) -> None:
    q = shares(counts, sampler="frequency", sampler_power=power)
    assert q.sum() == pytest.approx(1)
    assert q.min() >= 0.9 * MIN_SHARE / 3


def test_labels_without_positives_count_as_half_the_rarest() -> None:
    assert floored_counts(np.array([4.0, 0.0, 2.0])).tolist() == [4.0, 1.0, 2.0]


def test_a_class_that_all_rows_have_is_certain_whatever_draws_the_others() -> None:
    X = np.eye(3)
    for options in ({"replacement": True}, {"sampler": "frequency"}, {}):
        model = RMLS(3, max_iter=2, **options).fit(X, np.zeros(3, int))
        np.testing.assert_allclose(model.predict_proba(X), 1.0)


def test_the_correction_needs_labels_that_are_independent_given_the_features() -> None:
    rng = np.random.default_rng(0)
    effect = 1.5 * np.where(rng.random(6_000) < 0.5, 1.0, -1.0)
    chances = 1 / (1 + np.exp(-np.linspace(-5, -3, 60) - effect[:, None]))
    Y = (rng.random(chances.shape) < chances).astype(int)
    X, mean = np.ones((len(Y), 1)), Y.mean(axis=0)

    def offset(**draws: Any) -> float:
        model = RMLS(**{**BASE, **draws}, log_q=True).fit(X, Y)
        return float((model.decision_function(X[:1]) - np.log(mean / (1 - mean))).mean())

    # As many draws as a row has labels tell of its effect; a fixed number hardly does, because the
    # labels that are left to draw from are nearly as many in every row.
    assert offset(negatives_per_positive=1, min_negatives=1) > 0.3
    assert abs(offset(negatives_per_positive=0, min_negatives=3)) < 0.15
