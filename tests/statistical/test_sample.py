"""The sampler's moments are the model's."""

from __future__ import annotations

import torch
from tests.worlds import random_theta

from unblot.model.likelihood import shifted
from unblot.model.sample import sample

N, D = 40_000, (4, 5)


def draw(count, generator):
    return 5 + torch.randn(count, 2, generator=generator, dtype=torch.float64)


def test_latents_and_features_have_the_moments_of_the_model():
    theta = random_theta(1, C=3, P=(2, 3))
    found = sample(theta, draw, N, D, torch.Generator().manual_seed(1))
    frequency = torch.bincount(found.c, minlength=3) / N
    assert (frequency - theta.pi).abs().max() < 4 * (0.25 / N) ** 0.5
    places = torch.bincount(found.x[:, 0] * D[1] + found.x[:, 1], minlength=20) / N
    assert (places - 1 / 20).abs().max() < 4 * (0.05 / N) ** 0.5
    flat = found.Y.reshape(N, -1, 2)
    for c in range(3):
        mine = found.c == c
        count = int(mine.sum())
        m = found.m[mine].reshape(count, -1)
        assert (m.double().mean(0) - theta.A[c].reshape(-1)).abs().max() < 5 * (0.25 / count) ** 0.5
        place = shifted(theta.P, D, found.x[mine, 0] * D[1] + found.x[mine, 1])
        y = flat[mine][torch.arange(count)[:, None], place]  # [count, P, F]
        for i in range(6):
            present = y[m[:, i], i]
            sigma = theta.Phi[c].reshape(6, 2)[i].sqrt()
            error = (present.mean(0) - theta.W[c].reshape(6, 2)[i]).abs()
            assert (error < 5 * sigma / len(present) ** 0.5).all()
            assert ((present.std(0) / sigma - 1).abs() < 5 / (2 * len(present)) ** 0.5).all()
            absent = y[~m[:, i], i]
            assert (absent.mean(0) - 5).abs().max() < 5 / max(1, len(absent)) ** 0.5


def test_the_same_seed_draws_the_same_patches():
    theta = random_theta(2)
    one, two = (sample(theta, draw, 10, D, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(one.Y, two.Y)
