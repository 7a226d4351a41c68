"""The gradient of the kernel is the gradient of the paper's objective."""

import numpy as np
import pytest
from kernel_problem import (
    FEATURES,
    N_LABELS,
    RELEVANT,
    K,
    finite_differences,
    kernel_gradient,
    make_accumulators,
    make_objective,
    make_params,
    make_rows,
    slow_focus,
    slow_loss,
)
from model_samples import make_blocks
from scipy import sparse

from rmls import RMLS
from rmls.kernels.arrays import ACTIVATIONS, LOSSES, Visits
from rmls.kernels.cpu.sgd import arithmetic
from rmls.kernels.cpu.sgd.visits import make_scratch, run_visits
from rmls.models.embedding.leml_losses import LOSSES as LEML_LOSSES
from rmls.models.embedding.leml_losses import loss_slopes, loss_values
from rmls.models.rmls.sampling import plan_visits
from rmls.models.shared.training_set import TrainingSet

NAMES = LOSSES
LOSSES = range(len(LOSSES))
ACTIVATIONS = range(len(ACTIVATIONS))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_agrees_with_finite_differences(loss, activation):
    params = make_params()
    objective = make_objective(loss=loss, activation=activation, all_negatives=True)
    gradient, value = kernel_gradient(params, objective, key=1)
    labels = np.arange(N_LABELS)
    n_irrelevant = N_LABELS - len(RELEVANT)
    weights = np.where(np.isin(labels, RELEVANT), 1.0, 2.0 * len(RELEVANT) / n_irrelevant)
    expected = finite_differences(params, labels, weights, loss, activation)
    assert value == pytest.approx(slow_loss(params, labels, weights, loss, activation), rel=1e-5)
    for got, wanted in zip(gradient, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_mean_sampled_gradient_is_the_full_cost_sensitive_gradient(loss):
    params = make_params()
    full, _ = kernel_gradient(params, make_objective(loss=loss, all_negatives=True), key=0)
    keys = np.random.default_rng(1).integers(0, 2**63, size=4000)
    objective = make_objective(loss=loss)
    draws = [kernel_gradient(params, objective, key)[0] for key in keys]
    for name in ("W", "b", "L", "c"):
        sampled = np.stack([getattr(draw, name) for draw in draws])
        error = sampled.std(axis=0) / np.sqrt(len(keys))
        assert (np.abs(sampled.mean(axis=0) - getattr(full, name)) <= 4.5 * error + 1e-5).all()


def test_thinning_small_slopes_keeps_the_mean_gradient():
    params = make_params()
    exact, _ = kernel_gradient(params, make_objective(all_negatives=True), key=0)
    thinned = make_objective(all_negatives=True, gradient_floor=np.float32(0.9))
    keys = np.random.default_rng(2).integers(0, 2**63, size=4000)
    draws = np.stack([kernel_gradient(params, thinned, key)[0].L for key in keys])
    error = draws.std(axis=0) / np.sqrt(len(keys))
    assert draws.std() > 0
    assert (np.abs(draws.mean(axis=0) - exact.L) <= 4.5 * error + 1e-5).all()


def test_row_weight_and_label_weight_scale_their_part_of_the_gradient():
    params = make_params()
    once, _ = kernel_gradient(params, make_objective(), key=3)
    thrice, _ = kernel_gradient(params, make_objective(), key=3, weight=3.0)
    np.testing.assert_allclose(thrice.W, 3 * once.W, rtol=1e-5)
    label_weight = np.ones(N_LABELS, np.float32)
    label_weight[RELEVANT[0]] = 5.0
    weighted, _ = kernel_gradient(params, make_objective(label_weight=label_weight), key=3)
    np.testing.assert_allclose(weighted.L[RELEVANT[0]], 5 * once.L[RELEVANT[0]], rtol=1e-5)
    np.testing.assert_allclose(weighted.L[RELEVANT[1]], once.L[RELEVANT[1]], rtol=1e-5)


def run_one_visit(batch_size, width, l2=0.01, max_label_norm=np.inf):
    params, accumulators = make_params(), make_accumulators(width)
    bounds = np.full(N_LABELS, max_label_norm, np.float32)
    changes = {"l2": np.float32(l2), "max_label_norm": bounds, "elementwise": width == K}
    objective = make_objective(**changes)
    one = np.ones(1, np.float32)
    key = np.array([7], np.uint64)
    visits = Visits(np.zeros(1, np.int64), one, key, 0.1, 0.1, batch_size, 1)
    shape = (len(params.W), len(params.L), K)
    scratch = make_scratch(shape, batch_size, len(FEATURES), N_LABELS)
    run_visits(make_rows(), params, accumulators, objective, visits, scratch, 0, 1)
    return params, accumulators


@pytest.mark.parametrize("width", [1, K])
def test_an_online_step_is_a_batch_of_one_row(width):
    online, online_acc = run_one_visit(1, width)
    batch, batch_acc = run_one_visit(2, width)
    for a, b in zip((*online, *online_acc), (*batch, *batch_acc), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("width", [1, K])
def test_a_step_is_adagrad_on_the_regularised_gradient(width):
    start = make_params()
    gradient, _ = kernel_gradient(start, make_objective(), key=7)
    moved, accumulators = run_one_visit(1, width, l2=0.01)
    touched = np.flatnonzero(np.abs(gradient.L).sum(axis=1))
    for row in touched:
        full = gradient.L[row] + 0.02 * start.L[row]
        fed = np.mean(gradient.L[row] ** 2) if width == 1 else full**2
        expected = 0.5 + fed
        np.testing.assert_allclose(accumulators.L[row], expected, rtol=1e-4)
        step = 0.1 * full / np.sqrt(expected)
        np.testing.assert_allclose(moved.L[row], start.L[row] - step, rtol=1e-4, atol=1e-5)
    untouched = np.setdiff1d(np.arange(N_LABELS), touched)
    assert len(untouched) > 0
    np.testing.assert_array_equal(moved.L[untouched], start.L[untouched])


@pytest.mark.parametrize(("elementwise", "fed"), [(False, 3.0**2), (True, (3.0 + 0.1 * 2.0) ** 2)])
def test_a_vector_of_one_component_has_both_forms_of_adagrad(elementwise, fed):
    theta, acc = np.float32([[2.0]]), np.float32([[0.5]])
    numbers = (
        np.float32(1.0),
        np.float32([3.0]),
        np.float32(9.0),
        np.float32(0.1),
        np.float32(0.1),
    )
    arithmetic.adagrad_row.py_func(theta, acc, 0, *numbers, elementwise)
    np.testing.assert_allclose(acc, 0.5 + fed, rtol=1e-6)
    np.testing.assert_allclose(theta, 2.0 - 0.1 * 3.2 / np.sqrt(0.5 + fed), rtol=1e-6)


def test_one_component_can_be_trained_in_both_forms():
    X, Y = make_blocks()
    row, element = (
        RMLS(1, l2=0.1, max_iter=3, calibration=None, accumulators=form).fit(X, Y)
        for form in ("row", "element")
    )
    assert np.abs(row.label_vectors_ - element.label_vectors_).max() > 1e-3


@pytest.mark.parametrize("target", [1.0, -1.0])
@pytest.mark.parametrize("loss", LEML_LOSSES)
def test_a_loss_is_the_same_in_all_methods(loss, target):
    scores = np.linspace(-3, 3, 61).astype(np.float32)
    targets, focus = np.full_like(scores, target), (np.float32(0),) * 3
    code = NAMES.index(loss)
    slopes = arithmetic.slopes_of_scores(code, scores, np.float32(target), focus)
    np.testing.assert_allclose(slopes, loss_slopes(loss, scores, targets), rtol=1e-5, atol=1e-6)
    value = arithmetic.value_of_loss.py_func
    values = [value(code, score, np.float32(target), focus) for score in scores]
    np.testing.assert_allclose(values, loss_values(loss, scores, targets), rtol=1e-5, atol=1e-6)


def test_touched_label_vectors_stay_within_their_norm():
    moved, _ = run_one_visit(1, 1, max_label_norm=0.3)
    start = make_params()
    changed = np.abs(moved.L - start.L).sum(axis=1) > 0
    assert changed.any()
    assert ((moved.L[changed] ** 2).sum(axis=1) <= 0.3 * (1 + 1e-5)).all()


def loss_and_slope(loss, scores, target, focus):
    """Return value and slope of a loss of the kernel at every score."""
    target = np.float32(target)
    values = [arithmetic.focused(np.float32(s), target, focus)[0] for s in scores]
    slopes = arithmetic.slopes_of_scores(loss, scores.astype(np.float32), target, focus)
    return np.array(values), slopes


@pytest.mark.parametrize("target", [1.0, -1.0])
@pytest.mark.parametrize(
    "focus", [(0, 0, 0), (2, 2, 0), (0, 4, 0.05), (0.5, 0.5, 0.2), (1, 1, 0.9)]
)
def test_focused_losses_and_their_slopes_are_those_of_the_papers(focus, target):
    scores = np.linspace(-9, 9, 181)
    focus = tuple(np.float32(value) for value in focus)
    values, slopes = loss_and_slope(3, scores, target, focus)
    np.testing.assert_allclose(values, slow_focus(scores, target, focus), rtol=2e-4, atol=2e-6)
    step = 1e-5
    ends = (slow_focus(scores + sign * step, target, focus) for sign in (1, -1))
    expected = np.subtract(*ends) / (2 * step)
    # The margin makes a kink where the probability equals it.
    smooth = np.abs(1 / (1 + np.exp(-scores)) - focus[2]) > 1e-3
    np.testing.assert_allclose(slopes[smooth], expected[smooth], rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_without_focus_and_margin_the_focused_loss_is_the_logistic_one(target):
    scores, none = np.linspace(-15, 15, 301), (np.float32(0),) * 3
    values, slopes = loss_and_slope(4, scores, target, none)
    _, logistic = loss_and_slope(0, scores, target, none)
    np.testing.assert_allclose(slopes, logistic, rtol=1e-6)
    np.testing.assert_allclose(values, np.logaddexp(0, -target * scores), rtol=1e-5)


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_focused_losses_stay_finite_at_extreme_scores(target):
    scores = np.array([-3e38, -1e4, -100.0, 100.0, 1e4, 3e38])
    for focus in [(0, 0, 0), (2, 2, 0), (0, 4, 0.05), (0.3, 0.3, 0)]:
        values, slopes = loss_and_slope(3, scores, target, tuple(map(np.float32, focus)))
        assert np.isfinite(values).all()
        assert np.isfinite(slopes).all()
        assert (target * slopes <= 0).all()


def test_fast_tanh_is_tanh():
    x = np.linspace(-20, 20, 4001).astype(np.float32)
    got = np.array([arithmetic.tanh.py_func(value) for value in x])
    np.testing.assert_allclose(got, np.tanh(x.astype(np.float64)), atol=4e-7)


def test_a_pass_visits_a_row_of_weight_three_three_times():
    empty = sparse.csr_matrix((10, 1))
    rows = TrainingSet(empty, empty, np.array([4, 9]), np.array([1.0, 2.5]))
    visits = plan_visits(rows, seed=0, number=0, rates=(0.1, 0.1), batch_size=1)
    assert sorted(visits.rows.tolist()) == [4, 9, 9, 9]
    assert visits.weights[visits.rows == 9].sum() == pytest.approx(2.5)
