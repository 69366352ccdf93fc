"""What holds for every model and every patch."""

from __future__ import annotations

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.worlds import random_data, random_theta

from unblot.inference.batch import Batch
from unblot.inference.estep import estep, posterior
from unblot.inference.truncation import EXACT, Truncation
from unblot.learning.em import learn
from unblot.model.likelihood import terms
from unblot.model.theta import Theta

P, D = (2, 3), (4, 5)
seeds = st.integers(0, 10_000)
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def world(seed: int, C: int = 3) -> tuple[Theta, Batch]:
    theta = random_theta(seed, C=C, P=P)
    return theta, random_data(seed, theta, N=5, D=D)[2]


@quick
@given(seeds, st.integers(0, D[0] - 1), st.integers(0, D[1] - 1))
def test_shifting_the_patch_shifts_the_posterior(seed, down, right):
    theta, batch = world(seed)
    moved = Batch(
        batch.Y.roll((down, right), (1, 2)).contiguous(), batch.log_H.roll((down, right), (1, 2)).contiguous()
    )
    here, there = (posterior(b, terms(theta, D), EXACT).q.reshape(-1, theta.C, *D) for b in (batch, moved))
    torch.testing.assert_close(here.roll((down, right), (2, 3)), there)


@quick
@given(seeds, st.permutations(range(3)))
def test_reordering_the_classes_reorders_the_posterior(seed, order):
    theta, batch = world(seed)
    shuffled = Theta(theta.W[order], theta.Phi[order], theta.A[order], theta.pi[order])
    here, there = (posterior(batch, terms(t, D), EXACT).q.reshape(5, 3, -1) for t in (theta, shuffled))
    torch.testing.assert_close(here[:, order], there)


@quick
@given(seeds, st.integers(1, 6), st.floats(0.01, 1))
def test_posterior_sums_to_one_on_distinct_states(seed, lam, K):
    theta, batch = world(seed)
    found = posterior(batch, terms(theta, D), Truncation(lam, K))
    torch.testing.assert_close(found.q.sum(1), torch.ones(batch.N, dtype=torch.float64))
    flat = (found.states.n * theta.C + found.states.c) * D[0] * D[1] + found.states.x
    assert len(flat.unique()) == len(flat)


@quick
@given(seeds, st.integers(1, 6), st.floats(0.02, 0.9))
def test_truncation_never_raises_the_evidence(seed, lam, K):
    theta, batch = world(seed)
    truncated, exact = (estep(batch, terms(theta, D), t).free_energy for t in (Truncation(lam, K), EXACT))
    assert truncated <= exact + 1e-9


@quick
@given(seeds, st.integers(1, 4))
def test_statistics_of_parts_add_up(seed, cut):
    theta, batch = world(seed)
    tables = terms(theta, D)
    whole = estep(batch, tables, EXACT)
    parts = [estep(Batch(batch.Y[s], batch.log_H[s]), tables, EXACT) for s in (slice(cut), slice(cut, None))]
    added = parts[0] + parts[1]
    assert added.N == whole.N
    assert abs(added.free_energy - whole.free_energy) < 1e-9
    for name in ("s0", "s1", "s2"):
        torch.testing.assert_close(getattr(added.moments, name), getattr(whole.moments, name))


@quick
@given(seeds, st.integers(1, 7))
def test_the_batch_size_changes_nothing(seed, size):
    theta = random_theta(seed, P=P)
    Y, background, _ = random_data(seed, theta, N=7, D=D)
    one, many = (next(learn(Y, theta, background, Truncation(3, 0.2), batch_size=s)).theta for s in (size, len(Y)))
    for name in ("W", "Phi", "A", "pi"):
        torch.testing.assert_close(getattr(one, name), getattr(many, name), rtol=1e-12, atol=1e-12)


@quick
@given(seeds)
def test_features_that_look_like_background_tell_nothing(seed):
    """Where the mask is (nearly) never present, the data has no say in the score."""
    theta, batch = world(seed)
    blank = Theta(theta.W, theta.Phi, torch.zeros_like(theta.A), theta.pi)
    found = posterior(batch, terms(blank, D), EXACT).q.reshape(5, 3, -1)
    expected = theta.pi / (D[0] * D[1])
    assert (found.sum(2) / theta.pi - 1).abs().max() < 0.2
    assert (found / expected[None, :, None]).log().abs().max() < 1.5
