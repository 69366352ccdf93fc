from __future__ import annotations

import pytest
import torch
from tests.worlds import random_data, random_theta

from unblot.errors import UsageError
from unblot.inference.estep import estep
from unblot.inference.truncation import EXACT, Truncation
from unblot.learning.em import Annealing, learn, make_batch
from unblot.learning.mstep import mstep
from unblot.learning.start import UNKNOWN, centred, contracted, start_at, start_cutouts, start_uniform
from unblot.model.background import fit_background
from unblot.model.likelihood import terms
from unblot.model.theta import Theta

Y = torch.rand(6, 5, 7, 3, generator=torch.Generator().manual_seed(0))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_uniform_start_fills_the_range_of_the_data():
    start = start_uniform(Y, 40, (5, 7), generator())
    low, high = Y.amin((0, 1, 2)), Y.amax((0, 1, 2))
    assert (low <= start.W).all()
    assert (high >= start.W).all()
    torch.testing.assert_close(start.W.mean((0, 1, 2)), (low + high) / 2, atol=0.05, rtol=0)
    torch.testing.assert_close(start.Phi[0, 0, 0], Y.var((0, 1, 2)))
    assert start.A.min() < 0.05
    assert start.A.max() > 0.95
    torch.testing.assert_close(start.pi, torch.full((40,), 1 / 40))


def test_cutouts_are_pieces_of_different_patches():
    start = start_cutouts(Y, 6, (2, 3), generator())
    windows = Y.unfold(1, 2, 1).unfold(2, 3, 1)  # [N, y, x, F, 2, 3]
    owners = []
    for W in start.W:
        same = (windows == W.permute(2, 0, 1)).all(-1).all(-1).all(-1)
        owners.append(int(same.nonzero()[0, 0]))
    assert sorted(owners) == list(range(6))


