"""The fast code against the naive loops, on patches small enough to enumerate."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.oracle.naive import Naive
from tests.worlds import random_data, random_theta
from unblot.inference.estep import Stats, estep, posterior
from unblot.inference.kernels import kernels_for
from unblot.inference.truncation import EXACT, Truncation, log_score, reliable_features, select
from unblot.learning.em import make_batch
from unblot.learning.mstep import mstep
from unblot.model.likelihood import terms

SHAPES = [((2, 2), (3, 3)), ((2, 3), (3, 4)), ((3, 2), (3, 2))]
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-4}


class World:
    def __init__(self, P, D, device, dtype=torch.float64, seed=0):
        self.theta = random_theta(seed, P=P, dtype=dtype)
        self.Y, self.background, _ = random_data(seed, self.theta, N=3, D=D)
        self.naive = Naive(self.theta, self.background, D)
        self.batch = make_batch(self.Y.to(device), self.background.to(device))
        self.theta = self.theta.to(device)
        self.terms = terms(self.theta, D)
        self.patches = self.Y.double().numpy()
        self.D, self.tolerance = D, TOLERANCE[dtype]


@pytest.fixture(params=SHAPES, ids=str)
def world(request, device) -> World:
    return World(*request.param, device)


def as_states(found_states, D, n):
    mine = found_states.n == n
    return [
        (int(c), (int(x) // D[1], int(x) % D[1]))
        for c, x in zip(found_states.c[mine], found_states.x[mine], strict=True)
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_exact_posterior_is_the_enumerated_one(shape, dtype, device):
    world = World(*shape, device, dtype)
    found = posterior(world.batch, world.terms, EXACT)
    for n, Y in enumerate(world.patches):
        table = world.naive.table(Y)
        evidence = sum(p for rows in table.values() for _, p in rows)
        expected = [sum(p for _, p in table[s]) / evidence for s in as_states(found.states, world.D, n)]
        np.testing.assert_allclose(found.q[n].cpu().numpy(), expected, rtol=50 * world.tolerance, atol=1e-7)
        log_evidence = float(found.log_evidence[n] + world.batch.log_H[n].sum())
        assert log_evidence == pytest.approx(math.log(evidence), abs=10 * world.tolerance)


def naive_moments(world, weigh):
    """Sum q(c, x, m) over all states with m_i = 1, of (1, y, y^2), as `weigh` gives q for a patch's table."""
    naive = world.naive
    shape = (naive.C, *naive.P)
    R, s0 = np.zeros(naive.C), np.zeros(shape)
    s1, s2 = np.zeros((*shape, naive.F)), np.zeros((*shape, naive.F))
    for Y in world.patches:
        for (c, x), rows in weigh(Y).items():
            for m, q in rows:
                R[c] += q
                for i in naive.pattern:
                    if m[i]:
                        y = Y[(i[0] + x[0]) % naive.D[0], (i[1] + x[1]) % naive.D[1]]
                        delta = y - naive.W[c][i]
                        s0[c][i] += q
                        s1[c][i] += q * delta
                        s2[c][i] += q * delta**2
    return R, s0, s1, s2


def normalised(table):
    evidence = sum(p for rows in table.values() for _, p in rows)
    return {state: [(m, p / evidence) for m, p in rows] for state, rows in table.items()}


def truncated(world, lam, K):
    def weigh(Y):
        table = world.naive.table(Y)
        return normalised({s: table[s] for s in world.naive.chosen(Y, lam, K)})

    return weigh


def assert_same_moments(stats: Stats, expected) -> None:
    R, s0, s1, s2 = expected
    np.testing.assert_allclose(stats.responsibility.cpu().numpy(), R, atol=1e-8)
    for mine, naive in zip((stats.moments.s0, stats.moments.s1, stats.moments.s2), (s0, s1, s2), strict=True):
        np.testing.assert_allclose(mine.cpu().numpy(), naive.reshape(mine.shape), atol=1e-8)


def test_exact_statistics_are_the_enumerated_ones(world):
    expected = naive_moments(world, lambda Y: normalised(world.naive.table(Y)))
    assert_same_moments(estep(world.batch, world.terms, EXACT), expected)


