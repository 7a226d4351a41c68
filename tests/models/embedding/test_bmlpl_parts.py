"""The parts of BMLPL against scipy, numerical integrals and samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, sparse, special

from rmls.kernels.cpu.methods.gamma import gamma_terms, polya_gamma_mean, softplus
from rmls.kernels.cpu.methods.poisson import truncated_poisson
from rmls.kernels.cpu.methods.weighted_ridge import Design, improve_ridge


@pytest.mark.parametrize("x", [1e-4, 0.03, 0.5, 1.0, 2.5, 7.9, 8.0, 300.0])
def test_gamma_functions_equal_those_of_scipy(x: float) -> None:
    wanted = special.gammaln(x), special.digamma(x), special.polygamma(1, x)
    np.testing.assert_allclose(gamma_terms(x), wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("c", [0.0, 1e-4, 1e-3, 0.5, 3.0, -3.0, 40.0])
@pytest.mark.parametrize("b", [1, 4])
def test_the_mean_of_polya_gamma_is_that_of_its_series(b: int, c: float) -> None:
    # PG(b, c) is a sum of Gamma(b, 1) variables over 2 pi^2 ((l - 1/2)^2 + c^2 / (4 pi^2)).
    terms = np.arange(1, 2_000_000) - 0.5
    series = b * np.sum(1 / (2 * np.pi**2 * (terms**2 + (c / (2 * np.pi)) ** 2)))
    assert polya_gamma_mean(float(b), c) == pytest.approx(series, rel=1e-5)


@pytest.mark.parametrize(("b", "c"), [(1.0, 0.7), (2.5, 2.0), (0.3, 5.0)])
def test_the_mean_of_polya_gamma_is_that_of_samples(b: float, c: float) -> None:
    rng = np.random.default_rng(0)
    terms = np.arange(1, 201) - 0.5
    draws = rng.gamma(b, size=(20_000, 200)) / (terms**2 + (c / (2 * np.pi)) ** 2)
    samples = draws.sum(axis=1) / (2 * np.pi**2)
    assert polya_gamma_mean(b, c) == pytest.approx(samples.mean(), rel=0.02)


@pytest.mark.parametrize("b", [0.05, 1.0, 7.0])
def test_the_quadratic_bound_lies_below_and_touches(b: float) -> None:
    psi = np.linspace(-12, 12, 97)
    exact = -b * np.logaddexp(0, psi)
    for at in (-5.0, 0.0, 0.3, 8.0):
        omega = polya_gamma_mean(b, at)
        quadratic = -b * softplus(at) - 0.5 * b * (psi - at) - 0.5 * omega * (psi**2 - at**2)
        assert (quadratic <= exact + 1e-9).all()
        assert -b * softplus(at) == pytest.approx(-b * np.logaddexp(0, at))


@pytest.mark.parametrize("rate", [1e-12, 1e-6, 0.2, 3.0, 50.0])
def test_the_mean_of_a_positive_poisson_count(rate: float) -> None:
    counts = np.arange(1, 400)
    log_terms = counts * np.log(rate) - special.gammaln(counts + 1)
    log_sum = special.logsumexp(log_terms)
    mean = np.sum(counts * np.exp(log_terms - log_sum))
    np.testing.assert_allclose(truncated_poisson(np.log(rate)), (mean, log_sum), rtol=1e-7)


def test_integrating_the_strengths_gives_the_formula_of_the_prediction() -> None:
    r, odds, v = 0.7, 2.5, 0.3
    survival, _ = integrate.quad(
        lambda u: np.exp(-v * u) * u ** (r - 1) * np.exp(-u / odds), 0, np.inf
    )
    survival /= special.gamma(r) * odds**r
    assert survival == pytest.approx((1 + v * odds) ** -r, rel=1e-6)


def test_the_regressions_reach_the_solution_of_the_normal_equations() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(80, 12, density=0.4, format="csr", dtype=np.float32, random_state=0)
    weights = rng.random((80, 4)).astype(np.float32)
    residuals = rng.standard_normal((80, 4)).astype(np.float32)
    penalty = np.linspace(0.1, 2, 12).astype(np.float32)
    first = rng.standard_normal((12, 4)).astype(np.float32)
    found = first.copy()
    improve_ridge(Design.of(X), weights, residuals, penalty, found, 30)
    dense = X.toarray().astype(float)
    for k in range(4):
        system = dense.T @ (weights[:, k, None] * dense) + np.diag(penalty)
        slope = dense.T @ residuals[:, k] - penalty * first[:, k]
        wanted = first[:, k] + np.linalg.solve(system, slope)
        np.testing.assert_allclose(found[:, k], wanted, rtol=1e-3, atol=1e-4)