def test_contracted_start_lies_near_the_mean():
    start = start_uniform(Y, 3, (5, 7), generator())
    near = contracted(start, Y, 0.1)
    mean = Y.mean((0, 1, 2))
    torch.testing.assert_close(near.W - mean, 0.1 * (start.W - mean), atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(near.A - 0.5, 0.1 * (start.A - 0.5))


def test_a_start_from_given_cut_outs_has_an_empty_class_more():
    cuts = Y[:2, :3, :4]
    start = start_at(cuts, Y)
    assert start.C == 3
    assert torch.equal(start.W[:2], cuts)
    assert (start.A[2] == 0).all()
    assert (start.A[:2] > 0).all()
    assert start.A[0, 1, 1] > start.A[0, 0, 0]


def test_patterns_move_into_the_middle_of_their_frames():
    theta = random_theta(1, P=(7, 9), dtype=torch.float32)
    A = torch.zeros_like(theta.A)
    A[:, 0:3, 5:8] = 0.9  # middle at row 1, column 6
    moved = centred(Theta(theta.W, theta.Phi, A, theta.pi), torch.rand(4, 9, 9, theta.F))
    assert (moved.A[:, 2:5, 3:6] == A[:, 0:3, 5:8]).all()
    assert torch.equal(moved.W[:, 2:5, 3:6], theta.W[:, 0:3, 5:8])
    assert (moved.A[:, :2] == UNKNOWN).all()


def test_variances_stay_above_what_play_makes_of_slopes():
    theta = random_theta(2, P=(4, 5), dtype=torch.float32)
    data, background, _ = random_data(2, theta, N=20, D=(4, 5))
    stats = estep(make_batch(data, background), terms(theta, (4, 5)), EXACT)
    least = torch.full((theta.F,), 1e-9)
    free, held = (mstep(theta, stats, least, play) for play in (0.0, 2.0))
    torch.testing.assert_close(held.W, free.W)
    inside = (held.W[:, 2:, 1:-1] - held.W[:, :-2, 1:-1]) / 2, (held.W[:, 1:-1, 2:] - held.W[:, 1:-1, :-2]) / 2
    floor = 2 * (inside[0] ** 2 + inside[1] ** 2)
    torch.testing.assert_close(held.Phi[:, 1:-1, 1:-1], torch.maximum(free.Phi[:, 1:-1, 1:-1], floor + 1e-9))
    assert (held.Phi > free.Phi + 1e-6).any()


@pytest.mark.parametrize("start", [start_uniform, start_cutouts])
def test_bad_parameters_are_named(start):
    with pytest.raises(UsageError, match="C must be"):
        start(Y, 0, (2, 2), generator())
    for P in ((6, 2), (2, 8), (0, 1)):
        with pytest.raises(UsageError, match="P must lie"):
            start(Y, 2, P, generator())


def test_truncation_and_annealing_name_what_is_wrong():
    for K in (0.0, -1.0, 1.1, float("nan")):
        with pytest.raises(UsageError, match="K must"):
            Truncation(lam=3, K=K)
    with pytest.raises(UsageError, match="lambda must"):
        Truncation(lam=0)
    with pytest.raises(UsageError, match="temperature must"):
        Annealing(temperature=0.5)
    with pytest.raises(UsageError, match="at least one step"):
        Annealing(steps=0)


def test_learning_refuses_what_does_not_fit():
    theta = random_theta(0, P=(3, 3))
    data, background, _ = random_data(0, theta, D=(4, 4))
    with pytest.raises(UsageError, match="P = 3x3 is larger"):
        next(learn(data[:, :2], theta, background, EXACT))
    with pytest.raises(UsageError, match="F = 2"):
        next(learn(torch.cat([data, data], -1), theta, background, EXACT))
    data[1, 0, 0, 0] = float("nan")
    with pytest.raises(UsageError, match=r"data Y .* not finite"):
        next(learn(data, theta, background, EXACT))


def test_theta_refuses_what_is_no_parameter():
    theta = random_theta(0)
    with pytest.raises(UsageError, match="Phi must be positive"):
        Theta(theta.W, 0 * theta.Phi, theta.A, theta.pi)
    with pytest.raises(UsageError, match="A must lie"):
        Theta(theta.W, theta.Phi, theta.A + 1, theta.pi)
    with pytest.raises(UsageError, match="W holds"):
        Theta(theta.W / 0, theta.Phi, theta.A, theta.pi)


def test_a_class_that_nothing_belongs_to_keeps_its_parameters():
    theta = random_theta(0, C=3)
    far = Theta(theta.W.clone(), theta.Phi, theta.A, theta.pi)
    far.W[1] += 1e4
    far.A[1] = 0.999
    _, background, batch = random_data(0, theta, N=20)
    learned = mstep(far, estep(batch, terms(far, (3, 3)), EXACT), background.resolution())
    assert float(learned.pi[1]) < 1e-6
    assert torch.equal(learned.W[1], far.W[1])
    assert abs(float(learned.pi.sum()) - 1) < 1e-12


def test_variances_survive_a_mean_far_from_zero():
    """In float32, E[y^2] - w^2 loses a variance of 1e-4 at a mean of 100; sums about the old mean keep it."""
    g = generator()
    data = (100 + 0.01 * torch.randn(400, 2, 2, 1, generator=g)).float()
    background_like = torch.cat([data, 100 + 0.3 * torch.randn(400, 2, 2, 1, generator=g)])
    background = fit_background(background_like)
    start = Theta(
        torch.full((1, 2, 2, 1), 100.001), torch.full((1, 2, 2, 1), 1e-3), torch.full((1, 2, 2), 0.9), torch.ones(1)
    )
    for _, step in zip(range(5), learn(data, start, background, EXACT), strict=False):
        learned = step.theta
    least = float(background.resolution())
    assert least < 1e-4
    torch.testing.assert_close(learned.Phi, torch.full_like(learned.Phi, 1e-4), rtol=0.2, atol=0)


def test_the_caller_chooses_what_runs_the_batches():
    theta = random_theta(0)
    data, background, _ = random_data(0, theta, N=10)
    seen = []

    def watched(step, batches):
        for batch in batches:
            seen.append(batch.N)
            yield step(batch)

    mine = next(learn(data, theta, background, EXACT, batch_size=4, map=watched))
    assert seen == [4, 4, 2]
    assert torch.equal(mine.theta.W, next(learn(data, theta, background, EXACT, batch_size=4)).theta.W)


def test_annealing_cools_to_plain_em():
    annealing = Annealing(temperature=100.0, steps=4, share=0.5)
    assert annealing.temperature_at(0) == pytest.approx(100)
    assert annealing.temperature_at(2) == pytest.approx(10)
    assert annealing.temperature_at(4) == annealing.temperature_at(50) == 1.0
    theta = random_theta(0)
    data, background, _ = random_data(0, theta, N=12)
    steps = [s for _, s in zip(range(6), learn(data, theta, background, EXACT, annealing=annealing), strict=False)]
    assert [s.temperature > 1 for s in steps] == [True] * 4 + [False] * 2