@pytest.mark.parametrize(("lam", "K"), [(1, 0.1), (2, 0.3), (100, 0.2)])
def test_truncated_statistics_are_the_enumerated_ones(world, lam, K):
    stats = estep(world.batch, world.terms, Truncation(lam, K))
    assert_same_moments(stats, naive_moments(world, truncated(world, lam, K)))


@pytest.mark.parametrize("truncation", [EXACT, Truncation(2, 0.3)], ids=str)
def test_free_energy_is_the_expectation_plus_the_entropy(world, truncation):
    weigh = (lambda Y: normalised(world.naive.table(Y))) if truncation is EXACT else truncated(world, 2, 0.3)
    total = 0.0
    for Y in world.patches:
        for (c, x), rows in weigh(Y).items():
            total += sum(q * (math.log(world.naive.joint(Y, c, m, x)) - math.log(q)) for m, q in rows if q > 0)
    assert estep(world.batch, world.terms, truncation).free_energy == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize("lam", [1, 3, 100])
def test_scores_are_the_naive_products(world, lam):
    features = reliable_features(world.terms, lam)
    S = log_score(world.batch, world.terms, features).exp().cpu()
    for n, Y in enumerate(world.patches):
        for c, x in world.naive.states():
            expected = world.naive.score(Y, c, x, lam)
            assert float(S[n, c, x[0] * world.D[1] + x[1]]) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("lam", "K"), [(1, 0.05), (2, 0.2), (100, 0.5)])
def test_chosen_states_have_the_largest_scores(world, lam, K):
    states = select(log_score(world.batch, world.terms, reliable_features(world.terms, lam)), K)
    for n, Y in enumerate(world.patches):
        assert set(as_states(states, world.D, n)) == world.naive.chosen(Y, lam, K)


def test_mstep_is_equation_8(world):
    R, s0, s1, s2 = naive_moments(world, lambda Y: normalised(world.naive.table(Y)))
    least = torch.full((world.naive.F,), 1e-4, dtype=torch.float64, device=world.theta.W.device)
    learned = mstep(world.theta, estep(world.batch, world.terms, EXACT), least)
    W = world.naive.W + s1 / s0[..., None]
    variance = s2 / s0[..., None] - (s1 / s0[..., None]) ** 2
    for mine, expected in (
        (learned.pi, R / len(world.patches)),
        (learned.A, s0 / R[:, None, None]),
        (learned.W, W),
        (learned.Phi, np.maximum(variance, 1e-4)),
    ):
        np.testing.assert_allclose(mine.cpu().numpy(), expected, rtol=1e-6, atol=1e-8)


def test_temperature_raises_every_probability_to_a_power(world):
    beta = 0.3
    tempered = terms(world.theta, world.D, beta)

    def weigh(Y):
        return normalised({s: [(m, p**beta) for m, p in rows] for s, rows in world.naive.table(Y).items()})

    assert_same_moments(estep(world.batch, tempered, EXACT), naive_moments(world, weigh))


def test_a_mask_of_exactly_zero_takes_its_feature_off(world):
    gone = torch.zeros_like(world.theta.A, dtype=torch.bool)
    gone[:, 0, 0] = gone[0, :, -1] = True
    off = terms(replace(world.theta, A=world.theta.A.masked_fill(gone, 0)), world.D)
    states = posterior(world.batch, world.terms, EXACT).states
    found = kernels_for(world.batch.Y.device).sum_states(world.batch, off, states) + off.absent.sum(1)[states.c]
    P = world.theta.P
    for k, (n, c, x) in enumerate(zip(states.n.tolist(), states.c.tolist(), states.x.tolist(), strict=True)):
        total = 0.0
        for i1, i2 in itertools.product(range(P[0]), range(P[1])):
            if not gone[c, i1, i2]:
                d1, d2 = (x // world.D[1] + i1) % world.D[0], (x % world.D[1] + i2) % world.D[1]
                a, w, phi = (v[c, i1, i2] for v in (world.theta.A, world.theta.W, world.theta.Phi))
                y, H = world.batch.Y[n, d1, d2], world.batch.log_H[n, d1, d2]
                normal = (-0.5 * (y - w) ** 2 / phi - 0.5 * (2 * math.pi * phi).log()).sum()
                total += float((a * (normal - H).exp() + 1 - a).log())
        assert float(found[k]) == pytest.approx(total, abs=1e-6)
