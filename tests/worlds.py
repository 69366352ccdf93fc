"""Small random models and data for the tests."""

from __future__ import annotations

import torch

from unblot.inference.batch import Batch
from unblot.learning.em import make_batch
from unblot.model.background import Background, fit_background
from unblot.model.sample import sample
from unblot.model.theta import Theta


def random_theta(seed: int, C: int = 2, P: tuple[int, int] = (2, 2), F: int = 2, dtype=torch.float64) -> Theta:
    g = torch.Generator().manual_seed(seed)
    pi = torch.rand(C, generator=g, dtype=dtype) + 0.2
    return Theta(
        W=torch.randn(C, *P, F, generator=g, dtype=dtype),
        Phi=torch.rand(C, *P, F, generator=g, dtype=dtype) * 0.3 + 0.05,
        A=torch.rand(C, *P, generator=g, dtype=dtype) * 0.9 + 0.05,
        pi=pi / pi.sum(),
    )


def random_data(
    seed: int, theta: Theta, N: int = 4, D: tuple[int, int] = (3, 3)
) -> tuple[torch.Tensor, Background, Batch]:
    """Draw patches of the model on a Gaussian background, with the histogram of them."""
    g = torch.Generator().manual_seed(seed + 1000)

    def draw(count: int, generator: torch.Generator) -> torch.Tensor:
        return 1.5 * torch.randn(count, theta.F, generator=generator, dtype=theta.W.dtype)

    Y = sample(theta, draw, N, D, g).Y
    background = fit_background(Y)
    return Y, background, make_batch(Y, background)
