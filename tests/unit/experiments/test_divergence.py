from __future__ import annotations

import pytest
import torch

from unblot.errors import UsageError
from unblot.experiments import artificial, figures
from unblot.experiments.characters import background_density, draw_background, generating_theta
from unblot.experiments.divergence import align, divergence
from unblot.model.theta import Theta

TRUTH = generating_theta(20)


def moved(theta: Theta, order: list[int], shift: tuple[int, int]) -> Theta:
    W, Phi, A = (p[order].roll(shift, (1, 2)) for p in (theta.W, theta.Phi, theta.A))
    return Theta(W, Phi, A, theta.pi[order])


def test_order_and_shift_of_the_classes_do_not_matter():
    found = divergence(moved(TRUTH, [3, 0, 4, 1, 2], (7, 13)), TRUTH)
    assert found.mean == 0
    assert found.recovered == 5


def test_divergence_is_the_mean_difference_on_used_positions():
    used = TRUTH.A > 0.5
    changed = Theta(
        torch.where(used[..., None], TRUTH.W + 0.02, TRUTH.W - 3),
        TRUTH.Phi + 0.1 * TRUTH.Phi.max(),
        torch.where(used, TRUTH.A - 0.03, TRUTH.A),
        TRUTH.pi,
    )
    found = divergence(changed, TRUTH)
    torch.testing.assert_close(
        torch.tensor([found.pi, found.A, found.W, found.Phi]), torch.tensor([0.0, 0.03, 0.02, 0.1]), atol=1e-6, rtol=0
    )
    assert found.A_everywhere < 0.03
    assert found.recovered == 5


def test_a_class_learned_twice_is_not_recovered_twice():
    twice = moved(TRUTH, [0, 1, 2, 3, 0], (0, 0))
    assert divergence(twice, TRUTH).recovered == 4


def test_align_puts_classes_on_their_place():
    aligned = align(moved(TRUTH, [4, 3, 2, 1, 0], (3, 5)), TRUTH)
    assert torch.equal(aligned.A, TRUTH.A)


def test_background_is_drawn_from_the_density_that_is_shown():
    values = draw_background(200_000, torch.Generator().manual_seed(0))
    for channel in range(3):
        grid = torch.linspace(-0.5, 1.5, 4001)
        density = background_density(channel, grid)
        step = float(grid[1] - grid[0])
        assert abs(float(density.sum()) * step - 1) < 1e-3
        mean = float((grid * density).sum() * step)
        assert abs(float(values[:, channel].mean()) - mean) < 2e-3


def test_missing_matplotlib_is_told_before_the_work(monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"unblot\[figures\]"):
        artificial.reproduce(artificial.SMALL, range(1), tmp_path / "out", torch.device("cpu"), lambda *_: None)
    assert not (tmp_path / "out").exists()
