"""EM as a whole: it never falls where theory says so, and it finds what generated the data."""

from __future__ import annotations

import itertools

import pytest
import torch
from tests.worlds import random_data, random_theta

from unblot.inference.estep import posterior, posterior_on, statistics
from unblot.inference.truncation import EXACT, Truncation
from unblot.learning.em import learn
from unblot.learning.mstep import mstep
from unblot.learning.start import start_cutouts, start_uniform
from unblot.model.likelihood import terms
from unblot.model.theta import Theta

P, D = (3, 3), (5, 6)


def assert_never_falls(energies: list[float]) -> None:
    assert len(energies) > 10
    for before, after in itertools.pairwise(energies):
        assert after >= before - 1e-9 * abs(before)
    assert energies[-1] > energies[0] + 1  # and it does learn


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "truncation", [EXACT, Truncation(lam=P[0] * P[1], K=0.1)], ids=["exact", "truncated with all features"]
)
def test_free_energy_never_falls(seed, truncation):
    Y, background, _ = random_data(seed, random_theta(seed, C=3, P=P), N=40, D=D)
    start = start_uniform(Y, 3, P, torch.Generator().manual_seed(seed))
    steps = itertools.islice(learn(Y, start, background, truncation), 25)
    assert_never_falls([step.free_energy for step in steps])


@pytest.mark.parametrize("seed", range(4))
def test_free_energy_never_falls_with_frozen_states(seed):
    Y, background, batch = random_data(seed, random_theta(seed, C=3, P=P), N=40, D=D)
    theta = start_cutouts(Y, 3, P, torch.Generator().manual_seed(seed))
    frozen = posterior(batch, terms(theta, D), Truncation(lam=3, K=0.15)).states
    energies = []
    for _ in range(25):
        tables = terms(theta, D)
        stats = statistics(batch, tables, posterior_on(batch, tables, frozen))
        energies.append(stats.free_energy)
        theta = mstep(theta, stats, background.resolution())
    assert_never_falls(energies)


def test_parameters_are_recovered_from_near_them():
    """From a start near the truth, EM comes to the generating parameters within the sampling error."""
    truth = random_theta(7, C=2, P=P)
    truth = Theta(2 * truth.W, truth.Phi, torch.full_like(truth.A, 0.9), torch.tensor([0.3, 0.7], dtype=torch.float64))
    Y, background, _ = random_data(7, truth, N=2000, D=D)
    start = Theta(truth.W + 0.2, 2 * truth.Phi, torch.full_like(truth.A, 0.6), torch.full_like(truth.pi, 0.5))
    for _, step in zip(range(20), learn(Y, start, background, EXACT), strict=False):
        learned = step.theta
    assert (learned.pi - truth.pi).abs().max() < 0.04
    assert (learned.A - truth.A).abs().mean() < 0.03
    assert (learned.W - truth.W).abs().mean() < 0.03
    assert ((learned.Phi / truth.Phi).log().abs()).mean() < 0.12


def test_truncated_learning_agrees_with_exact_learning():
    truth = random_theta(3, C=2, P=P)
    truth = Theta(3 * truth.W, truth.Phi, torch.full_like(truth.A, 0.95), truth.pi)
    Y, background, _ = random_data(3, truth, N=300, D=D)
    results = []
    for truncation in (EXACT, Truncation(lam=5, K=0.1)):
        for _, step in zip(range(10), learn(Y, truth, background, truncation), strict=False):
            results.append(step.theta)
    exact, truncated = results[9], results[19]
    for name in ("W", "A", "pi"):
        assert (getattr(exact, name) - getattr(truncated, name)).abs().mean() < 0.01
